"""A pod's status, out of what its containers are."""

from collections.abc import Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from e2e.cluster.kubelet.container import ContainerLife
from e2e.cluster.kubelet.events import now
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.states import Running, Terminated
from e2e.cluster.network import NODE_ADDRESS

REPLACE = MappingProxyType(
    {"$patch": "replace"}
)  # a list of addresses is merged otherwise, and a pod that starts again has another


class Phase(StrEnum):
    """How far a pod has come."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Progress(NamedTuple):
    """A pod at one moment."""

    pod: Pod
    address: str
    initial: Sequence[ContainerLife]
    main: Sequence[ContainerLife]
    initialized: bool

    @property
    def phase(self) -> Phase:
        """How far it has come."""
        if not self.initialized:
            failed = any(container.ended.is_set() and not container.succeeded for container in self.initial)
            return Phase.FAILED if failed else Phase.PENDING
        if all(container.ended.is_set() for container in self.main):
            well = all(container.succeeded for container in self.main)
            return Phase.SUCCEEDED if well else Phase.FAILED
        begun = any(
            container.restarts or isinstance(container.state, Running | Terminated) for container in self.main
        )
        return Phase.RUNNING if begun else Phase.PENDING

    def conditions(self) -> dict[str, bool]:
        """What can be said of it."""
        asked = [*self.main, *(container for container in self.initial if container.sidecar)]
        ready = self.phase is Phase.RUNNING and all(container.ready for container in asked)
        theirs = {condition.type: condition.status for condition in self.pod.status.conditions}
        gates = self.pod.spec.readiness_gates
        return {
            "PodScheduled": True,
            "PodReadyToStartContainers": bool(self.address),
            "Initialized": self.initialized,
            "ContainersReady": ready,
            "Ready": ready and all(theirs.get(gate.condition_type) == "True" for gate in gates),
        }


def is_contradicted(pod: Pod, progress: Progress) -> bool:
    """Say whether somebody says otherwise, as of all pods of a node that was not heard for a while."""
    theirs = {each.type: each.status for each in pod.status.conditions}
    return any(theirs.get(type_, str(holds)) != str(holds) for type_, holds in progress.conditions().items())


class Reporter:
    """Gives a pod's status, with the time at which each of its conditions became what it is."""

    def __init__(self) -> None:
        self._begun = now()
        self._since: dict[str, tuple[bool, str]] = {}

    def status(self, progress: Progress) -> dict[str, object]:
        """Say how it is; conditions that others have set are not mentioned, and stay."""
        generation = progress.pod.metadata.generation
        over = progress.phase in {Phase.SUCCEEDED, Phase.FAILED}
        unready = "PodCompleted" if over else "ContainersNotReady"
        conditions = [
            {
                "type": type_,
                "status": str(holds),
                "reason": None if holds else unready,
                "lastTransitionTime": self._transition(type_, holds=holds),
                "observedGeneration": generation,
            }
            for type_, holds in progress.conditions().items()
        ]
        address = progress.address
        return {
            "phase": progress.phase,
            "conditions": conditions,
            "observedGeneration": generation,
            "startTime": self._begun,
            "hostIP": NODE_ADDRESS,
            "hostIPs": [dict(REPLACE), {"ip": NODE_ADDRESS}],
            "containerStatuses": [container.status() for container in progress.main],
            "initContainerStatuses": [container.status() for container in progress.initial],
            **({"podIP": address, "podIPs": [dict(REPLACE), {"ip": address}]} if address else {}),
        }

    def _transition(self, condition: str, *, holds: bool) -> str:
        before = self._since.get(condition)
        if before and before[0] == holds:
            return before[1]
        self._since[condition] = holds, now()
        return self._since[condition][1]
