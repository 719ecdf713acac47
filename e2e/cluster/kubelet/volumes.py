"""The volumes of a pod, as folders of this machine; those made of API objects change with these."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from e2e.cluster.kubelet import kept, swap
from e2e.cluster.kubelet.api import Api
from e2e.cluster.kubelet.fields import MissingError, read_field, read_resource
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.objects.volumes import (
    ConfigMapSource,
    DownwardSource,
    KeyToPath,
    ProjectedPart,
    TokenSource,
    Volume,
)
from e2e.cluster.kubelet.swap import File

Files = dict[str, File]


class Folder(NamedTuple):
    """A volume as it is mounted."""

    path: Path
    read_only: bool


class Volumes:
    """The volumes of one pod."""

    def __init__(self, api: Api, pod: Pod, home: Path) -> None:
        self._api = api
        self._pod = pod
        self._home = home
        self._tokens = kept.Tokens(api, pod)
        self.folders: Mapping[str, Folder] = {}

    async def make(self, pod: Pod, address: str) -> None:
        """Make every volume, or bring it up to date; raises MissingError while something is not there."""
        self._pod = pod
        self.folders = {volume.name: await self._folder(volume, address) for volume in pod.spec.volumes}

    async def _folder(self, volume: Volume, address: str) -> Folder:
        folder = self._home / volume.name
        if volume.host_path:
            return Folder(Path(volume.host_path.path), read_only=False)
        folder.mkdir(parents=True, exist_ok=True)
        if volume.empty_dir:
            folder.chmod(0o777)  # also for a container that does not run as root
            return Folder(folder, read_only=False)
        files = await self._files(volume, address)
        if self._pod.spec.security_context.fs_group is not None:  # then its group may read what its user may
            files = {name: File(file.content, file.mode | 0o444) for name, file in files.items()}
        swap.write(folder, files)
        return Folder(folder, read_only=True)

    async def _files(self, volume: Volume, address: str) -> Files:
        if source := volume.config_map:
            return await self._config_map(source, source.default_mode)
        if secret := volume.secret:
            named = ConfigMapSource(name=secret.secret_name, items=secret.items, optional=secret.optional)
            return await self._secret(named, secret.default_mode)
        if downward := volume.downward_api:
            return self._downward(downward, downward.default_mode, address)
        if projected := volume.projected:
            parts = [await self._part(part, projected.default_mode, address) for part in projected.sources]
            return {name: file for part in parts for name, file in part.items()}
        message = f"volume {volume.name} is of a kind that is not known here"
        raise MissingError(message)

    async def _part(self, part: ProjectedPart, mode: int, address: str) -> Files:
        files: Files = {}
        if part.config_map:
            files |= await self._config_map(part.config_map, mode)
        if part.secret:
            files |= await self._secret(part.secret, mode)
        if part.downward_api:
            files |= self._downward(part.downward_api, mode, address)
        if part.service_account_token:
            files |= await self._token(part.service_account_token, mode)
        return files

    async def _config_map(self, source: ConfigMapSource, mode: int) -> Files:
        namespace = self._pod.metadata.namespace
        data = await kept.config_map(self._api, namespace, source.name, optional=source.optional)
        return _pick(data, source, mode)

    async def _secret(self, source: ConfigMapSource, mode: int) -> Files:
        namespace = self._pod.metadata.namespace
        data = await kept.secret(self._api, namespace, source.name, optional=source.optional)
        return _pick(data, source, mode)

    async def _token(self, source: TokenSource, mode: int) -> Files:
        return {source.path: File((await self._tokens.token(source)).encode(), mode)}

    def _downward(self, source: DownwardSource, mode: int, address: str) -> Files:
        files = {}
        for item in source.items:
            if item.field_ref:
                text = read_field(self._pod, address, item.field_ref)
            elif item.resource_field_ref:
                text = read_resource(self._pod, item.resource_field_ref)
            else:
                message = f"{item.path} says neither field nor resource"
                raise MissingError(message)
            files[item.path] = File(text.encode(), item.mode or mode)
        return files


def _pick(data: kept.Data, source: ConfigMapSource, mode: int) -> Files:
    items = source.items or tuple(KeyToPath(key, key) for key in data)
    absent = [item.key for item in items if item.key not in data]
    if absent and not source.optional:
        message = f"{source.name} has no key {absent[0]}"
        raise MissingError(message)
    return {item.path: File(data[item.key], item.mode or mode) for item in items if item.key in data}
