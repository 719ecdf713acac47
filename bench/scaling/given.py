"""Routes, what they lead to, and one change of each kind; as bytes that an API server sends."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct

from bench.loop import shop
from legation.change import Put
from translator.names import Name
from translator.objects.kinds import KINDS

TYPES = {info.kind: info.type for info in KINDS}
GATEWAY_API = {"apiVersion": "gateway.networking.k8s.io/v1"}
GATEWAY_CLASS = {
    "metadata": {"name": "legation"},
    "spec": {"controllerName": "legation.dev/gateway-controller"},
}
LISTENS = {
    "gatewayClassName": "legation",
    "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
}
UID = "5f3a8c1e-0b7d-4c55-9e61-2d4f7a90c3b8"
ENDPOINT = "one endpoint"
BORN = "2026-01-31T12:00:00Z"
Thing = Mapping[str, Any]
Change = Callable[[int], Iterable[Thing]]  # of a number that makes it another than those before


class Place(Struct):
    """Where an object lies."""

    name: str
    namespace: str = ""


class Said(Struct):
    """What kind of object it is, and where."""

    kind: str
    metadata: Place


def put(text: bytes) -> Put:
    """Read an object as it comes from an API server."""
    said = msgspec.json.decode(text, type=Said)
    kind = TYPES[said.kind]
    thing = msgspec.json.decode(text, type=kind)
    return Put(kind, Name(said.metadata.namespace, said.metadata.name), thing)


def gateways(number: int) -> Iterable[Thing]:
    """Make the class, and Gateways of it."""
    yield {**GATEWAY_API, "kind": "GatewayClass", **GATEWAY_CLASS}
    for n in range(number):
        metadata = {"name": f"g{n}", "namespace": "shop"}
        yield {**GATEWAY_API, "kind": "Gateway", "metadata": metadata, "spec": LISTENS}


def world(routes: int, number: int) -> Iterable[Thing]:
    """Make so many Gateways, and routes of them with what they lead to."""
    return chain(gateways(number), *(shop(n, number) for n in range(routes)))


def changes(number: int) -> dict[str, Change]:
    """Name one change of each kind, among so many Gateways; the endpoint is one of three Gateways' at most.

    The first Gateway is concerned by the endpoint and by the route.
    """

    def endpoint(turn: int) -> Iterable[Thing]:
        found = _of("EndpointSlice", number // 2, number)
        others = found["endpoints"][1:]
        yield {**found, "endpoints": [{"addresses": [f"198.19.0.{turn + 1}"]}, *others]}

    def route(turn: int) -> Iterable[Thing]:
        found = _of("HTTPRoute", 0, number)
        yield {**found, "spec": {**found["spec"], "hostnames": [f"r{turn}.other.test"]}}

    def policy(turn: int) -> Iterable[Thing]:
        found = _of("BackendTLSPolicy", 1, number)
        proof = {**found["spec"]["validation"], "hostname": f"pay{turn}.internal"}
        yield {**found, "spec": {**found["spec"], "validation": proof}}

    return {ENDPOINT: endpoint, "one route": route, "one policy": policy}


def _of(kind: str, n: int, number: int) -> Thing:
    [found] = (each for each in shop(n, number) if each["kind"] == kind)
    return found


def as_it_is_told(endpoints: Thing) -> bytes:
    """Write what a watch says of a changed EndpointSlice, with all that controllers write there."""
    name, metadata = f"{endpoints['metadata']['name']}-x7k2p", dict(endpoints["metadata"])
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": metadata["name"],
        "uid": UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {**metadata["labels"], "endpointslice.kubernetes.io/managed-by": "endpointslice-controller"}
    owned: Thing = {
        "f:addressType": {},
        "f:endpoints": {},
        "f:ports": {},
        "f:metadata": {
            "f:generateName": {},
            "f:labels": {".": {}, **{f"f:{each}": {} for each in labels}},
            "f:ownerReferences": {".": {}, f'k:{{"uid":"{UID}"}}': {}},
        },
    }
    wrote = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "discovery.k8s.io/v1"}
    metadata |= {
        "name": name,
        "generateName": f"{owner['name']}-",
        "uid": UID,
        "resourceVersion": "123456789",
        "generation": 7,
        "creationTimestamp": BORN,
        "labels": labels,
        "ownerReferences": [owner],
        "managedFields": [{**wrote, "time": BORN, "fieldsType": "FieldsV1", "fieldsV1": owned}],
    }
    told = [
        _ready(each, f"{owner['name']}-7d9c8b6f54-{n:05}") for n, each in enumerate(endpoints["endpoints"])
    ]
    event = {"type": "MODIFIED", "object": {**endpoints, "metadata": metadata, "endpoints": told}}
    return msgspec.json.encode(event) + b"\n"


def _ready(endpoint: Thing, pod: str) -> Thing:
    return {
        **endpoint,
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": "worker-pool-a-0017",
        "zone": "region-1a",
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": pod, "uid": UID},
    }
