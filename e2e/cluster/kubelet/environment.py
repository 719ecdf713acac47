"""The variables that a container starts with."""

from collections.abc import Mapping
from types import MappingProxyType

from e2e.cluster.kubelet import kept
from e2e.cluster.kubelet.api import Api
from e2e.cluster.kubelet.fields import MissingError, expand, read_field, read_resource
from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.objects.variables import EnvFrom, EnvVar, KeySelector
from e2e.cluster.network import API_SERVICE_ADDRESS

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
API_SERVER = MappingProxyType(
    {
        "KUBERNETES_SERVICE_HOST": API_SERVICE_ADDRESS,
        "KUBERNETES_SERVICE_PORT": "443",
        "KUBERNETES_SERVICE_PORT_HTTPS": "443",
        "KUBERNETES_PORT": f"tcp://{API_SERVICE_ADDRESS}:443",
    }
)

Variables = Mapping[str, str]


async def variables(api: Api, pod: Pod, container: Container, address: str, given: Variables) -> Variables:
    """Give all variables of a container: those of every one, of its image (`given`), and its own."""
    reader = _Reader(api, pod, container, address)
    every = {"PATH": PATH, "HOSTNAME": pod.hostname, **API_SERVER, **given}
    for source in container.env_from:
        every |= await reader.all_of(source)
    for variable in container.env:
        value = await reader.value(variable, every)
        if value is not None:
            every[variable.name] = value
    return every


class _Reader:
    """Reads the variables of one container."""

    def __init__(self, api: Api, pod: Pod, container: Container, address: str) -> None:
        self._api = api
        self._pod = pod
        self._container = container
        self._address = address

    async def all_of(self, source: EnvFrom) -> dict[str, str]:
        data: kept.Data = {}
        namespace = self._pod.metadata.namespace
        if ref := source.config_map_ref:
            data |= await kept.config_map(self._api, namespace, ref.name, optional=ref.optional)
        if ref := source.secret_ref:
            data |= await kept.secret(self._api, namespace, ref.name, optional=ref.optional)
        return {f"{source.prefix}{key}": value.decode(errors="replace") for key, value in data.items()}

    async def value(self, variable: EnvVar, before: Variables) -> str | None:
        source = variable.value_from
        if not source:
            return expand(variable.value, before)
        namespace = self._pod.metadata.namespace
        if source.field_ref:
            return read_field(self._pod, self._address, source.field_ref)
        if source.resource_field_ref:
            return read_resource(self._pod, source.resource_field_ref, self._container.name)
        if key := source.config_map_key_ref:
            return _one(await kept.config_map(self._api, namespace, key.name, optional=key.optional), key)
        if key := source.secret_key_ref:
            return _one(await kept.secret(self._api, namespace, key.name, optional=key.optional), key)
        message = f"variable {variable.name} says no source that is known here"
        raise MissingError(message)


def _one(data: kept.Data, key: KeySelector) -> str | None:
    if key.key in data:
        return data[key.key].decode()
    if key.optional:
        return None
    message = f"{key.name} has no key {key.key}"
    raise MissingError(message)
