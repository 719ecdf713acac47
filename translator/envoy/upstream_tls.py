"""TLS towards a backend: what Envoy sends, and what a certificate must prove before a request leaves."""

import re

from envoy.config.core.v3 import base_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2

from translator.envoy.config_source import own_secret, served_secret
from translator.envoy.encode import encode, packed
from translator.rules.backend_tls import (
    Anybody,
    DnsName,
    PinsAlone,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    UriName,
)
from translator.rules.backends import Protocol

SYSTEM_ROOTS = "legation/system-roots"  # every bootstrap has it: the roots are those of Envoy's own machine
VERSIONS = (("1.2", common_pb2.TlsParameters.TLSv1_2), ("1.3", common_pb2.TlsParameters.TLSv1_3))

# Steps of RE2: a pattern has about one for each letter of a name, which has 253 at the most.  Envoy's limit
# is 100 unless its bootstrap says otherwise.
LONGEST_PROOF = 300
ANY_LABEL = "[a-z0-9_-]+"

# A resumed session proves nothing anew: not the chain, not the name, not that the certificate is still valid.
# Envoy drops its sessions when the trust it was served changes, but not when a certificate expires.  So none
# is kept: every connection begins with a full handshake, and the pool reuses connections.
PREPARED = encode(tls_pb2.UpstreamTlsContext(max_session_keys={"value": 0}))


def transport_socket(
    tls: UpstreamTls, protocol: Protocol, own: str | None = None
) -> base_pb2.TransportSocket:
    """Build the socket that speaks TLS as a policy says, fails where the proof does, and shows its own."""
    context = tls_pb2.UpstreamTlsContext.FromString(PREPARED)
    context.sni = tls.sni
    common = context.common_tls_context
    common.tls_params.CopyFrom(_parameters(tls))
    common.alpn_protocols.extend(tls.alpn or _spoken(protocol))
    if own is not None:
        common.tls_certificate_sds_secret_configs.append(served_secret(own))
    _prove(common, tls)
    return base_pb2.TransportSocket(name="tls", typed_config=packed(context))


def negotiates(tls: UpstreamTls, protocol: Protocol) -> bool:
    """Tell whether the handshake decides between HTTP/1.1 and HTTP/2, because a policy offers the latter."""
    return protocol is Protocol.HTTP and "h2" in tls.alpn


def _prove(common: tls_pb2.CommonTlsContext, tls: UpstreamTls) -> None:
    """Ask for the proof: what Envoy is served is merged with what stands here, and all of it must hold.

    Of pins Envoy wants one, whichever of the two lists it is in.
    """
    proof = common_pb2.CertificateValidationContext(
        match_typed_subject_alt_names=map(_matcher, tls.names),
        verify_certificate_spki=tls.pins.public_keys,
        verify_certificate_hash=tls.pins.certificates,
    )
    match tls.trust:
        case TrustBundle(name):
            _with_roots(common, proof, served_secret(name))
        case SystemRoots():
            _with_roots(common, proof, own_secret(SYSTEM_ROOTS))
        case PinsAlone():
            assert tls.pins, f"{tls.sni}: without a pin, anybody would be believed"
            common.validation_context.CopyFrom(proof)
        case Anybody():
            common.validation_context.CopyFrom(proof)


def _with_roots(
    common: tls_pb2.CommonTlsContext,
    proof: common_pb2.CertificateValidationContext,
    roots: secret_pb2.SdsSecretConfig,
) -> None:
    common.combined_validation_context.default_validation_context.CopyFrom(proof)
    common.combined_validation_context.validation_context_sds_secret_config.CopyFrom(roots)


def _parameters(tls: UpstreamTls) -> common_pb2.TlsParameters:
    versions = dict(VERSIONS)
    return common_pb2.TlsParameters(
        tls_minimum_protocol_version=versions[tls.min_version],
        tls_maximum_protocol_version=versions[tls.max_version],
        cipher_suites=tls.cipher_suites,
        ecdh_curves=tls.curves,
    )


def _spoken(protocol: Protocol) -> tuple[str, ...]:
    match protocol:
        case Protocol.HTTP:
            return ("http/1.1",)
        case Protocol.HTTP2:
            return ("h2",)
        case Protocol.TCP | Protocol.UDP:
            return ()


def _matcher(name: DnsName | UriName) -> common_pb2.SubjectAltNameMatcher:
    """Build what one name in a certificate is held against."""
    match name:
        case DnsName(dns):
            matcher = common_pb2.SubjectAltNameMatcher(san_type="DNS")
            matcher.matcher.safe_regex.regex = _pattern(dns)
            return matcher
        case UriName(uri):
            matcher = common_pb2.SubjectAltNameMatcher(san_type="URI")
            matcher.matcher.exact = uri
            return matcher


def _pattern(dns: str) -> str:
    """Return what a certificate may say, in any case: the name, or a wildcard in place of its first label.

    Envoy's own comparison would also let `p*.example` stand for `pay.example`, which nobody should issue.
    """
    label, dot, rest = dns.partition(".")
    if not dot:
        return f"(?i){re.escape(dns)}"
    first = ANY_LABEL if label == "*" else re.escape(label)
    return rf"(?i)({first}|\*)\.{re.escape(rest)}"


def proved_name(matcher: common_pb2.SubjectAltNameMatcher) -> str:
    """Read a matcher back into the name that it was made of."""
    exact, regex = str(matcher.matcher.exact), str(matcher.matcher.safe_regex.regex)
    pattern = regex.removeprefix("(?i)").removeprefix("(")
    plain = pattern.replace(r"|\*)", "", 1).replace(ANY_LABEL, "*", 1)
    return exact or re.sub(r"\\(.)", r"\1", plain)
