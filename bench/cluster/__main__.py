"""Brings up a cluster of its own that knows the images of peers, and measures in it."""

import os
import sys

from bench.cluster.programs import table
from bench.cluster.wanted import need_watchers
from e2e.cluster.own import IMAGES

MEASURE = (sys.executable, "-m", "e2e.cluster", "with", sys.executable, "-m", "bench.cluster.measure")

if __name__ == "__main__":
    need_watchers()
    os.execve(MEASURE[0], MEASURE, {**os.environ, IMAGES: str(table())})  # noqa: S606  as written above
