"""How a Gateway reaches a backend: where it is, and what TLS must prove there."""

from legation.in_words import name_proved, proved
from legation.landscape import Destination, Proving, thing
from translator.envoy.proofs import Grade
from translator.envoy.secrets import trust_name
from translator.envoy.upstream_tls import SYSTEM_ROOTS
from translator.memo import query
from translator.names import Name, Ref
from translator.rules import external_names
from translator.rules.backend_certificate import Hop
from translator.rules.backend_tls import PinsAlone, SystemRoots, UpstreamTls
from translator.rules.backends import Backend, Protocol
from translator.rules.endpoints import endpoints
from translator.rules.hops import due, hop
from translator.verdict import Refused
from translator.world import World


@query
def destination(world: World, gateway: Name, backend: Backend) -> Destination:
    """Say how a Gateway reaches a backend."""
    port = backend.port
    return Destination(
        cluster=str(backend),
        port=str(port),
        service=thing(port.owner),
        protocol=backend.protocol.value,
        proving=_proving(world, hop(world, gateway, backend)),
        endpoints=None if backend.by_name else len(endpoints(world, port)),
        dns_name=(external_names.hostname(world, port) or "") if backend.by_name else "",
    )


def _proving(world: World, reached: Hop) -> Proving:
    """Say what is proved, by the same verdicts that the cluster is built from."""
    backend, own, barred = reached
    tls = barred or due(world, backend)
    if isinstance(tls, UpstreamTls) and isinstance(own, Refused):
        tls = own
    policy = Ref("BackendTLSPolicy", backend.policy) if backend.policy else None
    decides = policy or (backend.port.owner if backend.own_tls else None)
    by = thing(decides) if decides else None
    match tls:
        case None if backend.protocol in (Protocol.TCP, Protocol.UDP):
            return Proving(Grade.RELAYED, "as clients send it")
        case None:
            return Proving(Grade.CLEARTEXT, "plaintext")
        case Refused(reason, message):
            return Proving(Grade.REFUSED, f"always fails: {reason}: {message}", by, refusal=tls)
        case UpstreamTls():
            shows = thing(Ref("Secret", own)) if isinstance(own, Name) else None
            return Proving(
                _grade(tls),
                f"TLS to {tls.sni}, proving {proved(tls)}",
                by,
                tls.sni,
                tuple(map(name_proved, tls.names)),
                SYSTEM_ROOTS if isinstance(tls.trust, SystemRoots) else trust_name(tls.trust) or "",
                len(tls.pins),
                shows,
            )


def _grade(tls: UpstreamTls) -> Grade:
    if tls.weakness is not None:
        return Grade(tls.weakness.value)
    return Grade.PINNED if isinstance(tls.trust, PinsAlone) else Grade.VERIFIED
