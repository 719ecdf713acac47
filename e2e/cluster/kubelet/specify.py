"""A container, its image and its surroundings, put together as what its first process needs."""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from e2e.cluster.kubelet.environment import variables
from e2e.cluster.kubelet.fields import MissingError, expand
from e2e.cluster.kubelet.images import Image
from e2e.cluster.kubelet.objects.containers import Container, VolumeMount
from e2e.cluster.kubelet.root import Mount, Specification
from e2e.cluster.kubelet.surroundings import Surroundings
from e2e.cluster.network import DNS_ADDRESS

ROOT_HOME, OTHER_HOME = "/" + "root", "/" + "home/nonroot"  # in a container's own file system
PASSWD = f"root:x:0:0:root:{ROOT_HOME}:/bin/sh\nnonroot:x:65532:65532::{OTHER_HOME}:/bin/false\n"
ETC = MappingProxyType(
    {"passwd": PASSWD, "group": "root:x:0:\nnonroot:x:65532:\n", "nsswitch.conf": "hosts: files dns\n"}
)


async def specify(around: Surroundings, container: Container, image: Image) -> Specification:
    """Put everything together; raises MissingError while something is not there."""
    home = around.home / container.name
    root = home / "root"
    root.mkdir(parents=True, exist_ok=True)
    uid, gid = _user(around, container, image)
    given = {"HOME": OTHER_HOME if uid else ROOT_HOME, **image.env}
    environment = await variables(around.host.api, around.pod, container, around.address, given)
    last_words = Mount(str(_last_words(home)), container.termination_message_path, read_only=False)
    volumes = [_mount(around, mount, environment) for mount in container.volume_mounts]
    layers = [Mount(source, target, read_only=True) for target, source in image.files.items()]
    context = around.pod.spec.security_context
    own_group = () if context.fs_group is None else (context.fs_group,)
    return Specification(
        root=str(root),
        hostname=around.pod.hostname,
        etc=_etc(around),
        mounts=[*layers, last_words, *volumes],
        read_only=container.security_context.read_only_root_filesystem,
        arguments=[expand(argument, environment) for argument in _arguments(container, image)],
        variables=dict(environment),
        folder=container.working_dir or image.workdir,
        uid=uid,
        gid=gid,
        groups=[*own_group, *context.supplemental_groups],
    )


def last_words(home: Path) -> str:
    """Read what a container left as the reason of its end."""
    path = home / "termination-log"
    return path.read_text(errors="replace")[:4096] if path.exists() else ""


def _last_words(home: Path) -> Path:
    path = home / "termination-log"
    path.write_text("")
    path.chmod(0o666)
    return path


def _arguments(container: Container, image: Image) -> tuple[str, ...]:
    """A command replaces entrypoint and command of the image, arguments only its command."""
    if container.command:
        return (*container.command, *container.args)
    arguments = (*image.entrypoint, *(container.args or image.cmd))
    if not arguments:
        message = "neither the container nor its image says what to run"
        raise MissingError(message)
    return arguments


def _user(around: Surroundings, container: Container, image: Image) -> tuple[int, int]:
    own, every = container.security_context, around.pod.spec.security_context
    uids, gids = (
        (own.run_as_user, every.run_as_user, image.uid),
        (
            own.run_as_group,
            every.run_as_group,
            image.gid,
        ),
    )
    uid = next((uid for uid in uids if uid is not None), 0)
    gid = next((gid for gid in gids if gid is not None), 0)
    not_root = every.run_as_non_root if own.run_as_non_root is None else own.run_as_non_root
    if not_root and not uid:
        message = "container has runAsNonRoot and its image runs as root"
        raise MissingError(message)
    return uid, gid


def _mount(around: Surroundings, mount: VolumeMount, environment: Mapping[str, str]) -> Mount:
    if mount.name not in around.volumes.folders:
        message = f"there is no volume {mount.name}"
        raise MissingError(message)
    folder = around.volumes.folders[mount.name]
    below = mount.sub_path or expand(mount.sub_path_expr, environment)
    source = Path(os.path.realpath(folder.path / below))  # not the link, which turns when the volume changes
    if not source.exists():
        source.mkdir(parents=True)
    return Mount(str(source), mount.mount_path, mount.read_only or folder.read_only)


def _etc(around: Surroundings) -> dict[str, str]:
    pod = around.pod
    hosts = [("127.0.0.1", "localhost"), (around.address, pod.hostname)]
    hosts += [(alias.ip, " ".join(alias.hostnames)) for alias in pod.spec.host_aliases]
    search = f"{pod.metadata.namespace}.svc.cluster.local svc.cluster.local cluster.local"
    return {
        **ETC,
        "hostname": f"{pod.hostname}\n",
        "hosts": "".join(f"{address} {names}\n" for address, names in hosts),
        "resolv.conf": f"search {search}\nnameserver {DNS_ADDRESS}\noptions ndots:5\n",
    }
