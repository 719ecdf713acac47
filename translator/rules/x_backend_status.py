"""What an XBackend's status says: its verdict, once for each Gateway of ours that leads to it."""

from translator.memo import query
from translator.names import Name
from translator.objects.x_backend import XBackend
from translator.rules.backend_tls_status import foreign_entries
from translator.rules.endpoints import selecting
from translator.rules.gateways import GATEWAY
from translator.rules.reach import gateways_naming
from translator.rules.status import ParentRef, ParentStatus, PolicyStatus
from translator.rules.x_backends import judge, port_of
from translator.verdict import Condition, holds
from translator.world import World

MOST_ANCESTORS = 32  # of all controllers together


@query
def x_backend_status(world: World, x_backend: Name) -> PolicyStatus:
    """Return our entries of an XBackend's status."""
    written = world.must(XBackend, x_backend)
    port = port_of(x_backend, written.spec)
    room = max(0, MOST_ANCESTORS - foreign_entries(written.status))
    conditions = _conditions(world, x_backend)
    return PolicyStatus(
        tuple(
            ParentStatus(ParentRef(*GATEWAY, name=gateway.name, namespace=gateway.namespace), conditions)
            for gateway in gateways_naming(world, port)[:room]
        )
    )


def _conditions(world: World, x_backend: Name) -> tuple[Condition, ...]:
    """Add to what is said about the XBackend itself that nobody knows its pods."""
    accepted, *others = judge(world, x_backend).conditions
    if accepted.status and not selecting(world, x_backend):
        unknown = "no Service has this selector, so nobody says where these pods are: create one"
        message = "; ".join(filter(None, (accepted.message, unknown)))
        accepted = holds("Accepted", message=message)
    return (accepted, *others)
