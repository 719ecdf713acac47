"""The volumes that are honoured, and what they are made of."""

from msgspec import Struct, field

from e2e.cluster.kubelet.objects.variables import FieldRef, ResourceFieldRef


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
