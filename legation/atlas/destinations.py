"""How a Gateway reaches a backend: where it is, and what TLS must prove there."""

from datetime import datetime

from legation.atlas.landscape import Destination, Proving, thing
from legation.in_words import name_proved, proved
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
from translator.rules.trust import Purpose, trust
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
    decider = thing(backend.decided_by) if backend.decided_by else None
    tls = barred or due(world, backend)
    if isinstance(tls, UpstreamTls) and isinstance(own, Refused):
        tls = own
    match tls:
        case None if backend.protocol in (Protocol.TCP, Protocol.UDP):
            return Proving(Grade.RELAYED, "as clients send it")
        case None:
            return Proving(Grade.CLEARTEXT, "plaintext")
        case Refused(reason, message):
            return Proving(Grade.REFUSED, f"always fails: {reason}: {message}", decider, refusal=tls)
        case UpstreamTls():
            return Proving(
                grade=_grade(tls),
                words=f"TLS to {tls.sni}, proving {proved(tls)}",
                decided_by=decider,
                server_name=tls.sni,
                names=tuple(map(name_proved, tls.names)),
                roots=SYSTEM_ROOTS if isinstance(tls.trust, SystemRoots) else trust_name(tls.trust) or "",
                expires=_expires(world, backend),
                pins=len(tls.pins),
                shows=thing(Ref("Secret", own)) if isinstance(own, Name) else None,
            )


def _expires(world: World, backend: Backend) -> datetime | None:
    """Say when the first of the certificates ends that prove a backend."""
    found = trust(world, backend.decided_by) if backend.decided_by else ()
    proving = (each for each in found if each.purpose is Purpose.PROVES_BACKENDS)
    return min((dated.anchor.until for each in proving for dated in each.certificates), default=None)


def _grade(tls: UpstreamTls) -> Grade:
    if tls.weakness is not None:
        return Grade(tls.weakness.value)
    return Grade.PINNED if isinstance(tls.trust, PinsAlone) else Grade.VERIFIED
