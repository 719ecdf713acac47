"""Listeners: one for each port of a Gateway, on all of its addresses."""

from collections.abc import Iterator, Mapping

from envoy.config.core.v3 import address_pb2, base_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.extensions.filters.listener.tls_inspector.v3 import tls_inspector_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2

from translator.envoy.asking import whom
from translator.envoy.config_source import served_secret
from translator.envoy.encode import encode, packed
from translator.envoy.http import manager, prepared
from translator.envoy.http3 import QUIC, advertised, socket
from translator.envoy.limits import bodies, connections, proxy_protocol, requests
from translator.envoy.resource import Resource
from translator.envoy.secrets import certificate_name
from translator.envoy.streams import targets, tcp_proxy, udp_proxy
from translator.envoy.telemetry import collectors
from translator.memo import query
from translator.rules.clients import Manners
from translator.rules.frontend_validation import ClientProof
from translator.rules.ports import (
    Bound,
    Chain,
    HttpPort,
    QuicPort,
    Site,
    TcpPort,
    Terminate,
    TlsPort,
    UdpPort,
    site,
)
from translator.rules.streams import Streams
from translator.rules.tables import Table
from translator.world import World

Managers = Mapping[Manners, bytes]  # what those have in common that treat clients so

BUFFER = 32 * 1024  # what one connection may hold back before its sender is slowed down
ALPN_OF_HTTP = ("h2", "http/1.1")
TLS_INSPECTOR = encode(
    listener_components_pb2.ListenerFilter(
        name="envoy.filters.listener.tls_inspector", typed_config=packed(tls_inspector_pb2.TlsInspector())
    )
)
TLS = encode(
    tls_pb2.DownstreamTlsContext(
        common_tls_context={
            "tls_params": {
                "tls_minimum_protocol_version": "TLSv1_2",
                "tls_maximum_protocol_version": "TLSv1_3",
            }
        }
    )
)


@query
def listener(world: World, bound: Bound) -> Resource:
    """Build what stands at one port."""
    return build(bound, site(world, bound))


def build(bound: Bound, stands: Site) -> Resource:
    """Build a listener from the plan of its port."""
    built = _bound(stands, bound)
    match stands.plan:
        case HttpPort(table, asked):
            return _only(built, Chain(None, None, table, asked, manners=stands.manners), stands)
        case TlsPort(chains):
            return _tls(built, chains, stands)
        case QuicPort(chains):
            return _quic(built, chains, stands)
        case TcpPort(streams):
            return _only(built, Chain(None, None, streams, manners=stands.manners), stands)
        case UdpPort(streams):
            built.udp_listener_config.SetInParent()
            built.listener_filters.append(udp_proxy(streams, str(bound)))
            return Resource(encode(built), targets=targets(streams))


def _bound(stands: Site, bound: Bound) -> listener_pb2.Listener:
    """Begin a listener, on all its addresses."""
    built = listener_pb2.Listener(name=str(bound), per_connection_buffer_limit_bytes={"value": BUFFER})
    first, *others = (_address(stands, bound, address) for address in stands.addresses)
    built.address.CopyFrom(first)
    for other in others:
        built.additional_addresses.add(address=other)
    if stands.is_exclusive and bound.transport == "TCP":  # workers share one socket; datagrams need theirs
        built.enable_reuse_port.value = False
    if stands.manners.proxy_protocol != "Off" and bound.transport == "TCP":
        required = stands.manners.proxy_protocol == "Required"
        built.listener_filters.append(proxy_protocol(required=required))
    return built


def _address(stands: Site, bound: Bound, address: str) -> address_pb2.Address:
    """Write where to bind; all addresses of IPv6 mean those of IPv4, too, if nothing is named beside them."""
    place = {"protocol": bound.transport, "address": address, "port_value": stands.port}
    if address == "::" and len(stands.addresses) == 1:
        place["ipv4_compat"] = True
    return address_pb2.Address(socket_address=place)


def _only(built: listener_pb2.Listener, chain: Chain, stands: Site) -> Resource:
    """Complete a listener that does not tell connections apart."""
    built.filter_chains.append(_chain(chain, built.name, stands, _prepared((chain,), stands)))
    return _resource(built, (chain,), stands)


def _tls(built: listener_pb2.Listener, chains: tuple[Chain, ...], stands: Site) -> Resource:
    """Complete a listener that tells TLS connections apart by server name."""
    built.listener_filters.add().ParseFromString(TLS_INSPECTOR)
    managers = _prepared(chains, stands)
    for chain in chains:
        name = f"{built.name}/{chain.hostname or '*'}"
        begun = _chain(chain, name, stands, managers)
        begun.filter_chain_match.transport_protocol = "tls"  # cleartext is for no chain, and closed
        if chain.hostname is not None:
            begun.filter_chain_match.server_names.append(chain.hostname)
        built.filter_chains.append(begun)
    return _resource(built, chains, stands)


def _resource(built: listener_pb2.Listener, chains: tuple[Chain, ...], stands: Site) -> Resource:
    """Serialize a listener, and name what its chains lead to."""
    ended = [chain.tls for chain in chains if chain.tls]
    named = {certificate_name(secret) for tls in ended for secret in tls.certificates}
    named |= {str(tls.proof.trust) for tls in ended if tls.proof}
    streams = {name for chain in chains if isinstance(chain.then, Streams) for name in targets(chain.then)}
    asked = {name for chain in chains for name in whom(chain.asked)}
    return Resource(
        encode(built),
        targets=tuple(sorted(streams | asked | collectors(stands.telemetry))),
        secrets=tuple(sorted(named)),
    )


def _quic(built: listener_pb2.Listener, chains: tuple[Chain, ...], stands: Site) -> Resource:
    """Complete a listener for HTTP/3."""
    built.udp_listener_config.ParseFromString(QUIC)
    managers = _prepared(chains, stands)
    for chain in chains:
        begun = _chain(chain, f"{built.name}/{chain.hostname or '*'}", stands, managers)
        if chain.hostname is not None:
            begun.filter_chain_match.server_names.append(chain.hostname)
        built.filter_chains.append(begun)
    return _resource(built, chains, stands)


def _chain(chain: Chain, name: str, stands: Site, managers: Managers) -> listener_components_pb2.FilterChain:
    built = listener_components_pb2.FilterChain(name=name)
    manners = chain.manners
    if manners.max_connections is not None:
        built.filters.append(connections(manners.max_connections, name))
    match chain.then:
        case Table() as table:
            built.filters.append(manager(table, chain.asked, managers[manners], _first(chain, name, stands)))
        case Streams() as streams:
            built.filters.append(tcp_proxy(streams, name, manners.stream_idle, stands.telemetry))
    if chain.tls is not None:
        built.transport_socket.CopyFrom(_terminating(chain, chain.tls, stands))
    return built


def _first(chain: Chain, name: str, stands: Site) -> Iterator[http_connection_manager_pb2.HttpFilter]:
    """Build the filters that see requests before all others."""
    if chain.http3:
        yield advertised(stands.port)
    if chain.manners.rate is not None:
        yield requests(chain.manners.rate, name)
    if chain.manners.body_kilobytes is not None:
        yield bodies(chain.manners.body_kilobytes)


def _prepared(chains: tuple[Chain, ...], stands: Site) -> Managers:
    """Build what the managers of chains have in common, once for all that treat clients alike."""
    kinds = {chain.manners for chain in chains if isinstance(chain.then, Table)}
    over_quic = isinstance(stands.plan, QuicPort)
    return {each: prepared(each, stands.telemetry, over_quic=over_quic) for each in kinds}


def _terminating(chain: Chain, tls: Terminate, stands: Site) -> base_pb2.TransportSocket:
    """Build the socket that ends the client's TLS."""
    context = tls_pb2.DownstreamTlsContext.FromString(TLS)
    common = context.common_tls_context
    served = (served_secret(certificate_name(secret)) for secret in tls.certificates)
    common.tls_certificate_sds_secret_configs.extend(served)
    if isinstance(stands.plan, QuicPort):
        return socket(context)
    common.alpn_protocols.extend(ALPN_OF_HTTP if isinstance(chain.then, Table) else ())
    if tls.proof is not None:
        _ask(context, tls.proof)
    return base_pb2.TransportSocket(name="tls", typed_config=packed(context))


def _ask(context: tls_pb2.DownstreamTlsContext, proof: ClientProof) -> None:
    """Have clients prove who they are, on every connection: a resumed session would prove nothing anew."""
    context.require_client_certificate.value = not proof.is_optional
    context.disable_stateless_session_resumption = True
    context.disable_stateful_session_resumption = True
    asked = context.common_tls_context.combined_validation_context
    asked.validation_context_sds_secret_config.CopyFrom(served_secret(str(proof.trust)))
    verification = common_pb2.CertificateValidationContext
    asked.default_validation_context.trust_chain_verification = (
        verification.ACCEPT_UNTRUSTED if proof.is_optional else verification.VERIFY_TRUST_CHAIN
    )
