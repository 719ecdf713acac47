"""A container: a program, what it sees, and what it is asked."""

from msgspec import Struct, field

from e2e.cluster.kubelet.objects.probes import Lifecycle, Probe
from e2e.cluster.kubelet.objects.variables import EnvFrom, EnvVar


class ContainerPort(Struct, frozen=True, rename="camel"):
    """A port that may be named."""

    container_port: int
    name: str = ""


class VolumeMount(Struct, frozen=True, rename="camel"):
    """Where a container sees a volume."""

    name: str
    mount_path: str
    read_only: bool = False
    sub_path: str = ""
    sub_path_expr: str = ""


class Resources(Struct, frozen=True):
    """Requests and limits, which are told but not kept: there are no cgroups here."""

    requests: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)


class SecurityContext(Struct, frozen=True, rename="camel"):
    """The user that a container runs as."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool = False


class Container(Struct, frozen=True, rename="camel"):
    """A program and what surrounds it."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    resources: Resources = Resources()
    lifecycle: Lifecycle = Lifecycle()
    startup_probe: Probe | None = None
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None
    restart_policy: str = ""
    security_context: SecurityContext = SecurityContext()
    termination_message_path: str = "/dev/termination-log"
