"""What a cluster's bytes ask a backend to prove: read from what is served, never from plans."""

from enum import Enum

from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, tls_pb2
from msgspec import Struct

from translator.envoy.upstream_tls import proved_name
from translator.rules.insecure_verification import Weakness

RELAYED = ("/tcp", "/udp")  # how the names of clusters end to which bytes go as clients send them


class Grade(Enum):
    """How well a backend is proved, the worst first."""

    UNVERIFIED = Weakness.UNVERIFIED.value
    ANY_NAME = Weakness.ANY_NAME.value
    CLEARTEXT = "cleartext"
    RELAYED = "relayed"
    PINNED = "pinned"
    VERIFIED = "verified"
    REFUSED = "refused"


WORST_FIRST = tuple(Grade)


class Proof(Struct, frozen=True, rename="camel"):
    """One cluster: whose it is, and what is proved before anything is sent there."""

    grade: Grade
    backend: str = ""
    policy: str = ""
    server_name: str = ""
    names: tuple[str, ...] = ()
    roots: str = ""
    pins: int = 0
    pinned: tuple[str, ...] = ()  # the pins themselves, those of public keys first


def is_weak(name: str) -> bool:
    """Tell by a cluster's name whether less is proved there than a policy asks for by itself."""
    return name.endswith(tuple(f"/{each.value}" for each in Weakness))


def proof(body: bytes) -> Proof:
    """Read a cluster."""
    cluster = cluster_pb2.Cluster.FromString(body)
    origin = cluster.metadata.filter_metadata["legation.dev"].fields
    policy = origin["policy"].string_value
    backend, _, _ = cluster.name.partition("+")
    if cluster.type == cluster_pb2.Cluster.STATIC and not cluster.load_assignment.endpoints:
        return Proof(Grade.REFUSED, backend, policy)
    if not cluster.HasField("transport_socket"):
        grade = Grade.RELAYED if cluster.name.endswith(RELAYED) else Grade.CLEARTEXT
        return Proof(grade, backend, policy)
    context = tls_pb2.UpstreamTlsContext()
    cluster.transport_socket.typed_config.Unpack(context)
    asked, roots = _asked(context.common_tls_context)
    pinned = (*asked.verify_certificate_spki, *asked.verify_certificate_hash)
    names = tuple(map(proved_name, asked.match_typed_subject_alt_names))
    found = _found(roots, names, len(pinned))
    said = Grade(origin["verification"].string_value) if "verification" in origin else found
    grade = min(found, said, key=WORST_FIRST.index)
    return Proof(grade, backend, policy, context.sni, names, roots, len(pinned), pinned)


def _asked(common: tls_pb2.CommonTlsContext) -> tuple[common_pb2.CertificateValidationContext, str]:
    """Return what is asked for beside roots, and the name of these."""
    if not common.HasField("combined_validation_context"):
        return common.validation_context, ""
    combined = common.combined_validation_context
    return combined.default_validation_context, combined.validation_context_sds_secret_config.name


def _found(roots: str, names: tuple[str, ...], pins: int) -> Grade:
    if roots:
        return Grade.VERIFIED if names else Grade.ANY_NAME
    return Grade.PINNED if pins else Grade.UNVERIFIED
