"""Sessions of one rule: who says how each backend keeps them, and that no two keep them by the same name.

An endpoint of one backend is none of another, so two of them cannot take turns with one cookie or header:
each would forget what the other gave.  GEP-1619.
"""

from msgspec import structs

from translator.names import ServicePort
from translator.objects.routes import SessionPersistence
from translator.objects.x_backend import XBackend
from translator.rules import x_backends
from translator.rules.backends import Backend, Share
from translator.rules.sessions import Cookie, Header, Wish, own_name, session
from translator.verdict import Refused
from translator.world import World

Taken = dict[Cookie | Header, ServicePort]  # the path and the lifetime of a cookie are left out


def with_sessions(
    world: World, author: object, written: SessionPersistence | None, shares: tuple[Share, ...]
) -> tuple[Share, ...] | Refused:
    """Return the shares of a rule, each with how it keeps sessions."""
    wish = session(str(author), written) if written else None
    if isinstance(wish, Refused):
        return wish
    taken: Taken = {}
    kept = [_kept(share, _wish(world, share.target) or wish, taken) for share in shares]
    for each in kept:
        if isinstance(each, Refused):
            return each
    return tuple([each for each in kept if isinstance(each, Share)])


def _wish(world: World, target: Backend | Refused) -> Wish | None:
    """Return how a backend wants its sessions to be kept: its own word goes before a rule's."""
    if isinstance(target, Refused) or target.port.kind != x_backends.KIND:
        return None
    spec = world.must(XBackend, target.port.service).spec
    wish = session(str(target.port), spec.session_persistence)
    assert not isinstance(wish, Refused), f"{target} is refused for its sessions"
    return wish


def _kept(share: Share, wish: Wish | None, taken: Taken) -> Share | Refused:
    """Settle by which name a share keeps sessions: one that several want is the first backend's."""
    if wish is None or isinstance(share.target, Refused):
        return share
    port = share.target.port
    match wish.by:
        case Cookie(name) as cookie:
            is_first = taken.setdefault(Cookie(name, "/"), port) == port
            own = (
                cookie
                if wish.is_named and is_first
                else structs.replace(cookie, name=own_name(name, str(port)))
            )
            return share._replace(session=own)
        case Header(name) as header:
            if share.weight and taken.setdefault(Header(name.lower()), port) != port:
                why = f"header {name} cannot keep an endpoint of each of several backends"
                return Refused("UnsupportedValue", f"sessionPersistence: {why}")
            return share._replace(session=header)
