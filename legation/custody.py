"""Holds back in a world what an Envoy refused: routes are served as they were before, Secrets not at all.

What another replica holds back is held back here, too, if it is the same version: an Envoy may connect to
any replica, and is served the same. So it outlives a restart as long as one replica knows it, and ends when
the object changes.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

import msgspec
import structlog
from msgspec import Raw, structs

from legation.quarantined import Elsewhere, Held, HoldBack, LetGo
from legation.written_status import read_status
from translator.names import Ref
from translator.objects.secret import Secret
from translator.rules.held_back import HTTP_ROUTES, REASON, HeldBack, HttpRoute, place
from translator.world import World

HELD_KINDS: Mapping[str, type[HttpRoute | Secret]] = {**HTTP_ROUTES, "Secret": Secret}
LONGEST_WORDS = 1_000
NO_STATUS = Raw(b"{}")


class Custody:
    """What is held back, and what routes said before their last change."""

    def __init__(self, world: World) -> None:
        """Begin with nothing held back."""
        self.held: dict[Ref, Held] = {}
        self.once_refused: set[Ref] = set()  # by what they say themselves, from before we began
        self._world = world
        self._before: dict[Ref, HttpRoute | None] = {}  # None: that was refused, too
        self._told: dict[Ref, list[Held]] = {}
        self._log = structlog.get_logger()

    def take(self, order: HoldBack | LetGo | Elsewhere) -> None:
        """Hold back or let go of what is named."""
        match order:
            case HoldBack():
                self._hold_back(order)
            case LetGo(objects):
                self._let_go(objects)
            case Elsewhere(held):
                self._hear(held)

    def before_change(self, ref: Ref, after: object | None) -> None:
        """Keep what a route says before it changes; what was held back is tried as it is then.

        What a Secret said is not kept: it would be a copy of a key.
        """
        now, held = self._standing(ref), self._world.standing(HeldBack, place(ref))
        good = held.before if held else now
        self._release(ref)
        self._before.pop(ref, None)
        self.once_refused.discard(ref)
        if isinstance(good, HttpRoute) and after is not None:
            self._before[ref] = good
        if now is None and isinstance(after, HttpRoute) and _says_refused(after):
            self.once_refused.add(ref)

    def after_change(self, ref: Ref) -> None:
        """Hold back what another replica knows to be refused as it is now."""
        self._adopt(ref)

    def _hold_back(self, order: HoldBack) -> None:
        for ref in order.objects:
            if self._standing(ref) is not None:
                if order.entirely:
                    self._before[ref] = None
                self._hold(ref, order.words[:LONGEST_WORDS])

    def _let_go(self, objects: Iterable[Ref]) -> None:
        """Have objects be as they are, unless another replica knows better."""
        for ref in objects:
            self._release(ref)
            self._adopt(ref)

    def _hear(self, held: Iterable[Held]) -> None:
        self._told = {}
        for each in held:
            self._told.setdefault(each.about, []).append(each)
        for ref in self._told:
            self._adopt(ref)

    def _adopt(self, ref: Ref) -> None:
        """Believe other replicas, if they speak of this version; what they know of before may be of use."""
        told, now = self._told.get(ref), self._standing(ref)
        if not told or now is None:
            return
        known = min((each for each in told if each.content == content(now)), key=_best, default=None)
        if known is None or (ref in self.held and (ref in self._before or not known.before)):
            return
        if known.before and ref not in self._before:
            self._before[ref] = _route(known)
        if ref not in self.held:
            self._log.warning("held back, because an Envoy of another replica refuses it", object=str(ref))
        self._hold(ref, known.words)

    def _standing(self, ref: Ref) -> HttpRoute | Secret | None:
        return self._world.standing(HELD_KINDS[ref.kind], ref.name)

    def _hold(self, ref: Ref, words: str) -> None:
        now, before = self._standing(ref), self._before.get(ref)
        assert now is not None, "what is not there cannot be held back"
        said = _written(before).decode() if before is not None else ""
        self.held[ref] = Held(ref, content(now), words, said)
        self._world.put(HeldBack, place(ref), HeldBack(words, before))

    def _release(self, ref: Ref) -> None:
        self.held.pop(ref, None)
        self._world.put(HeldBack, place(ref), None)


def content(thing: HttpRoute | Secret) -> str:
    """Name what an object says, wherever it is read."""
    return sha256(_written(thing)).hexdigest()


def _written(thing: HttpRoute | Secret) -> bytes:
    """Write an object without what it says about itself."""
    said = thing if isinstance(thing, Secret) else structs.replace(thing, status=NO_STATUS)
    return msgspec.json.encode(said, order="deterministic")


def _route(held: Held) -> HttpRoute | None:
    """Read what a route said before; what another release wrote may be none."""
    try:
        return msgspec.json.decode(held.before, type=HTTP_ROUTES[held.about.kind])
    except msgspec.MsgspecError:
        return None


def _best(held: Held) -> tuple[bool, str, str]:
    return not held.before, held.words, held.before


def _says_refused(route: HttpRoute) -> bool:
    """Say whether the route's status says of what it is now that an Envoy refused it."""
    try:
        said = read_status(bytes(route.status) or b"{}")
    except msgspec.MsgspecError:  # a manifest may bring along anything
        return False
    conditions = (each for entry in said.ours for each in entry.conditions)
    now = route.metadata.generation
    return any(each.reason == REASON and each.observed_generation == now for each in conditions)
