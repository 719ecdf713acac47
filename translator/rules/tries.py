"""How long a request may take, how often it is tried, and how long each try may take."""

from msgspec import Struct

from translator.objects.durations import milliseconds
from translator.objects.http_route import HTTPRouteRetry, HTTPRouteRule, HTTPRouteTimeouts

MOST = 2**32 - 1


class Again(Struct, frozen=True):
    """When a failed request is tried again: where no backend took it, and by what it answered."""

    attempts: int
    codes: tuple[int, ...] = ()
    backoff: int | None = None  # milliseconds


class Tries(Struct, frozen=True):
    """The limits of a request in milliseconds, 0 where there is to be none, and its further tries."""

    request: int | None = None
    each: int | None = None
    again: Again | None = None


ONE_TRY = Tries()


def tries(rule: HTTPRouteRule) -> Tries:
    """Read what a rule says about time and failure."""
    limits = rule.timeouts or HTTPRouteTimeouts()
    again = _again(rule.retry) if rule.retry is not None else None
    return Tries(_limit(limits.request), _limit(limits.backend_request), again)


def _again(written: HTTPRouteRetry) -> Again | None:
    if not written.attempts:
        return None
    return Again(min(written.attempts, MOST), written.codes, _limit(written.backoff))


def _limit(written: str | None) -> int | None:
    return milliseconds(written) if written is not None else None
