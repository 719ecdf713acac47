"""What an XBackend's status says: its verdict, once for each Gateway of ours that leads to it."""

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.kinds import name_of
from translator.objects.x_backend import XBackend
from translator.rules import insecure_verification
from translator.rules.backend_tls_status import foreign_entries
from translator.rules.degraded import degraded_by, told_of
from translator.rules.endpoints import selecting
from translator.rules.expiry import expiring
from translator.rules.external_names import forbidden
from translator.rules.gateways import GATEWAY
from translator.rules.managed import RUNS_PROXIES
from translator.rules.reach import gateways_naming
from translator.rules.status import MOST_BACKEND_ANCESTORS, BackendStatus, ParentRef, ParentStatus
from translator.rules.x_backends import KIND, encrypts, judge, port_of, weakness
from translator.verdict import Condition, fails, holds
from translator.world import World


@query
def x_backend_status(world: World, x_backend: Name) -> BackendStatus:
    """Return our entries of an XBackend's status."""
    written = world.must(XBackend, x_backend)
    port = port_of(x_backend, written.spec)
    room = max(0, MOST_BACKEND_ANCESTORS - foreign_entries(written.status))
    return BackendStatus(
        tuple(
            ParentStatus(
                ParentRef(*GATEWAY, name=gateway.name, namespace=gateway.namespace),
                _conditions(world, x_backend, gateway),
            )
            for gateway in gateways_naming(world, port)[:room]
        )
    )


def _conditions(world: World, x_backend: Name, gateway: Name) -> tuple[Condition, ...]:
    """Add to what is said about the XBackend itself what is to be known at this Gateway."""
    accepted, *others = judge(world, x_backend).conditions
    if not accepted.status:
        return (accepted, *others)
    written = world.must(XBackend, x_backend)
    if written.spec.external_hostname is not None:
        barred = forbidden(world, gateway, Ref(KIND, x_backend))
        if barred is not None:
            return (fails("Accepted", barred.reason, barred.message), *others)
    if weakness(world, x_backend) is not None:
        unproved = insecure_verification.forbidden(world, gateway, x_backend.namespace)
        if unproved is not None:
            return (fails("Accepted", unproved.reason, unproved.message), *others)
    message = "; ".join(filter(None, (accepted.message, _note(world, written))))
    ref = Ref(KIND, x_backend)
    told = (*told_of(degraded_by(world, gateway, ref)), *expiring(world, ref))
    return (holds("Accepted", message=message), *others, *told)


def _note(world: World, x_backend: XBackend) -> str:
    """Say what should be known of an XBackend that is accepted."""
    if x_backend.spec.external_hostname is not None:
        return (
            ""
            if encrypts(x_backend)
            else "without tls nothing proves who answers to this name, and all can listen"
        )
    if selecting(world, name_of(x_backend)):
        return ""
    if world.fact(RUNS_PROXIES):
        return "no Service has this selector yet, so nobody says where these pods are: one is being made"
    return "no Service has this selector, so nobody says where these pods are: create one"
