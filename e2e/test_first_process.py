"""`legation` as the first process of a container, which the kernel spares every signal it does not handle."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

WITHIN = 60.0
ALONE = ("unshare", "--pid", "--fork", "--mount-proc")
HANDLED = 1 << (signal.SIGTERM - 1)


def child_of(pid: int) -> int | None:
    """Return the process that another one has started, once it has."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else None


def handles_the_end(pid: int) -> bool:
    """Say whether a process has something to do when it is asked to end."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [caught] = [line.split()[1] for line in lines if line.startswith("SigCgt")]
    return bool(int(caught, 16) & HANDLED)


def test_it_ends_when_asked_to_though_it_has_hardly_begun(tmp_path: Path) -> None:
    nobody = tmp_path / "kubeconfig"
    nobody.write_text(NOBODY)
    command = [*ALONE, sys.executable, "-m", "legation", "run", "--kubeconfig", str(nobody)]
    command += ["--admin", "127.0.0.1:0"]
    with subprocess.Popen(command) as outside:  # noqa: S603  as written above
        deadline = monotonic() + WITHIN
        while (inside := child_of(outside.pid)) is None or not handles_the_end(inside):
            assert outside.poll() is None
            assert monotonic() < deadline
            sleep(0.01)
        os.kill(inside, signal.SIGTERM)
        assert outside.wait(WITHIN) in {0, 128 + signal.SIGTERM}


NOBODY = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: a, user: {token: none}}]
"""
