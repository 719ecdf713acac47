"""How soon a thread that computes gives way to the event loop."""

import sys

TURN = 0.0005  # seconds; by itself Python gives ten times as many, and an Envoy's message needs several turns


def give_way_soon() -> None:
    """Have a thread that computes give way soon to one that waits; a translation hardly notices."""
    sys.setswitchinterval(TURN)
