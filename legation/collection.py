"""The garbage collector, kept from stopping every thread for longer than an Envoy should wait.

A world of thousands of objects is hardly ever garbage, and to look through all of it takes long. So only what
is young is looked at. What has been there for a while, or was made as a part of much, goes when nothing
refers to it any more, and so nothing that lives long may refer to itself: `tests/test_soak.py` sees to that.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock
from time import thread_time

LONG = 0.01  # seconds of the processor, in which so much is made that a look at it takes milliseconds
YOUNG = 2_000  # objects more than there were: time to look at them
LOOKS = 5  # until what all of them left is looked at together, for the last time
NEVER = 2**31 - 1


def look_at_the_young_only() -> None:
    """Never look at what has grown old, from now on."""
    gc.set_threshold(YOUNG, LOOKS, NEVER)


class Collector:
    """The garbage collector, and how many want it to be still."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._guard = Lock()
        self._within = 0
        self._was_on = self._made_much = False

    @contextmanager
    def still(self) -> Generator[None]:
        """Collect nothing until the block ends, and those of others that began meanwhile."""
        with self._guard:
            self._within += 1
            if self._within == 1:
                self._was_on = gc.isenabled()
                gc.disable()
        began = thread_time()
        try:
            yield
        finally:
            took = thread_time() - began
            with self._guard:
                self._within -= 1
                self._made_much |= took > LONG
                if self._within == 0 and self._was_on:
                    self._go_on()

    def _go_on(self) -> None:
        if self._made_much:
            gc.freeze()
        self._made_much = False
        gc.enable()


undisturbed = Collector().still  # of one interpreter
