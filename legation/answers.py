"""What processes of ours answer at their admin ports, or that they do not."""

from types import MappingProxyType

from msgspec import Struct

# No script in a browser can set a header whose name begins with `Sec-`: whoever sends this is no page of
# somebody else that had its own name lead here, whatever name the question was addressed to.
FROM_NO_PAGE = MappingProxyType({"Sec-Legation": "tool"})


class Told(Struct, frozen=True):
    """What one process answered."""

    who: str  # which replica in a cluster; a process on a machine needs no name
    body: bytes


class Answers(Struct, frozen=True):
    """What was answered to one question, by one process at least, and why others did not."""

    told: tuple[Told, ...]
    silent: tuple[str, ...] = ()


class UnansweredError(Exception):
    """Nobody answered a question."""

    def __init__(self, what: str, remedy: str) -> None:
        """Say why, and what helps."""
        super().__init__(what)
        self.remedy = remedy
