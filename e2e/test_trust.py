"""What a real API server shows of trust: what ends soon, what is believed instead, and by whose word."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import pytest

from e2e.beside import CRD, gateway, replica, told
from e2e.kubectl import apply, kubectl, read, wait_for
from e2e.test_events import events
from e2e.test_run import CLASS, accepted
from legation.proofs.audit_record import Began, Cause, Changed, Edit, Record, read_line
from tests.legation.running import free_port
from tests.pki import Authority
from translator.envoy.proofs import Grade

HOP = Template("""
apiVersion: v1
kind: Service
metadata: {name: $name}
spec: {ports: [{name: https, port: 443}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: $name}
spec:
  parentRefs: [{name: edge}]
  hostnames: [$name.test]
  rules: [{backendRefs: [{name: $name, port: 443}]}]
""")
POLICY = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: $name}
spec:
  targetRefs: [{group: "", kind: Service, name: $name}]
  validation: {hostname: pay.internal, caCertificateRefs: [{group: "", kind: ConfigMap, name: $name}]}
""")
LIVES = {"day": timedelta(hours=20), "week": timedelta(days=5), "month": timedelta(days=20)}
NOTICED = [
    ("Warning", "ExpiresWithin1Day", "day"),
    ("Warning", "ExpiresWithin30Days", "month"),
    ("Warning", "ExpiresWithin7Days", "week"),
]
LAST_YEAR = datetime.now(UTC) - timedelta(days=365)


@pytest.fixture
def shop(namespace: str) -> Iterator[str]:
    """A namespace with a Gateway of ours."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    gateway(namespace, "edge", free_port())
    yield namespace
    kubectl("delete", "gatewayclass", namespace)


def trust(namespace: str, name: str, *authorities: Authority) -> None:
    """Have the ConfigMap of a name hold these."""
    text = "".join(each.pem for each in authorities).replace("\n", "\n    ")
    manifest = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  ca.crt: |\n    {text}\n"
    )
    apply(namespace, manifest)


def hop(namespace: str, name: str, *authorities: Authority) -> None:
    """Lead to a Service that a policy of its name proves by these."""
    trust(namespace, name, *authorities)
    apply(namespace, f"{HOP.substitute(name=name)}---{POLICY.substitute(name=name)}")


def found(namespace: str) -> list[dict[str, Any]]:
    """Read every Event about a policy whole."""
    every: list[dict[str, Any]] = read("events.events.k8s.io", "--namespace", namespace)["items"]
    return [each for each in every if each["regarding"]["kind"] == "BackendTLSPolicy"]


def of_policies(namespace: str) -> list[tuple[str, str, str]]:
    names = {each["regarding"]["name"] for each in found(namespace)}
    return [each for each in events(namespace) if each[2] in names]


def records(path: Path) -> list[Record]:
    return [read_line(each) for each in path.read_bytes().splitlines()] if path.exists() else []


def changes(path: Path) -> list[Changed]:
    return [each for each in records(path) if isinstance(each, Changed) and "+pay" in each.cluster]


async def test_what_ends_soon_is_told_once_by_all_replicas_and_not_of_what_takes_its_place(shop: str) -> None:
    for name, life in LIVES.items():
        hop(shop, name, Authority(name, not_before=LAST_YEAR, not_after=datetime.now(UTC) + life))
    hop(shop, "fine", Authority("fine"))
    async with AsyncExitStack() as doors:
        first = await doors.enter_async_context(replica(shop, free_port()))
        await told(lambda: set(NOTICED) <= set(events(shop)))
        second = await doors.enter_async_context(replica(shop, free_port()))
        await second.logged("admin port")
        first.stop()
        await second.logged("leads")
        gateway(shop, "marker", free_port())
        await told(lambda: accepted(shop, "marker") == ("True", 1))
        assert of_policies(shop) == NOTICED
        assert not any(each.get("series") for each in found(shop))
        trust(shop, "day", Authority("day"))
        await told(lambda: ("Normal", "Recovered", "day") in events(shop))
        assert [each for each in of_policies(shop) if each[0] == "Warning"] == NOTICED


async def test_a_change_of_roots_is_told_by_subject_and_fingerprint_and_recorded_with_who_wrote_the_policy(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit"
    monkeypatch.setenv("LEGATION_AUDIT_LOG", str(path))
    old, new = Authority("old roots"), Authority("new roots")
    apply(shop, HOP.substitute(name="pay"))
    async with replica(shop, free_port()):
        await told(lambda: any(isinstance(each, Began) for each in records(path)))
        trust(shop, "pay", old)
        apply(shop, POLICY.substitute(name="pay"))
        await told(lambda: changes(path) and changes(path)[-1].after)
        for authorities in ((old, new), (new,)):
            trust(shop, "pay", *authorities)
            await told(
                partial(_proves, path, tuple(sorted(each.own.certificate_pin for each in authorities)))
            )
        await told(lambda: events(shop).count(("Normal", "TrustChanged", "pay")) == 2)
    notes = [each["note"] for each in found(shop) if each["reason"] == "TrustChanged"]
    assert sorted(notes) == [
        f"no longer trusts CN=old roots (SHA-256 {old.own.certificate_pin})",
        f"trusts from now on CN=new roots (SHA-256 {new.own.certificate_pin})",
    ]
    first, *_, last = changes(path)
    assert first.before is not None
    assert first.before.grade is Grade.CLEARTEXT
    assert (last.why, last.because) == (Cause.CA_CHANGED, (noted(shop, "ConfigMap", "pay"),))
    assert last.policy is not None
    assert last.policy.manager.startswith("kubectl")
    assert (last.policy.operation, last.policy.generation) == ("Update", 1)
    assert last.policy.resource_version
    assert b"-----" not in path.read_bytes()


def noted(namespace: str, kind: str, name: str) -> Edit:
    """Return what the API server itself notes of an object's only writer."""
    found = read(kind, name, "--show-managed-fields", "--namespace", namespace)["metadata"]
    [writer] = found["managedFields"]
    return Edit(
        f"{kind} {namespace}/{name}",
        generation=found.get("generation", 0),
        resource_version=found["resourceVersion"],
        manager=writer["manager"],
        operation=writer["operation"],
        written=datetime.fromisoformat(writer["time"]),
    )


def _proves(path: Path, fingerprints: tuple[str, ...]) -> bool:
    after = changes(path)[-1].after
    return after is not None and after.fingerprints == fingerprints


PERMITTING = Template("""
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: lab}
spec: {backendTLS: {insecureVerification: $permission}}
""")
SELECTIVE = "Permit, namespaceSelector: {matchLabels: {env: dev}}"
PERMITTED = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: $namespace
  infrastructure: {parametersRef: {group: legation.dev, kind: GatewayParameters, name: lab}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
""")
UNVERIFIED = """
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation: {hostname: pay.internal, wellKnownCACertificates: legation.dev/insecure-skip-verification}
"""


def applied_by(manager: str, namespace: str, manifest: str) -> None:
    """Apply a manifest under the name of somebody else."""
    kubectl("apply", f"--field-manager={manager}", "--namespace", namespace, "--filename=-", given=manifest)


async def test_who_permits_takes_back_and_selects_is_recorded_with_name_and_time(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl("apply", "--server-side", "--filename", str(CRD))
    wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
    path = tmp_path / "audit"
    monkeypatch.setenv("LEGATION_AUDIT_LOG", str(path))
    kubectl("label", "namespace", shop, "env=dev", "--field-manager=clerk")
    applied_by("officer", shop, PERMITTING.substitute(permission="Forbid"))
    apply(shop, PERMITTED.substitute(namespace=shop))
    apply(shop, HOP.substitute(name="pay") + "---" + UNVERIFIED)
    async with replica(shop, free_port()):
        await told(lambda: any(isinstance(each, Began) for each in records(path)))
        applied_by("mallory", shop, PERMITTING.substitute(permission=SELECTIVE))
        permitted = await permission(path, Grade.UNVERIFIED)
        applied_by("officer", shop, PERMITTING.substitute(permission="Forbid"))
        withdrawn = await permission(path, Grade.REFUSED)
        applied_by("mallory", shop, PERMITTING.substitute(permission=SELECTIVE))
        await permission(path, Grade.UNVERIFIED)
        kubectl("label", "namespace", shop, "--overwrite", "env=prod", "--field-manager=auditor")
        moved = await permission(path, Grade.REFUSED)
    parameters = f"GatewayParameters {shop}/lab"
    assert (permitted.object, permitted.manager, permitted.generation) == (parameters, "mallory", 2)
    assert (withdrawn.object, withdrawn.manager, withdrawn.generation) == (parameters, "officer", 3)
    assert (moved.object, moved.manager, moved.operation) == (f"Namespace {shop}", "auditor", "Update")
    assert all(each.written and each.resource_version for each in (permitted, withdrawn, moved))


async def permission(path: Path, grade: Grade) -> Edit:
    """Wait until the newest record says that something is proved so well, and return why."""

    def found() -> Changed | None:
        last = changes(path)[-1:]
        return last[0] if last and last[0].after and last[0].after.grade is grade else None

    await told(found)
    last = found()
    assert last is not None
    assert last.why is Cause.PERMISSION_CHANGED
    [edit] = last.because
    return edit
