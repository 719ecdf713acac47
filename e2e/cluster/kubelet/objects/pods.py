"""A pod: what it shall be, as far as that is honoured, and what others say of it."""

from msgspec import Struct

from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.meta import ObjectMeta
from e2e.cluster.kubelet.objects.volumes import Volume


class Sysctl(Struct, frozen=True):
    """A kernel parameter of the pod's network namespace."""

    name: str
    value: str


class PodSecurityContext(Struct, frozen=True, rename="camel"):
    """The user that containers run as which do not say otherwise."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    supplemental_groups: tuple[int, ...] = ()
    sysctls: tuple[Sysctl, ...] = ()


class HostAlias(Struct, frozen=True):
    """A line for /etc/hosts."""

    ip: str
    hostnames: tuple[str, ...] = ()


class ReadinessGate(Struct, frozen=True, rename="camel"):
    """A condition that somebody else sets before the pod is ready."""

    condition_type: str


class SchedulingGate(Struct, frozen=True):
    """A reason not to start a pod yet."""

    name: str


class PodSpec(Struct, frozen=True, rename="camel"):
    """What a pod shall be."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    hostname: str = ""
    host_network: bool = False
    host_aliases: tuple[HostAlias, ...] = ()
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    service_account_name: str = "default"
    security_context: PodSecurityContext = PodSecurityContext()


class Condition(Struct, frozen=True):
    """A condition, of anybody."""

    type: str
    status: str


class PodStatus(Struct, frozen=True):
    """What a pod is."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Struct, frozen=True):
    """A pod as the API server has it."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = PodStatus()

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/api/v1/namespaces/{self.metadata.namespace}/pods/{self.metadata.name}"

    @property
    def hostname(self) -> str:
        """The name that the pod's own programs see."""
        return self.spec.hostname or self.metadata.name[:63]

    @property
    def over(self) -> bool:
        """Whether all its containers have ended for good."""
        return self.status.phase in {"Succeeded", "Failed"}
