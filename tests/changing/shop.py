"""A shop in one moment: what it is written as, and what visitors must be answered then."""

import json
from collections.abc import Iterator, Mapping
from string import Template

from msgspec import Struct

from tests.handshakes.traffic import Answers
from tests.pki import Authority, Issued

NAMES = ("store.internal", "shop.internal")  # each pod's certificate has both
PLAIN, SECURE, SPARE = "plain", "secure", "spare"  # ports; two listeners share the second
TELLS = "number.test"  # a host that is redirected to the shop's number
NOT_FOUND, FAILS, UNAVAILABLE = 404, 500, 503

Json = dict[str, object]


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


class Rule(Struct, frozen=True):
    """What becomes of the requests below a path."""

    path: str
    shares: tuple[tuple[str, int], ...]  # stores, and their weights
    header: int = 0  # which a filter sets


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
    spare: bool = False  # there is one more listener
    certificate: int = 0  # which of the certificates HTTPS listeners show
    number: int = 0  # that a redirect tells, so that whoever asks knows what Envoy has


class Grounds(Struct, frozen=True):
    """What stays."""

    pods: Mapping[str, Pod]
    roots: Mapping[str, Authority]
    certificates: tuple[Issued, ...]
    ports: Mapping[str, int]


def right(shop: Shop, pods: Mapping[str, Pod], visited: Visited) -> Answers:
    """Say by whom, or how, a request may be answered."""
    rules = shop.sites.get(visited.host, ())
    fitting = [rule for rule in rules if (visited.path + "/").startswith(rule.path.rstrip("/") + "/")]
    if not fitting:
        return frozenset({NOT_FOUND})
    shares = [name for name, weight in max(fitting, key=lambda rule: len(rule.path)).shares if weight]
    if not shares:
        return frozenset({FAILS})
    return frozenset().union(*(_of_store(shop.stores[name], pods) for name in shares))


def _of_store(store: Store, pods: Mapping[str, Pod]) -> Answers:
    if not store.pods:
        return frozenset({UNAVAILABLE})
    return frozenset().union(*(_of_pod(pods[name], store.trusts) for name in store.pods))


def _of_pod(pod: Pod, trusts: frozenset[str]) -> Answers:
    if pod.authority in trusts:
        return frozenset({pod.name})
    return frozenset({pod.name, UNAVAILABLE} if pod.lasting else {UNAVAILABLE})


CONSTANT = """\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: legation}
spec: {controllerName: legation.dev/gateway-controller}
"""
GATEWAY = Template("""\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: legation, listeners: $listeners}
""")
ROUTE = Template("""\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $name, namespace: shop}
spec: {parentRefs: [{name: edge}], hostnames: [$host], rules: $rules}
""")
STORE = Template("""\
apiVersion: v1
kind: Service
metadata: {name: $name, namespace: shop}
spec: {ports: [{name: main, port: 443}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: $name, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: $name}]
  validation: {hostname: $hostname, caCertificateRefs: [{group: "", kind: ConfigMap, name: $name}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: $name, namespace: shop}
data: {ca.crt: $roots}
""")
SLICE = Template("""\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: $store-$pod, namespace: shop, labels: {kubernetes.io/service-name: $store}}
addressType: IPv4
ports: [{name: main, port: $port}]
endpoints: [{addresses: [127.0.0.1]}]
""")
SECRET = Template("""\
apiVersion: v1
kind: Secret
metadata: {name: shown, namespace: shop}
type: kubernetes.io/tls
stringData: {tls.crt: $chain, tls.key: $key}
""")


def written(shop: Shop, grounds: Grounds) -> str:
    """Write a shop as manifests."""
    return "---\n".join((CONSTANT, *_documents(shop, grounds)))


def _documents(shop: Shop, grounds: Grounds) -> Iterator[str]:
    yield GATEWAY.substitute(listeners=json.dumps(list(_listeners(shop, grounds.ports))))
    shown = grounds.certificates[shop.certificate]
    yield SECRET.substitute(chain=json.dumps(shown.chain_pem), key=json.dumps(shown.key_pem))
    for name, store in shop.stores.items():
        roots = json.dumps("".join(grounds.roots[each].pem for each in sorted(store.trusts)))
        yield STORE.substitute(name=name, hostname=store.hostname, roots=roots)
        for pod in store.pods:
            yield SLICE.substitute(store=name, pod=pod, port=grounds.pods[pod].port)
    for host, rules in shop.sites.items():
        yield _route(host, [_rule(rule) for rule in rules])
    yield _route(TELLS, [_telling(shop.number)])


def _listeners(shop: Shop, ports: Mapping[str, int]) -> Iterator[Json]:
    yield {"name": PLAIN, "port": ports[PLAIN], "protocol": "HTTP"}
    tls = {"certificateRefs": [{"name": "shown"}]}
    for name, hostname in zip(("first", "second"), shop.names, strict=True):
        yield {"name": name, "port": ports[SECURE], "protocol": "HTTPS", "hostname": hostname, "tls": tls}
    if shop.spare:
        yield {"name": SPARE, "port": ports[SPARE], "protocol": "HTTP", "hostname": "spare.test"}


def _route(host: str, rules: list[Json]) -> str:
    return ROUTE.substitute(name=host.replace(".", "-"), host=host, rules=json.dumps(rules))


def _rule(rule: Rule) -> Json:
    changed = {"set": [{"name": "x-number", "value": str(rule.header)}]}
    return {
        "matches": [{"path": {"type": "PathPrefix", "value": rule.path}}],
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": changed}],
        "backendRefs": [{"name": name, "port": 443, "weight": weight} for name, weight in rule.shares],
    }


def _telling(number: int) -> Json:
    path = {"type": "ReplaceFullPath", "replaceFullPath": f"/{number}"}
    return {"filters": [{"type": "RequestRedirect", "requestRedirect": {"path": path}}]}
