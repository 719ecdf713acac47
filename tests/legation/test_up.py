"""`legation up` with real Envoys: what a user without a cluster counts on."""

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import yaml

from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, is_alive, legation_up, run
from tests.looking import eventually
from tests.loopback import Answer, ask, http_backend
from tests.pki import CLIENT, Authority, Issued
from tests.real_envoy import running_envoy, until

pytestmark = pytest.mark.envoy
SHOP = {"host": "shop.example"}
SERVED_WITHIN = 120.0


STATIC = Path(__file__).parents[2] / "envoy-bootstrap" / "envoy.yaml"


async def served(port: int, body: str) -> Answer:
    """Wait until a request is answered by a backend that says this."""
    answers: list[Answer] = []

    async def says() -> bool:
        try:
            answers.append(await ask(port, headers=SHOP))
        except OSError:
            return False
        return answers[-1].body == body

    await until(says, within=SERVED_WITHIN)
    return answers[-1]


@asynccontextmanager
async def shop(folder: Path, backend: int, *flags: str) -> AsyncIterator[tuple[Legation, int]]:
    """Serve one Gateway with one route to a backend, at a port that is free."""
    port = free_port()
    (folder / "a.yaml").write_text(
        together(LEGATION_CLASS, gateway("edge", port), service("store", backend), route("store", "store"))
    )
    async with legation_up(folder, *flags) as running:
        yield running, port


async def test_an_edit_takes_effect_and_a_broken_one_keeps_the_last_good_state(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    async with AsyncExitStack() as all_of_it:
        one = await all_of_it.enter_async_context(http_backend("one"))
        two = await all_of_it.enter_async_context(http_backend("two"))
        running, port = await all_of_it.enter_async_context(shop(tmp_path, one.port))
        await served(port, "one")
        (tmp_path / "b.yaml").write_text(service("other", two.port))
        good = path.read_text().replace("name: store, port: 80", "name: other, port: 80")
        path.write_text(good)
        begun = time.perf_counter()
        await served(port, "two")
        print(f"served after {(time.perf_counter() - begun) * 1000:.0f} ms")  # noqa: T201  # for the reader
        path.write_text(good.replace("hostnames: [shop.example]", "hostnames: [shop.example"))
        assert "a.yaml" in (await running.logged("not read"))["where"]
        assert (await ask(port, headers=SHOP)).body == "two"
        path.write_text(good)
        await running.logged("no longer not read")


async def test_a_link_to_the_folder_is_followed_when_it_comes_to_lead_elsewhere(tmp_path: Path) -> None:
    current, new = tmp_path / "current", tmp_path / "new"
    for release in ("first", "second"):
        (tmp_path / release).mkdir()
    current.symlink_to("first")
    async with AsyncExitStack() as all_of_it:
        one = await all_of_it.enter_async_context(http_backend("one"))
        two = await all_of_it.enter_async_context(http_backend("two"))
        _, port = await all_of_it.enter_async_context(shop(current, one.port))
        await served(port, "one")
        text = (tmp_path / "first" / "a.yaml").read_text()
        (tmp_path / "second" / "a.yaml").write_text(text.replace(str(one.port), str(two.port)))
        new.symlink_to("second")
        new.replace(current)
        await served(port, "two")


async def test_an_envoy_that_was_killed_is_back_with_its_configuration(tmp_path: Path) -> None:
    async with http_backend("one") as one, shop(tmp_path, one.port) as (running, port):
        await served(port, "one")
        [pid] = await running.pids()
        os.kill(pid, signal.SIGKILL)
        begun = time.perf_counter()
        await eventually(lambda: not is_alive(pid))
        await served(port, "one")
        print(f"back after {(time.perf_counter() - begun) * 1000:.0f} ms")  # noqa: T201  # for the reader
        assert await running.pids() != [pid]


@contextmanager
def inherited(what: signal.Handlers) -> Iterator[None]:
    """Have whoever is started meanwhile begin with this for the case that a terminal is closed."""
    before = signal.signal(signal.SIGHUP, what)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def heedful() -> Iterator[None]:
    """Have whoever is started heed it, though these tests may run by `nohup`."""
    with inherited(signal.SIG_DFL):
        yield


@pytest.mark.usefixtures("heedful")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
async def test_a_request_in_flight_is_finished_before_the_end(tmp_path: Path, ending: signal.Signals) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await go_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nslow")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(slow, "127.0.0.1", 0)
    async with server, shop(tmp_path, server.sockets[0].getsockname()[1]) as (running, port):
        await running.logged("programmed")
        [pid] = await running.pids()
        async with asyncio.timeout(SERVED_WITHIN), asyncio.TaskGroup() as tasks:
            answer = tasks.create_task(ask(port, headers=SHOP))
            await arrived.wait()
            running.process.send_signal(ending)
            await running.logged("draining")
            assert is_alive(pid)
            go_on.set()
        await running.process.wait()
    assert answer.result().body == "slow"
    assert running.process.returncode == 0
    assert not is_alive(pid)


async def test_a_terminal_that_is_closed_ends_nothing_that_was_told_to_ignore_it(tmp_path: Path) -> None:
    with inherited(signal.SIG_IGN):
        async with http_backend("one") as one, shop(tmp_path, one.port) as (running, _):
            running.process.send_signal(signal.SIGHUP)
            await running.overview()  # it has heard of the signal by now
            assert "draining" not in {entry.get("event") for entry in running.entries()}


async def test_a_port_that_somebody_has_is_named_with_a_remedy_and_served_once_it_is_free(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", port)))
        async with legation_up(tmp_path) as running:
            why = (await running.logged("refused"))["why"]
            taken.close()
            assert (await running.logged("programmed"))["at"] == f"127.0.0.1:{port}"
    assert f"infra/edge:{port} (listener p{port})" in why
    assert "Address already in use" in why
    assert "--port-offset" in why


async def test_two_gateways_exchange_their_ports_in_one_edit(tmp_path: Path) -> None:
    one, other = free_port(), free_port()
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", one), gateway("rim", other)))
    async with legation_up(tmp_path) as running:

        async def are_programmed_at(*expected: int) -> bool:
            programmed = [
                each.bound
                for each in (await running.overview()).gateways
                if each.programmed is not None and each.programmed.status == "True"
            ]
            return programmed == [(f"127.0.0.1:{port}",) for port in expected]

        await until(lambda: are_programmed_at(one, other), within=SERVED_WITHIN)
        (tmp_path / "a.yaml").write_text(
            together(LEGATION_CLASS, gateway("edge", other), gateway("rim", one))
        )
        await until(lambda: are_programmed_at(other, one), within=SERVED_WITHIN)


async def test_of_two_gateways_at_one_port_the_first_is_served_and_the_other_told_so(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", port), gateway("rim", port)))
    async with legation_up(tmp_path) as running:
        assert "taken by Gateway infra/edge" in (await running.logged("refused"))["why"]
        assert (await running.logged("programmed"))["gateway"] == "infra/edge"
        assert "Envoy rejected" not in {entry.get("event") for entry in running.entries()}


async def test_two_of_us_do_not_share_a_port_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", free_port())))
    async with legation_up(tmp_path) as first:
        await first.logged("programmed")
        async with legation_up(tmp_path) as second:
            assert "Address already in use" in (await second.logged("refused"))["why"]


async def test_an_envoy_that_somebody_else_runs_is_served(tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_text(Authority("a root").pem)
    folder = tmp_path / "shop"
    folder.mkdir()
    async with (
        http_backend("one") as one,
        shop(folder, one.port, "--no-envoy", "--xds", "127.0.0.1:0") as (up, port),
    ):
        xds = (await up.logged("xDS port"))["address"].rpartition(":")[2]
        written = STATIC.read_text().replace("port_value: 18000", f"port_value: {xds}")
        bootstrap = yaml.safe_load(written.replace("/etc/ssl/certs/ca-certificates.crt", str(roots)))
        del bootstrap["admin"]  # the harness has its own
        async with running_envoy(bootstrap, "--service-cluster", "infra/edge", "--service-node", "edge-1"):
            await served(port, "one")

            async def holds_everything() -> bool:
                [edge] = (await up.overview()).gateways
                assert edge.process is None
                return [(envoy.node, envoy.current) for envoy in edge.envoys] == [("edge-1", True)]

            await until(holds_everything, within=SERVED_WITHIN)


async def test_an_envoy_gets_only_what_its_certificate_names(tmp_path: Path) -> None:
    authority = Authority("xds")
    folder = tmp_path / "shop"
    folder.mkdir()
    server = _files(tmp_path, "server", authority.issue(dns=["localhost"]))
    ours, theirs = (
        _files(
            tmp_path, name, authority.issue(uri=[f"spiffe://legation/ns/infra/gateway/{name}"], eku=[CLIENT])
        )
        for name in ("edge", "other")
    )
    (tmp_path / "ca.crt").write_text(authority.pem)
    tls = [
        "--xds-cert",
        str(server[0]),
        "--xds-key",
        str(server[1]),
        "--xds-client-ca",
        str(tmp_path / "ca.crt"),
    ]
    async with (
        http_backend("one") as one,
        shop(folder, one.port, "--no-envoy", "--xds", "127.0.0.1:0", *tls) as (
            up,
            port,
        ),
    ):
        xds = (await up.logged("xDS port"))["address"].rpartition(":")[2]
        async with running_envoy(await _bootstrap(tmp_path, xds, *theirs), wait_ready=False):
            assert "certificate is not for Gateway infra/edge" in (await up.logged("turned away"))["why"]
        async with running_envoy(await _bootstrap(tmp_path, xds, *ours)):
            await served(port, "one")


async def _bootstrap(folder: Path, port: str, certificate: Path, key: Path) -> dict[str, object]:
    """Have the command write what this Envoy is started with."""
    tls = ["--tls-cert", str(certificate), "--tls-key", str(key), "--tls-ca", str(folder / "ca.crt")]
    code, out, err = await run(
        "bootstrap", "-o", "json", "--gateway", "infra/edge", "--xds", f"localhost:{port}", *tls
    )
    assert code == 0, err
    made: dict[str, object] = json.loads(out)
    del made["admin"]  # the harness has its own
    return made


def _files(folder: Path, name: str, issued: Issued) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_text(issued.chain_pem)
    key.write_text(issued.key_pem)
    return certificate, key


async def test_a_check_ends_with_zero_once_every_gateway_is_programmed(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", port)))
    code, out, err = await run("up", str(tmp_path), "--check", "--admin", "127.0.0.1:0")
    assert code == 0, out + err
    assert "infra/edge" in out
    assert f"127.0.0.1:{port}" in out
    assert "Programmed" in out


async def test_a_check_ends_with_one_when_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        together(LEGATION_CLASS, gateway("edge", free_port()), route("store", "nowhere"))
    )
    code, out, _ = await run("up", str(tmp_path), "--check", "--admin", "127.0.0.1:0")
    assert code == 1
    assert "HTTPRoute shop/store" in out
    assert "BackendNotFound" in out


async def test_a_check_ends_with_one_when_a_policy_may_be_hidden(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, gateway("edge", free_port())))
    (tmp_path / "b.yaml").write_text("kind: [BackendTLSPolicy")
    code, out, _ = await run("up", str(tmp_path), "--check", "--admin", "127.0.0.1:0")
    assert code == 1
    assert "may hold a BackendTLSPolicy" in out
