"""Become another program that ends with its parent, even if that is killed: `leash.py PROGRAM ARGUMENT...`.

A program of its own, and not something done between fork and exec, because our process has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, then make way."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it ended before we had asked
        sys.exit(1)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606  # the program that our parent names, without a shell


if __name__ == "__main__":
    main()
