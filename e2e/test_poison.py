"""Whatever a hostile tenant writes into a real API server: it takes all of it, and nobody else is harmed."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from string import Template
from typing import Any, NamedTuple

import pytest
import yaml
from msgspec import structs

from e2e.beside import CRD, replica, told
from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import WITHIN, RefusedError, apply, kubectl, namespaced, read, wait_for
from e2e.test_backends import CRD as SERVICE_IMPORTS
from e2e.test_events import events
from e2e.test_run import CLASS, OURS, bootstrap
from tests.legation.running import Legation, free_port
from tests.loopback import ask, http_backend
from tests.poison.circles import all_circles
from tests.poison.effort import resident
from tests.poison.hostile import admitted, some_of_each_kind, the_same
from tests.poison.passers_by import asking
from tests.poison.pems import bad_writings, writings
from tests.poison.pems import manifests as bundles
from tests.poison.spells import TENANT
from tests.poison.test_quarantine import COSTLY, SPARING, answers
from tests.real_envoy import RunningEnvoy, running_envoy, until
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import KINDS, as_manifest
from translator.objects.references import GATEWAY_GROUP, ParentReference

pytestmark = pytest.mark.usefixtures("inside")

OF_EACH_KIND = 9
MORE_HTTP_ROUTES = 40
MORE_BUNDLES = 8  # beside those that are refused: a rule leads to 16 Services at the most
HTTP_ROUTES = "httproutes,grpcroutes"
ROUTES = f"{HTTP_ROUTES},tlsroutes,tcproutes,udproutes"
WITH_STATUS = f"{ROUTES},listenersets,gateways,backendtlspolicies,xbackends"
AUTHOR = re.compile(r"(\w+Route) [a-z0-9-]+/(drawn-\d+|all|r-\d+|trusting) rule ")
HUGE = {
    f"example.com/{number}": "%x{}\u202e" * 5_000 for number in range(6)
}  # with its keys, 256 KiB hold it
MANY = 100
FAILED = 500
MOST_GROWTH = 128  # MiB that one tenant's objects may take of a replica, or of an Envoy
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
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a"},
    "spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}]},
}  # which the tenant's routes lead to
BACKENDS = {
    "XBackend": {},
    "ServiceImport": {"port": 80},
}  # which are told, or asked for, by who leads to them
ANY_PATH = "{value: /}"
DOOR = (ParentReference(name="shared", namespace="infra"),)  # before it is renamed


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
        await stack.enter_async_context(asking(port, "quiet.example", more_than=MANY))
        yield place


def drawn(place: Mall) -> list[dict[str, Any]]:
    """Draw what a tenant may write, of every kind, and HTTPRoutes at the shop's door; always the same."""
    routes = the_same(MORE_HTTP_ROUTES, admitted([info for info in KINDS if info.type is HTTPRoute]))
    led = (
        structs.replace(each, spec=structs.replace(each.spec, parent_refs=DOOR))
        for each in routes
        if isinstance(each, HTTPRoute)
    )
    things = (*some_of_each_kind(OF_EACH_KIND), *led)
    alone = [renamed(as_manifest(each), number, place) for number, each in enumerate(things)]
    return [*alone, *(in_place(each, place) for each in (*all_circles(), *pasted()))]


def pasted() -> list[dict[str, Any]]:
    """Return Services whose roots are bundles that hostile and careless people paste, and what they show."""
    some = [*bad_writings(), *the_same(MORE_BUNDLES, writings())]
    return list(yaml.safe_load_all(bundles(some, free_port())))


def ground(place: Mall, manifests: Sequence[dict[str, Any]]) -> str:
    """Have what the tenant's routes lead to, and a route that leads to all backends that were drawn."""
    rules: dict[str, list[dict[str, Any]]] = {kind: [] for kind in BACKENDS}
    for each in manifests:
        if (kind := each["kind"]) in BACKENDS:
            group, name = each["apiVersion"].partition("/")[0], each["metadata"]["name"]
            rules[kind].append({"group": group, "kind": kind, "name": name, **BACKENDS[kind]})
    parent = {"name": "edge", "namespace": place.shop}
    route = {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "all"},
        "spec": {"parentRefs": [parent], "rules": [{"backendRefs": refs} for refs in rules.values()]},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [SERVICE, route]})


def renamed(manifest: dict[str, Any], number: int, place: Mall) -> dict[str, Any]:
    """Give an object a name of its own in the tenant's namespace, and every fifth huge annotations."""
    annotations = HUGE if number % 5 == 0 else {}
    metadata = {"name": f"drawn-{number}", "namespace": place.tenant, "annotations": annotations}
    return {**in_place(manifest, place), "metadata": metadata}


def in_place(manifest: dict[str, Any], place: Mall) -> dict[str, Any]:
    """Move an object, and what it refers to, into the tenant's namespace and the shop's."""
    text = json.dumps(manifest).replace(f".{TENANT}.svc.", f".{place.tenant}.svc.")
    names = {TENANT: place.tenant, "infra": place.shop, "quiet": place.shop, "shared": "edge"}
    for name, its in (names | {"legation": place.shop}).items():
        text = text.replace(f'"{name}"', f'"{its}"')
    moved: dict[str, Any] = json.loads(text)
    return {**moved, "metadata": {"name": moved["metadata"]["name"], "namespace": place.tenant}}


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
    told = (*status.get("parents", []), *status.get("ancestors", []))
    return [each["conditions"] for each in told if each["controllerName"] == OURS]


def concerns(thing: dict[str, Any], place: Mall) -> bool:
    """Say whether an object is for the shop's Gateway, or is a Gateway of ours, a policy or a backend."""
    spec = thing["spec"]
    if thing["kind"] in {"BackendTLSPolicy", "XBackend"}:
        return True
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


def named(thing: dict[str, Any]) -> tuple[str, str]:
    """Name an object."""
    return thing["kind"], thing["metadata"]["name"]


def says(thing: dict[str, Any], *conditions: tuple[str, str]) -> bool:
    """Say whether we say one of these of an object, by type and status."""
    return any((said["type"], said["status"]) in conditions for some in entries(thing) for said in some)


def is_accepted(route: dict[str, Any], shop: str) -> bool:
    """Say whether a route is told that the shop's Gateway accepts it; a tenant's own has no Envoy here."""
    parents = route.get("status", {}).get("parents", [])
    there = [each for each in parents if each["parentRef"].get("namespace") == shop]
    return says(route | {"status": {"parents": there}}, ("Accepted", "True"))


def is_refused(route: dict[str, Any]) -> bool:
    """Say whether a route is told that something of it is refused."""
    return says(route, ("Accepted", "False"), ("ResolvedRefs", "False"), ("PartiallyInvalid", "True"))


def lacks_backends(route: dict[str, Any]) -> bool:
    """Say whether a rule of a route leads nowhere by itself."""
    return not all(
        any(ref.get("weight", 1) for ref in rule.get("backendRefs", []))
        for rule in route["spec"].get("rules", [])
    )


@pytest.fixture
def imports(inside: None) -> Iterator[None]:  # noqa: ARG001  no cluster of somebody else may lose a kind
    """The cluster knows ServiceImports."""
    kubectl("apply", "--filename=-", given=SERVICE_IMPORTS)
    wait_for("default", "condition=Established", "crd/serviceimports.multicluster.x-k8s.io")
    yield
    kubectl("delete", "crd", "serviceimports.multicluster.x-k8s.io")


@pytest.mark.usefixtures("imports")
async def test_whatever_a_tenant_writes_is_served_or_says_why_not_and_breaks_nothing(namespace: str) -> None:
    async with mall(namespace) as place:
        running = (place.running.process, place.envoy.process)
        before, manifests = [resident(each.pid) for each in running], drawn(place)
        assert {each["kind"] for each in manifests} == {info.kind for info in KINDS if info.namespaced}
        refused = await asyncio.to_thread(written, manifests)
        await asyncio.to_thread(apply, place.tenant, ground(place, manifests))
        of_ours = [each for each in manifests if each["apiVersion"].startswith(GATEWAY_GROUP)]
        kinds = ",".join(sorted({f"{each['kind']}.{GATEWAY_GROUP}".lower() for each in of_ours}))
        assert len(there(place, kinds)) == len(of_ours) + 1, refused
        await place.route("late", "changed.example")
        await answers(place.port, "changed.example")
        await told(lambda: untold(place) == [])
        await until(lambda: as_told(place), within=WITHIN)
        assert [each.returncode for each in running] == [None, None]
        for each, had in zip(running, before, strict=True):
            assert resident(each.pid) < had + MOST_GROWTH
        assert [entry for entry in place.running.entries() if "mistake" in entry.get("event", "")] == []


async def as_told(place: Mall) -> bool:
    """Say whether the Envoy has what says that it is accepted, and answers all else by an error."""
    routes = await asyncio.to_thread(there, place, HTTP_ROUTES)
    told_so = {named(each) for each in routes if is_accepted(each, place.shop)}
    _, dump = await place.envoy.get("/config_dump?resource=dynamic_route_configs")
    made = [*of_authors(json.loads(dump))]
    served = {route for route, is_error in made if not is_error}
    failing = {route for route, is_error in made if is_error}
    explained = {named(each) for each in routes if is_refused(each) or lacks_backends(each)}
    return served <= told_so <= served | failing and failing <= explained


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
