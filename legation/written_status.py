"""Statuses as the Kubernetes API writes them, read back: what the commands and the admin port show."""

import msgspec
from msgspec import Struct, structs

from translator.rules.gateways import CONTROLLER

PENDING = "Pending"
OWN_PREFIX = "legation.dev/"
VERIFICATION_DEGRADED = f"{OWN_PREFIX}VerificationDegraded"
BAD_WHEN_TRUE = frozenset({"Conflicted"})
GOOD_WHEN_TRUE = frozenset({f"{OWN_PREFIX}CollectorsResolved"})  # of our own: all others are remarks
WARNINGS_WHEN_TRUE = frozenset({"InsecureFrontendValidationMode", "OverlappingTLSConfig", "PartiallyInvalid"})


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """One condition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str = ""

    @property
    def is_waiting(self) -> bool:
        """Say whether something is not done yet, and will be."""
        return self.reason == PENDING

    @property
    def is_bad(self) -> bool:
        """Say whether something a user asked for is not done, and waiting will not help."""
        if self.is_waiting:
            return False
        if self.type in BAD_WHEN_TRUE:
            return self.status == "True"
        return self.status == "False" and self.type not in WARNINGS_WHEN_TRUE

    @property
    def is_warning(self) -> bool:
        """Say whether something is done, and somebody should know how."""
        own = self.type.startswith(OWN_PREFIX) and self.type not in GOOD_WHEN_TRUE
        return self.status == "True" and (own or self.type in WARNINGS_WHEN_TRUE)

    @property
    def is_alarm(self) -> bool:
        """Say whether something is done that somebody should not miss."""
        return self.is_warning and self.type == VERIFICATION_DEGRADED


class Listener(Struct, frozen=True, gc=False, rename="camel"):
    """One listener of a Gateway or a ListenerSet."""

    name: str
    attached_routes: int = 0
    conditions: tuple[Condition, ...] = ()


class Reference(Struct, frozen=True, gc=False, rename="camel"):
    """A parent or an ancestor."""

    name: str
    kind: str = "Gateway"
    namespace: str = ""
    section_name: str = ""
    port: int | None = None

    def __str__(self) -> str:
        """As people write it: `Gateway infra/edge, section web`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        section = f", section {self.section_name}" if self.section_name else ""
        return f"{self.kind} {name}{section}{f', port {self.port}' if self.port else ''}"


class Entry(Struct, frozen=True, gc=False, rename="camel"):
    """What one controller says of an object in respect of one parent or ancestor."""

    controller_name: str
    parent_ref: Reference | None = None
    ancestor_ref: Reference | None = None
    conditions: tuple[Condition, ...] = ()

    def about(self, namespace: str) -> Reference | None:
        """Return the parent or the ancestor; one that does not say its namespace is in the object's own."""
        found = self.parent_ref or self.ancestor_ref
        if found is None or found.namespace:
            return found
        return structs.replace(found, namespace=namespace)


class Address(Struct, frozen=True, gc=False):
    """An address of a Gateway."""

    value: str = ""


class WrittenStatus(Struct, frozen=True, gc=False):
    """Any kind's status, of which each has some of these."""

    conditions: tuple[Condition, ...] = ()
    listeners: tuple[Listener, ...] = ()
    parents: tuple[Entry, ...] = ()
    ancestors: tuple[Entry, ...] = ()
    addresses: tuple[Address, ...] = ()

    @property
    def ours(self) -> tuple[Entry, ...]:
        """What we say in respect of parents or ancestors; others say what they like."""
        return tuple(each for each in (*self.parents, *self.ancestors) if each.controller_name == CONTROLLER)

    def condition(self, condition_type: str) -> Condition | None:
        """Find one of its own conditions."""
        return next((each for each in self.conditions if each.type == condition_type), None)


def read_status(written: bytes) -> WrittenStatus:
    """Read a status that an object has."""
    return msgspec.json.decode(written, type=WrittenStatus)
