"""What one Gateway shows to a backend is no other Gateway's to show, though they lead to the same."""

from envoy.config.cluster.v3 import cluster_pb2

from tests.messages import opened
from tests.worlds import Put, after, encoded, thing
from translator.envoy.resource import CLUSTER, SECRET
from translator.names import Name
from translator.translate import Resources, translate

HOP = "shop/a:443+a"  # the cluster for requests to a Service that a policy targets
LISTENER = {"name": "a", "port": 80, "protocol": "HTTP"}
PAIR = {"tls.crt": encoded("edge"), "tls.key": encoded("edge.key")}
ROUTE = {
    "parentRefs": [{"name": name} for name in "abc"],
    "rules": [{"backendRefs": [{"name": "a", "port": 443}]}],
}


def gateway(name: str, tls: dict[str, object] | None = None) -> Put:
    spec = {"gatewayClassName": "a", "listeners": [LISTENER], **({"tls": tls} if tls else {})}
    return thing("Gateway", "shop", name, spec=spec)


def showing(secret: str) -> dict[str, object]:
    return {"backend": {"clientCertificateRef": {"name": secret}}}


def shown(resources: Resources) -> list[str]:
    """Return the secrets that are shown to the backend."""
    cluster = cluster_pb2.Cluster.FromString(resources[CLUSTER][HOP].body)
    common = opened(cluster.transport_socket.typed_config).common_tls_context
    return [each.name for each in common.tls_certificate_sds_secret_configs]


def test_each_gateway_shows_its_own_certificate_and_gets_no_others() -> None:
    world = after((
        gateway("a", showing("a")),
        gateway("b", showing("b")),
        gateway("c"),
        thing("Secret", "shop", "b", type="kubernetes.io/tls", data=PAIR),
        thing("HTTPRoute", "shop", "a", spec=ROUTE),
    ))  # fmt: skip
    served = translate(world).gateways
    told = {name.name: (shown(resources), sorted(resources[SECRET])) for name, resources in served.items()}
    assert told == {
        "a": (["certificate/shop/a"], ["certificate/shop/a", "trust/shop/a"]),
        "b": (["certificate/shop/b"], ["certificate/shop/b", "trust/shop/a"]),
        "c": ([], ["trust/shop/a"]),
    }


def test_a_gateway_that_cannot_show_what_it_should_takes_nothing_from_the_others() -> None:
    world = after((
        gateway("a", showing("a")),
        gateway("b", showing("absent")),
        thing("HTTPRoute", "shop", "a", spec=ROUTE),
    ))  # fmt: skip
    served = translate(world).gateways
    failing = cluster_pb2.Cluster.FromString(served[Name("shop", "b")][CLUSTER][HOP].body)
    assert failing.type == cluster_pb2.Cluster.STATIC
    assert not failing.load_assignment.endpoints
    assert shown(served[Name("shop", "a")]) == ["certificate/shop/a"]
