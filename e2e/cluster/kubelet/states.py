"""What a container is at one moment, as its pod's status says it."""

from typing import Any

import msgspec
from msgspec import Struct, field


class Waiting(Struct, frozen=True):
    """It does not run, or not again yet."""

    reason: str
    message: str = ""


class Running(Struct, frozen=True, rename="camel"):
    """It runs."""

    started_at: str


class Terminated(Struct, frozen=True, rename="camel"):
    """It has ended."""

    exit_code: int
    started_at: str
    finished_at: str
    container_id: str = field(name="containerID")
    message: str = ""

    @property
    def reason(self) -> str:
        """The word for it."""
        return "Error" if self.exit_code else "Completed"


State = Waiting | Running | Terminated


def as_fields(state: State | None) -> dict[str, Any]:
    """Give a state as the API has it."""
    fields = msgspec.to_builtins(state)
    match state:
        case None:
            return {}
        case Waiting():
            return {"waiting": fields}
        case Running():
            return {"running": fields}
        case Terminated():
            return {"terminated": {**fields, "reason": state.reason}}
