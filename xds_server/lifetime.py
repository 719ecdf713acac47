"""How long a stream is kept: not for ever, so that Envoys spread anew, and hardly ever as long as another."""

from collections.abc import Sequence
from random import uniform

from msgspec import Struct

SHORTEST = 0.5  # of the longest: who came at once goes over all the time between
NO_NEW_STREAM = 0.4  # of the longest: before any stream ends, although gRPC strays by a tenth
UNTIL_ANSWERED = 15.0  # seconds; what is on its way to an Envoy may take so much longer


class Lifetime(Struct, frozen=True):
    """Until when one stream is kept."""

    ends: float | None  # by the clock of whoever asks; None is never

    def is_over(self, now: float, *, settled: bool) -> bool:
        """Say whether to end it now; while an Envoy owes an answer it is better heard out."""
        if self.ends is None:
            return False
        return now >= (self.ends if settled else self.ends + UNTIL_ANSWERED)

    def next_look(self, now: float) -> float | None:
        """Say when to ask again, if nothing happens."""
        if self.ends is None:
            return None
        return self.ends if now < self.ends else self.ends + UNTIL_ANSWERED


def lifetime(began: float, longest: float | None) -> Lifetime:
    """Draw how long a stream is kept; None is for ever."""
    if longest is None:
        return Lifetime(None)
    return Lifetime(began + uniform(SHORTEST, 1) * longest)  # noqa: S311  # no secret


def connection_options(longest: float | None) -> Sequence[tuple[str, int]]:
    """Have gRPC say GOAWAY in time: else an Envoy opens its next stream on the connection that it has.

    What is open on it stays, since gRPC sets no end of its own where it is given none.
    """
    return () if longest is None else (("grpc.max_connection_age_ms", int(NO_NEW_STREAM * longest * 1_000)),)
