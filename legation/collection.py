"""The garbage collector, kept from stopping every thread while much is made that stays.

A world of thousands of objects is hardly ever garbage, and looking through all of it takes longer than an
Envoy should wait. What large batches leave behind is therefore never looked at again; almost nothing in it
refers to itself, so that what is replaced later still goes at once.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

LARGE = 10_000  # objects; what is made beyond is taken to stay


def keep_what_is_there() -> None:
    """Never look again at what is made by now: modules, and what they hold."""
    gc.freeze()


@contextmanager
def undisturbed() -> Generator[None]:
    """Collect nothing while the block runs, nor afterwards if somebody else's block is not over yet."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > LARGE:
            gc.freeze()
        gc.enable()
