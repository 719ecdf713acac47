"""Objects out of lists and watches, from raw bytes: as informers read them, against kubernetes-asyncio.

Both take turns in one run, and the best of several counts: a noisy machine only ever adds.
kubernetes-asyncio has no models of Gateway API, so what it makes of an HTTPRoute are plain dicts.
"""

import asyncio
import gc
import json
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from kubernetes_asyncio.client import ApiClient
from kubernetes_asyncio.watch import Watch

from k8s_watch.answers import Found, read_events, read_page
from k8s_watch.change import Put
from k8s_watch.informer import body_reader
from k8s_watch.kind import Kind
from k8s_watch.list_watch import ListWatch
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.http_route import HTTPRoute
from translator.objects.service import Service

Json = dict[str, Any]

OBJECTS = 500
ROUNDS = int(os.environ.get("ROUNDS", "9"))
LABELS = {f"example.com/label-{n}": f"value-{n}" for n in range(4)}
OWNED: Json = {"f:spec": {f"f:field{n}": {} for n in range(9)}}
MANAGED = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": OWNED}]


class Case(NamedTuple):
    """A kind, how kubernetes-asyncio calls it, and what an object of it has beside its metadata."""

    kind: Kind[object]
    model: str
    fields: Json


def cases() -> dict[str, Case]:
    """Return the kinds of which a busy cluster has most."""
    parents = [{"name": "edge", "namespace": "infra"}]
    changed = {"set": [{"name": "x", "value": "1"}]}
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/shop"}}],
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": changed}],
        "backendRefs": [{"name": "pay", "port": 8443}, {"name": "pay-next", "port": 8443, "weight": 2}],
    }
    route = {"spec": {"parentRefs": parents, "hostnames": ["shop.example.com"], "rules": [rule] * 3}}
    ports = [{"name": "https", "port": 443, "targetPort": 8443, "protocol": "TCP", "appProtocol": "https"}]
    service = {"spec": {"selector": {"app": "pay"}, "ports": ports, "clusterIP": "10.0.0.7"}}
    endpoints = [
        {
            "addresses": [f"10.1.0.{n}"],
            "conditions": {"ready": True, "serving": True},
            "nodeName": f"node-{n}",
        }
        for n in range(10)
    ]
    slices = {"addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "https", "port": 8443}]}
    return {
        "HTTPRoute": Case(
            Kind("gateway.networking.k8s.io", ("v1",), "httproutes", HTTPRoute), "object", route
        ),
        "Service": Case(Kind("", ("v1",), "services", Service), "V1Service", service),
        "EndpointSlice": Case(
            Kind("discovery.k8s.io", ("v1",), "endpointslices", EndpointSlice), "V1EndpointSlice", slices
        ),
    }


def objects(case: Case) -> list[Json]:
    """Make objects as an API server sends them."""
    return [
        {
            "metadata": {
                "name": f"object-{n}",
                "namespace": "shop",
                "uid": f"5f3a-{n}",
                "resourceVersion": str(1000 + n),
                "creationTimestamp": "2026-01-31T12:00:00Z",
                "labels": LABELS,
                "managedFields": MANAGED,
            },
            **case.fields,
        }
        for n in range(OBJECTS)
    ]


class Answer(NamedTuple):
    """What kubernetes-asyncio takes for a response."""

    data: bytes


def our_list(case: Case, body: bytes) -> int:
    """Read a list as an informer does; return how many objects it told."""
    machine, read = _listing(), body_reader(case.kind)
    changes = machine.receive(read_page(body))
    told = [read(put.name, put.version, put.thing) for put in changes if isinstance(put, Put)]
    return sum(isinstance(put, Put) for put in told)


def our_watch(case: Case, lines: list[bytes]) -> int:
    """Read events as an informer does; return how many objects it told."""
    machine, read = _listing(), body_reader(case.kind)
    machine.receive(read_page(b'{"metadata":{"resourceVersion":"1"}}'))
    told = [
        read(put.name, put.version, put.thing)
        for event in read_events(lines)
        for put in machine.receive(event)
        if isinstance(put, Put)
    ]
    return sum(isinstance(put, Put) for put in told)


def _listing() -> ListWatch:
    machine = ListWatch()
    machine.receive(Found("v1"))
    return machine


def their_list(client: ApiClient, case: Case, body: bytes) -> int:
    """Decode a list with its model, or into dicts where there is no model."""
    model = case.model if case.model == "object" else f"{case.model}List"
    made = client.deserialize(Answer(body), model)  # type: ignore[arg-type]  # only its data is read
    return len(made["items"] if isinstance(made, dict) else made.items)


def their_watch(watch: Watch, case: Case, lines: list[bytes]) -> int:
    """Decode events with its Watch."""
    return sum(watch.unmarshal_event(line, case.model)["type"] == "ADDED" for line in lines)


def seconds(work: Callable[[], int]) -> float:
    """Return what it takes, on the clock of this process's CPU."""
    gc.collect()
    began = time.process_time()
    done = work()
    took = time.process_time() - began
    assert done == OBJECTS, f"{done} of {OBJECTS} objects were read"
    return took


def compare(title: str, ours: Callable[[], int], theirs: Callable[[], int]) -> None:
    """Let both take turns, and print what they need for an object and by what factor they differ."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    us, them = (min(each) / OBJECTS * 1e6 for each in zip(*pairs, strict=True))
    ratio, rate = them / us, 1e6 / us
    print(f"{title:22} {us:5.1f} us against {them:6.1f} us, 1 : {ratio:<4.1f} {rate:8.0f} objects a second")


async def main() -> None:
    """Compare every kind, listed and watched."""
    watch = Watch()
    client = watch._api_client  # noqa: SLF001  # the one it decodes with; nothing is sent
    for name, case in cases().items():
        found = objects(case)
        body = json.dumps({"metadata": {"resourceVersion": "9"}, "items": found}).encode()
        lines = [json.dumps({"type": "ADDED", "object": each}).encode() for each in found]
        compare(f"{name} listed", partial(our_list, case, body), partial(their_list, client, case, body))
        compare(f"{name} watched", partial(our_watch, case, lines), partial(their_watch, watch, case, lines))
    await client.close()


if __name__ == "__main__":
    asyncio.run(main())
