"""What `check` says of a cluster, asked over real HTTP of an API server that lacks what a test takes away."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from msgspec import Struct, field

from k8s_watch.api_server import ApiServer, kubeconfig
from legation.access_review import Account, Right, needed
from legation.cluster_checks import of_cluster
from legation.crd_checks import NEEDED, OWN_CRD
from legation.crds import CHANNEL, NAMES, VERSION
from legation.findings import Finding
from tests.k8s_watch.faults import refusal
from tests.k8s_watch.faulty_api import LOOPBACK, write_kubeconfig

ROOT = Path(__file__).parents[2]
OWN = yaml.safe_load((ROOT / "deploy/helm/legation/crds/legation.dev_gatewayparameters.yaml").read_text())
HOME = "legation-system"


class Review(Struct, frozen=True):
    """Who was asked about, and what."""

    user: str
    groups: tuple[str, ...]
    right: Right


class Cluster(Struct):
    """A cluster in which all is well until a test says otherwise."""

    unserved: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "v1.7.0"))
    channels: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "experimental"))
    own: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(OWN)))
    denied: set[tuple[str, str]] = field(default_factory=set)  # resource and verb
    closed: set[str] = field(default_factory=set)  # what whoever checks may not ask: the last step of a path
    ready: int = 2
    watched: str = ""
    reviews: list[Review] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        steps = request.path.split("/")
        if self.closed & set(steps):
            return refusal(403, "you may not")
        if request.method == "POST":
            return self._reviewed(await request.json())
        if "customresourcedefinitions" in steps:
            return self._definition(steps[-1])
        if steps[-1] == "deployments":
            return self._deployments(request)
        names = [info.plural for info in NEEDED if f"/apis/{info.group}/" in request.path]
        return web.json_response(
            {"resources": [{"name": each} for each in names if each not in self.unserved]}
        )

    def _definition(self, name: str) -> web.StreamResponse:
        if name == OWN_CRD:
            return web.json_response(
                {**self.own, "metadata": {**self.own["metadata"], "resourceVersion": "1"}}
            )
        if name not in self.versions:
            return refusal(404, "not found")
        annotations = {VERSION: self.versions[name], CHANNEL: self.channels[name]}
        return web.json_response(
            {
                "metadata": {"name": name, "resourceVersion": "1", "annotations": annotations},
                "spec": {"versions": []},
            }
        )

    def _deployments(self, request: web.Request) -> web.StreamResponse:
        made = "managed-by" in request.query["labelSelector"]
        assert made or f"/namespaces/{HOME}/" in request.path
        pod = {
            "serviceAccountName": "legation",
            "containers": [{"env": [{"name": "LEGATION_WATCH", "value": self.watched}]}],
        }
        name, namespace = ("legation-edge", "infra") if made else ("legation", HOME)
        deployment = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": 2, "template": {"spec": pod}},
            "status": {"readyReplicas": 2 if made else self.ready},
        }
        return web.json_response({"items": [deployment]})

    def _reviewed(self, review: dict[str, Any]) -> web.StreamResponse:
        spec, asked = review["spec"], review["spec"]["resourceAttributes"]
        part = f"/{asked['subresource']}" if asked["subresource"] else ""
        resource = asked["resource"] + part
        right = Right(asked["namespace"], asked["group"], resource, asked["verb"], asked["name"])
        self.reviews.append(Review(spec["user"], tuple(spec["groups"]), right))
        return web.json_response(
            {"status": {"allowed": (resource, asked["verb"]) not in self.denied}}, status=201
        )


@asynccontextmanager
async def reached(cluster: Cluster, folder: Path) -> AsyncIterator[ApiServer]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", cluster.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        at = f"http://{LOOPBACK}:{runner.addresses[0][1]}"
        async with ApiServer(kubeconfig(str(write_kubeconfig(folder, at)))) as server:
            yield server
    finally:
        await runner.cleanup()


async def found(cluster: Cluster, folder: Path) -> list[tuple[str, str, str, str]]:
    async with reached(cluster, folder) as server:
        return [_short(each) for each in await of_cluster(server, HOME)]


def _short(finding: Finding) -> tuple[str, str, str, str]:
    assert finding.remedy
    return finding.check, finding.object, finding.field, finding.message


async def test_of_a_cluster_that_lacks_nothing_nothing_is_told(tmp_path: Path) -> None:
    cluster = Cluster()
    assert await found(cluster, tmp_path) == []
    assert {each.right for each in cluster.reviews} == set(needed(HOME, ()))
    assert {each.user for each in cluster.reviews} == {f"system:serviceaccount:{HOME}:legation"}
    assert {"system:authenticated", f"system:serviceaccounts:{HOME}"} < set(cluster.reviews[0].groups)


async def test_kinds_that_are_not_served_are_named(tmp_path: Path) -> None:
    told = await found(Cluster(unserved={"tlsroutes", "gatewayparameters"}), tmp_path)
    assert told == [
        (
            "crd-missing",
            "CustomResourceDefinition tlsroutes.gateway.networking.k8s.io",
            "",
            "TLSRoute is served in none of v1, v1alpha3, v1alpha2",
        ),
        (
            "crd-missing",
            f"CustomResourceDefinition {OWN_CRD}",
            "",
            "GatewayParameters is served in none of v1alpha1",
        ),
    ]


async def test_definitions_of_other_releases_and_channels_are_told_each_once(tmp_path: Path) -> None:
    cluster = Cluster()
    for name in NAMES[:2]:
        cluster.versions[name], cluster.channels[name] = "v1.2.0", "standard"
    old, mixed = await found(cluster, tmp_path)
    first, second = NAMES[:2]
    assert old[:2] == ("crd-old", f"CustomResourceDefinition {first}")
    assert old[3] == f"{first}, {second}: of v1.2.0, where v1.7 is supported"
    assert mixed[0] == "crd-channels-mixed"
    assert f"standard: {first}, {second}" in mixed[3]


async def test_a_definition_of_ours_without_newer_fields_is_old(tmp_path: Path) -> None:
    cluster = Cluster()
    spec = cluster.own["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del spec["tracing"], spec["ports"]["items"]["properties"]["clients"]["properties"]["http3"]
    [(check, about, where, message)] = await found(cluster, tmp_path)
    assert (check, about) == ("crd-old", f"CustomResourceDefinition {OWN_CRD}")
    assert where == "spec.ports.clients.http3"
    assert "it has no spec.ports.clients.http3, spec.tracing: " in message


async def test_what_the_control_plane_may_not_do_is_told_by_kind_and_namespace(tmp_path: Path) -> None:
    cluster = Cluster(
        denied={("gateways/status", "patch"), ("services", "delete"), ("services", "watch")}, watched="a b"
    )
    told = await found(cluster, tmp_path)
    assert {each[:2] for each in told} == {("permission-lacking", str(Account(HOME, "legation")))}
    assert [each[3] for each in told] == [
        "may not delete, watch services in namespace a",
        "may not patch gateways/status.gateway.networking.k8s.io in namespace a",
        "may not delete, watch services in namespace b",
        "may not patch gateways/status.gateway.networking.k8s.io in namespace b",
    ]


async def test_pods_that_are_not_ready_are_told_with_their_deployment(tmp_path: Path) -> None:
    [told] = await found(Cluster(ready=1), tmp_path)
    assert told == (
        "replicas-not-ready",
        f"Deployment {HOME}/legation",
        "spec.replicas",
        "1 of 2 pods are ready",
    )


async def test_what_may_not_be_asked_is_told_and_hides_nothing_else(tmp_path: Path) -> None:
    cluster = Cluster(ready=1, closed={"customresourcedefinitions", "subjectaccessreviews"})
    told = await found(cluster, tmp_path)
    assert [(each[0], each[3]) for each in told] == [
        ("not-asked", "CustomResourceDefinitions: you may not"),
        ("replicas-not-ready", "1 of 2 pods are ready"),
        ("not-asked", f"what ServiceAccount {HOME}/legation may do: you may not"),
    ]
    closed = await found(Cluster(closed={"deployments", "v1"}), tmp_path)
    assert [each[0] for each in closed] == ["not-asked", "not-asked"]
