"""Whom commands ask: manifests, a process, replicas through an API server, or whoever is there."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from msgspec import structs

from legation.addresses import HostPort
from legation.admin.maps import Question
from legation.admin.metrics import Telemetry
from legation.admin.server import AdminPort, answering
from legation.answers import FROM_NO_PAGE, Answers, Told
from legation.cli import asking
from legation.cli.overviews import together as as_one
from legation.folder import Folder, read
from legation.standing import Envoy, Overview, Standing, as_json
from legation.workbench import Workbench
from tests.k8s_watch.faulty_api import write_kubeconfig
from tests.legation import whole_cluster
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import free_port, run
from tests.legation.test_admin import standing_of
from tests.legation.test_cli import run as run_here
from xds_server.hub import Hub

SHOP = together(LEGATION_CLASS, gateway("edge", 80), route("store", "store"))
FINE = together(LEGATION_CLASS, gateway("edge", 80), service("store", 8080), route("store", "store"))
COMMANDS = (("status",), ("check",), ("audit",), ("explain", "httproute/shop/store"))
ADDRESSED_TO = "cluster.example"  # a name, as API servers pass it on to pods


class Cluster:
    """An API server of which only pods can be asked, and what is behind their ports."""

    def __init__(self) -> None:
        self.pods: dict[str, tuple[int, bool]] = {}
        self.refuses: dict[str, int] = {}  # with which code, by the path's last step
        self.kubeconfig = ""
        self.rest = whole_cluster.Cluster()

    def app(self) -> web.Application:
        """Answer lists of pods, and what is asked of one of them."""
        app = web.Application()
        app.add_routes([
            web.get("/api/v1/namespaces/legation-system/pods", self._list),
            web.get("/api/v1/namespaces/elsewhere/pods", self._nobody),
            web.get("/api/v1/namespaces/login/pods", self._login),
            web.get("/api/v1/namespaces/legation-system/pods/{pod}/proxy/{path:.*}", self._pass_on),
            web.route("*", "/{path:.*}", self.rest.answer),
        ])  # fmt: skip
        return app

    async def _nobody(self, _: web.Request) -> web.Response:
        return web.json_response({"items": []})

    async def _login(self, _: web.Request) -> web.Response:
        return web.Response(text="<html>log in first</html>", content_type="text/html")

    async def _list(self, request: web.Request) -> web.Response:
        if (code := self.refuses.get("pods")) is not None:
            return web.json_response({"message": "pods is forbidden", "code": code}, status=code)
        assert request.query["labelSelector"] == "app.kubernetes.io/name=legation"
        return web.json_response({"items": [_pod(name, *each) for name, each in self.pods.items()]})

    async def _pass_on(self, request: web.Request) -> web.Response:
        scheme, pod, port = request.match_info["pod"].split(":")
        if (code := self.refuses.get(pod)) is not None:
            return web.json_response({"message": f"{pod} is away", "code": code}, status=code)
        headers = {"Host": ADDRESSED_TO, **{name: request.headers[name] for name in FROM_NO_PAGE}}
        url = f"{scheme}://127.0.0.1:{port}/{request.match_info['path']}?{request.query_string}"
        async with ClientSession() as session, session.get(url, headers=headers) as answer:
            return web.Response(status=answer.status, body=await answer.read())


def _pod(name: str, port: int, ready: bool) -> dict[str, object]:  # noqa: FBT001  # as it is kept
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"ports": [{"name": "admin", "containerPort": port}]}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A cluster without pods, and a kubeconfig for it."""
    cluster = Cluster()
    runner = web.AppRunner(cluster.app())
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server = f"http://127.0.0.1:{runner.addresses[0][1]}"
        cluster.kubeconfig = str(write_kubeconfig(tmp_path, server))
        yield cluster
    finally:
        await runner.cleanup()


@asynccontextmanager
async def admin_port(text: str, at: int = 0) -> AsyncIterator[int]:
    """Have somebody answer who read these manifests."""
    folder, workbench, standing = Folder(), Workbench(), Standing(Hub(lambda _: None), dict)
    folder.take("a.yaml", read(text, "a.yaml"))
    standing.take(workbench.work(folder.changes()))

    async def ask(question: Question) -> bytes | None:
        return question(workbench.world)

    port = AdminPort(standing, Telemetry(), frozenset({"localhost"}), ask=ask)
    async with answering(port, HostPort("127.0.0.1", at)) as number:
        yield number


async def here(*arguments: str) -> tuple[int, str, str]:
    """Run a command in a thread of this process, beside the servers that it asks."""
    return await asyncio.to_thread(run_here, *arguments)


async def test_each_command_asks_the_cluster_that_is_named(cluster: Cluster) -> None:
    async with admin_port(FINE) as port:
        cluster.pods = {"legation-1": (port, True), "legation-2": (1, False)}
        asked = [await run(*each, "--kubeconfig", cluster.kubeconfig, "-o", "json") for each in COMMANDS]
    assert [(code, err) for code, _, err in asked] == [(0, "")] * len(COMMANDS)
    status, found, hops, explained = (json.loads(out) for _, out, _ in asked)
    assert [each["name"] for each in status["gateways"]] == ["infra/edge"]
    assert [(each["check"], each["object"]) for each in found] == [("proxy-absent", "Gateway infra/edge")]
    assert [each["proof"]["backend"] for each in hops] == ["shop/store:80"]
    assert (explained["served"], explained["object"]["name"]) == (True, "store")


@pytest.mark.parametrize(("command", "code"), [("status", 1), ("check", 1), ("audit", 0), ("explain", 1)])
async def test_the_exit_code_is_the_same_for_a_cluster_as_for_manifests(
    command: str, code: int, cluster: Cluster
) -> None:
    async with admin_port(SHOP) as port:
        cluster.pods = {"legation-1": (port, True)}
        what = ("httproute/shop/store",) if command == "explain" else ()
        assert (await here(command, *what, "--kubeconfig", cluster.kubeconfig))[0] == code


async def test_check_names_what_the_cluster_lacks_also_where_no_replica_answers(cluster: Cluster) -> None:
    cluster.rest.unserved = {"gatewayclasses"}
    async with admin_port(FINE) as port:
        cluster.pods = {"legation-1": (port, True)}
        code, out, _ = await here("check", "--kubeconfig", cluster.kubeconfig)
    assert (code, "GatewayClass is served in none of" in out) == (1, True)
    cluster.pods = {}
    code, out, err = await here("check", "--kubeconfig", cluster.kubeconfig)
    assert (code, out, "GatewayClass is served in none of" in err) == (2, "", True)


async def test_a_replica_that_does_not_answer_is_named_and_the_others_are_enough(cluster: Cluster) -> None:
    async with admin_port(FINE) as port:
        cluster.pods = {"legation-1": (port, True), "legation-2": (port, True)}
        cluster.refuses = {"legation-1": 503}
        code, out, err = await here("status", "--kubeconfig", cluster.kubeconfig)
    assert (code, "infra/edge" in out) == (0, True)
    assert "a replica does not answer: 503: legation-1 is away" in err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("refuses", "flags", "words"),
    [
        ({"pods": 403}, (), ("pods is forbidden", "pods/proxy", "docs/tools.md")),
        ({"pods": 401}, (), ("log in to the cluster again",)),
        ({"legation-1": 503}, (), ("is away", "networkPolicy.adminFrom", "--admin")),
        ({"legation-1": 404}, (), ("the version of `legation` that is installed there",)),
        ({}, ("--namespace", "elsewhere"), ("namespace elsewhere", "with --namespace")),
        ({}, ("--namespace", "login"), ("what answers is no API server", "log in to the cluster again")),
        ({}, ("--context", "nowhere"), ("no way to a cluster", "nowhere", "--kubeconfig")),
    ],
)
async def test_what_is_in_the_way_to_a_cluster_is_said_with_what_helps(
    command: tuple[str, ...],
    refuses: dict[str, int],
    flags: tuple[str, ...],
    words: tuple[str, ...],
    cluster: Cluster,
) -> None:
    cluster.pods, cluster.refuses = {"legation-1": (1, True)}, refuses
    code, out, err = await here(*command, "--kubeconfig", cluster.kubeconfig, *flags)
    assert (code, out) == (1 if command == ("audit",) else 2, "")
    assert [each for each in words if each not in err] == []
    assert "Traceback" not in err


async def test_where_replicas_are_not_ready_it_is_said_how_to_look_at_them(cluster: Cluster) -> None:
    cluster.pods = {"legation-1": (1, False)}
    code, _, err = await here("status", "--kubeconfig", cluster.kubeconfig)
    assert code == 2
    assert "kubectl get pods --namespace legation-system" in err


async def test_where_nothing_is_named_a_process_on_this_machine_comes_before_the_cluster(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", cluster.kubeconfig)
    async with admin_port(SHOP) as there, admin_port(FINE) as ours:
        cluster.pods = {"legation-1": (there, True)}
        for port, code in ((ours, 0), (free_port(), 1)):
            monkeypatch.setattr(asking, "ADMIN", HostPort("127.0.0.1", port))
            assert (await here("check"))[0] == code


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        (("status",), "start it, name --admin"),
        (("check",), "name manifests, --admin"),
        (("explain", "httproute/shop/store"), "name manifests, --admin"),
    ],
)
async def test_where_nothing_is_named_and_nobody_is_there_both_are_named_with_what_that_command_takes(
    command: tuple[str, ...], instead: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
    monkeypatch.setattr(asking, "ADMIN", HostPort("127.0.0.1", port))
    code, out, err = await here(*command)
    assert (code, out) == (2, "")
    words = " ".join(err.split())
    for each in (
        instead,
        f"127.0.0.1:{port}",
        str(tmp_path / "nowhere"),
        "--admin HOST:PORT",
        "--kubeconfig",
    ):
        assert each in words


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", ".", "--admin", "127.0.0.1:1"),
        ("audit", ".", "--namespace", "legation-system"),
        ("status", "--admin", "127.0.0.1:1", "--context", "here"),
    ],
)
def test_two_to_ask_are_one_too_many(arguments: tuple[str, ...]) -> None:
    code, out, err = run_here(*arguments)
    assert (code, out) == (1 if arguments[0] == "audit" else 2, "")
    assert "cannot be asked at once" in err


def test_what_replicas_say_is_one_overview_with_the_envoys_of_all() -> None:
    overview = standing_of(FINE).overview()

    def said(node: str) -> bytes:
        envoy = Envoy(node, "10.0.0.1:1", 1.0, current=True, versions={})
        gateways = tuple(structs.replace(each, envoys=(envoy,)) for each in overview.gateways)
        return as_json(structs.replace(overview, gateways=gateways))

    [gateway_] = as_one(Answers((Told("legation-1", said("a")), Told("legation-2", said("b"))))).gateways
    assert [(each.node, each.replica) for each in gateway_.envoys] == [
        ("a", "legation-1"),
        ("b", "legation-2"),
    ]


async def test_what_another_version_finds_is_not_guessed_at() -> None:
    async def status(_: web.Request) -> web.Response:
        return web.Response(body=as_json(Overview("0", True, (), (), (), ())))  # noqa: FBT003  # it is ready

    async def findings(_: web.Request) -> web.Response:
        return web.json_response({"findings": []})

    app = web.Application()
    app.add_routes([web.get("/api/v1/status", status), web.get("/api/v1/findings", findings)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        code, out, err = await here("check", "--admin", f"127.0.0.1:{runner.addresses[0][1]}")
    finally:
        await runner.cleanup()
    assert (code, out) == (2, "")
    assert "use the same version" in err
