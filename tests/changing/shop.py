"""A shop in one moment: what it is written as, and what visitors must be answered then."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from tests.handshakes.manifests import (
    NAMESPACE,
    Json,
    config_map,
    edge,
    manifest,
    policy,
    route,
    service,
    tls_secret,
)
from tests.handshakes.traffic import Answers
from tests.loopback import LOOPBACK
from tests.pki import Authority, Issued

NAMES = ("store.internal", "shop.internal")  # each pod's certificate has both
PORTS = (443, 8443)  # of a Service; endpoints serve both
PLAIN, SECURE, SPARE, ASIDE = "plain", "secure", "spare", "aside"  # ports; two listeners share the second
SHARING = ("first", "second")  # those two
TELLS = "number.test"  # a host that is redirected to the shop's number
FOUND, NOT_FOUND, FAILS, UNAVAILABLE = 302, 404, 500, 503
REDIRECT = "redirect"


def _filter(kind: str, **said: object) -> Json:
    field = FIELDS.get(kind) or kind[0].lower() + kind[1:]
    return {"type": kind, field: said}


FIELDS = MappingProxyType({"URLRewrite": "urlRewrite", "CORS": "cors"})
EXTRAS: Mapping[str, tuple[Json, ...]] = MappingProxyType(
    {
        "nothing": (),
        "response": (_filter("ResponseHeaderModifier", add=[{"name": "x-more", "value": "1"}]),),
        "rewrite": (_filter("URLRewrite", hostname="inside.test"),),
        "origins": (_filter("CORS", allowOrigins=["https://other.test"]),),
        REDIRECT: (_filter("RequestRedirect", hostname="elsewhere.test"),),
    }
)
OPTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType({
    "none": {},
    "newer": {"min-tls-version": "1.3"},
    "older": {"max-tls-version": "1.2"},
    "curve": {"curves": "P-256"},
})  # fmt: skip


class Pod(Struct, frozen=True):
    """A backend that is always there, whether a Service leads to it or not."""

    name: str
    port: int
    authority: str  # that its certificate is from
    lasting: bool  # connections serve more than one request, and outlive the policy that they began under


class Store(Struct, frozen=True):
    """A Service with its policy."""

    pods: tuple[str, ...]
    trusts: frozenset[str]
    hostname: str = NAMES[0]
    alternatives: bool = False  # names of the certificate are listed, and replace the hostname as proof
    options: str = "none"  # one of OPTIONS
    policy: int | None = 0  # which one there is, of those that it had
    port: int = PORTS[0]


class Rule(Struct, frozen=True):
    """What becomes of the requests below a path."""

    path: str
    shares: tuple[tuple[str, int], ...]  # stores, and their weights
    header: int = 0  # which a filter sets
    extra: str = "nothing"  # one of EXTRAS
    timeout: int = 60  # seconds
    copied_to: str = ""  # a store that is sent a copy


class Visited(Struct, frozen=True):
    """Where a visitor goes again and again."""

    port: str
    host: str
    path: str


class Shop(Struct, frozen=True):
    """Everything that can change."""

    stores: Mapping[str, Store]
    sites: Mapping[str, tuple[Rule, ...]]  # by host; each is a route
    names: tuple[str, str]  # of the first and the second HTTPS listener
    spare: str = ""  # the port of one more listener, if there is one
    certificate: int = 0  # which of the certificates the first HTTPS listener shows; the second has the next
    number: int = 0  # that a redirect tells, so that whoever asks knows what Envoy has


class Grounds(Struct, frozen=True):
    """What stays."""

    pods: Mapping[str, Pod]
    roots: Mapping[str, Authority]
    certificates: tuple[Issued, ...]
    ports: Mapping[str, int]
    address: str = LOOPBACK  # of the pods


Judge = Callable[[Shop, Mapping[str, Pod], Visited], Answers]


def right(shop: Shop, pods: Mapping[str, Pod], visited: Visited) -> Answers:
    """Say by whom, or how, a request may be answered."""
    rules = shop.sites.get(visited.host, ())
    fitting = [rule for rule in rules if (visited.path + "/").startswith(rule.path.rstrip("/") + "/")]
    if not fitting:
        return frozenset({NOT_FOUND})
    rule = max(fitting, key=lambda rule: len(rule.path))
    if rule.extra == REDIRECT:
        return frozenset({FOUND})
    shares = [name for name, weight in rule.shares if weight]
    if not shares:
        return frozenset({FAILS})
    return frozenset().union(*(_of_store(shop.stores[name], pods) for name in shares))


def sold(shop: Shop, pods: Mapping[str, Pod], visited: Visited) -> Answers:
    """Say how a request may be answered by whoever it is that sells: it need not be known who."""
    answers = right(shop, pods, visited)
    return frozenset(pods) if answers <= pods.keys() else answers


def _of_store(store: Store, pods: Mapping[str, Pod]) -> Answers:
    if store.policy is None:
        return frozenset({FAILS})
    if not store.pods:
        return frozenset({UNAVAILABLE})
    return frozenset().union(*(_of_pod(pods[name], store.trusts) for name in store.pods))


def _of_pod(pod: Pod, trusts: frozenset[str]) -> Answers:
    if pod.authority in trusts:
        return frozenset({pod.name})
    return frozenset({pod.name, UNAVAILABLE} if pod.lasting else {UNAVAILABLE})


def written(shop: Shop, grounds: Grounds) -> Iterator[Json]:
    """Write a shop as manifests; what others need comes before them."""
    for number, name in enumerate(SHARING, shop.certificate):
        yield tls_secret(name, grounds.certificates[number % len(grounds.certificates)])
    yield edge(*_listeners(shop, grounds.ports))
    for name, store in shop.stores.items():
        yield from _store(name, store, grounds)
    for host, rules in shop.sites.items():
        yield _route(host, [_rule(rule, shop) for rule in rules])
    yield _route(TELLS, [_telling(shop.number)])


def _store(name: str, store: Store, grounds: Grounds) -> Iterator[Json]:
    yield config_map(name, "".join(grounds.roots[each].pem for each in sorted(store.trusts)))
    if store.policy is not None:
        yield policy(f"{name}-{store.policy}", _validation(name, store), OPTIONS[store.options], name)
    for pod in store.pods:
        yield _slice(name, grounds.pods[pod], grounds.address)
    yield service(name, {store.port: "https"})  # last of all, for what goes, goes in reverse: it first


def _validation(name: str, store: Store) -> Json:
    roots = {"group": "", "kind": "ConfigMap", "name": name}
    names = [{"type": "Hostname", "hostname": each} for each in NAMES]
    more: Json = {"subjectAltNames": names} if store.alternatives else {}
    return {"hostname": store.hostname, "caCertificateRefs": [roots]} | more


def _slice(name: str, pod: Pod, address: str) -> Json:
    """Say that a pod serves every port that the Service may have."""
    made = manifest("EndpointSlice", f"{name}-{pod.name}", "discovery.k8s.io/v1", addressType="IPv4")
    made["metadata"] = {
        "name": f"{name}-{pod.name}",
        "namespace": NAMESPACE,
        "labels": {"kubernetes.io/service-name": name},
    }
    ports = [{"name": f"p{port}", "port": pod.port} for port in PORTS]
    return made | {"endpoints": [{"addresses": [address]}], "ports": ports}


def _listeners(shop: Shop, ports: Mapping[str, int]) -> Iterator[Json]:
    yield {"name": PLAIN, "port": ports[PLAIN], "protocol": "HTTP"}
    for name, hostname in zip(SHARING, shop.names, strict=True):
        tls = {"certificateRefs": [{"name": name}]}
        yield {"name": name, "port": ports[SECURE], "protocol": "HTTPS", "hostname": hostname, "tls": tls}
    if shop.spare:
        yield {"name": SPARE, "port": ports[shop.spare], "protocol": "HTTP", "hostname": "spare.test"}


def _route(host: str, rules: list[Json]) -> Json:
    return route("HTTPRoute", host.replace(".", "-"), [], hostnames=[host], rules=rules)


def _rule(rule: Rule, shop: Shop) -> Json:
    """Write a rule; what is redirected leads nowhere, and cannot be copied."""
    redirects = rule.extra == REDIRECT
    counted = _filter("RequestHeaderModifier", set=[{"name": "x-number", "value": str(rule.header)}])
    copied = _filter("RequestMirror", backendRef=_reference(rule.copied_to, shop)) if rule.copied_to else None
    leads = [_reference(name, shop) | {"weight": weight} for name, weight in rule.shares]
    return {
        "matches": [{"path": {"type": "PathPrefix", "value": rule.path}}],
        "filters": [counted, *EXTRAS[rule.extra], *([copied] if copied and not redirects else [])],
        "timeouts": {"request": f"{rule.timeout}s"},
        "backendRefs": [] if redirects else leads,
    }


def _reference(name: str, shop: Shop) -> Json:
    return {"name": name, "port": shop.stores[name].port}


def _telling(number: int) -> Json:
    path = {"type": "ReplaceFullPath", "replaceFullPath": f"/{number}"}
    return {"filters": [_filter("RequestRedirect", path=path)]}
