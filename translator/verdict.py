"""What a rule found about something a user wrote: a value or a refusal, and the conditions that say so."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Struct

T_co = TypeVar("T_co", covariant=True)

OUR_FAULT = "InternalError"
MOST_NAMED = 5
LONGEST_NAMED = 300
LONGEST_MESSAGE = 8 * 1024  # a quarter of what the API server takes: an object may have many of them


class Refused(Struct, frozen=True):
    """Something a user wrote that cannot be honoured: it fails, and this is why."""

    reason: str
    message: str


class Condition(Struct, frozen=True):
    """One condition of a status, without its times: those are added when it is written."""

    type: str
    status: bool
    reason: str
    message: str = ""


class Verdict(Struct, Generic[T_co], frozen=True):
    """One reading of what a user wrote, for the Envoy resource and for the status alike."""

    value: T_co
    conditions: tuple[Condition, ...]


def holds(type_: str, reason: str | None = None, message: str = "") -> Condition:
    """Return a condition that is True; its reason is its type where none is given."""
    return Condition(type_, status=True, reason=reason or type_, message=legible(message))


def fails(type_: str, reason: str, message: str) -> Condition:
    """Return a condition that is False, with the reason and a sentence for the person who reads it."""
    return Condition(type_, status=False, reason=reason, message=legible(message))


def legible(message: str) -> str:
    """Leave out of a message what no terminal should be shown, and what is too long for a status."""
    shown = message if message.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in message)
    return shown if len(shown) <= LONGEST_MESSAGE else f"{shown[:LONGEST_MESSAGE]}..."


def our_fault(what: object) -> Refused:
    """Refuse what a mistake of ours kept from ever being read: it fails, and nothing else with it."""
    return Refused(OUR_FAULT, f"{what} is not served, by a mistake of ours: please report it")


def listed(things: Sequence[str]) -> str:
    """Join what a message names, cutting what is too long or too many: people read it, the API limits it."""
    named = [
        each if len(each) <= LONGEST_NAMED else f"{each[:LONGEST_NAMED]}..." for each in things[:MOST_NAMED]
    ]
    more = len(things) - MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
