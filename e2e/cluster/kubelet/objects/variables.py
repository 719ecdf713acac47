"""The variables of containers, and fields of a pod that may be told to it."""

from msgspec import Struct


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
