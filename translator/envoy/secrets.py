"""Trust and certificates as Envoy takes them over SDS: a rotation is one push and drains no connection."""

from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from translator.envoy.encode import encode
from translator.envoy.resource import Resource
from translator.memo import query
from translator.names import Name, Ref
from translator.rules import certificates, x_backends
from translator.rules.backend_tls import (
    Anybody,
    PinsAlone,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    judge,
    trust_bundle,
)
from translator.rules.certificates import KeyPair
from translator.rules.frontend_validation import ClientTrust, client_roots
from translator.verdict import Refused
from translator.world import World


def trust_name(trusted: TrustBundle | SystemRoots | PinsAlone | Anybody) -> str | None:
    """Return the name under which roots are served; Envoy has its machine's own already, or needs none."""
    match trusted:
        case TrustBundle(name):
            return name
        case SystemRoots() | PinsAlone() | Anybody():
            return None


@query
def trust(world: World, policy: Name) -> Resource:
    """Build the roots of a policy that names a bundle."""
    tls = judge(world, policy).value
    assert isinstance(tls, UpstreamTls), f"{policy} was refused: {tls}"
    name = trust_name(tls.trust)
    assert name, f"{policy} trusts what Envoy has already"
    return build_trust(name, trust_bundle(world, policy))


@query
def own_trust(world: World, x_backend: Name) -> Resource:
    """Build the roots of an XBackend that names a bundle."""
    return build_trust(x_backends.bundle_name(x_backend), x_backends.trust_bundle(world, x_backend))


@query
def client_trust(world: World, trust: ClientTrust) -> Resource:
    """Build the roots that prove clients."""
    return build_trust(str(trust), client_roots(world, trust))


def build_trust(name: str, pem: str) -> Resource:
    """Build roots; what a certificate must prove besides is said by each cluster."""
    secret = secret_pb2.Secret(name=name)
    secret.validation_context.trusted_ca.inline_string = pem
    return Resource(encode(secret))


def certificate_name(secret: Name) -> str:
    """Return the name under which a Secret's certificate is served."""
    return f"certificate/{secret}"


@query
def server_certificate(world: World, secret: Name) -> Resource:
    """Build the certificate and key of a Secret that can be served."""
    pair = certificates.own_certificate(world, secret)
    assert not isinstance(pair, Refused), f"{secret} was refused: {pair}"
    return build_certificate(secret, pair)


def build_certificate(secret: Name, pair: KeyPair) -> Resource:
    """Build a certificate with its key: together, so that Envoy never holds one without the other."""
    built = secret_pb2.Secret(name=certificate_name(secret))
    built.tls_certificate.certificate_chain.inline_string = pair.chain
    built.tls_certificate.private_key.inline_string = pair.key
    return Resource(encode(built))


def certificates_in(body: bytes) -> str:
    """Read the certificates out of what is served, roots or a chain; a key is left where it is."""
    secret = secret_pb2.Secret.FromString(body)
    if secret.HasField("tls_certificate"):
        return str(secret.tls_certificate.certificate_chain.inline_string)
    return str(secret.validation_context.trusted_ca.inline_string)


def owner_of(name: str) -> Ref:
    """Say whose trust or certificate is served under a name."""
    sort, _, rest = name.partition("/")
    *kind, namespace, last = rest.split("/")
    if sort == "clients":
        return Ref("Gateway", Name(namespace, last.partition(":")[0]))
    return Ref(
        kind[0] if kind else "Secret" if sort == "certificate" else "BackendTLSPolicy", Name(namespace, last)
    )
