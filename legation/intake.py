"""Puts together what informers tell into batches that are safe to translate: no IO and no clock.

Nothing is handed on before every kind was told whole, or is known to be absent. Afterwards a batch waits
until what its objects refer to for the first time is answered for: else a policy would seem to trust a
ConfigMap that does not exist, for as long as it takes to read it. And what leads somewhere for the first time
waits until all policies are certain to be known: nothing is served in cleartext for lack of news.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from k8s_watch.change import Absent, Change, Gone, Synced, Unreadable
from k8s_watch.change import Put as Seen
from legation.change import Put, Stated
from legation.fence import Doubt, Fence
from legation.wanted import Key, Wishes, trimmed
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.kinds import Object
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES


class Intake:
    """What was told and not handed on yet, and what stands in the way."""

    def __init__(self, kinds: Iterable[type]) -> None:
        """Wait for all of these kinds."""
        self.wishes = Wishes()
        self._unknown = set(kinds)
        self._unanswered: set[Key] = set()
        self._unreadable: dict[Key, str] = {}
        self._batch: list[Put | Stated[bool]] = []
        self._fence = Fence()
        self._begun = False

    @property
    def unknown(self) -> tuple[type, ...]:
        """The kinds that were not told whole yet, in the order of their names."""
        return tuple(sorted(self._unknown, key=lambda kind: kind.__name__))

    @property
    def unreadable(self) -> Mapping[Ref, str]:
        """Objects that are there and do not fit their kind, and why."""
        return MappingProxyType(
            {Ref(kind.__name__, name): why for (kind, name), why in self._unreadable.items()}
        )

    @property
    def in_the_way(self) -> Mapping[Ref, str]:
        """Policies that nobody can read: they may want TLS for anything, so nothing new is served."""
        return {ref: why for ref, why in self.unreadable.items() if ref.kind == BackendTLSPolicy.__name__}

    @property
    def is_safe(self) -> bool:
        """Say whether what was told may be handed on, even if it is not all that is wanted."""
        return not self._unknown and not self.in_the_way and self.is_certain

    @property
    def is_certain(self) -> bool:
        """Say whether a batch may be made: the first one is whole, later ones leave out what waits."""
        return self._begun or not (self._unknown or self._fence.waits)

    @property
    def waits(self) -> bool:
        """Say whether something waits until all policies are certain to be known."""
        return not self._unknown and self._fence.waits

    @property
    def doubt(self) -> Doubt | None:
        """What has to be certain for that."""
        return self._fence.doubt if self.waits else None

    def settle(self, doubt: Doubt) -> None:
        """Take in that it is certain now."""
        self._fence.settle(doubt)
        self._begun = True

    def lose_patience(self) -> None:
        """Take in that it will take long until it is: nothing but policies is waited for."""
        self._fence.lose_patience()

    @property
    def is_answered(self) -> bool:
        """Say whether all that is wanted is known to be there or not to be there."""
        return not self._unanswered

    def take(self, kind: type, changes: Sequence[Change[Object]]) -> None:
        """Take in what an informer tells of its kind."""
        for change in changes:
            match change:
                case Seen(name=name, version=version, thing=thing):
                    key = kind, Name(*name)
                    self._put(key, trimmed(thing, self.wishes.values(key)), version)
                case Gone(name=name):
                    self._put((kind, Name(*name)), None)
                case Unreadable(name=name, why=why):
                    self._unreadable[kind, Name(*name)] = why
                    self._unanswered.discard((kind, Name(*name)))
                case Synced() | Absent():
                    self._complete(kind, present=isinstance(change, Synced))

    @property
    def holds(self) -> bool:
        """Say whether something waits to be handed on."""
        return bool(self._batch)

    def hand_on(self) -> Sequence[Put | Stated[bool]]:
        """Give what has gathered and need not wait for news; nothing unanswered is waited for."""
        self._unanswered.clear()
        if not self._begun:
            self._begun = True
            self._fence.begin()
        batch, self._batch = self._batch, []
        through = self._let_through(batch) if self._fence.waits else batch
        told = (each for each in through if isinstance(each, Put))
        self._fence.hand_on(((each.kind, each.name), each.thing) for each in told)
        return through

    def _let_through(self, batch: Sequence[Put | Stated[bool]]) -> Sequence[Put | Stated[bool]]:
        """Keep what has to wait, and what came after it of the same object."""
        through: list[Put | Stated[bool]] = []
        kept: set[Key] = set()
        for change in batch:
            if isinstance(change, Put):
                key = change.kind, change.name
                if key in kept or self._fence.holds_back(key, is_there=change.thing is not None):
                    kept.add(key)
                    self._batch.append(change)
                    continue
            through.append(change)
        return through

    def _put(self, key: Key, thing: Object | None, version: str = "") -> None:
        self._unreadable.pop(key, None)
        self._unanswered.discard(key)
        self._fence.note(key, thing)
        shift = self.wishes.note(key, thing)
        self._unanswered |= shift.more
        self._unanswered -= shift.gone
        if key[0] is ClusterTrustBundle and thing is not None:
            self._batch.append(Stated(CLUSTER_TRUST_BUNDLES, value=True))
        self._batch.append(Put(*key, thing, version))
        for each in sorted(shift.gone, key=str):
            self._fence.note(each, None)
            self._batch.append(Put(*each, None))

    def _complete(self, kind: type, *, present: bool) -> None:
        self._unknown.discard(kind)
        if kind is ClusterTrustBundle:
            self._batch.append(Stated(CLUSTER_TRUST_BUNDLES, present))
