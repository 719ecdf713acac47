"""The garbage collector, kept from stopping every thread while much is made that stays.

A world of thousands of objects is hardly ever garbage, and looking through all of it takes longer than an
Envoy should wait. What large batches leave behind is therefore never looked at again; almost nothing in it
refers to itself, so that what is replaced later still goes at once.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

LARGE = 50_000  # objects; beyond, all is taken to stay; with fewer, what refers to itself would add up


def keep_what_is_there() -> None:
    """Never look again at what is made by now: modules, and what they hold."""
    gc.freeze()


class Collector:
    """The garbage collector, and how many want it to be still."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._guard = Lock()
        self._within = 0
        self._was_on = False

    @contextmanager
    def still(self) -> Generator[None]:
        """Collect nothing until the block ends, and those of others that began meanwhile."""
        with self._guard:
            self._within += 1
            if self._within == 1:
                self._was_on = gc.isenabled()
                gc.disable()
        try:
            yield
        finally:
            with self._guard:
                self._within -= 1
                if self._within == 0 and self._was_on:
                    self._go_on()

    def _go_on(self) -> None:
        if gc.get_count()[0] > LARGE:
            gc.freeze()
        gc.enable()


undisturbed = Collector().still  # of one interpreter
