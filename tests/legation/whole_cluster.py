"""A cluster in which all is well until a test says otherwise, as an API server answers for it."""

import json
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from msgspec import Struct, field

from legation.checks.access_review import Right
from legation.checks.of_crds import NEEDED, OWN_CRD
from legation.crds import CHANNEL, NAMES, VERSION
from tests.k8s_watch.faults import refusal

ROOT = Path(__file__).parents[2]
OWN = yaml.safe_load((ROOT / "deploy/helm/legation/crds/legation.dev_gatewayparameters.yaml").read_text())
HOME = "legation-system"


class Review(Struct, frozen=True):
    """Who was asked about, and what."""

    user: str
    groups: tuple[str, ...]
    right: Right


class Cluster(Struct):
    """What there is and what is lacking, and what was asked."""

    unserved: set[str] = field(default_factory=set)
    versions: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "v1.7.0"))
    channels: dict[str, str] = field(default_factory=lambda: dict.fromkeys(NAMES, "experimental"))
    own: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(OWN)))
    denied: set[tuple[str, str]] = field(default_factory=set)  # resource and verb
    closed: set[str] = field(default_factory=set)  # what whoever checks may not ask: the last step of a path
    ready: int = 2
    environment: dict[str, str] = field(default_factory=dict)  # of the control plane
    policies: tuple[str, ...] = ()  # XBackendTrafficPolicies of namespace shop
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
        if steps[-1].startswith("x") and steps[-1].endswith("policies"):
            return self._policies(steps[-1])
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

    def _policies(self, plural: str) -> web.StreamResponse:
        if plural != "xbackendtrafficpolicies":
            return refusal(404, "no such kind")
        items = [{"metadata": {"name": each, "namespace": "shop"}} for each in self.policies]
        return web.json_response({"items": items})

    def _deployments(self, request: web.Request) -> web.StreamResponse:
        made = "managed-by" in request.query["labelSelector"]
        assert made or f"/namespaces/{HOME}/" in request.path
        env = [{"name": name, "value": value} for name, value in self.environment.items()]
        pod = {"serviceAccountName": "legation", "containers": [{"env": env}]}
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
