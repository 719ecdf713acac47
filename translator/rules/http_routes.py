"""HTTPRoute: what happens to a request that one of its rules takes."""

from msgspec import Struct

from translator.rules.backends import Share
from translator.rules.filters import HeaderChanges, Redirect


class Forward(Struct, frozen=True):
    """Requests go to backends by weight; at least one share has a weight, refused shares answer `failure`."""

    shares: tuple[Share, ...]
    failure: int = 500


class Fail(Struct, frozen=True):
    """Every request is answered with this status: the rule cannot be honoured, and this is why."""

    status: int
    message: str


class HttpRule(Struct, frozen=True):
    """What one rule does."""

    action: Forward | Redirect | Fail
    request_headers: HeaderChanges = HeaderChanges()
