"""What Envoys are served, in lines that people read: made from the bytes themselves, never from plans."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from cryptography import x509
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_components_pb2, listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.common.matching.v3 import extension_matcher_pb2
from envoy.extensions.filters.http.cors.v3 import cors_pb2
from envoy.extensions.filters.http.fault.v3 import fault_pb2
from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.http.stateful_session.header.v3 import header_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2

from tests.client_portrait import clients
from tests.messages import opened
from tests.telemetry_portrait import telemetry
from translator.envoy.clusters import REFUSED
from translator.envoy.cors import THE_ROUTE_DECIDES
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET
from translator.translate import Resources

DNS = re.compile(r"\(\?i\)\((.+)\|\\\*\)(\\\..+)")
ANY_LABEL = "[a-z0-9_-]+"
ALL_VERSIONS = "1.2 to 1.3"


def clusters(resources: Resources) -> dict[str, str]:
    """Say how each backend is spoken to; the cluster that refused shares end in is the same everywhere."""
    read = (cluster_pb2.Cluster.FromString(each.body) for each in resources[CLUSTER].values())
    return {each.name: _cluster(each) for each in read if each.name != REFUSED}


def endpoints(resources: Resources) -> dict[str, str]:
    """Say where the pods of each Service port are."""
    read = (
        endpoint_pb2.ClusterLoadAssignment.FromString(each.body) for each in resources[ENDPOINTS].values()
    )
    return {each.cluster_name: ", ".join(_addresses(each)) or "nowhere" for each in read}


def secrets(resources: Resources) -> dict[str, str]:
    """Say whose certificates each secret holds."""
    read = (secret_pb2.Secret.FromString(each.body) for each in resources[SECRET].values())
    return {each.name: ", ".join(_subjects(each)) for each in read}


def routes(resources: Resources) -> dict[str, dict[str, list[str]]]:
    """Say of each hostname of each table what is matched, in this order, and where it goes."""
    read = (route_pb2.RouteConfiguration.FromString(each.body) for each in resources[ROUTES].values())
    return {
        table.name: {
            domain: [*(f"asks {each}" for each in host.typed_per_filter_config), *map(_route, host.routes)]
            for host in table.virtual_hosts
            for domain in host.domains
        }
        for table in read
    }


def listeners(resources: Resources) -> dict[str, list[str]]:
    """Say what meets a connection at each port."""
    read = (listener_pb2.Listener.FromString(each.body) for each in resources[LISTENER].values())
    return {each.name: [f"at {', '.join(_bound(each))}", *_stands(each)] for each in read}


def _cluster(cluster: cluster_pb2.Cluster) -> str:
    if cluster.type == cluster_pb2.Cluster.STATIC and not cluster.load_assignment.endpoints:
        return "always fails"
    spoken = "".join(_http(opened(each)) for each in cluster.typed_extension_protocol_options.values())
    looked_up = cluster.HasField("cluster_type")
    found = f" at {', '.join(_addresses(cluster.load_assignment))}" if looked_up else ""
    if not cluster.HasField("transport_socket"):
        return f"plaintext{spoken}{found}"
    context = opened(cluster.transport_socket.typed_config)
    return f"TLS{_versions(context.common_tls_context)} as {context.sni}{spoken}{found}, " + ", ".join(
        _handshake(context.common_tls_context)
    )


def _http(options: Any) -> str:  # noqa: ANN401  generated, without annotations
    explicit = options.explicit_http_config
    ends = options.common_http_protocol_options.max_stream_duration.seconds
    version = " HTTP/2" if explicit.HasField("http2_protocol_options") else ""
    either = " HTTP/1.1 or HTTP/2" if options.HasField("auto_config") else ""
    return f"{version}{either}{f' for {ends} s at most' if ends else ''}"


def _versions(common: tls_pb2.CommonTlsContext) -> str:
    name = common_pb2.TlsParameters.TlsProtocol.Name
    parameters = common.tls_params
    bounds = (parameters.tls_minimum_protocol_version, parameters.tls_maximum_protocol_version)
    least, most = (name(each).removeprefix("TLSv").replace("_", ".") for each in bounds)
    said = f"{least} to {most}" if least != most else least
    return "" if said == ALL_VERSIONS else f" {said}"


def _handshake(common: tls_pb2.CommonTlsContext) -> Iterator[str]:
    for what, values in (
        ("ALPN", common.alpn_protocols),
        ("ciphers", common.tls_params.cipher_suites),
        ("curves", common.tls_params.ecdh_curves),
    ):
        if values:
            yield f"{what} {' '.join(values)}"
    combined = common.combined_validation_context
    is_combined = common.HasField("combined_validation_context")
    proof = combined.default_validation_context if is_combined else common.validation_context
    proved = [_proved(each) for each in proof.match_typed_subject_alt_names]
    yield f"proves {' or '.join(proved) or 'no name'}"
    pins = [*proof.verify_certificate_spki, *proof.verify_certificate_hash]
    if pins:
        yield f"shows one of {' '.join(each[:8] for each in pins)}"
    roots = combined.validation_context_sds_secret_config
    yield f"trusts {roots.name}" if roots.name else "trusts no CA" if pins else "trusts anybody"
    for own in common.tls_certificate_sds_secret_configs:
        yield f"shows {own.name}"


def _proved(wanted: Any) -> str:  # noqa: ANN401  generated, without annotations
    kind = common_pb2.SubjectAltNameMatcher.SanType.Name(wanted.san_type)
    said = wanted.matcher.exact or _name(wanted.matcher.safe_regex.regex)
    return f"{kind} {said}"


def _name(regex: str) -> str:
    """Read the expression that a DNS name was made into; one of another form is shown as it is."""
    if (found := DNS.fullmatch(regex)) is None:
        return regex
    first = "*" if found[1] == ANY_LABEL else found[1]
    return re.sub(r"\\(.)", r"\1", first + found[2])


def _addresses(assignment: endpoint_pb2.ClusterLoadAssignment) -> Iterator[str]:
    for locality in assignment.endpoints:
        for each in locality.lb_endpoints:
            place = each.endpoint.address.socket_address
            yield _place(place.address, place.port_value)


def _place(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subjects(secret: secret_pb2.Secret) -> list[str]:
    pem = (
        secret.validation_context.trusted_ca.inline_string
        or secret.tls_certificate.certificate_chain.inline_string
    )
    return [each.subject.rfc4514_string() for each in x509.load_pem_x509_certificates(pem.encode())]


def _route(route: route_components_pb2.Route) -> str:
    match route.WhichOneof("action"):
        case "direct_response":
            then = f"answers {route.direct_response.status}"
        case "redirect":
            then = f"redirects to {_redirect(route.redirect)}"
        case _:
            then = " and ".join(_clusters(route.route))
    return f"{_match(route.match)} -> {then}{''.join(_changes(route))}"


def _match(match: route_components_pb2.RouteMatch) -> str:
    paths = {
        "path": f"Exact {match.path}",
        "prefix": f"PathPrefix {match.prefix}",
        "path_separated_prefix": f"PathPrefix {match.path_separated_prefix}",
        "safe_regex": f"Regex {match.safe_regex.regex}",
    }
    said = [
        f"{prefix}{each.name}={_says(each)}"
        for prefix, wanted in (("", match.headers), ("?", match.query_parameters))
        for each in wanted
    ]
    path = paths[match.WhichOneof("path_specifier")]
    drawn = match.runtime_fraction.default_value.numerator  # of a million
    below = [f"drawn below {Fraction(drawn, 10**6)}"] if match.HasField("runtime_fraction") else []
    return " ".join([*(["gRPC"] if match.HasField("grpc") else []), path, *said, *below])


def _says(wanted: Any) -> str:  # noqa: ANN401  generated, without annotations
    if not wanted.HasField("string_match"):
        return "(any)" if wanted.present_match else "(none)"
    return wanted.string_match.exact or f"~{wanted.string_match.safe_regex.regex}"


def _clusters(action: route_components_pb2.RouteAction) -> Iterator[str]:
    if action.cluster:
        yield action.cluster
    parts = action.weighted_clusters.clusters
    total = sum(part.weight.value for part in parts)
    for part in parts:
        said = "".join(
            said for each in part.typed_per_filter_config.values() for said in _filtered(opened(each))
        )
        host = f", as host {part.host_rewrite_literal}" if part.host_rewrite_literal else ""
        yield f"{Fraction(part.weight.value, total)} {part.name}{said}{host}{''.join(_headers(part))}"


def _redirect(action: route_components_pb2.RedirectAction) -> str:
    code = route_components_pb2.RedirectAction.RedirectResponseCode.Name(action.response_code)
    host = action.host_redirect or "the same host"
    port = f":{action.port_redirect}" if action.port_redirect else ""
    path = action.path_redirect or (f"{action.prefix_rewrite}..." if action.prefix_rewrite else "")
    return f"{action.scheme_redirect or 'the same scheme'}, {host}{port}{path} ({code})"


def _changes(route: route_components_pb2.Route) -> Iterator[str]:
    for _, each in sorted(route.typed_per_filter_config.items()):
        yield from _filtered(opened(each))
    yield from _rewrites(route.route)
    yield from _tries(route.route)
    for copied in route.route.request_mirror_policies:
        part = Fraction(copied.runtime_fraction.default_value.numerator, 10**6)
        yield f", {part} also to {copied.cluster}"
    yield from _headers(route)


def _headers(changing: Any) -> Iterator[str]:  # noqa: ANN401  a route, or one of its clusters
    for added, removed, whose in (
        (changing.request_headers_to_add, changing.request_headers_to_remove, ""),
        (changing.response_headers_to_add, changing.response_headers_to_remove, "on the way back "),
    ):
        for each in added:
            action = "sets" if each.append_action == each.OVERWRITE_IF_EXISTS_OR_ADD else "adds"
            yield f", {whose}{action} {each.header.key}={each.header.value}"
        if set(THE_ROUTE_DECIDES) <= set(removed):
            yield f", {whose}removes what the backend says of CORS"
            continue
        for name in removed:
            yield f", {whose}removes {name}"


def _filtered(config: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    match config:
        case fault_pb2.HTTPFault():
            yield f" answered {config.abort.http_status}"
        case extension_matcher_pb2.ExtensionWithMatcherPerRoute():
            action = opened(config.xds_matcher.on_no_match.action.typed_config)
            yield f", asks {_asks(opened(action.typed_config.typed_config))}"
        case cors_pb2.CorsPolicy():
            yield from _cors(config)
        case lua_pb2.LuaPerRoute():
            yield f", keeps the age of {config.filter_context['cookie']} to itself"
        case stateful_session_pb2.StatefulSessionPerRoute():
            yield from _session(opened(config.stateful_session.session_state.typed_config))
        case _:
            raise TypeError(config)


def _session(state: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    if isinstance(state, header_pb2.HeaderBasedSessionState):
        yield f", sessions by header {state.name}"
        return
    yield f", sessions by cookie {state.cookie.name} for {state.cookie.path}"
    yield from (f" {each.name}{f'={each.value}' if each.value else ''}" for each in state.cookie.attributes)
    yield f" for {state.cookie.ttl.seconds} s" if state.cookie.ttl.seconds else ""


def _cors(policy: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    whom = (each.exact or f"~{each.safe_regex.regex}" for each in policy.allow_origin_string_match)
    yield f", CORS for {' or '.join(whom) or 'nobody'}"
    yield ", with credentials" if policy.allow_credentials.value else ""
    for what, said in (
        ("methods", policy.allow_methods),
        ("headers", policy.allow_headers),
        ("shows", policy.expose_headers),
    ):
        yield f", {what} {said}" if said else ""
    yield f", for {policy.max_age} s"


def _tries(action: route_components_pb2.RouteAction) -> Iterator[str]:
    if action.timeout.ToMilliseconds():
        yield f", within {action.timeout.ToMilliseconds()} ms"
    policy = action.retry_policy
    if policy.HasField("per_try_timeout"):
        yield f", each try within {policy.per_try_timeout.ToMilliseconds()} ms"
    if policy.retry_on:
        codes = "".join(f" {code}" for code in policy.retriable_status_codes)
        first = policy.retry_back_off.base_interval.ToMilliseconds()
        after = f" after {first} ms" if first else ""
        yield f", again {policy.num_retries.value} times{after} on {policy.retry_on}{codes}"


def _rewrites(action: route_components_pb2.RouteAction) -> Iterator[str]:
    if action.host_rewrite_literal:
        yield f", as host {action.host_rewrite_literal}"
    if action.regex_rewrite.substitution:
        yield f", as path {action.regex_rewrite.substitution}"
    if action.prefix_rewrite:
        yield f", as path {action.prefix_rewrite}..."


def _bound(listener: listener_pb2.Listener) -> Iterator[str]:
    for each in (listener.address, *(more.address for more in listener.additional_addresses)):
        place = each.socket_address
        udp = "/udp" if place.protocol == place.UDP else ""
        yield f"{_place(place.address, place.port_value)}{udp}"


def _stands(listener: listener_pb2.Listener) -> Iterator[str]:
    if listener.HasField("udp_listener_config"):
        for each in listener.listener_filters:
            yield f"datagrams -> {' and '.join(_by_hash(opened(each.typed_config).matcher))}"
    for chain in listener.filter_chains:
        names = " ".join(chain.filter_chain_match.server_names)
        yield f"{_client(chain, names)} -> {' and '.join(_network(chain))}"


def _client(chain: listener_components_pb2.FilterChain, names: str) -> str:
    if chain.transport_socket.name.endswith("quic"):
        context = opened(chain.transport_socket.typed_config).downstream_tls_context
        return f"QUIC for {names or 'any other name'}{_ended(context)}"
    if chain.filter_chain_match.transport_protocol != "tls":
        return "anything"
    said = f"TLS for {names or 'any other name'}"
    if not chain.HasField("transport_socket"):
        return f"{said}, passed through"
    context = opened(chain.transport_socket.typed_config)
    return f"{said}{_ended(context)}{_asked(context)}"


def _ended(context: tls_pb2.DownstreamTlsContext) -> str:
    shown = context.common_tls_context.tls_certificate_sds_secret_configs
    return f", ended with {' '.join(each.name for each in shown)}"


def _asked(context: tls_pb2.DownstreamTlsContext) -> str:
    proof = context.common_tls_context.combined_validation_context
    roots = proof.validation_context_sds_secret_config.name
    if not roots:
        return ""
    believed = proof.default_validation_context.trust_chain_verification
    lenient = believed == common_pb2.CertificateValidationContext.ACCEPT_UNTRUSTED
    strictly = context.require_client_certificate.value and not lenient
    return f", clients must be proved by {roots}" if strictly else f", clients may be proved by {roots}"


def _network(chain: listener_components_pb2.FilterChain) -> Iterable[str]:
    last = chain.filters[-1]
    read = opened(last.typed_config)
    if last.name.endswith("http_connection_manager"):
        asked = [_question(each) for each in read.http_filters if each.name.startswith("legation/ask/")]
        return [f"{''.join((*_advertised(read), *asked))}routes {read.rds.route_config_name}"]
    parts = read.weighted_clusters.clusters
    total = sum(part.weight for part in parts)
    longest = read.max_downstream_connection_duration.seconds
    ends = f" for {longest} s at most" if longest else ""
    if read.cluster:
        return [f"{read.cluster}{ends}"]
    return [f"{Fraction(part.weight, total)} {part.name}{ends}" for part in parts]


def _advertised(manager: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    for each in manager.http_filters:
        if each.name.endswith("header_mutation"):
            [told] = opened(each.typed_config).mutations.response_mutations
            yield f"says {told.append.header.key} {told.append.header.value}, then "


def _question(asking: Any) -> str:  # noqa: ANN401  generated, without annotations
    when = ", where a host says so" if asking.disabled else ""
    return f"asks {_asks(opened(asking.typed_config))} ({asking.name}{when}), then "


def _asks(read: Any) -> str:  # noqa: ANN401  generated, without annotations
    grpc = read.grpc_service.envoy_grpc.cluster_name
    whom = f"{grpc} by gRPC" if grpc else f"{read.http_service.server_uri.cluster}"
    path = f" below {read.http_service.path_prefix}" if read.http_service.path_prefix else ""
    return f"{whom}{path}"


def _by_hash(matcher: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    above = Fraction(1)
    for each in matcher.matcher_list.matchers:
        hashed = opened(each.predicate.single_predicate.custom_match.typed_config)
        begins = Fraction(hashed.threshold, hashed.modulo)
        yield f"{above - begins} {_sent_to(each.on_match)}"
        above = begins
    last = _sent_to(matcher.on_no_match)
    yield last if above == 1 else f"{above} {last}"


def _sent_to(action: Any) -> str:  # noqa: ANN401  generated, without annotations
    return str(opened(action.action.typed_config).cluster)


SECTIONS: Mapping[str, Any] = {
    "clients": clients,
    "clusters": clusters,
    "endpoints": endpoints,
    "listeners": listeners,
    "routes": routes,
    "secrets": secrets,
    "telemetry": telemetry,
}
