"""What waits until every policy is certain to be known: whatever leads somewhere for the first time.

Policies and what they govern are told by different watches, and one that is quiet may be so because nothing
happens, or because its connection is dead and nobody said so. So that no policy was told of is no reason to
believe that there is none: that is asked, in the namespaces in question, once for all that gathered.

No IO and no clock.
"""

from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

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
from translator.rules.endpoints import SERVICE_LABEL, ready_addresses
from translator.rules.reach import target_ports, targets

LED_TO = MappingProxyType({kind.__name__: kind for kind in (Service, ServiceImport, XBackend)})
NOWHERE: frozenset[str] = frozenset()
EVERYWHERE = frozenset({""})
MOST_APART = 8  # namespaces that are asked about one by one

Route = HTTPRoute | GRPCRoute | TLSRoute | TCPRoute
Asking = (
    Route
    | Service
    | ServiceImport
    | Gateway
    | GatewayClass
    | GatewayParameters
    | ListenerSet
    | ReferenceGrant
)


class Doubt(Struct, frozen=True):
    """Whether all policies of these namespaces were told; it is about everything noted up to a moment."""

    moment: int
    namespaces: frozenset[str]


class Fence:
    """What leads where, by what was told, and what of it has to wait."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._known: dict[Key, Object] = {}
        self._doubts: dict[Key, Doubt] = {}
        self._moment = 0
        self._outlived: set[Key] = set()  # slices that went after their Service
        self._emptied: dict[Key, int] = {}  # slices that lost their last pod, and the moment they wait for
        self._is_prompt = True  # the last question was answered

    @property
    def waits(self) -> bool:
        """Say whether anything has to wait."""
        return bool(self._doubts)

    @property
    def doubt(self) -> Doubt | None:
        """What has to be certain before all that waits may go on; None if nothing does."""
        if not self._doubts:
            return None
        namespaces = frozenset().union(*(each.namespaces for each in self._doubts.values()))
        apart = "" not in namespaces and len(namespaces) <= MOST_APART
        return Doubt(self._moment, namespaces if apart else EVERYWHERE)

    def note(self, key: Key, thing: Object | None) -> None:
        """Take in an object as it is now; one that is gone leads nowhere."""
        before = self._known.pop(key, None)
        self._outlived.discard(key)
        if _has_pods(thing):
            self._emptied.pop(key, None)
        elif _has_pods(before) and self._is_prompt:
            self._emptied[key] = self._moment + 1  # watches tell in any order: what leads away may come next
        if thing is None:
            if isinstance(before, EndpointSlice) and self._doubts and not self._has_service(before):
                self._outlived.add(key)
            return
        self._known[key] = thing
        if namespaces := led_to(before, thing):
            self._moment += 1
            self._doubts[key] = Doubt(self._moment, namespaces)

    def settle(self, doubt: Doubt) -> None:
        """Let go on what the doubt was about; what was noted since waits for an answer of its own."""
        self._doubts = {key: each for key, each in self._doubts.items() if each.moment > doubt.moment}
        self._emptied = {key: moment for key, moment in self._emptied.items() if moment > doubt.moment}
        self._is_prompt = True
        if not self._doubts:
            self._outlived.clear()

    def let_pods_go(self) -> None:
        """Hold none of them back until a question is answered again: they are gone, and it takes long."""
        self._emptied.clear()
        self._is_prompt = False

    def holds_back(self, key: Key, *, is_there: bool) -> bool:
        """Say whether a change has to wait.

        Pods come and go at once, but for the last ones: what waits may lead away from them. Whatever else
        goes may have been replaced by what waits, and stays as long, a Service with its endpoints. A route
        comes no sooner than the Services that it leads to.
        """
        if not self._doubts:
            return False
        if key[0] is EndpointSlice:
            return key in self._outlived or key in self._emptied
        return not is_there or key in self._doubts or self._leads_to_what_waits(self._known.get(key))

    def _leads_to_what_waits(self, thing: Object | None) -> bool:
        if not isinstance(thing, Route | UDPRoute):
            return False
        return any((LED_TO.get(kind), name) in self._doubts for kind, name in targets(thing))

    def _has_service(self, endpoints: EndpointSlice) -> bool:
        metadata = endpoints.metadata
        service = metadata.labels.get(SERVICE_LABEL, "")
        return (Service, Name(metadata.namespace, service)) in self._known


def _has_pods(thing: Object | None) -> bool:
    return isinstance(thing, EndpointSlice) and any(ready_addresses(thing))


def led_to(before: Object | None, thing: Object) -> frozenset[str]:
    """Name the namespaces to which an object leads, or may have others lead, as it did not before."""
    match thing:
        case HTTPRoute() | GRPCRoute() | TLSRoute() | TCPRoute():
            return _by_route(before, thing)
        case Service() | ServiceImport():
            return NOWHERE if _is_alike(before, thing) else frozenset({thing.metadata.namespace})
        case Namespace():  # its labels say whose routes are let in
            known = isinstance(before, Namespace) and before.metadata.labels == thing.metadata.labels
            return NOWHERE if known else EVERYWHERE
        case Gateway() | GatewayClass() | GatewayParameters() | ListenerSet() | ReferenceGrant():
            return NOWHERE if _is_alike(before, thing) else EVERYWHERE
        case UDPRoute() | XBackend():  # which no policy governs
            return NOWHERE
        case BackendTLSPolicy() | EndpointSlice() | Secret() | ConfigMap() | ClusterTrustBundle():
            return NOWHERE


def _by_route(before: Object | None, route: Route) -> frozenset[str]:
    if _is_alike(before, route):
        return NOWHERE
    led = set(target_ports(route))
    if isinstance(before, Route) and _doors(before) == _doors(route):
        led.difference_update(target_ports(before))
    return frozenset(ref.name.namespace for ref, _ in led)


def _doors(route: Route) -> object:
    """Return by which ways requests come to a route, whatever becomes of them there."""
    return replace(route.spec, rules=())


def _is_alike(before: Object | None, thing: Asking) -> bool:
    """Say whether an object asks for the same as before; others write into its status and its metadata."""
    return isinstance(before, Asking) and before.spec == thing.spec
