"""The fields of pods that are honoured here, named as in the Kubernetes API."""

from msgspec import Struct, field

Labels = dict[str, str]


class ObjectMeta(Struct, frozen=True, rename="camel"):
    """What every object says of itself."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int = 0


class Reference(Struct, frozen=True):
    """A ConfigMap or Secret by name, which need not exist if it is optional."""

    name: str = ""
    optional: bool = False


class KeySelector(Struct, frozen=True):
    """One key of a ConfigMap or Secret."""

    key: str
    name: str = ""
    optional: bool = False


class FieldRef(Struct, frozen=True, rename="camel"):
    """A field of the pod itself."""

    field_path: str


class ResourceFieldRef(Struct, frozen=True, rename="camel"):
    """A request or limit of a container."""

    resource: str
    container_name: str = ""
    divisor: str = "1"


class EnvVarSource(Struct, frozen=True, rename="camel"):
    """Where the value of a variable comes from."""

    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvVar(Struct, frozen=True, rename="camel"):
    """One variable."""

    name: str
    value: str = ""
    value_from: EnvVarSource | None = None


class EnvFrom(Struct, frozen=True, rename="camel"):
    """All keys of a ConfigMap or Secret as variables."""

    prefix: str = ""
    config_map_ref: Reference | None = None
    secret_ref: Reference | None = None


class HttpHeader(Struct, frozen=True):
    """A header that a probe sends."""

    name: str
    value: str


class HttpGet(Struct, frozen=True, rename="camel"):
    """A request over HTTP."""

    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpSocket(Struct, frozen=True):
    """A connection."""

    port: int | str
    host: str = ""


class GrpcCheck(Struct, frozen=True):
    """A question to the gRPC health service."""

    port: int
    service: str | None = None


class Exec(Struct, frozen=True):
    """A command inside the container."""

    command: tuple[str, ...] = ()


class Sleep(Struct, frozen=True):
    """A pause before the end."""

    seconds: int


class Probe(Struct, frozen=True, rename="camel"):
    """A question asked of a container again and again."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    grpc: GrpcCheck | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class PreStop(Struct, frozen=True, rename="camel"):
    """What happens before a container is told to end."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    sleep: Sleep | None = None


class Lifecycle(Struct, frozen=True, rename="camel"):
    """What happens around the life of a container."""

    pre_stop: PreStop | None = None


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


class KeyToPath(Struct, frozen=True):
    """A key under a file name of its own."""

    key: str
    path: str
    mode: int | None = None


class ConfigMapSource(Struct, frozen=True, rename="camel"):
    """A ConfigMap as files."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class SecretSource(Struct, frozen=True, rename="camel"):
    """A Secret as files, as a volume names it."""

    secret_name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class DownwardFile(Struct, frozen=True, rename="camel"):
    """A file that tells a pod about itself."""

    path: str
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceFieldRef | None = None
    mode: int | None = None


class DownwardSource(Struct, frozen=True, rename="camel"):
    """Files that tell a pod about itself."""

    items: tuple[DownwardFile, ...] = ()
    default_mode: int = 0o644


class TokenSource(Struct, frozen=True, rename="camel"):
    """A token of the pod's ServiceAccount."""

    path: str
    audience: str = ""
    expiration_seconds: int = 3600


class ProjectedPart(Struct, frozen=True, rename="camel"):
    """One source of a projected volume."""

    config_map: ConfigMapSource | None = None
    secret: ConfigMapSource | None = None
    downward_api: DownwardSource | None = field(name="downwardAPI", default=None)
    service_account_token: TokenSource | None = None


class ProjectedSource(Struct, frozen=True, rename="camel"):
    """Several sources in one folder."""

    sources: tuple[ProjectedPart, ...] = ()
    default_mode: int = 0o644


class EmptyDir(Struct, frozen=True):
    """A folder that lives as long as the pod."""


class HostPath(Struct, frozen=True):
    """A path of this machine."""

    path: str
    type: str = ""


class Volume(Struct, frozen=True, rename="camel"):
    """A folder for a pod, of exactly one kind."""

    name: str
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    projected: ProjectedSource | None = None
    downward_api: DownwardSource | None = field(name="downwardAPI", default=None)
    empty_dir: EmptyDir | None = None
    host_path: HostPath | None = None


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


class Ingress(Struct, frozen=True):
    """An address of a load balancer."""

    ip: str = ""


class LoadBalancer(Struct, frozen=True):
    """The addresses of a load balancer."""

    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(Struct, frozen=True, rename="camel"):
    """What a Service is."""

    load_balancer: LoadBalancer = LoadBalancer()


class ServiceSpec(Struct, frozen=True, rename="camel"):
    """What a Service shall be."""

    type: str = "ClusterIP"
    load_balancer_class: str = ""
    load_balancer_ip: str = field(name="loadBalancerIP", default="")


class Service(Struct, frozen=True):
    """A Service as the API server has it."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()
