"""Whatever a hostile tenant writes into a real API server: it takes all of it, and nobody else is harmed."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from string import Template
from typing import Any, NamedTuple

import pytest

from e2e.beside import CRD, replica, told
from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import WITHIN, RefusedError, apply, kubectl, namespaced, read, wait_for
from e2e.test_events import events
from e2e.test_run import CLASS, OURS, bootstrap
from tests.legation.running import Legation, free_port
from tests.loopback import ask, http_backend
from tests.poison.effort import resident
from tests.poison.hostile import some_of_each_kind
from tests.poison.spells import TENANT
from tests.poison.test_quarantine import COSTLY, SPARING, answers
from tests.real_envoy import RunningEnvoy, running_envoy, until
from translator.objects.kinds import as_manifest
from translator.objects.references import GATEWAY_GROUP

pytestmark = pytest.mark.usefixtures("inside")

OF_EACH_KIND = 9
NOT_HERE = frozenset({"ServiceImport"})  # kinds that this cluster does not have
HTTP_ROUTES = "httproutes,grpcroutes"
WITH_STATUS = "httproutes,grpcroutes,tlsroutes,tcproutes,udproutes,listenersets,gateways"
AUTHOR = re.compile(r"(\w+Route) [a-z0-9-]+/(drawn-\d+) rule ")
HUGE = {
    f"example.com/{number}": "%x{}\u202e" * 5_000 for number in range(6)
}  # with its keys, 256 KiB hold it
MANY = 100
FAILED = 500
MOST_GROWTH = 128  # MiB that one tenant's objects may take of a replica
SHOP = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: $namespace
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: $port, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec: {ports: [{name: http, port: 80, targetPort: $backend}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: store, labels: {kubernetes.io/service-name: store}}
addressType: IPv4
ports: [{name: http, port: $backend}]
endpoints: [{addresses: [$address]}]
""")
ROUTE = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $name}
spec:
  parentRefs: [{name: edge}]
  hostnames: [$host]
  rules: [{matches: [{path: $path}], backendRefs: [{name: store, port: 80}]}]
""")
GROUND = """
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {ports: [{name: a, port: 80}, {name: b, port: 443}]}
"""  # which the tenant's routes lead to
ANY_PATH = "{value: /}"


class Mall(NamedTuple):
    """A shop whose requests go on, and the namespace of a hostile tenant beside it."""

    shop: str
    tenant: str
    running: Legation
    envoy: RunningEnvoy
    port: int

    async def route(self, name: str, host: str, path: str = ANY_PATH) -> None:
        """Have a route of the shop be so."""
        written = ROUTE.substitute(name=name, host=host, path=path)
        await asyncio.to_thread(apply, self.shop, written)


@asynccontextmanager
async def mall(shop: str, **envoys_own: object) -> AsyncIterator[Mall]:
    """Serve the shop by an Envoy; of its requests, none may be answered wrongly until the end."""
    port, xds = free_port(), free_port()
    kubectl("apply", "--server-side", "--filename", str(CRD))
    wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=shop))
    async with AsyncExitStack() as stack:
        stack.callback(kubectl, "delete", "gatewayclass", shop)
        tenant = stack.enter_context(namespaced())
        backend = await stack.enter_async_context(http_backend("store", host=NODE_ADDRESS))
        apply(shop, SHOP.substitute(namespace=shop, port=port, backend=backend.port, address=NODE_ADDRESS))
        running = await stack.enter_async_context(replica(shop, xds, others=[tenant]))
        started = {key: each for key, each in (await bootstrap(shop, xds)).items() if key != "statsConfig"}
        envoy = await stack.enter_async_context(running_envoy(started | envoys_own, wait_ready=False))
        place = Mall(shop, tenant, running, envoy, port)
        for name in ("quiet", "late"):  # before the tenant's: who comes first keeps a hostname
            await place.route(name, f"{name}.example")
            await answers(port, f"{name}.example")
        await stack.enter_async_context(asking(port))
        yield place


@asynccontextmanager
async def asking(port: int) -> AsyncIterator[None]:
    """Ask for the shop all the while; nothing but its own answer may come."""
    said = Counter[str]()

    async def without_end() -> None:
        while True:
            said[(await ask(port, headers={"host": "quiet.example"})).body] += 1

    traffic = asyncio.create_task(without_end())
    try:
        yield
        assert not traffic.done(), traffic
    finally:
        traffic.cancel()
        await asyncio.wait([traffic])
    assert said.keys() == {"store"}
    assert said["store"] > MANY


def drawn(place: Mall) -> list[dict[str, Any]]:
    """Draw what a tenant may write, of every kind, always the same, for the shop's Gateway."""
    written = [as_manifest(each) for each in some_of_each_kind(OF_EACH_KIND)]
    here = [each for each in written if each["kind"] not in NOT_HERE]
    return [renamed(each, number, place) for number, each in enumerate(here)]


def renamed(manifest: dict[str, object], number: int, place: Mall) -> dict[str, Any]:
    """Give an object a name of its own in the tenant's namespace, and every fifth huge annotations."""
    text = json.dumps(manifest)
    names = {TENANT: place.tenant, "infra": place.shop, "quiet": place.shop, "shared": "edge"}
    for name, its in (names | {"legation": place.shop}).items():
        text = text.replace(f'"{name}"', f'"{its}"')
    moved: dict[str, Any] = json.loads(text)
    annotations = HUGE if number % 5 == 0 else {}
    metadata = {"name": f"drawn-{number}", "namespace": place.tenant, "annotations": annotations}
    return {**moved, "metadata": metadata}


def written(manifests: Sequence[dict[str, Any]]) -> str:
    """Write them all; return what the API server has against some of them."""
    everything = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    try:
        kubectl("create", "--filename=-", given=everything)  # as JSON; what is applied is read as YAML
    except RefusedError as refused:
        return str(refused)
    return ""


def there(place: Mall, kinds: str) -> list[dict[str, Any]]:
    """Read the tenant's objects."""
    found: list[dict[str, Any]] = read(kinds, "--namespace", place.tenant)["items"]
    return found


def entries(thing: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Return what we say of an object: lists of conditions."""
    status = thing.get("status", {})
    if thing["kind"] in {"Gateway", "ListenerSet"}:
        return [status.get("conditions", [])]
    return [each["conditions"] for each in status.get("parents", []) if each["controllerName"] == OURS]


def concerns(thing: dict[str, Any], place: Mall) -> bool:
    """Say whether an object is for the shop's Gateway, or is a Gateway of ours."""
    spec = thing["spec"]
    if thing["kind"] == "Gateway":
        return bool(spec["gatewayClassName"] == place.shop)
    refs = [spec["parentRef"]] if thing["kind"] == "ListenerSet" else spec.get("parentRefs", [])
    own = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": "edge", "namespace": place.shop}
    return any({"group": GATEWAY_GROUP, "kind": "Gateway", **ref}.items() >= own.items() for ref in refs)


def untold(place: Mall) -> list[str]:
    """Name the objects that concern us and whose newest generation nothing is said of."""
    return [
        f"{each['kind']} {each['metadata']['name']}"
        for each in there(place, WITH_STATUS)
        if concerns(each, place)
        and not any(
            said["observedGeneration"] == each["metadata"]["generation"]
            for some in entries(each)
            for said in some
        )
    ]


def accepted(place: Mall) -> set[tuple[str, str]]:
    """Name the routes that say that they are accepted."""
    return {
        (each["kind"], each["metadata"]["name"])
        for each in there(place, HTTP_ROUTES)
        for some in entries(each)
        if {"Accepted": "True"}.items() <= {said["type"]: said["status"] for said in some}.items()
    }


async def test_whatever_a_tenant_writes_is_served_or_says_why_not_and_breaks_nothing(namespace: str) -> None:
    async with mall(namespace) as place:
        before, manifests = resident(place.running.process.pid), drawn(place)
        assert len({each["kind"] for each in manifests}) > 12
        refused = await asyncio.to_thread(written, manifests)
        await asyncio.to_thread(apply, place.tenant, GROUND)
        of_ours = [each for each in manifests if each["apiVersion"].startswith(GATEWAY_GROUP)]
        kinds = ",".join(sorted({f"{each['kind']}.{GATEWAY_GROUP}".lower() for each in of_ours}))
        assert len(there(place, kinds)) == len(of_ours), refused
        await place.route("late", "changed.example")
        await answers(place.port, "changed.example")
        await told(lambda: untold(place) == [])
        await until(lambda: as_told(place), within=WITHIN)
        assert resident(place.running.process.pid) < before + MOST_GROWTH
        assert [entry for entry in place.running.entries() if "mistake" in entry.get("event", "")] == []


async def as_told(place: Mall) -> bool:
    """Say whether the Envoy has what says that it is accepted, and answers all else by an error."""
    told_so = await asyncio.to_thread(accepted, place)
    _, dump = await place.envoy.get("/config_dump?resource=dynamic_route_configs")
    made = [*of_authors(json.loads(dump))]
    served = {route for route, is_error in made if not is_error}
    return served <= told_so <= {route for route, _ in made}


def of_authors(part: Any) -> Iterator[tuple[tuple[str, str], bool]]:  # noqa: ANN401  JSON
    """Yield the tenant's route of which each entry of a table was made, and whether it is an error."""
    if isinstance(part, dict) and "match" in part and (found := AUTHOR.match(part.get("name", ""))):
        yield (found[1], found[2]), part.get("direct_response", {}).get("status", 0) >= FAILED
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from of_authors(each)


def said_of(place: Mall, name: str) -> list[tuple[str, str, str]]:
    """Read type, reason and message of what a route of the shop is told."""
    [parent] = read("httproute", name, "--namespace", place.shop)["status"]["parents"]
    return [(each["type"], each["reason"], each["message"]) for each in parent["conditions"]]


def held_back(place: Mall) -> bool:
    """Say whether the route says that an Envoy refuses its pattern."""
    found = said_of(place, "costly")
    return any(
        (type_, reason) == ("PartiallyInvalid", "RefusedByEnvoy") and COSTLY in message
        for type_, reason, message in found
    )


async def test_what_only_an_envoy_refuses_is_held_back_alone_told_and_healed(namespace: str) -> None:
    sparing = {"layers": [{"name": "sparing", "staticLayer": SPARING}]}
    async with mall(namespace, layeredRuntime=sparing) as place:
        await place.route("costly", "costly.example")
        await answers(place.port, "costly.example")
        await place.route("costly", "costly.example", f'{{type: RegularExpression, value: "{COSTLY}"}}')
        await told(lambda: held_back(place))
        await told(lambda: ("Warning", "RefusedByEnvoy", "costly") in events(place.shop))
        assert (await ask(place.port, headers={"host": "costly.example"})).body == "store"
        await place.route("late", "changed.example")
        await answers(place.port, "changed.example")
        assert not any(reason == "RefusedByEnvoy" for _, reason, _ in said_of(place, "late"))
        await place.route("costly", "mended.example")
        await answers(place.port, "mended.example")
        await told(lambda: not held_back(place))
        await told(lambda: ("Normal", "Recovered", "costly") in events(place.shop))
