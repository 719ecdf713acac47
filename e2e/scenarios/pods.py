"""Pods that belong together: which there are, and what is done to them that nobody asked them for."""

import os
import signal
from typing import Any, NamedTuple

from e2e.cluster.place import here
from e2e.cluster.processes import Recorded
from e2e.kubectl import kubectl, read


class Pod(NamedTuple):
    """A pod of one container, as it was when it was read."""

    name: str
    namespace: str
    uid: str
    container: str
    address: str
    restarts: int

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to what runs in it, past Kubernetes."""
        recorded = Recorded.load(here().pods / self.uid / self.container / "pid")
        assert recorded is not None, f"{self.name} has not started yet"
        os.kill(recorded.pid, number)

    def vanish(self) -> None:
        """End it without a word, and have it forgotten, as when its node is lost."""
        self.signal(signal.SIGKILL)
        kubectl("delete", "pod", self.name, "--namespace", self.namespace, "--grace-period=0", "--force")


class Pods(NamedTuple):
    """What a selector finds in a namespace."""

    namespace: str
    selector: str

    def all(self) -> list[Pod]:
        """Give those that are there, also if they are about to end."""
        return [_pod(each) for each in self._found()]

    def ready(self, count: int) -> list[Pod]:
        """Give those that are to stay if there are so many, and all are ready."""
        staying = [each for each in self._found() if "deletionTimestamp" not in each["metadata"]]
        return (
            [_pod(each) for each in staying]
            if [_is_ready(each) for each in staying] == [True] * count
            else []
        )

    def restarts(self) -> int:
        """Count how often their containers were started again."""
        return sum(each.restarts for each in self.all())

    def logs(self) -> str:
        """Read what they have said since they were started last."""
        return "".join(kubectl("logs", "--namespace", self.namespace, each.name) for each in self.all())

    def _found(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = read(
            "pods", "--namespace", self.namespace, "--selector", self.selector
        )["items"]
        return found


def uids(*found: Pods) -> set[str]:
    """Name the pods that there are, in a way that no others are ever named."""
    return {pod.uid for pods in found for pod in pods.all()}


def _pod(found: dict[str, Any]) -> Pod:
    metadata, status = found["metadata"], found["status"]
    [container] = found["spec"]["containers"]
    restarts = sum(each["restartCount"] for each in status.get("containerStatuses", []))
    name, namespace, uid = metadata["name"], metadata["namespace"], metadata["uid"]
    return Pod(name, namespace, uid, container["name"], status.get("podIP", ""), restarts)


def _is_ready(found: dict[str, Any]) -> bool:
    told = found["status"].get("conditions", [])
    return any((each["type"], each["status"]) == ("Ready", "True") for each in told)
