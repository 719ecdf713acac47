"""Informers against a real API server that is killed, pauses, forgets, and no longer knows who we are."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from string import Template
from urllib.request import Request, urlopen

import pytest

from e2e.churn import Churn, sizes
from e2e.cluster.control_plane import API_SERVER, ETCD
from e2e.cluster.network import NODE_ADDRESS
from e2e.cluster.own import Own
from e2e.cluster.place import here
from e2e.kubectl import apply, kubectl
from e2e.outages import away, paused
from e2e.watched import SETTLED_WITHIN, Scene, becomes, define, fails, held, meanwhile, undefine
from k8s_watch.answers import Bookmark, Page
from k8s_watch.api_server import ApiServer, in_cluster, kubeconfig
from k8s_watch.change import Gone
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import List, Watch
from k8s_watch.reader import Limits, Reader, Where
from k8s_watch.writer import Writer
from tests.k8s_watch.listener import Widget
from tests.link import Link, linked

PORT = 6443
SILENCE = 4.0  # seconds without a byte until a watch is given up, in tests that wait for that
SLACK = 20.0  # on a busy machine; without that limit, it would take minutes
IMPATIENT = Limits(connect=2.0, watch_silence=SILENCE)
SHORT = Limits(watch=(4, 5))  # watches that the server soon ends in good order
FORGOTTEN_WITHIN = 120.0  # the API server remembers for a while whom it knew

READER = Template("""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [$group], resources: [widgets], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: $namespace}]
""")


@pytest.fixture
def widgets(namespace: str) -> Iterator[Kind[Widget]]:
    """A kind that nobody else uses."""
    kind = Kind(f"{namespace}.example.com", ("v1",), "widgets", Widget)
    define(kind)
    yield kind
    undefine(kind)


@pytest.fixture
async def scene(widgets: Kind[Widget], namespace: str) -> AsyncIterator[Scene]:
    """Somebody who writes, and nobody who is told yet."""
    async with AsyncExitStack() as closing:
        server = await closing.enter_async_context(ApiServer(kubeconfig(os.environ["KUBECONFIG"])))
        yield Scene(widgets, namespace, server, closing)


def over(link: Link, folder: Path) -> ApiServer:
    """Reach the API server by a link."""
    access = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    access["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{link.port}"
    (folder / "linked").write_text(json.dumps(access))
    return ApiServer(kubeconfig(str(folder / "linked")))


def lists_of(kind: Kind[Widget]) -> int:
    """Count the lists that the API server was asked for, by what it says itself."""
    labels = (f'group="{kind.group}"', 'verb="LIST"')
    lines = kubectl("get", "--raw=/metrics").splitlines()
    counted = (line for line in lines if line.startswith("apiserver_request_total{"))
    return sum(int(line.rpartition(" ")[2]) for line in counted if all(label in line for label in labels))


def compact() -> None:
    """Have etcd forget all that was before its newest revision."""
    revision = ask_etcd("maintenance/status", {})["header"]["revision"]
    ask_etcd("kv/compaction", {"revision": revision, "physical": True})


def ask_etcd(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
    """Ask etcd, which speaks JSON, too."""
    request = Request(f"{ETCD}/v3/{path}", json.dumps(body).encode())  # noqa: S310  http, as written there
    with urlopen(request, timeout=30) as answer:  # noqa: S310  as above
        told: dict[str, dict[str, str]] = json.load(answer)
    return told


def prove(folder: Path, namespace: str) -> None:
    """Put a new token of a service account where a pod would find it, as a kubelet does: all at once."""
    (folder / "new").write_text(kubectl("create", "token", "reader", "--namespace", namespace))
    (folder / "new").rename(folder / "token")


@pytest.mark.usefixtures("cluster")
async def test_a_list_is_streamed_and_every_single_change_is_told_once(scene: Scene) -> None:
    await scene.churn.write(20)
    informer, told = await scene.informs()
    await told.until(lambda: told.synced == 1, SETTLED_WITHIN)
    assert informer.held == len(scene.churn.there)
    lists = informer.lists  # more than one, if the API server was not ready yet for a kind so new
    before = {name: len(made) for name, made in scene.churn.made.items()}
    await scene.churn.write(200)
    await scene.ends_well(told)
    for name, made in scene.churn.made.items():
        assert sizes(told.changes, name) == made[before[name] - 1 :], name
    assert informer.lists == lists
    assert await asyncio.to_thread(lists_of, scene.kind) == 1, "nobody but the test itself has listed"


async def test_a_killed_api_server_costs_no_change(own: Own, scene: Scene) -> None:
    informer, told = await scene.informs()
    fetched = await scene.fetches()
    async with meanwhile(scene.churn.write(240)):
        await becomes(lambda: scene.churn.done >= 60 and told.synced == 1)
        async with away(own, API_SERVER):
            await fails(informer, 0)
    await scene.ends_well(told)
    await scene.ends_well(fetched)
    await becomes(lambda: informer.failure is None)  # the server asks for some seconds while it starts


async def test_an_api_server_that_pauses_is_noticed_in_time_and_costs_no_change(
    own: Own, scene: Scene
) -> None:
    informer, told = await scene.informs(IMPATIENT)
    async with meanwhile(scene.churn.write(240)):
        await becomes(lambda: scene.churn.done >= 60 and told.synced == 1)
        with paused(own, API_SERVER):
            await fails(informer, 0, within=SILENCE + SLACK)
    await scene.ends_well(told)


@pytest.mark.usefixtures("inside")
async def test_a_connection_that_nobody_closed_and_nothing_comes_through_is_noticed_in_time(
    scene: Scene, tmp_path: Path
) -> None:
    async with linked(NODE_ADDRESS, PORT) as link, over(link, tmp_path) as server:
        informer, told = await scene.informs(IMPATIENT, server)
        await scene.churn.write(30)
        await scene.ends_well(told)
        lists = informer.lists
        link.silence()
        async with meanwhile(scene.churn.write(60)):
            await fails(informer, 0, within=SILENCE + SLACK)
        link.mend()
        await scene.ends_well(told)
        assert informer.lists == lists, "a watch goes on where it was"


async def test_what_happened_while_we_were_away_is_told_even_if_the_api_server_has_forgotten_it(
    own: Own, scene: Scene, tmp_path: Path
) -> None:
    async with linked(NODE_ADDRESS, PORT) as link, over(link, tmp_path) as server:
        informer, told = await scene.informs(server=server)
        await scene.churn.write(30)
        await scene.ends_well(told)
        lists = informer.lists
        link.cut()
        gone = sorted(scene.churn.there)[:3]
        for name in gone:
            await scene.churn.change(name, None)
        await scene.churn.change("newcomer", 1)
        await asyncio.to_thread(compact)
        await asyncio.to_thread(own.restart, API_SERVER)  # it remembers for itself what etcd has forgotten
        link.mend()
        await scene.ends_well(told)
        assert {Gone(ObjectName(scene.namespace, name)) for name in gone} <= set(told.changes[-4:])
        assert informer.failures[410] >= 1
        assert informer.lists > lists, "nothing else would tell what etcd has forgotten"


@pytest.mark.usefixtures("inside")
async def test_who_is_no_longer_known_goes_on_with_the_next_token(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", NODE_ADDRESS)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(PORT))
    account = ("serviceaccount", "reader", "--namespace", scene.namespace)
    apply(scene.namespace, READER.substitute(group=scene.kind.group, namespace=scene.namespace))
    kubectl("create", *account)
    prove(tmp_path, scene.namespace)
    pod = in_cluster(str(tmp_path / "token"), str(here().keys / "ca.crt"))
    async with ApiServer(pod) as server:
        informer, told = await scene.informs(SHORT, server)
        await scene.churn.write(30)
        await scene.ends_well(told)
        kubectl("delete", *account)
        kubectl("create", *account)
        async with meanwhile(scene.churn.write(60)):
            await fails(informer, 401, within=FORGOTTEN_WITHIN)
        await scene.churn.write(30)
        assert held(told) != scene.churn.there, "whom the API server does not know, it tells nothing"
        prove(tmp_path, scene.namespace)
        await scene.ends_well(told)
        assert informer.failure is None


@pytest.mark.usefixtures("cluster")
async def test_a_kind_that_is_deleted_and_made_anew_is_told_so(scene: Scene) -> None:
    informer, told = await scene.informs()
    await scene.churn.write(30)
    await scene.ends_well(told)
    await asyncio.to_thread(undefine, scene.kind)
    scene.churn.forget()
    await told.until(lambda: told.absent == 1, SETTLED_WITHIN)
    assert held(told) == {}
    assert informer.failure is None
    await asyncio.to_thread(define, scene.kind)
    await scene.churn.write(30)
    await scene.ends_well(told)
    await asyncio.to_thread(undefine, scene.kind)  # and at once
    scene.churn.forget()
    await asyncio.to_thread(define, scene.kind)
    await scene.churn.write(10)
    await scene.ends_well(told)


@pytest.mark.usefixtures("cluster")
async def test_a_quiet_watch_is_told_how_far_everything_else_has_come(scene: Scene) -> None:
    await scene.churn.write(5)
    informer, told = await scene.informs(SHORT)
    await told.until(lambda: told.synced == 1, SETTLED_WITHIN)
    lists = informer.lists
    reader, where = Reader(scene.server, SHORT), Where(scene.kind, informer.api_version, scene.namespace)
    elsewhere = Churn(Writer(scene.server, "test"), scene.kind, "default")
    page = await reader.page(where, List(whole=True))
    assert isinstance(page, Page)
    await elsewhere.write(50)
    bookmarks: list[int] = []
    async with asyncio.timeout(SETTLED_WITHIN):
        while not bookmarks:  # a watch so short may end before the API server comes to that
            answers = [answer async for each in reader.watch(where, Watch(page.version)) for answer in each]
            bookmarks = [int(answer.version) for answer in answers if isinstance(answer, Bookmark)]
    assert bookmarks == sorted(bookmarks)
    assert bookmarks[-1] > int(page.version)
    await scene.churn.write(5)
    await scene.ends_well(told)
    assert informer.lists == lists
