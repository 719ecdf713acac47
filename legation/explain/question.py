"""What may be asked, and its answer: one for files, and for what runs."""

from collections.abc import Mapping
from urllib.parse import parse_qs, urlencode

from msgspec import Struct

from legation.explain.explanation import Explanation, Unknown
from legation.explain.names import FORM, meant
from legation.explain.objects import explain
from legation.explain.requests import read_request
from legation.explain.told import Statuses
from legation.explain.urls import trace
from translator.world import World


class Question(Struct, frozen=True):
    """An object or a URL; of a URL, by which method and with which headers."""

    of: str
    method: str = "GET"
    headers: tuple[str, ...] = ()

    @property
    def is_request(self) -> bool:
        """Tell whether it is a URL."""
        return "://" in self.of

    def query(self) -> str:
        """Write it into a URL's query."""
        return urlencode(
            [("of", self.of), ("method", self.method), *(("header", each) for each in self.headers)]
        )


def read_question(query: str) -> Question:
    """Read it out of a URL's query."""
    asked: Mapping[str, list[str]] = parse_qs(query)
    [of] = asked.get("of", [""])[:1]
    [method] = asked.get("method", ["GET"])[:1]
    return Question(of, method, tuple(asked.get("header", ())))


def explained(world: World, statuses: Statuses, question: Question) -> Explanation:
    """Answer a question."""
    if not question.of:
        return Unknown(f"nothing is asked about; write {FORM}")
    if question.is_request:
        request = read_request(question.of, question.method, question.headers)
        return request if isinstance(request, Unknown) else trace(world, statuses, request)
    ref = meant(world, question.of)
    return ref if isinstance(ref, Unknown) else explain(world, statuses, ref)
