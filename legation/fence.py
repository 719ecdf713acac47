"""What waits until news is certain: what leads somewhere for the first time, until every policy is known.

Policies and what they govern are told by different watches, and one that is quiet may be so because nothing
happens, or because its connection is dead and nobody said so. So that no policy was told of is no reason to
believe that there is none: that is asked, in the namespaces in question, once for all that gathered. What
leans on something that was not told yet waits for it, too, and what is taken away waits for those who lean on
it: they may have turned away. That is asked while answers come; policies are waited for in any case.

No IO and no clock.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from msgspec import Struct
from msgspec.structs import replace

from legation.leaning import NONE, Keys, Known, Leaners, doors, has_pods, is_alike, led_to, taken_away
from legation.wanted import Key
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from translator.objects.listener_set import ListenerSet
from translator.objects.namespace import Namespace
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.objects.service_import import ServiceImport
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.objects.x_backend import XBackend
from translator.rules.default_gateways import Route
from translator.rules.reach import sent_to

NOWHERE: frozenset[str] = frozenset()
EVERYWHERE = frozenset({""})
MOST_APART = 8  # objects, or namespaces, of a kind that are asked about one by one

Governed = HTTPRoute | GRPCRoute | TLSRoute | TCPRoute


class Doubt(Struct, frozen=True):
    """Whether objects were told as they are now; it is about everything noted up to a moment.

    A namespace without a name stands for all that are in it, and neither for all that there are.
    """

    moment: int
    about: Keys


class Fence:
    """What leads where, by what was told, and what of it has to wait."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._known = Known()
        self._doubts: dict[Key, Doubt] = {}
        self._moment = 0
        self._oldest = 0  # moment of any doubt
        self._leaners = Leaners()
        self._is_first = True  # nothing was handed on yet
        self._pending: set[Key] = set()  # what changed and was not handed on
        self._taken: dict[Key, Keys] = {}  # what these changes take away
        self._gone: dict[Key, int] = {}  # which of these went, and when
        self._waiting: AbstractSet[Key] | None = None  # which of these wait, once that was worked out
        self._is_prompt = False  # somebody is served, and questions are answered

    @property
    def waits(self) -> bool:
        """Say whether anything has to wait."""
        return bool(self._doubts)

    @property
    def doubt(self) -> Doubt | None:
        """What has to be certain before all that waits may go on; None if nothing does."""
        if not self._doubts:
            return None
        return Doubt(self._moment, _joined(NONE.union(*(each.about for each in self._doubts.values()))))

    def note(self, key: Key, thing: Object | None) -> None:
        """Take in an object as it is now; one that is gone leads nowhere."""
        before = self._known.note(key, thing)
        if self._is_first:
            self._leaners.note(key, thing)
        self._pending.add(key)
        self._waiting = None
        about = set[Key]()
        if thing is None:
            self._gone.setdefault(key, self._moment)
        else:
            self._gone.pop(key, None)
            about.update((BackendTLSPolicy, Name(each, "")) for each in governed(before, thing))
        if self._is_prompt:
            taken = taken_away(before, thing)
            if taken:
                self._taken[key] = self._taken.get(key, NONE) | taken
            about.update(self._leaners.of(taken), self._known.needed(before, thing) if thing else ())
        if has_pods(thing):  # pods that come do so at once
            self._taken.pop(key, None)
            self._doubts.pop(key, None)
        if about:
            self._doubt(key, about)

    def begin(self) -> None:
        """Take in that somebody is served from now on, so that order matters."""
        self._is_prompt = True

    def hand_on(self, changes: Iterable[tuple[Key, object]]) -> None:
        """Take in that this is what others know from now on."""
        if self._is_first and not self._doubts:  # all that there is, and it may be much
            changes, self._pending, self._taken, self._gone = (), set(), {}, {}
        self._is_first = False
        for key, thing in changes:
            self._waiting = None
            self._leaners.note(key, thing)
            if thing is None or key not in self._gone:  # else its end is still to come
                self._pending.discard(key)
                self._taken.pop(key, None)
                self._gone.pop(key, None)

    def settle(self, doubt: Doubt) -> None:
        """Let go on what the doubt was about; what was noted since waits for an answer of its own."""
        self._keep({key: each for key, each in self._doubts.items() if each.moment > doubt.moment})
        self._is_prompt = True

    def lose_patience(self) -> None:
        """Wait for policies only until a question is answered again: it takes long."""
        policies = {key: replace(each, about=_policies(each.about)) for key, each in self._doubts.items()}
        self._keep({key: each for key, each in policies.items() if each.about})
        self._is_prompt = False

    def holds_back(self, key: Key, *, is_there: bool) -> bool:
        """Say whether a change has to wait.

        What goes may have been replaced by what waits, and stays as long; but pods go at once, unless they
        are the last ones of whoever waits. A route comes no sooner than the backends that it leads to.
        """
        if not self._doubts:
            return False
        if self._waiting is None:
            self._waiting = self._find_waiting()
        if key in self._waiting:
            return True
        return not is_there and key[0] is not EndpointSlice and self._gone.get(key, 0) >= self._oldest

    def _find_waiting(self) -> AbstractSet[Key]:
        """Follow doubts to whatever must not come before what they are about."""
        followers: dict[Key, list[Key]] = {}
        for key in self._pending - self._doubts.keys():
            for each in self._follows(key):
                followers.setdefault(each, []).append(key)
        waiting, ahead = set(self._doubts), list(self._doubts)
        while ahead:
            new = set(followers.get(ahead.pop(), ())) - waiting
            waiting |= new
            ahead += new
        return waiting

    def _follows(self, key: Key) -> Iterator[Key]:
        """Name what has to come before a change or together with it, if it changes, too."""
        if isinstance(thing := self._known.objects.get(key), Route):
            yield from led_to(thing)
        if self._is_prompt:
            yield from self._leaners.of(self._taken.get(key, NONE))

    def _doubt(self, key: Key, about: Iterable[Key]) -> None:
        if not self._doubts:
            self._oldest = self._moment + 1
        self._moment += 1
        earlier = self._doubts.get(key)
        self._doubts[key] = Doubt(self._moment, (earlier.about if earlier else NONE).union(about))

    def _keep(self, doubts: dict[Key, Doubt]) -> None:
        self._doubts, self._waiting = doubts, None
        self._oldest = min((each.moment for each in doubts.values()), default=0)


def _policies(about: Keys) -> Keys:
    return frozenset((kind, name) for kind, name in about if kind is BackendTLSPolicy and not name.name)


def _joined(about: Keys) -> Keys:
    """Ask about many objects of a kind by their namespaces, and about many namespaces as a whole."""
    kinds: dict[type, set[Name]] = {}
    for kind, name in about:
        kinds.setdefault(kind, set()).add(name)
    return frozenset((kind, name) for kind, names in kinds.items() for name in _fewer(names))


def _fewer(names: set[Name]) -> set[Name]:
    single = {each for each in names if each.name}
    whole = names - single
    if len(single) > MOST_APART:
        whole, single = whole | {Name(each.namespace, "") for each in single}, set()
    if len(whole) > MOST_APART or Name("", "") in whole:
        whole = {Name("", "")}
    return whole | single


def governed(before: Object | None, thing: Object) -> frozenset[str]:
    """Name the namespaces whose policies may govern where an object leads, or has others lead, anew."""
    match thing:
        case HTTPRoute() | GRPCRoute() | TLSRoute() | TCPRoute():
            return _by_route(before, thing)
        case Service() | ServiceImport():
            return NOWHERE if is_alike(before, thing) else frozenset({thing.metadata.namespace})
        case Namespace():  # its labels say whose routes are let in
            known = isinstance(before, Namespace) and before.metadata.labels == thing.metadata.labels
            return NOWHERE if known else EVERYWHERE
        case Gateway() | GatewayClass() | GatewayParameters() | ListenerSet() | ReferenceGrant():
            return NOWHERE if is_alike(before, thing) else EVERYWHERE
        case UDPRoute() | XBackend():  # which no policy governs
            return NOWHERE
        case BackendTLSPolicy() | EndpointSlice() | Secret() | ConfigMap() | ClusterTrustBundle():
            return NOWHERE


def _by_route(before: Object | None, route: Governed) -> frozenset[str]:
    if is_alike(before, route):
        return NOWHERE
    led = sent_to(route)
    if isinstance(before, Governed) and doors(before) == doors(route):
        led -= sent_to(before)
    return frozenset(ref.name.namespace for ref, _, _ in led)
