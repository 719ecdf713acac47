"""Timeouts and retries in Envoy's terms."""

from envoy.config.route.v3 import route_components_pb2

from translator.envoy.durations import duration
from translator.rules.tries import Again, Tries

LATER = 1000  # milliseconds by which the limit of silence must not come first
SHORTEST = 1  # of Envoy's intervals between tries, which may not be nothing
REJECTED = "connect-failure,refused-stream,unavailable"  # no backend took the request
BY_CODE = "retriable-status-codes"
# A try that took too long cannot be told from one that was reset: where a rule limits its tries and asks for
# more of them, a request that a backend had begun to answer may be sent once more.
TOO_LONG = "reset"
GROWS_TO = 10  # times the first interval


def limit(action: route_components_pb2.RouteAction, tries: Tries) -> None:
    """Limit a request; its timeout covers all of its tries."""
    if tries.request is not None:
        action.timeout.CopyFrom(duration(tries.request))
        action.idle_timeout.CopyFrom(duration(tries.request and tries.request + LATER))
    if tries.each:
        action.retry_policy.per_try_timeout.CopyFrom(duration(tries.each))
    if tries.again is not None:
        _try_again(action.retry_policy, tries.again, timed=bool(tries.each))


def _try_again(policy: route_components_pb2.RetryPolicy, again: Again, *, timed: bool) -> None:
    policy.num_retries.value = again.attempts
    policy.retriable_status_codes.extend(again.codes)
    policy.retry_on = ",".join(
        [REJECTED, *([BY_CODE] if again.codes else []), *([TOO_LONG] if timed else [])]
    )
    if again.backoff is not None:
        first = max(again.backoff, SHORTEST)
        policy.retry_back_off.base_interval.CopyFrom(duration(first))
        policy.retry_back_off.max_interval.CopyFrom(duration(first * GROWS_TO))
