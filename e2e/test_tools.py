"""The commands on a cluster, as somebody uses them who has the rights that docs/tools.md asks for."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import NamedTuple

import pytest
import yaml

from e2e.cluster.place import PROJECT
from e2e.kubectl import apply, kubectl, read, wait_for
from e2e.scenarios.release import Release, installed
from legation.explain.explanation import Explanation, OfObject, OfRequest, read_explanation
from legation.standing import Envoy, read_overview
from tests.legation.running import run
from tests.legation.test_watching_terminal import CTRL_C, watching
from tests.real_envoy import until

REPLICAS = PROXIES = 2
CANNOT_TELL = 2  # the exit code
ENOUGH = 240.0  # seconds, on a machine that does much else
HIGH = 500  # rows of a terminal that shows all of a cluster
[ROLE] = re.findall(r"```yaml\n(.*?)```", (PROJECT / "docs" / "tools.md").read_text(), re.DOTALL)
SHOP = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: legation
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay}
spec:
  parentRefs: [{name: edge}]
  hostnames: [$namespace.example]
  rules: [{backendRefs: [{name: pay, port: 443}]}]
---
apiVersion: v1
kind: Service
metadata: {name: pay}
spec:
  ports: [{name: https, port: 443}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation: {hostname: pay.internal, wellKnownCACertificates: System}
""")


class User(NamedTuple):
    """Somebody with a kubeconfig of their own, who asks one installation."""

    kubeconfig: Path
    installation: str

    @property
    def whom(self) -> tuple[str, ...]:
        """Name the installation, as commands take it."""
        return ("--kubeconfig", str(self.kubeconfig), "--namespace", self.installation)

    async def asks(self, *command: str) -> tuple[int, str, str]:
        """Run a command."""
        return await run(*command, *self.whom, "-o", "json")

    async def explains(self, what: str) -> Explanation:
        """Have something explained; a replica that is too slow to answer is asked again."""
        async with asyncio.timeout(ENOUGH):
            code, out = CANNOT_TELL, ""
            while code == CANNOT_TELL:
                code, out, _ = await self.asks("explain", what)
        return read_explanation(out.encode())

    async def envoys(self, gateway: str) -> list[Envoy]:
        """Return the Envoys of a Gateway, wherever they are connected; none, if not every replica answers."""
        _, out, err = await self.asks("status")
        if err:
            return []
        return [
            envoy
            for each in read_overview(out.encode()).gateways
            if each.name == gateway
            for envoy in each.envoys
        ]


@pytest.fixture(scope="module")
def release(inside: None) -> Iterator[Release]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Several replicas, and several proxies for each Gateway."""
    proxies = f"gatewayClass.parameters.envoy.replicas={PROXIES}"
    with installed(
        f"replicas={REPLICAS}", proxies, "gatewayClass.parameters.service.type=ClusterIP"
    ) as release:
        yield release


@pytest.fixture
def shop(namespace: str, release: Release) -> str:  # noqa: ARG001  which serves it
    """A Gateway that leads to a backend by TLS."""
    apply(namespace, SHOP.substitute(namespace=namespace))
    wait_for(namespace, "condition=Programmed", "gateway/edge")
    return namespace


@pytest.fixture
def stranger(release: Release, tmp_path: Path) -> User:
    """Somebody without any right."""
    kubectl("create", "serviceaccount", "somebody", "--namespace", release.namespace)
    token = kubectl("create", "token", "somebody", "--namespace", release.namespace).strip()
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return User(path, release.namespace)


@pytest.fixture
def user(stranger: User) -> User:
    """The same with the Role of the page."""
    apply(stranger.installation, ROLE.replace("legation-system", stranger.installation))
    bound = ("--role=legation-tools", f"--serviceaccount={stranger.installation}:somebody")
    kubectl("create", "rolebinding", "tools", "--namespace", stranger.installation, *bound)
    return stranger


@pytest.fixture(autouse=True)
def _nobody_is_left(release: Release) -> Iterator[None]:
    yield
    for kind, name in (("rolebinding", "tools"), ("role", "legation-tools"), ("serviceaccount", "somebody")):
        kubectl("delete", kind, name, "--ignore-not-found", "--namespace", release.namespace)


async def test_who_has_no_right_is_told_which_one_is_needed(stranger: User) -> None:
    code, out, err = await stranger.asks("status")
    assert (code, out) == (2, "")
    assert "cannot list resource" in err
    assert "docs/tools.md has the Role" in err


async def test_the_role_of_the_page_is_enough_to_ask_every_replica(user: User, shop: str) -> None:
    found: list[Envoy] = []

    async def all_are_connected() -> bool:
        found[:] = await user.envoys(f"{shop}/edge")
        return len(found) == PROXIES

    await until(all_are_connected, within=ENOUGH)
    pods = read("pods", "--selector=app.kubernetes.io/name=legation", "--namespace", user.installation)
    replicas = {each["metadata"]["name"] for each in pods["items"]}
    assert len(replicas) == REPLICAS
    assert {each.replica for each in found} <= replicas


async def test_what_is_explained_and_audited_is_what_the_cluster_serves(user: User, shop: str) -> None:
    async def all_hold_the_newest() -> bool:
        found = await user.explains(f"http://{shop}.example/")
        assert isinstance(found, OfRequest)
        states = [each.state for each in found.envoys if each.type == "routes"]
        return states == ["newest"] * PROXIES

    await until(all_hold_the_newest, within=ENOUGH)
    found = await user.explains(f"http://{shop}.example/")
    assert isinstance(found, OfRequest)
    assert f"{shop}/pay:443 has no endpoint that is ready" in found.words
    [contest] = found.contests
    assert str(contest.winner) == f"BackendTLSPolicy {shop}/pay"
    policy = await user.explains(f"backendtlspolicy/{shop}/pay")
    assert isinstance(policy, OfObject)
    assert [each.where for each in policy.about] == [f"by Gateway {shop}/edge"]
    code, out, _ = await user.asks("audit")
    [hop] = [each for each in json.loads(out) if each["gateway"] == f"{shop}/edge"]
    assert (code, hop["proof"]["policy"]) == (0, f"{shop}/pay")


async def test_a_check_tells_problems_of_the_cluster_and_what_it_could_not_ask(user: User, shop: str) -> None:
    kubectl("delete", "service", "pay", "--namespace", shop)

    async def is_found() -> bool:
        code, out, _ = await user.asks("check")
        objects = {each["object"] for each in json.loads(out or "[]") if each["group"] == "refused"}
        return f"HTTPRoute {shop}/pay" in objects and code == 1

    await until(is_found, within=ENOUGH)


async def test_a_terminal_shows_live_what_changes_in_the_cluster(user: User, shop: str) -> None:
    async with watching(*user.whom, rows=HIGH) as terminal:
        await terminal.shows(f"{shop}/edge", f"HTTPRoute {shop}/pay")
        kubectl("delete", "service", "pay", "--namespace", shop)
        await terminal.shows(f"*  HTTPRoute {shop}/pay", "BackendNotFound")
        terminal.types(CTRL_C)
        async with asyncio.timeout(ENOUGH):
            assert await terminal.process.wait() == 0
