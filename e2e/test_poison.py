"""What a hostile tenant may write into a real API server: it takes all of it, and nobody else waits."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.beside import gateway, replica, told
from e2e.kubectl import apply, kubectl, read
from e2e.test_run import CLASS
from tests.legation.running import free_port
from tests.poison.hostile import admitted, the_same
from tests.poison.spells import TENANT
from translator.objects.kinds import as_manifest
from translator.objects.references import GATEWAY_GROUP

DRAWN = 150
ROUTE = {
    "apiVersion": f"{GATEWAY_GROUP}/v1",
    "kind": "HTTPRoute",
    "metadata": {"name": "quiet"},
    "spec": {"parentRefs": [{"name": "edge"}], "hostnames": ["quiet.example"]},
}


@pytest.fixture
def mall(namespace: str) -> Iterator[str]:
    """A namespace with a Gateway of ours, and a route that nobody complains of."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    gateway(namespace, "edge", free_port())
    apply(namespace, json.dumps(ROUTE))
    yield namespace
    kubectl("delete", "gatewayclass", namespace)


def manifests(namespace: str) -> list[dict[str, Any]]:
    """Draw what a tenant may write, always the same, and have it lead to the namespace's own Gateway."""
    written = [as_manifest(each) for each in the_same(DRAWN, admitted())]
    ours = [each for each in written if str(each["apiVersion"]).startswith(f"{GATEWAY_GROUP}/")]
    return [renamed(each, number, namespace) for number, each in enumerate(ours)]


def renamed(manifest: dict[str, object], number: int, namespace: str) -> dict[str, Any]:
    """Give an object a name of its own, in this namespace."""
    text = json.dumps(manifest)
    for drawn, here in (
        (TENANT, namespace),
        ("infra", namespace),
        ("shared", "edge"),
        ("legation", namespace),
    ):
        text = text.replace(f'"{drawn}"', f'"{here}"')
    moved: dict[str, Any] = json.loads(text)
    moved["metadata"] = {"name": f"drawn-{number}", "namespace": namespace}
    return moved


def judged(namespace: str) -> tuple[int, str]:
    """Read of which generation of the quiet route something is said, and what."""
    parents = read("httproute", "quiet", "--namespace", namespace).get("status", {}).get("parents", [])
    said = [each for parent in parents for each in parent["conditions"] if each["type"] == "Accepted"]
    return (said[0]["observedGeneration"], said[0]["status"]) if said else (0, "")


async def test_whatever_a_tenant_writes_delays_no_other_and_breaks_nothing(mall: str) -> None:
    async with replica(mall, free_port()) as running:
        await told(lambda: judged(mall) == (1, "True"))
        drawn = manifests(mall)
        assert len({each["kind"] for each in drawn}) > 4
        for each in drawn:
            await asyncio.to_thread(apply, mall, json.dumps(each))
        changed = {**ROUTE, "spec": {"parentRefs": [{"name": "edge"}], "hostnames": ["other.example"]}}
        await asyncio.to_thread(apply, mall, json.dumps(changed))
        await told(lambda: judged(mall) == (2, "True"))
        assert [entry for entry in running.entries() if "mistake" in entry.get("event", "")] == []
