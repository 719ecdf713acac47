"""In which order a replica that begins to lead sees to proxies, in a scripted API server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, ItemsView
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import msgspec
import pytest
from cryptography import x509
from msgspec import structs
from structlog.testing import capture_logs

from k8s_watch.api_server import ApiServer
from k8s_watch.change import Put
from k8s_watch.kind import ObjectName
from k8s_watch.reader import Reader
from k8s_watch.writer import Writer
from legation.addresses import HostPort
from legation.channel.authority import SKEW, Credential
from legation.channel.identity_secrets import leaf_of
from legation.channel.revocation import AHEAD, oldest_valid
from legation.channel.rotation import renewed_roots
from legation.proxies import keeper as keeper_module
from legation.proxies.keeper import AT_ONCE, LOOK_AGAIN, Keeper, Tell
from legation.proxies.made import SORTS, Found, Key, Ledger, Metadata
from legation.proxies.managed import Environment
from legation.proxies.wanted import Wanted
from legation.proxies.ways import Ways
from tests.k8s_watch.faults import refusing
from tests.k8s_watch.faulty_api import SOON, FaultyApi, serving
from tests.k8s_watch.listener import reached
from tests.looking import eventually
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.provenance import TracedMeta
from translator.objects.secret import Secret
from translator.rules.identities import REVOKED_BEFORE
from translator.rules.managed import settle

ENVIRONMENT = Environment(HostPort("xds.test", 18000), "xds.test", "envoyproxy/envoy:v1.40.0")


def wanted(name: str, **labels: str) -> Wanted:
    metadata = {"name": name, "namespace": "shop", "uid": name}
    spec = {"gatewayClassName": "legation", "listeners": [], "infrastructure": {"labels": labels}}
    return Wanted(msgspec.convert({"metadata": metadata, "spec": spec}, Gateway), (), settle())


@asynccontextmanager
async def keeping(
    api: FaultyApi, folder: Path, tell: Tell = lambda _gateway, _trouble: None
) -> AsyncIterator[Keeper]:
    """Have somebody who can keep proxies in a cluster, and does not yet."""
    api.roots |= {
        f"/apis/{sort.group}/{sort.version}" if sort.group else "/api/v1" for sort in SORTS.values()
    }
    api.kinds |= {sort.plural for sort in SORTS.values()}
    roots = renewed_roots((), datetime.now(UTC))
    async with serving(api), reached(api, folder) as server, asyncio.timeout(SOON):
        yield Keeper(ways_to(server), ENVIRONMENT, lambda: roots, tell)


def ways_to(server: ApiServer) -> Ways:
    """Read and write under our name."""
    return Ways(Reader(server), Writer(server, "legation.dev/gateway-controller"))


async def test_a_gateway_without_proxies_does_not_wait_for_those_that_have_some(tmp_path: Path) -> None:
    api = FaultyApi()
    old = [f"old-{number}" for number in range(2 * AT_ONCE)]
    for name in old:
        await api.put(f"legation-{name}", "deployments", labels={"app.kubernetes.io/managed-by": "legation"})
    async with keeping(api, tmp_path) as keeper:
        keeper.take({Name("shop", name): wanted(name) for name in (*old, "new")})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            await api.until(lambda: ("secrets", "shop", "legation-new") in api.objects)
            made = sum(key[0] == "secrets" for key in api.objects)
            running.cancel()
    assert made <= AT_ONCE


def revoking(moment: datetime) -> dict[str, object]:
    """Write the metadata of a Gateway whose owner takes identities back, by a clock of his own."""
    return {"annotations": {REVOKED_BEFORE: moment.isoformat()}}


def made(moment: datetime) -> dict[str, object]:
    """Write the metadata of a Gateway that was made then, by the API server's clock."""
    return {"creationTimestamp": moment.isoformat()}


async def issued(folder: Path, metadata: dict[str, object]) -> tuple[Gateway, Credential]:
    """Return a Gateway of which this is said, and the identity that its Envoys are given."""
    api, secret = FaultyApi(), ("secrets", "shop", "legation-edge")
    asked = wanted("edge")
    known = msgspec.to_builtins(asked.gateway.metadata) | metadata
    gateway = structs.replace(asked.gateway, metadata=msgspec.convert(known, TracedMeta))
    async with keeping(api, folder) as keeper:
        keeper.take({Name("shop", "edge"): structs.replace(asked, gateway=gateway)})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            await api.until(lambda: secret in api.objects)
            running.cancel()
    leaf = leaf_of(msgspec.convert(api.objects[secret], Secret))
    assert leaf is not None
    return gateway, leaf


@pytest.mark.parametrize("metadata", [revoking, made])
async def test_an_identity_that_is_issued_counts_also_where_somebodys_clock_is_ahead_of_ours(
    tmp_path: Path, metadata: Callable[[datetime], dict[str, object]]
) -> None:
    moment = datetime.now(UTC).replace(microsecond=0) + SKEW - AHEAD / 2
    gateway, leaf = await issued(tmp_path, metadata(moment))
    assert leaf.lifetime.since >= oldest_valid(gateway, moment)
    assert (SKEW - AHEAD).total_seconds() > LOOK_AGAIN, "else such a moment may come between two looks"


@pytest.mark.parametrize("ahead", [AHEAD / 2, SKEW, SKEW + AHEAD / 2])
async def test_an_identity_is_valid_as_soon_as_it_is_issued(tmp_path: Path, ahead: timedelta) -> None:
    moment = datetime.now(UTC).replace(microsecond=0) + ahead
    _, leaf = await issued(tmp_path, revoking(moment))
    certificate = x509.load_pem_x509_certificate(leaf.certificate.encode())
    assert certificate.not_valid_before_utc <= datetime.now(UTC)


async def test_who_leads_no_longer_says_no_more_that_something_is_in_the_way(tmp_path: Path) -> None:
    api, told = FaultyApi(), dict[Name, str]()
    api.fail("write", refusing(403, "you may not"))
    async with keeping(api, tmp_path, told.__setitem__) as keeper:
        keeper.take({Name("shop", "edge"): wanted("edge")})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            await eventually(lambda: "you may not" in told.get(Name("shop", "edge"), ""))
            running.cancel()
    assert told == {Name("shop", "edge"): ""}, "another may have mended it, and would not tell us"


class ReadBesideTheLoop(dict[str, str]):
    """What a Gateway asks of its objects, which waits until an event loop has gone on meanwhile."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop
        self.went_on: list[bool] = []

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]  # it is one that nobody can name
        """Note whether the loop had a turn while this was read; on the loop itself it has none."""
        turn = Event()
        self.loop.call_soon_threadsafe(turn.set)
        self.went_on.append(turn.wait(SOON / 4))
        return super().items()


async def test_manifests_are_written_beside_the_event_loop(tmp_path: Path) -> None:
    api, asked = FaultyApi(), wanted("edge")
    annotations = ReadBesideTheLoop(asyncio.get_running_loop())
    assert asked.gateway.spec.infrastructure is not None
    infrastructure = structs.replace(asked.gateway.spec.infrastructure, annotations=annotations)
    spec = structs.replace(asked.gateway.spec, infrastructure=infrastructure)
    asked = structs.replace(asked, gateway=structs.replace(asked.gateway, spec=spec))
    async with keeping(api, tmp_path) as keeper:
        keeper.take({Name("shop", "edge"): asked})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            await api.until(lambda: ("deployments", "shop", "legation-edge") in api.objects)
            running.cancel()
    assert annotations.went_on == [True]


async def test_what_a_gateway_asks_of_its_objects_is_asked_of_its_identity_too(tmp_path: Path) -> None:
    api, secret = FaultyApi(), ("secrets", "shop", "legation-edge")

    def labels() -> list[str]:
        """Return what the identity was labelled by, each time that it was applied."""
        bodies = [
            json.loads(seen.body)
            for seen in api.requests
            if seen.sort == "write" and seen.path.endswith("/secrets/legation-edge")
        ]
        return [body["metadata"]["labels"]["team"] for body in bodies]

    async with keeping(api, tmp_path) as keeper:
        keeper.take({Name("shop", "edge"): wanted("edge", team="one")})
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            await api.until(lambda: ("deployments", "shop", "legation-edge") in api.objects)
            first = api.objects[secret]["data"]
            keeper.take({Name("shop", "edge"): wanted("edge", team="two")})
            await api.until(lambda: labels() == ["one", "two"])
            running.cancel()
    assert api.objects[secret]["data"] == first, "it is the same identity"


async def test_what_keeps_it_from_knowing_what_there_is_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "COMPLAIN_AFTER", 0.05)
    api = FaultyApi()
    async with keeping(api, tmp_path) as keeper:
        api.fail("find", refusing(403, "you may not"))
        with capture_logs() as said:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(keeper.run())
                await eventually(lambda: any("you may not" in each.get("why", "") for each in said))
                running.cancel()
    assert {each["why"] for each in said if "you may not" in each.get("why", "")} == {"403: you may not"}


async def test_a_deployment_that_somebody_changes_before_it_was_seen_is_not_as_it_was_applied(
    tmp_path: Path,
) -> None:
    api, ledger, key = FaultyApi(), Ledger(), Key("Deployment", Name("shop", "legation-edge"))
    api.roots, api.kinds = api.roots | {"/apis/apps/v1"}, api.kinds | {"deployments"}
    body = b'{"metadata":{"name":"legation-edge","namespace":"shop"},"spec":{"replicas":2}}'
    async with serving(api), reached(api, tmp_path) as server, asyncio.timeout(SOON):
        await ways_to(server).keep(ledger, key, body, Ref("Gateway", Name("shop", "edge")))
    assert ledger.is_applied(key, body)
    changed = Put(ObjectName(*key.name), "1000", Found(Metadata(generation=2)))
    assert ledger.learn("Deployment", [changed]) == {key.name}
