"""What a pod is told about itself: its fields, its resources, and `$(NAME)` in its commands."""

import json
import math
import os
import re
from collections.abc import Mapping
from types import MappingProxyType

from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.objects.variables import FieldRef, ResourceFieldRef
from e2e.cluster.network import NODE_ADDRESS, NODE_NAME

UNLIMITED = MappingProxyType(
    {"cpu": str(os.cpu_count()), "memory": "8Gi"}
)  # what a container without limits is told
SCALES = MappingProxyType(
    {"": 1, "m": 0.001, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
)

_ENTRY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_NAMED = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_QUANTITY = re.compile(r"([0-9.]+)([a-zA-Z]*)")


class MissingError(Exception):
    """Something that a pod refers to is not there (yet)."""


def read_field(pod: Pod, address: str, ref: FieldRef) -> str:
    """Read a field of a pod that has this address."""
    meta = pod.metadata
    maps = {"labels": meta.labels, "annotations": meta.annotations}
    if entry := _ENTRY.fullmatch(ref.field_path):
        return maps[entry[1]].get(entry[2], "")
    known = {
        "metadata.name": meta.name,
        "metadata.namespace": meta.namespace,
        "metadata.uid": meta.uid,
        "metadata.labels": _lines(meta.labels),
        "metadata.annotations": _lines(meta.annotations),
        "spec.nodeName": NODE_NAME,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": NODE_ADDRESS,
        "status.hostIPs": NODE_ADDRESS,
    }
    if ref.field_path not in known:
        message = f"field {ref.field_path} is not known here"
        raise MissingError(message)
    return known[ref.field_path]


def read_resource(pod: Pod, ref: ResourceFieldRef, own: str = "") -> str:
    """Read a request or limit of the container that is named, or else of the one called `own`."""
    kind, _, resource = ref.resource.partition(".")
    container = _container(pod, ref.container_name or own)
    told = container.resources.limits if kind == "limits" else container.resources.requests
    value = told.get(resource) or (UNLIMITED.get(resource, "0") if kind == "limits" else "0")
    return str(math.ceil(quantity(value) / (quantity(ref.divisor) or 1)))


def quantity(text: str) -> float:
    """Read a quantity such as `64Mi`."""
    parsed = _QUANTITY.fullmatch(text)
    if not parsed or parsed[2] not in SCALES:
        message = f"quantity {text} is not known here"
        raise MissingError(message)
    return float(parsed[1]) * SCALES[parsed[2]]


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Put variables in the place of `$(NAME)`; an unknown one stays as it is, and `$$` is one dollar."""
    return _NAMED.sub(lambda found: environment.get(found[1], found[0]) if found[1] else "$", text)


def _lines(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={json.dumps(value)}" for key, value in sorted(entries.items()))


def _container(pod: Pod, name: str) -> Container:
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        if container.name == name:
            return container
    message = f"container {name} is not in the pod"
    raise MissingError(message)
