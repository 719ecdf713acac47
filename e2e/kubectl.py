"""kubectl, as tests ask it, and waiting for what nobody announces."""

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, TypeVar

T = TypeVar("T")
WITHIN = 180.0  # seconds; the machine may be busy with other things
PAUSE = 0.05


class RefusedError(OSError):
    """kubectl came to nothing, perhaps only for the moment."""


def kubectl(*arguments: str, given: str = "") -> str:
    """Run kubectl against the cluster of KUBECONFIG and return what it says."""
    done = subprocess.run(  # noqa: S603  no shell
        ["kubectl", *arguments],  # noqa: S607  the one that belongs to the cluster is first on the PATH
        input=given,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        message = f"kubectl {' '.join(arguments)}: {done.stderr}"
        raise RefusedError(message)
    return done.stdout


def read(*arguments: str) -> dict[str, Any]:
    """Get an object, or a list of them."""
    found: dict[str, Any] = json.loads(kubectl("get", "--output=json", *arguments))
    return found


def apply(namespace: str, manifest: str) -> None:
    """Apply a manifest in a namespace; a kind that was established just now may not be served yet."""
    eventually(lambda: kubectl("apply", "--namespace", namespace, "--filename=-", given=manifest))


def wait_for(namespace: str, what: str, thing: str) -> None:
    """Wait until a condition of an object holds, which may have to be made first, or it is deleted."""
    command = ("wait", "--namespace", namespace, f"--for={what}", thing, f"--timeout={WITHIN:.0f}s")
    eventually(lambda: kubectl(*command) or True)  # of what is deleted already, it says nothing


def rolled_out(namespace: str, deployment: str) -> None:
    """Wait until all pods of a Deployment are new and ready."""
    named = ("--namespace", namespace, f"deployment/{deployment}")
    kubectl("rollout", "status", *named, f"--timeout={WITHIN:.0f}s")


@contextmanager
def namespaced() -> Iterator[str]:
    """Have a namespace until the block ends."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    try:
        wait_for(name, "create", "serviceaccount/default")  # before it is there, no pod is admitted
        yield name
    finally:
        kubectl("delete", "namespace", name, "--wait=false")


def eventually(question: Callable[[], T], *, within: float = WITHIN) -> T:
    """Ask until there is an answer, and it is not empty: kube-proxy tells nobody when its rules are new.

    Whatever an answer is read from may not be there yet, so neither an OSError nor a LookupError is one.
    """
    deadline = monotonic() + within
    last: object = None
    while monotonic() < deadline:
        try:
            if answer := question():
                return answer
            last = answer
        except (OSError, LookupError) as error:
            last = error
        sleep(PAUSE)
    message = f"after {within:.0f} s still {last!r}"
    raise AssertionError(message)
