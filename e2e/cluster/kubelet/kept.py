"""What the API server keeps for pods: ConfigMaps, Secrets and tokens."""

import time
from http import HTTPStatus

import msgspec
from msgspec import Struct, field

from e2e.cluster.kubelet.api import Api, ApiError
from e2e.cluster.kubelet.fields import MissingError
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.objects.volumes import TokenSource

Data = dict[str, bytes]
RENEW_AFTER = 0.8  # of a token's life


class _ConfigMap(Struct, rename="camel"):
    data: dict[str, str] = field(default_factory=dict)
    binary_data: Data = field(default_factory=dict)


class _Secret(Struct):
    data: Data = field(default_factory=dict)


class _TokenStatus(Struct):
    token: str


class _TokenRequest(Struct):
    status: _TokenStatus


async def config_map(api: Api, namespace: str, name: str, *, optional: bool = False) -> Data:
    """Read the keys of a ConfigMap."""
    try:
        found = await api.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}", _ConfigMap)
    except ApiError as error:
        return _absent(error, f'configmap "{name}" not found', optional=optional)
    return {key: text.encode() for key, text in found.data.items()} | found.binary_data


async def secret(api: Api, namespace: str, name: str, *, optional: bool = False) -> Data:
    """Read the keys of a Secret."""
    try:
        return (await api.get(f"/api/v1/namespaces/{namespace}/secrets/{name}", _Secret)).data
    except ApiError as error:
        return _absent(error, f'secret "{name}" not found', optional=optional)


def _absent(error: ApiError, message: str, *, optional: bool) -> Data:
    if error.status != HTTPStatus.NOT_FOUND:
        raise error
    if not optional:
        raise MissingError(message)
    return {}


class Tokens:
    """The ServiceAccount tokens of one pod, each renewed before it ends."""

    def __init__(self, api: Api, pod: Pod) -> None:
        self._api = api
        self._pod = pod
        self._tokens: dict[TokenSource, tuple[str, float]] = {}

    async def token(self, source: TokenSource) -> str:
        """Give a token that is valid for a while."""
        token, renew_at = self._tokens.get(source, ("", 0.0))
        if time.monotonic() >= renew_at:
            token = await self._request(source)
            self._tokens[source] = token, time.monotonic() + RENEW_AFTER * source.expiration_seconds
        return token

    async def _request(self, source: TokenSource) -> str:
        meta = self._pod.metadata
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
        spec = {
            "expirationSeconds": source.expiration_seconds,
            "audiences": [source.audience] if source.audience else [],
            "boundObjectRef": bound,
        }
        account = f"serviceaccounts/{self._pod.spec.service_account_name}"
        answer = await self._api.post(
            f"/api/v1/namespaces/{meta.namespace}/{account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
        )
        return msgspec.json.decode(answer, type=_TokenRequest).status.token
