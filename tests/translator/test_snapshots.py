"""What holds in every snapshot, whatever anybody wrote: read from the bytes that are served."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from envoy.config.listener.v3 import listener_components_pb2
from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.filters.udp.udp_proxy.v3 import route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import read, within
from tests.worlds import Put, after, puts, thing, worlds
from translator.envoy.clusters import REFUSED
from translator.envoy.proofs import Grade, is_weak, proof
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, Resource
from translator.envoy.upstream_tls import SYSTEM_ROOTS
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.kinds import name_of
from translator.objects.service import Service, ServicePort
from translator.objects.service_import import ServiceImport, ServiceImportPort
from translator.objects.x_backend import XBackend
from translator.translate import Resources, translate
from translator.world import World

PREFIXES = {"Service": "", "ServiceImport": "ServiceImport/"}  # of what clusters take endpoints from
SAYS_TLS = ("https", "kubernetes.io/wss")
WEAK, STRONG = (Grade.UNVERIFIED, Grade.ANY_NAME), (Grade.PINNED, Grade.VERIFIED)
BARE = (Grade.CLEARTEXT, Grade.RELAYED)
UNDEMANDING = tuple(
    thing(
        "BackendTLSPolicy",
        "shop",
        "a",
        spec={
            "targetRefs": [{"group": "", "kind": "Service", "name": "a"}],
            "validation": {"hostname": "pay.shop.test", "wellKnownCACertificates": roots},
            "options": options,
        },
    )
    for roots, options in (
        ("legation.dev/insecure-skip-verification", {}),
        ("legation.dev/insecure-skip-verification", {"legation.dev/pinned-certificate-sha256": "ab" * 32}),
        ("System", {"legation.dev/verification-mode": "SkipHostname"}),
    )
)
over_random_worlds = settings(max_examples=60)
over_many_worlds = settings(max_examples=200)


class Snapshot:
    """What one Gateway is served, read."""

    def __init__(self, resources: Resources) -> None:
        """Read every resource."""
        self.resources = resources
        self.messages: dict[str, dict[str, Any]] = {
            kind: {name: read(kind, each.body) for name, each in named.items()}
            for kind, named in resources.items()
        }

    def of(self, kind: str) -> dict[str, Any]:
        """Return the messages of a kind by name."""
        return self.messages.get(kind, {})

    def names(self, kind: str) -> set[str]:
        """Return the names of a kind."""
        return set(self.of(kind))

    def said(self, kind: str, what: Callable[[Resource], Any]) -> dict[str, Any]:
        """Return what the resources of a kind say of themselves."""
        return {name: what(each) for name, each in self.resources.get(kind, {}).items()}

    def ways(self) -> Iterator[tuple[str, set[str]]]:
        """Yield how connections are opened, with the clusters that each way leads to."""
        for listener in self.of(LISTENER).values():
            if listener.HasField("udp_listener_config"):
                yield "datagrams", targets(listener)
            for each in listener.filter_chains:
                told_apart, ended = (
                    each.filter_chain_match.transport_protocol,
                    each.HasField("transport_socket"),
                )
                if tables(each):
                    yield (
                        "requests",
                        set(chain.from_iterable(targets(self.of(ROUTES)[t]) for t in tables(each))),
                    )
                elif told_apart == "tls":
                    yield "terminated" if ended else "passed through", targets(each)
                else:
                    yield "connections", targets(each)

    def reached(self, *ways: str) -> set[str]:
        """Return the clusters that are reached in one of these ways."""
        return set(chain.from_iterable(clusters for way, clusters in self.ways() if way in ways))


def snapshots(world: World) -> list[Snapshot]:
    return [Snapshot(resources) for resources in translate(world).gateways.values()]


def targets(whole: Message) -> set[str]:
    """Return the clusters that a listener, a chain or a table sends traffic to."""
    return {name for part in within(whole) for name in _targets(part)}


def _targets(part: Message) -> Iterator[str]:
    if isinstance(part, route_pb2.Route):
        yield part.cluster
    if isinstance(part, route_components_pb2.RouteAction | tcp_proxy_pb2.TcpProxy):
        yield from [part.cluster] if part.cluster else [each.name for each in part.weighted_clusters.clusters]
    if isinstance(part, ext_authz_pb2.ExtAuthz):
        yield part.http_service.server_uri.cluster or part.grpc_service.envoy_grpc.cluster_name
    if isinstance(part, route_components_pb2.RouteAction):
        yield from (each.cluster for each in part.request_mirror_policies)


def tables(whole: Message) -> set[str]:
    """Return the route tables that are asked for over RDS."""
    managers = http_connection_manager_pb2.HttpConnectionManager
    return {part.rds.route_config_name for part in within(whole) if isinstance(part, managers)}


def secrets(whole: Message) -> tuple[set[str], set[str]]:
    """Return the secrets that are asked for over ADS, and those that Envoy is expected to have."""
    found = [part for part in within(whole) if isinstance(part, secret_pb2.SdsSecretConfig)]
    assert all(part.sds_config.HasField("ads") for part in found if part.HasField("sds_config"))
    served = {part.name for part in found if part.HasField("sds_config")}
    return served, {part.name for part in found if not part.HasField("sds_config")}


def assigned(cluster: Any) -> str | None:  # noqa: ANN401  generated, without annotations
    """Return the name by which a cluster asks for its endpoints."""
    return cluster.eds_cluster_config.service_name if cluster.HasField("eds_cluster_config") else None


def port_of(cluster: Any) -> str | None:  # noqa: ANN401  generated, without annotations
    """Return the port that a cluster leads to, be it by endpoints or by a name that Envoy looks up."""
    if not cluster.HasField("cluster_type"):
        return assigned(cluster)
    made_of = dict(cluster.metadata.filter_metadata["legation.dev"].items())
    return f"{made_of.get('service')}:{looked_up(cluster).port_value}"


def looked_up(cluster: Any) -> Any:  # noqa: ANN401  generated, without annotations
    """Return what Envoy looks up to reach a cluster."""
    [[place]] = [each.lb_endpoints for each in cluster.load_assignment.endpoints]
    return place.endpoint.address.socket_address


def permitting(world: World, gateway: Name) -> bool:
    """Tell whether the operator permits a Gateway external names, found without asking any rule."""
    its = world.must(Gateway, gateway).spec
    by_class = world.must(GatewayClass, Name("", its.gateway_class_name)).spec.parameters_ref
    by_gateway = its.infrastructure.parameters_ref if its.infrastructure else None
    named = [
        *([Name(by_class.namespace or "", by_class.name)] if by_class else []),
        *([Name(gateway.namespace, by_gateway.name)] if by_gateway else []),
    ]
    found = [world.get(GatewayParameters, name) for name in named]
    said = {each.spec.external_names for each in found if each is not None}
    return "Permit" in said and "Forbid" not in said


def covered(world: World) -> set[str]:
    """Return the Service ports that policies target, found without asking any rule."""
    policies = [world.must(BackendTLSPolicy, name) for name in world.names(BackendTLSPolicy)]
    targeted = {
        (ref.kind, each.metadata.namespace, ref.name, ref.section_name)
        for each in policies
        for ref in each.spec.target_refs
    }
    return {
        f"{PREFIXES[kind]}{name}:{port.port}"
        for kind, name, port in _open(world)
        if {(kind, *name, None), (kind, *name, port.name)} & targeted
    }


def asking(world: World) -> set[str]:
    """Return the XBackends that ask for TLS, if only by an annotation, found without asking any rule."""
    found = (world.must(XBackend, name) for name in world.names(XBackend))
    return {str(name_of(each)) for each in found if each.spec.tls.mode != "None" or each.metadata.annotations}


def asked_by(cluster: Any) -> str | None:  # noqa: ANN401  generated, without annotations
    """Return the XBackend that a cluster was made for, if it was."""
    origin = cluster.metadata.filter_metadata.get("legation.dev", {})
    return next((said for key, said in origin.items() if key == "xbackend"), None)


def asking_strictly(world: World) -> set[str]:
    """Return the Gateways' ports that let in only proved clients, found without asking any rule."""
    found = set()
    for name in world.names(Gateway):
        tls = world.must(Gateway, name).spec.tls
        if tls is not None and tls.frontend is not None:
            own = {each.port: each.tls.validation for each in tls.frontend.per_port}
            for port in (80, 443, 8443):
                asked = own.get(port, tls.frontend.default.validation)
                if asked is not None and asked.mode == "AllowValidOnly":
                    found.add(f"{name} {port}")
    return found


def asks(filter_chain: listener_components_pb2.FilterChain) -> bool:
    """Tell whether a chain lets in nobody but clients that its roots prove."""
    [context] = [part for part in within(filter_chain) if isinstance(part, tls_pb2.DownstreamTlsContext)]
    proof = context.common_tls_context.combined_validation_context
    lenient = proof.default_validation_context.trust_chain_verification
    roots = proof.validation_context_sds_secret_config.name
    return bool(context.require_client_certificate.value and roots and not lenient)


def fully_proved(cluster: Any) -> bool:  # noqa: ANN401  generated, without annotations
    """Tell whether a handshake proves the backend by a name and roots, or by pins."""
    [context] = [part for part in within(cluster) if isinstance(part, tls_pb2.UpstreamTlsContext)]
    proof = context.common_tls_context.combined_validation_context
    alone = context.common_tls_context.validation_context
    by_name = proof.default_validation_context.match_typed_subject_alt_names
    pinned = alone.verify_certificate_spki or alone.verify_certificate_hash
    return bool((proof.validation_context_sds_secret_config.name and by_name) or pinned)


def permits(world: World, gateway: Name) -> bool:
    """Tell whether all parameters of a Gateway permit less, found without asking any rule."""
    its = world.must(Gateway, gateway).spec
    by_class = world.must(GatewayClass, Name("", its.gateway_class_name)).spec.parameters_ref
    by_itself = its.infrastructure.parameters_ref if its.infrastructure else None
    names = [
        *([Name(by_class.namespace or "", by_class.name)] if by_class else []),
        *([Name(gateway.namespace, by_itself.name)] if by_itself else []),
    ]
    found = [world.must(GatewayParameters, name).spec.backend_tls for name in names]
    return bool(found) and all(each.insecure_verification == "Permit" for each in found)


def encrypted(world: World) -> set[str]:
    """Return the Service ports that say TLS by their appProtocol."""
    return {
        f"{PREFIXES[kind]}{name}:{port.port}"
        for kind, name, port in _open(world)
        if port.app_protocol in SAYS_TLS
    }


def _open(world: World) -> Iterator[tuple[str, Name, ServicePort | ServiceImportPort]]:
    for name in world.names(Service):
        yield from (
            ("Service", name, port) for port in world.must(Service, name).spec.ports if _has_tls(port)
        )
    for name in world.names(ServiceImport):
        ports = world.must(ServiceImport, name).spec.ports
        yield from (("ServiceImport", name, port) for port in ports if _has_tls(port))


def _has_tls(port: ServicePort | ServiceImportPort) -> bool:
    return port.protocol == "TCP"


def test_the_world_that_changes_start_from_is_reached_in_every_way() -> None:
    [snapshot] = snapshots(after(()))
    ways = {"requests", "terminated", "passed through", "connections", "datagrams"}
    assert {way for way, clusters in snapshot.ways() if clusters - {REFUSED}} == ways
    assert covered(after(())) == {"shop/a:443", "shop/a:8443", "ServiceImport/shop/a:443"}
    assert asking(after(())) & {asked_by(each) for each in snapshot.of(CLUSTER).values()} == {"shop/a"}
    assert encrypted(after(())) == {"shop/a:443", "ServiceImport/shop/a:443"}


@over_many_worlds
@given(worlds())
def test_nothing_that_a_policy_covers_is_reached_in_cleartext(world: World) -> None:
    targeted = covered(world)
    for snapshot in snapshots(world):
        bare = {
            name
            for name, cluster in snapshot.of(CLUSTER).items()
            if port_of(cluster) in targeted and not cluster.HasField("transport_socket")
        }
        assert not bare & snapshot.reached("requests", "terminated", "connections")


@over_many_worlds
@given(worlds())
def test_nothing_that_asks_for_tls_itself_is_ever_served_in_cleartext(world: World) -> None:
    for snapshot in snapshots(world):
        for cluster in snapshot.of(CLUSTER).values():
            if asked_by(cluster) in asking(world):
                fails = not assigned(cluster) and not cluster.load_assignment.endpoints
                assert fails or cluster.HasField("transport_socket")


@over_many_worlds
@given(worlds())
def test_a_port_that_says_tls_is_reached_by_nobody_who_cannot_speak_it(world: World) -> None:
    uncovered = encrypted(world) - covered(world)
    for snapshot in snapshots(world):
        found = {name for name, cluster in snapshot.of(CLUSTER).items() if port_of(cluster) in uncovered}
        assert not found & snapshot.reached("requests", "terminated")


@over_many_worlds
@given(worlds())
def test_no_name_is_looked_up_that_nobody_permits_or_that_leads_back(world: World) -> None:
    for gateway, resources in translate(world).gateways.items():
        for cluster in Snapshot(resources).of(CLUSTER).values():
            if cluster.HasField("cluster_type"):
                assert permitting(world, gateway)
                assert looked_up(cluster).address == "pay.example.com."


@over_many_worlds
@given(worlds())
def test_https_that_asks_for_certificates_takes_nobody_without(world: World) -> None:
    strict = asking_strictly(world)
    for gateway, resources in translate(world).gateways.items():
        for listener in Snapshot(resources).of(LISTENER).values():
            if f"{gateway} {listener.address.socket_address.port_value}" in strict:
                ended = [each for each in listener.filter_chains if each.HasField("transport_socket")]
                assert all(asks(each) for each in ended if tables(each))


@over_many_worlds
@given(worlds())
def test_a_gateway_that_has_something_to_show_opens_no_tls_without(world: World) -> None:
    for gateway, resources in translate(world).gateways.items():
        tls = world.must(Gateway, gateway).spec.tls
        if tls is not None and tls.backend is not None and tls.backend.client_certificate_ref is not None:
            contexts = [
                part
                for cluster in Snapshot(resources).of(CLUSTER).values()
                if asked_by(cluster) is None  # an XBackend says itself what it is shown
                for part in within(cluster)
                if isinstance(part, tls_pb2.UpstreamTlsContext)
            ]
            assert all(each.common_tls_context.tls_certificate_sds_secret_configs for each in contexts)


@over_many_worlds
@given(st.sampled_from(UNDEMANDING), st.lists(puts(), max_size=12))
def test_less_is_proved_only_where_every_operator_permits_it(asking: Put, changes: list[Put]) -> None:
    world = after((asking, *changes))
    for gateway, resources in translate(world).gateways.items():
        for name, cluster in Snapshot(resources).of(CLUSTER).items():
            if cluster.HasField("transport_socket") and not fully_proved(cluster):
                assert permits(world, gateway)
                assert name.endswith(("/unverified", "/any-name"))
                assert cluster.metadata.filter_metadata["legation.dev"]["verification"] in name


@over_many_worlds
@given(st.sampled_from(UNDEMANDING), st.lists(puts(), max_size=12))
def test_an_audit_grades_every_cluster_as_its_bytes_are(asking: Put, changes: list[Put]) -> None:
    for resources in translate(after((asking, *changes))).gateways.values():
        for name, cluster in Snapshot(resources).of(CLUSTER).items():
            graded = proof(resources[CLUSTER][name].body).grade
            has_tls, leads = (
                cluster.HasField("transport_socket"),
                bool(cluster.load_assignment.endpoints or assigned(cluster)),
            )
            assert (graded in WEAK) == (is_weak(name) and has_tls)
            assert graded not in STRONG or (has_tls and fully_proved(cluster))
            assert (graded is Grade.REFUSED) == (not leads)
            assert (graded in BARE) == (leads and not has_tls)


@over_random_worlds
@given(worlds())
def test_whatever_is_mentioned_is_served(world: World) -> None:
    for snapshot in snapshots(world):
        for kind in (LISTENER, ROUTES):
            for message in snapshot.of(kind).values():
                assert targets(message) <= snapshot.names(CLUSTER)
                assert tables(message) <= snapshot.names(ROUTES)
        for message in chain(snapshot.of(LISTENER).values(), snapshot.of(CLUSTER).values()):
            served, expected = secrets(message)
            assert served <= snapshot.names(SECRET)
            assert expected <= {SYSTEM_ROOTS}
        assert {assigned(each) for each in snapshot.of(CLUSTER).values()} - {None} <= snapshot.names(
            ENDPOINTS
        )


@over_random_worlds
@given(worlds())
def test_whatever_is_served_is_mentioned(world: World) -> None:
    for snapshot in snapshots(world):
        messages = [
            *snapshot.of(LISTENER).values(),
            *snapshot.of(ROUTES).values(),
            *snapshot.of(CLUSTER).values(),
        ]
        assert snapshot.names(CLUSTER) - {REFUSED} <= set(chain.from_iterable(map(targets, messages)))
        assert snapshot.names(ROUTES) <= set(chain.from_iterable(map(tables, messages)))
        assert snapshot.names(SECRET) <= set(chain.from_iterable(secrets(each)[0] for each in messages))


@over_random_worlds
@given(worlds())
def test_a_resource_says_exactly_what_its_bytes_mention(world: World) -> None:
    for snapshot in snapshots(world):
        for kind in (LISTENER, ROUTES, CLUSTER, SECRET, ENDPOINTS):
            messages = snapshot.of(kind).items()
            assert snapshot.said(kind, lambda each: set(each.targets)) == {n: targets(m) for n, m in messages}
            assert snapshot.said(kind, lambda each: set(each.secrets)) == {
                n: secrets(m)[0] for n, m in messages
            }
        clusters = snapshot.of(CLUSTER).items()
        assert snapshot.said(CLUSTER, lambda each: each.endpoints) == {n: assigned(m) for n, m in clusters}


@over_random_worlds
@given(worlds())
def test_no_two_virtual_hosts_of_a_table_share_a_name(world: World) -> None:
    for snapshot in snapshots(world):
        for table in snapshot.of(ROUTES).values():
            distinct([domain for host in table.virtual_hosts for domain in host.domains])
            distinct([host.name for host in table.virtual_hosts])


@over_random_worlds
@given(worlds())
def test_no_two_chains_of_a_listener_and_no_two_listeners_share_a_place(world: World) -> None:
    for snapshot in snapshots(world):
        listeners = snapshot.of(LISTENER).values()
        for listener in listeners:
            distinct([each.filter_chain_match.SerializeToString() for each in listener.filter_chains])
        bound = (
            (each.address for each in listeners),
            (a.address for each in listeners for a in each.additional_addresses),
        )
        distinct([each.SerializeToString() for each in chain.from_iterable(bound)])


@over_random_worlds
@given(worlds())
def test_every_resource_is_called_what_it_is_served_as(world: World) -> None:
    for snapshot in snapshots(world):
        for kind, messages in snapshot.messages.items():
            for name, message in messages.items():
                assert name == (message.cluster_name if kind == ENDPOINTS else message.name)


@over_random_worlds
@given(worlds())
def test_nothing_that_anybody_writes_breaks_a_rule(world: World) -> None:
    assert not translate(world).broken


def distinct(values: list[Any]) -> None:
    assert len(values) == len(set(values)), values
