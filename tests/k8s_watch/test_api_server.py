"""How an API server is found and trusted, how we prove who we are, and that all of it may change later."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException

from k8s_watch.api_server import ApiServer, Call, NoAccessError, RequestError, in_cluster, kubeconfig
from k8s_watch.informer import Informer
from k8s_watch.reader import Reader
from tests.k8s_watch.faults import Json, refusing
from tests.k8s_watch.faulty_api import LOOPBACK, SOON, FaultyApi, serving, write_kubeconfig
from tests.k8s_watch.listener import QUICK, WIDGETS, Listener, Widget, running
from tests.loopback import server_tls
from tests.pki import Authority, Issued

LEAVES_WITHIN = 10.0  # seconds; TLS would wait 30 for a goodbye
FIND = Call("GET", "/apis/example.com/v1")


def certificate(authority: Authority) -> Issued:
    return authority.issue(ip=[LOOPBACK])


class Pod:
    """What a pod is given to reach the API server, and that server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = FaultyApi()
        self.token = folder / "token"
        self.authority = folder / "ca.crt"
        self.tls = self.trusting(Authority("first"))
        self.pass_token("t1")

    def trusting(self, authority: Authority) -> ssl.SSLContext:
        self.authority.write_text(authority.pem)
        return server_tls(certificate(authority), self.folder)

    def pass_token(self, token: str) -> None:
        self.api.token = token
        self.token.write_text(token + "\n")


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


@asynccontextmanager
async def inside(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    async with serving(pod.api, pod.tls) as api:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", LOOPBACK)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        async with ApiServer(in_cluster(str(pod.token), str(pod.authority))) as server:
            yield server


async def test_a_pod_uses_its_token_and_trusts_its_authority(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with inside(pod, monkeypatch) as server, server.send(FIND) as response:
        assert response.status == 200
    assert pod.api.requests[0].headers["authorization"] == "Bearer t1"


async def test_a_token_that_expired_is_read_again(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Listener[Widget]()
    async with inside(pod, monkeypatch) as server:
        informer = Informer(WIDGETS, Reader(server), told, pace=QUICK)
        async with running(informer.run()):
            await told.until(lambda: told.synced == 1)
            pod.pass_token("t2")
            await pod.api.end_watches()
            await pod.api.put("a", size=1)
            await told.until(lambda: told.things == {"a": Widget(1)})
    assert pod.api.requests[-1].headers["authorization"] == "Bearer t2"
    assert told.synced == 1


async def test_a_server_whose_authority_was_replaced_is_trusted_by_the_new_one(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Listener[Widget]()
    async with inside(pod, monkeypatch) as server:
        pod.tls.load_cert_chain(*server_files(pod, Authority("second")))
        with pytest.raises(RequestError):
            async with server.send(FIND):
                pass
        informer = Informer(WIDGETS, Reader(server), told, pace=QUICK)
        async with running(informer.run()):
            await told.until(lambda: told.synced == 1)


def server_files(pod: Pod, authority: Authority) -> tuple[Path, Path]:
    pod.trusting(authority)
    return pod.folder / "tls.crt", pod.folder / "tls.key"


class Silent:
    """A server that begins an answer over TLS and then neither says anything nor ends its connection."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._listener = socket.create_server((LOOPBACK, 0))
        self._listener.settimeout(SOON)
        self.port = self._listener.getsockname()[1]

    def until_left(self) -> None:
        """Take one connection, and wait until its other end leaves it."""
        with self._listener, self._listener.accept()[0] as plain:
            plain.settimeout(SOON)
            over_tls = self._tls.wrap_socket(plain, server_side=True)
            over_tls.recv(65536)
            over_tls.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            with socket.socket(fileno=over_tls.detach()) as raw, suppress(ConnectionResetError):
                raw.settimeout(LEAVES_WITHIN)
                while raw.recv(65536):
                    pass


async def test_a_connection_that_fell_silent_is_left_without_waiting_for_a_goodbye(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Silent(pod.tls)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", LOOPBACK)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(silent.port))
    async with (
        ApiServer(in_cluster(str(pod.token), str(pod.authority))) as server,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(asyncio.to_thread(silent.until_left))
        with pytest.raises(RequestError, match="no answer"):
            async with server.send(Call("GET", "/", silence=0.2)) as response:
                await response.read()


async def test_a_server_that_nobody_vouches_for_is_not_spoken_to(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod.authority.write_text(Authority("somebody else").pem)
    async with inside(pod, monkeypatch) as server:
        with pytest.raises(RequestError, match="certificate"):
            async with server.send(FIND):
                pass
    assert pod.api.requests == []


async def test_credentials_that_are_gone_are_a_failure_and_come_back(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with inside(pod, monkeypatch) as server:
        pod.pass_token("t2")
        pod.token.rename(pod.folder / "elsewhere")
        with pytest.raises(RequestError, match="cannot be read again"):
            async with server.send(FIND):
                pass
        (pod.folder / "elsewhere").rename(pod.token)
        with pytest.raises(RequestError, match="Unauthorized"):
            async with server.send(FIND):
                pass
        async with server.send(FIND) as response:
            assert response.status == 200


async def test_a_kubeconfig_names_server_authority_and_token(pod: Pod) -> None:
    async with serving(pod.api, pod.tls) as api:
        url = f"https://{LOOPBACK}:{api.port}"
        path = write_kubeconfig(pod.folder, url, authority=str(pod.authority), tokenFile=str(pod.token))
        server = ApiServer(kubeconfig(str(path), "here"), agent="legation/0")
        async with server, server.send(FIND) as response:
            assert response.status == 200
    assert pod.api.requests[0].headers["authorization"] == "Bearer t1"
    assert pod.api.requests[0].headers["user-agent"] == "legation/0"


NO_KUBECONFIGS = ["", "[]", "clusters: [", "clusters: 3", "kind: Config\ncontexts: [3]\ncurrent-context: a"]


@pytest.mark.parametrize("text", NO_KUBECONFIGS)
async def test_a_kubeconfig_that_is_none_is_named_at_once(tmp_path: Path, text: str) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(NoAccessError, match=re.escape(str(tmp_path / "kubeconfig"))):
        async with ApiServer(kubeconfig(str(tmp_path / "kubeconfig"))):
            pass


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["sh", "-c", "echo log in again >&2; exit 3"], "log in again"),
        (["sh", "-c", "echo hello"], "failed to decode"),
        (
            ["sh", "-c", 'echo \'{"apiVersion": "a/v1", "kind": "ExecCredential", "status": {}}\''],
            "missing token",
        ),
        (["/no/such/plugin"], "/kubeconfig: .*'/no/such/plugin'"),
    ],
)
async def test_a_plugin_that_gives_no_credentials_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, command: list[str], why: str
) -> None:
    plugin: Json = {"apiVersion": "a/v1", "command": command[0], "args": [*(command[1:] or ["none"])]}
    path = write_kubeconfig(tmp_path, "https://127.0.0.1:1", exec=plugin)
    with pytest.raises(NoAccessError, match=why):
        async with ApiServer(kubeconfig(str(path))):
            pass
    assert caplog.records == []


@pytest.mark.parametrize("text", NO_KUBECONFIGS)
async def test_a_kubeconfig_that_is_half_written_when_it_is_read_again_is_a_failure(
    tmp_path: Path, text: str
) -> None:
    async with serving(FaultyApi()) as api:
        api.token = "t1"  # noqa: S105  # proves nothing
        url = f"http://{LOOPBACK}:{api.port}"
        path = write_kubeconfig(tmp_path, url, token="t1")  # noqa: S106  # proves nothing
        async with ApiServer(kubeconfig(str(path))) as server:
            api.token = "t2"  # noqa: S105  # proves nothing
            path.write_text(text)
            with pytest.raises(RequestError, match="cannot be read again"):
                async with server.send(FIND):
                    pass
            write_kubeconfig(tmp_path, url, token="t2")  # noqa: S106  # proves nothing
            assert await ask(server) == 401
            assert await ask(server) == 200


async def ask(server: ApiServer) -> int:
    """Return the code of the answer, or of the failure."""
    try:
        async with server.send(FIND) as response:
            return response.status
    except RequestError as error:
        return error.failed.code


async def test_many_who_find_their_token_expired_read_it_once() -> None:
    loads = 0

    async def load(configuration: Configuration) -> None:
        nonlocal loads
        loads += 1
        if loads > 1:
            await api.until(lambda: api.count("find") == 5)
        configuration.host = f"http://{LOOPBACK}:{api.port}"
        configuration.api_key["BearerToken"] = f"Bearer t{loads}"

    async with serving(FaultyApi()) as api, ApiServer(load) as server:
        api.token = "t2"  # noqa: S105  # proves nothing
        codes = await asyncio.gather(*(ask(server) for _ in range(5)))
        assert set(codes) <= {401, 0}  # what is on its way when the session ends has no answer
        assert await ask(server) == 200
    assert loads == 2


async def test_a_token_that_comes_too_late_is_not_sent() -> None:
    began, gate = asyncio.Event(), asyncio.Event()
    calls = 0

    async def slow_at_first(_: Configuration) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            began.set()
            await gate.wait()

    async def load(configuration: Configuration) -> None:
        configuration.host = f"http://{LOOPBACK}:{api.port}"
        configuration.api_key["BearerToken"] = "Bearer t1"
        configuration.refresh_api_key_hook = slow_at_first

    async with serving(FaultyApi()) as api, ApiServer(load) as server:
        late = asyncio.create_task(ask(server))
        await began.wait()
        api.fault("find", refusing(401))
        assert await ask(server) == 401
        gate.set()
        assert await late == 0
    assert api.count("find") == 1


async def test_a_token_that_cannot_be_had_is_a_failure() -> None:
    def fail(_: Configuration) -> None:
        raise ConfigException("the plugin is broken")  # noqa: EM101, TRY003  # as the library does

    async def load(configuration: Configuration) -> None:
        configuration.host = f"http://{LOOPBACK}:{api.port}"
        configuration.api_key["BearerToken"] = "Bearer t1"
        configuration.refresh_api_key_hook = fail

    async with serving(FaultyApi()) as api, ApiServer(load) as server:
        assert await ask(server) == 401
    assert api.requests == []


async def test_nothing_to_go_by_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for load in (in_cluster(), kubeconfig(str(tmp_path / "nowhere"))):
        with pytest.raises(NoAccessError):
            async with ApiServer(load):
                pass


async def test_a_refusal_says_why_and_when_to_come_back(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    pod.api.fault("find", refusing(429, "slow down", retry_after="3"))
    async with inside(pod, monkeypatch) as server:
        with pytest.raises(RequestError, match="429: slow down") as caught:
            async with server.send(FIND):
                pass
    assert caught.value.failed.retry_after == 3.0


async def test_a_closed_port_is_a_failure_without_a_code(tmp_path: Path) -> None:
    async with serving(FaultyApi()) as api:
        port = api.port
    path = write_kubeconfig(tmp_path, f"http://{LOOPBACK}:{port}")
    async with ApiServer(kubeconfig(str(path))) as server:
        with pytest.raises(RequestError, match="no answer"):
            async with server.send(FIND):
                pass
