"""The source in a cluster, over real HTTP: whole from the start, and only what is needed."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest_asyncio

from k8s_watch.change import Put as Seen
from k8s_watch.informer import PORTION
from k8s_watch.list_watch import CERTAIN
from k8s_watch.reader import Reader
from legation.change import Put, Stated
from legation.cluster import Batch, Cluster, Ears, Told
from legation.contact import Contact
from tests.k8s_watch.faults import Json, refusing
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import QUICK, reached, running
from tests.looking import eventually
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import KINDS
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES

GATEWAY: Json = {
    "gatewayClassName": "legation",
    "listeners": [
        {"name": "tls", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "edge"}]}}
    ],
}
ROUTE: Json = {"rules": [{"backendRefs": [{"name": "pay", "port": 443}]}]}
PORTS: Json = [{"port": 443}]
POLICY: Json = {
    "targetRefs": [{"group": "", "kind": "Service", "name": "pay"}],
    "validation": {
        "hostname": "pay.internal",
        "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "roots"}],
    },
}


class Pupil:
    """Who is told: every batch, and what there is by them."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.overheard: list[tuple[type, Told]] = []
        self._news = asyncio.Condition()

    def take(self, batch: Batch, _received: float) -> None:
        self.batches.append(batch)

    def overhear(self, kind: type, changes: Told) -> None:
        self.overheard.append((kind, changes))

    def has(self, kind: type, name: Name) -> bool:
        return (kind, name) in {key for batch in self.batches for key in keys(batch)}


def overheard(pupil: Pupil) -> list[tuple[type, list[Name]]]:
    """Say which objects were told of, handed on or not."""
    return [
        (kind, [Name(*each.name) for each in told if isinstance(each, Seen)])
        for kind, told in pupil.overheard
    ]


def keys(batch: Batch) -> Sequence[tuple[type, Name]]:
    return [(each.kind, each.name) for each in batch if isinstance(each, Put)]


def values(batches: Sequence[Batch], key: tuple[type, Name]) -> set[str]:
    """Say which values of a Secret came last with some batches."""
    changes = [each for batch in batches for each in batch if isinstance(each, Put)]
    found = [each.thing for each in changes if (each.kind, each.name) == key]
    return set(found[-1].data) if found and isinstance(found[-1], Secret) else set()


def until(pupil: Pupil, key: tuple[type, Name]) -> Sequence[Batch]:
    """Return the batches up to the first that has an object."""
    [first, *_] = [number for number, batch in enumerate(pupil.batches) if key in keys(batch)]
    return pupil.batches[: first + 1]


def pods(pupil: Pupil) -> list[int]:
    """Count the pods of each slice that was handed on."""
    changes = [each for batch in pupil.batches for each in batch if isinstance(each, Put)]
    return [len(each.thing.endpoints or ()) for each in changes if isinstance(each.thing, EndpointSlice)]


def gone(batches: Sequence[Batch]) -> set[str]:
    """Name the kinds of which objects went."""
    return {
        each.kind.__name__
        for batch in batches
        for each in batch
        if isinstance(each, Put) and each.thing is None
    }


def first_with(key: tuple[type, Name], pupil: Pupil) -> int:
    """Find the first batch in which an object is."""
    return next(number for number, batch in enumerate(pupil.batches) if key in keys(batch))


def facts(batch: Batch) -> list[bool]:
    return [each.value for each in batch if isinstance(each, Stated) and each.fact is CLUSTER_TRUST_BUNDLES]


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FaultyApi]:
    """A server with every kind that is watched, a Gateway with its certificate, and a Secret of others."""
    made = FaultyApi()
    made.roots = {f"/apis/{info.group}/{info.versions[0]}" for info in KINDS if info.group} | {"/api/v1"}
    made.kinds = {info.plural for info in KINDS}
    await made.put("edge", "gateways", "infra", spec=GATEWAY)
    for name in ("edge", "password"):
        await made.put(name, "secrets", "infra", data={"tls.crt": "eA==", "notes": "eA=="})
    async with serving(made):
        yield made


@asynccontextmanager
async def watching(api: FaultyApi, folder: Path) -> AsyncIterator[tuple[Cluster, Pupil]]:
    pupil = Pupil()
    async with reached(api, folder) as server:
        cluster = Cluster(Reader(server), Ears(pupil.take, pupil.overhear), pace=QUICK)
        async with running(cluster.run()):
            yield cluster, pupil


async def test_the_first_batch_is_whole_with_the_secrets_that_are_referred_to_and_no_others(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        assert set(keys(pupil.batches[0])) == {
            (Gateway, Name("infra", "edge")),
            (Secret, Name("infra", "edge")),
        }
        assert facts(pupil.batches[0]) == [True]
        assert cluster.lacks == ""
        assert cluster.api_version(Gateway) == "gateway.networking.k8s.io/v1"
    read = [seen.path for seen in api.requests if seen.sort == "get" and "/secrets/" in seen.path]
    assert read == ["/api/v1/namespaces/infra/secrets/edge"]


async def test_what_is_received_together_is_handed_on_together_though_it_is_much(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        for number in range(10 * PORTION):
            await api.put(f"slice-{number}", "endpointslices", addressType="IPv4", endpoints=[])
        last = EndpointSlice, Name("shop", f"slice-{10 * PORTION - 1}")
        await eventually(lambda: pupil.has(*last))
        told = [key for batch in pupil.batches for key in keys(batch) if key[0] is EndpointSlice]
        assert len(told) == len(set(told)) == 10 * PORTION
        assert sum(EndpointSlice in dict(keys(batch)) for batch in pupil.batches) < 6


async def test_a_policy_comes_together_with_what_it_trusts(api: FaultyApi, tmp_path: Path) -> None:
    await api.put("roots", "configmaps", data={"ca.crt": "x"})
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        await api.put("pay-tls", "backendtlspolicies", spec=POLICY)
        await eventually(lambda: pupil.has(BackendTLSPolicy, Name("shop", "pay-tls")))
        [batch] = [
            each for each in pupil.batches if (BackendTLSPolicy, Name("shop", "pay-tls")) in keys(each)
        ]
        assert (ConfigMap, Name("shop", "roots")) in keys(batch)


async def test_what_a_policy_might_be_about_waits_while_nobody_tells_of_policies(
    api: FaultyApi, tmp_path: Path
) -> None:
    shop, edge, pods = ((kind, Name("shop", "pay")) for kind in (HTTPRoute, Gateway, EndpointSlice))
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        await api.leave("backendtlspolicies")
        await eventually(lambda: "BackendTLSPolicy" in {each.kind for each in cluster.stale()})
        await api.put("pay", "httproutes", spec=ROUTE)
        await api.put("pay", "endpointslices", addressType="IPv4", endpoints=[])
        await eventually(lambda: pupil.has(*pods))
        await api.put("pay", "backendtlspolicies", spec=POLICY)
        await api.put("pay", "gateways", spec=GATEWAY)
        await eventually(lambda: (Gateway, [edge[1]]) in overheard(pupil))
        assert not pupil.has(*shop)
        assert not pupil.has(*edge)
        await api.leave()
        await eventually(lambda: pupil.has(*shop))
        assert pupil.has(BackendTLSPolicy, Name("shop", "pay"))


async def test_a_new_service_waits_for_its_policy_though_the_watch_of_policies_is_dead_and_nobody_said_so(
    api: FaultyApi, tmp_path: Path
) -> None:
    service, policy = (Service, Name("shop", "pay")), (BackendTLSPolicy, Name("shop", "pay"))
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        await api.hush("backendtlspolicies")
        await api.put("pay", "backendtlspolicies", spec=POLICY)
        await api.put("pay", "services", spec={"ports": PORTS})
        await api.put("pay", "endpointslices", addressType="IPv4", endpoints=[])
        await eventually(lambda: pupil.has(*service))
        endpoints = (EndpointSlice, Name("shop", "pay"))
        policy_in, pods_in, service_in = (first_with(each, pupil) for each in (policy, endpoints, service))
        assert policy_in <= service_in  # what is in one batch holds at once
        assert pods_in <= service_in


async def test_a_route_waits_for_its_service_though_the_watch_of_services_is_dead_and_nobody_said_so(
    api: FaultyApi, tmp_path: Path
) -> None:
    service, route = ((kind, Name("shop", "pay")) for kind in (Service, HTTPRoute))
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        await api.hush("services")
        await api.put("pay", "services", spec={"ports": PORTS})
        await api.put("pay", "httproutes", spec=ROUTE)
        await eventually(lambda: pupil.has(*route))
        assert first_with(service, pupil) <= first_with(route, pupil)
        assert cluster.stale() == ()


async def test_a_route_that_leads_to_nothing_is_handed_on_at_once(api: FaultyApi, tmp_path: Path) -> None:
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        await api.put("pay", "httproutes", spec=ROUTE)
        await eventually(lambda: pupil.has(HTTPRoute, Name("shop", "pay")))
        asked = [seen.path.rpartition("/v1/")[2] for seen in api.requests if seen.sort == "get"]
        assert "namespaces/shop/services/pay" in asked


async def test_a_route_is_handed_on_though_nobody_says_whether_its_service_is_there(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        api.fail("get", refusing(503, "too busy"))
        await api.put("pay", "httproutes", spec=ROUTE)
        await eventually(lambda: pupil.has(HTTPRoute, Name("shop", "pay")))


async def test_what_is_known_changes_though_nobody_can_say_whether_there_are_other_policies(
    api: FaultyApi, tmp_path: Path
) -> None:
    known, other = Name("shop", "known"), Name("shop", "other")
    await api.put("known", "httproutes", spec=ROUTE)
    await api.put("known", "endpointslices", addressType="IPv4", endpoints=[{"addresses": ["198.18.0.1"]}])
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        api.fail("list", refusing(503, "too busy"))
        await api.put("other", "httproutes", spec=ROUTE)
        await eventually(lambda: [each.kind for each in cluster.stale()] == ["BackendTLSPolicy"])
        asked = api.count("list")
        reweighed = json.loads(json.dumps(ROUTE).replace('"port"', '"weight": 7, "port"'))
        await api.put("known", "httproutes", spec=reweighed)
        await eventually(lambda: (HTTPRoute, known) in keys(pupil.batches[-1]) and len(pupil.batches) > 1)
        await api.until(lambda: api.count("list") > asked)
        await api.put("known", "endpointslices", addressType="IPv4", endpoints=[])
        await eventually(lambda: pods(pupil) == [1, 0])
        assert not pupil.has(HTTPRoute, other)
        api.faults.clear()
        await eventually(lambda: pupil.has(HTTPRoute, other))
        assert cluster.stale() == ()


async def test_nothing_is_handed_on_at_first_before_all_policies_are_certain_to_be_known(
    api: FaultyApi, tmp_path: Path
) -> None:
    api.fail("list", refusing(503, "too busy"))
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: cluster.lacks == "BackendTLSPolicy (503: too busy)")
        assert pupil.batches == []
        api.faults.clear()
        await eventually(lambda: bool(pupil.batches))
        assert (Gateway, Name("infra", "edge")) in keys(pupil.batches[0])


async def test_a_secret_that_begins_to_be_shown_comes_with_its_key_no_later_than_who_shows_it(
    api: FaultyApi, tmp_path: Path
) -> None:
    await api.put("roots", "secrets", data={"ca.crt": "eA==", "tls.crt": "eA==", "tls.key": "eA=="})
    trusting = json.loads(json.dumps(POLICY).replace("ConfigMap", "Secret"))
    await api.put("pay-tls", "backendtlspolicies", spec=trusting)
    roots, other = (Secret, Name("shop", "roots")), (Gateway, Name("shop", "other"))
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: pupil.has(*roots))
        assert values(pupil.batches, roots) == {"ca.crt"}
        showing = json.loads(json.dumps(GATEWAY).replace("edge", "roots"))
        await api.put("other", "gateways", spec=showing)
        await eventually(lambda: pupil.has(*other))
        assert values(until(pupil, other), roots) == {"ca.crt", "tls.crt", "tls.key"}


async def test_a_secret_of_another_namespace_is_not_asked_for_before_a_grant_permits_it(
    api: FaultyApi, tmp_path: Path
) -> None:
    await api.put("roots", "secrets", data={"tls.crt": "eA=="})
    ref = {"name": "roots", "namespace": "shop"}
    spec = json.loads(json.dumps(GATEWAY).replace('{"name": "edge"}', json.dumps(ref)))
    await api.put("edge", "gateways", "infra", spec=spec)
    origin: Json = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra"}
    granted: Json = {"from": [origin], "to": [{"group": "", "kind": "Secret"}]}
    roots, grant = (Secret, Name("shop", "roots")), (ReferenceGrant, Name("shop", "certificates"))
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        assert not [seen for seen in api.requests if seen.path.endswith("/secrets/roots")]
        await api.put("certificates", "referencegrants", spec=granted)
        await eventually(lambda: pupil.has(*grant))
        assert values(until(pupil, grant), roots) == {"tls.crt"}
        before = len(pupil.batches)
        await api.delete("certificates", "referencegrants")
        await eventually(lambda: len(pupil.batches) > before and grant in keys(pupil.batches[-1]))
        assert Put(*roots, None) in pupil.batches[-1]


async def test_a_kind_that_is_absent_is_said_to_be_and_noticed_when_it_comes(
    api: FaultyApi, tmp_path: Path
) -> None:
    api.kinds.remove("clustertrustbundles")
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
        assert facts(pupil.batches[0]) == [False]
        api.kinds.add("clustertrustbundles")
        await api.put("all", "clustertrustbundles", "", spec={"trustBundle": "x"})
        await eventually(lambda: pupil.has(ClusterTrustBundle, Name("", "all")))
        assert facts(pupil.batches[-1])[-1] is True


async def test_what_cannot_be_read_keeps_everything_back_and_is_named(api: FaultyApi, tmp_path: Path) -> None:
    api.fail("find", refusing(403, "you may not"))
    async with watching(api, tmp_path) as (cluster, pupil):
        await api.until(lambda: api.count("find") > 40)
        await eventually(lambda: "BackendTLSPolicy (403: you may not)" in cluster.lacks)
        assert pupil.batches == []
        api.faults.clear()
        await eventually(lambda: bool(pupil.batches))
        assert cluster.lacks == ""


async def test_a_lost_api_server_is_said_to_make_what_is_known_out_of_date(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        assert cluster.stale() == ()
        api.fail("watch", refusing(503, "no leader"))
        await api.end_watches()
        lost = {(info.kind, "503: no leader") for info in KINDS}
        await eventually(lambda: {(each.kind, each.why) for each in cluster.stale()} == lost)
        assert cluster.lacks == ""
        api.faults.clear()
        await eventually(lambda: cluster.stale() == ())
        assert {each.objects for each in cluster.contacts() if each.kind == "Secret"} == {2}


async def test_a_server_that_lost_its_memory_takes_nothing_away_before_it_is_certain_that_nothing_is_there(
    api: FaultyApi, tmp_path: Path
) -> None:
    await api.put("pay", "services", spec={"ports": PORTS})
    await api.put("pay", "httproutes", spec=ROUTE)
    there = ("gateways", "httproutes", "secrets", "services")
    async with watching(api, tmp_path) as (cluster, pupil):
        await eventually(lambda: bool(pupil.batches))
        known = len(pupil.batches)
        await api.lose_memory(CERTAIN - 1)
        await eventually(lambda: not any(api.blank[kind] for kind in there))
        await eventually(lambda: cluster.stale() == ())
        assert pupil.batches[known:] == []
        await api.lose_memory(CERTAIN)
        told = {"Gateway", "HTTPRoute", "Secret", "Service"}
        await eventually(lambda: gone(pupil.batches[known:]) == told)


async def test_what_was_never_read_is_lacking_and_not_out_of_date(api: FaultyApi, tmp_path: Path) -> None:
    api.fail("find", refusing(403, "you may not"))
    async with watching(api, tmp_path) as (cluster, _):
        await eventually(lambda: "you may not" in cluster.lacks)
        assert cluster.stale() == ()
        assert {each.heard for each in cluster.contacts()} == {float("inf")}


async def test_a_secret_that_may_not_be_read_is_out_of_date(api: FaultyApi, tmp_path: Path) -> None:
    api.fail("get", refusing(403, "you may not"))
    async with watching(api, tmp_path) as (cluster, _):
        await eventually(lambda: [each.kind for each in cluster.stale()] == ["Secret"])
        assert [each.why for each in cluster.stale()] == ["403: you may not"]


def secrets(cluster: Cluster) -> Contact:
    [found] = (each for each in cluster.contacts() if each.kind == "Secret")
    return found


async def test_a_secret_that_may_not_be_read_is_out_of_date_for_longer_whatever_is_heard_of_others(
    api: FaultyApi, tmp_path: Path
) -> None:
    api.fail("get", refusing(403, "you may not"))
    async with watching(api, tmp_path) as (cluster, _):
        await eventually(lambda: [each.kind for each in cluster.stale()] == ["Secret"])
        lost = asyncio.get_running_loop().time()
        await api.put("another", "secrets")
        await eventually(lambda: secrets(cluster).objects == 3)
        before = asyncio.get_running_loop().time()
        now = secrets(cluster)
        assert now.heard < asyncio.get_running_loop().time() - lost
        assert now.behind >= before - lost


async def test_every_single_change_is_overheard_with_its_version(api: FaultyApi, tmp_path: Path) -> None:
    async with watching(api, tmp_path) as (_, pupil):
        await eventually(lambda: bool(pupil.batches))
    told = [change for kind, changes in pupil.overheard if kind is Gateway for change in changes]
    assert [getattr(change, "version", None) for change in told] == ["101", None]
