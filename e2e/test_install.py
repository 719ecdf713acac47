"""Installing by docs/install.md: every command of it runs, what it says comes true, and nothing is left.

What other pages do in a cluster is done to that installation.
"""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from string import Template
from urllib.parse import urljoin, urlsplit

import pytest
import yaml

from deploy.manifests import FILE, text
from deploy.permissions import CHART
from e2e.cluster.build import Programs
from e2e.cluster.place import PROJECT, here
from e2e.kubectl import WITHIN, apply, eventually, kubectl, read, wait_for
from legation.permissions import of_cluster, of_namespaces, of_own_namespace
from tests.pages.blocks import blocks
from tests.pki import Authority
from tests.real_envoy import running_envoy

PAGE = "docs/install.md"
OF_GATEWAY_API = re.compile(r"https://github\.com/kubernetes-sigs/gateway-api/\S+")
TIMEOUT = re.compile(r"--timeout=\d+s")
OURS = "gatewayparameters.legation.dev"
NOISE = re.compile(r"^(?:Event|PodMetrics|NodeMetrics|ComponentStatus) ")
FORBIDDEN = re.compile(r"forbidden|(?<![\d.])403\b", re.IGNORECASE)

GATEWAY = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: side}
spec:
  gatewayClassName: $class_
  listeners: [{name: http, port: 80, protocol: HTTP}]
""")
Values = tuple[str, ...]
EVERYTHING: Values = (
    "watch={default}",
    "envoyImage=example.com/envoy:v1",
    "xds=[::]:18000",
    "verbose=true",
    "gatewayClass.parameters.envoy.replicas=2",
    "replicas=3",
    f"image.digest=sha256:{'0' * 64}",
    "imagePullSecrets[0].name=pull",
    "extraEnv[0].name=TZ",
    "extraEnv[0].value=UTC",
    "podAnnotations.a=b",
    "podLabels.c=d",
    "priorityClassName=system-cluster-critical",
    "nodeSelector.disk=ssd",
    "tolerations[0].operator=Exists",
    "service.clusterIP=None",
    "networkPolicy.create=true",
    "podMonitor.create=true",
    "podMonitor.labels.release=prometheus",
    "podMonitor.interval=1m",
    "networkPolicy.adminFrom[0].podSelector.matchLabels.app=prometheus",
    "serviceAccount.annotations.who=me",
    "fullnameOverride=control",
)


@pytest.fixture
def helm(inside: None) -> str:  # noqa: ARG001  a fixture cannot be marked to use another
    """Helm is on the PATH."""
    return str(Programs(here().programs).path("helm"))


@pytest.fixture
def cleared() -> Iterator[None]:
    """Take away what a failed test leaves."""
    yield
    namespaces = "legation-system", "edge-system", "shop"
    for release, namespace in (("legation", namespaces[0]), ("edge", namespaces[1])):
        shell(f"helm uninstall {release} --namespace {namespace} --ignore-not-found")
    kubectl("delete", "--ignore-not-found", f"--filename={PROJECT / 'deploy' / 'first-gateway.yaml'}")
    kubectl("delete", "--ignore-not-found", f"--filename={FILE}")
    kubectl("delete", "namespace", "--ignore-not-found", *namespaces)
    kubectl("delete", "crd", "--ignore-not-found", OURS)


def commands(heading: str) -> list[str]:
    """Give the commands of one section of the page that can be run."""
    asked = (block for block in blocks(PAGE) if block.section == heading and not block.said("not run"))
    return [line for block in asked for line in block.text.splitlines()]


def follow(heading: str, first: int = 0, last: int | None = None) -> str:
    """Run the commands of a section, with the definitions of Gateway API that are here already.

    The page's patience is for a cluster that has nothing else to do.
    """
    crds, patience = str(Programs(here().programs).crds), f"--timeout={WITHIN:.0f}s"
    lines = (TIMEOUT.sub(patience, line) for line in commands(heading)[first:last])
    return "".join(shell(OF_GATEWAY_API.sub(crds, line)) for line in lines)


def shell(command: str) -> str:
    """Run a command as somebody would who reads the page."""
    done = subprocess.run(  # noqa: S603  what the page says
        ["bash", "-o", "pipefail", "-c", command],  # noqa: S607  as everywhere
        cwd=PROJECT,
        env=os.environ,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def everything() -> set[str]:
    """Name all objects there are, but those that come and go by themselves."""
    kinds = kubectl("api-resources", "--verbs=list", "--output=name").split()
    columns = "K:.kind,NS:.metadata.namespace,N:.metadata.name"
    listed = kubectl(
        "get", ",".join(kinds), "--all-namespaces", "--no-headers", f"--output=custom-columns={columns}"
    )
    return {" ".join(line.split()) for line in listed.splitlines() if not NOISE.match(line)}


def is_sent_to_https(address: str) -> bool:
    """Ask the first Gateway, as a browser would."""
    connection = HTTPConnection(address, timeout=30)
    connection.request("GET", "/", headers={"Host": "shop.example"})
    answer = connection.getresponse()
    connection.close()
    return (answer.status, answer.getheader("location")) == (302, "https://shop.example/")


@contextmanager
def proxied() -> Iterator[None]:
    """Run the page's command that passes questions on to the API server until it is ended."""
    [command] = commands("Networks and metrics")[1:]
    process = subprocess.Popen(shlex.split(command), stdout=subprocess.DEVNULL)  # noqa: S603  what the page says
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def shows_the_page(url: str) -> bool:
    """Ask for all that the page of one replica is made of, as a browser does, and for what it shows first."""
    script = urljoin(url, "assets/page.js")
    parts = re.findall(r'(?:src|href)="(assets/[^"]+)"', answered(url))
    modules = re.findall(r'from "(.+)";', answered(script))
    files = {urljoin(url, each) for each in parts} | {urljoin(script, each) for each in modules}
    had = {file.rpartition("/")[2] for file in files if answered(file)}
    return len(had) == len(files) > len(parts) and "default/first" in answered(urljoin(url, "api/v1/map"))


def answered(url: str) -> str:
    """Return what this machine answers; nothing, if it refuses."""
    place = urlsplit(url)
    connection = HTTPConnection(place.netloc, timeout=30)
    connection.request("GET", place.path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return body if answer.status == HTTPStatus.OK else ""


def ready(namespace: str) -> int:
    """Count the replicas that are ready; those that are replaced may be among them for a while."""
    return int(read("deployment", "legation", "--namespace", namespace)["status"]["readyReplicas"])


def rules(kind: str, name: str, *where: str) -> list[dict[str, object]]:
    """Read what a role allows."""
    found: list[dict[str, object]] = read(kind, name, *where)["rules"]
    return found


def accepted(namespace: str) -> bool:
    """Read whether the Gateway of a test is taken for ours."""
    told = read("gateway", "side", "--namespace", namespace)["status"]["conditions"]
    return any((each["type"], each["status"]) == ("Accepted", "True") for each in told)


def complaints(namespace: str, name: str) -> list[str]:
    """Read what a control plane has said of things that it may not do."""
    said = kubectl("logs", "--namespace", namespace, f"deployment/{name}")
    found = (line for line in said.splitlines() if FORBIDDEN.search(line))
    return [line for line in found if "is being terminated" not in line]  # in there, nobody may make anything


def test_every_command_of_the_page_is_in_a_section_that_is_followed() -> None:
    sections = {block.section for block in blocks(PAGE) if not block.said("not run")}
    assert sections == {*FOLLOWED}


FOLLOWED = (
    "Install",
    "Choose",
    "Upgrade",
    "Uninstall",
    "Without Helm",
    "In some namespaces only",
    "Envoys of your own",
    "Networks and metrics",
)


@pytest.mark.usefixtures("helm", "cleared")
def test_a_release_serves_a_first_gateway_is_changed_and_leaves_nothing() -> None:
    before = everything()
    address = follow("Install").split()[-1]
    eventually(lambda: is_sent_to_https(address))
    granted = [each.rule() for each in (*of_cluster(), *of_namespaces(managed=True))]
    assert rules("clusterrole", "legation.legation-system") == granted
    own = [each.rule() for each in of_own_namespace(managed=True)]
    assert rules("role", "legation", "--namespace=legation-system") == own
    assert complaints("legation-system", "legation") == []
    with proxied():
        eventually(lambda: {*map(shows_the_page, follow("Networks and metrics", 0, 1).split())} == {True})
    follow("Choose")
    eventually(lambda: ready("legation-system") == 2)
    assert "Renew it" not in follow("Upgrade")
    eventually(lambda: ready("legation-system") == 2)
    eventually(lambda: is_sent_to_https(address))
    follow("Uninstall")
    eventually(lambda: everything() <= before)


@pytest.mark.usefixtures("helm", "cleared")
def test_an_upgrade_says_when_the_definition_of_our_kind_is_old_and_how_to_renew_it() -> None:
    release = "legation deploy/helm/legation --namespace legation-system"
    assert "Renew it" not in shell(f"helm install {release} --create-namespace --wait")
    old = '[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/description"}]'
    kubectl("patch", "crd", OURS, "--type=json", "--patch", old)
    assert "Renew it" in shell(f"helm upgrade {release}")
    shell(commands("Upgrade")[-1])
    assert "Renew it" not in shell(f"helm upgrade {release}")


@pytest.mark.usefixtures("helm", "cleared")
def test_what_kubectl_alone_applies_is_what_helm_makes_and_it_runs() -> None:
    assert FILE.read_text() == text(), "run `make manifests`"
    strict = ("apply", "--server-side", "--validate=strict", "--dry-run=server")
    kubectl("create", "namespace", "legation-system")
    kubectl(*strict, f"--filename={FILE}")
    before = everything()
    follow("Without Helm")
    eventually(lambda: everything() <= before)


@pytest.mark.usefixtures("helm", "cleared")
def test_in_some_namespaces_gateways_are_served_and_others_are_not_even_read(namespace: str) -> None:
    kubectl("delete", "namespace", "--ignore-not-found", "shop")
    follow("In some namespaces only", 0, 2)
    apply(namespace, GATEWAY.substitute(class_="edge"))
    apply("shop", GATEWAY.substitute(class_="edge"))
    eventually(lambda: accepted("shop"))
    assert not accepted(namespace)
    assert rules("clusterrole", "edge-legation.edge-system") == [each.rule() for each in of_cluster()]
    assert may("list", "secrets", "shop")
    assert not may("list", "secrets", namespace)
    assert not may("get", "secrets", "kube-system")
    parameters = "--reuse-values --set gatewayClass.parameters.service.type=ClusterIP"
    shell(f"helm upgrade edge deploy/helm/legation --namespace edge-system {parameters} --wait")
    wait_for("shop", "jsonpath={.spec.type}=ClusterIP", "service/legation-side")
    assert complaints("edge-system", "edge-legation") == []
    assert "kind: ClusterRole\n" in follow("In some namespaces only", -1)
    kubectl("delete", "gateway", "side", "--namespace=shop")
    follow("In some namespaces only", 2, -1)


def may(verb: str, resource: str, namespace: str) -> bool:
    """Ask whether the control plane of one namespace may do something in another."""
    who = "--as=system:serviceaccount:edge-system:edge-legation"
    asked = f"kubectl auth can-i {verb} {resource} {who} --namespace {namespace} || true"
    return shell(asked).strip() == "yes"


@pytest.mark.usefixtures("helm", "cleared")
async def test_an_envoy_that_somebody_else_runs_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path))
    await asyncio.to_thread(follow, "Envoys of your own")
    bootstrap = yaml.safe_load((tmp_path / "envoy.yaml").read_text())
    del bootstrap["admin"]  # the harness has its own
    async with running_envoy(bootstrap):
        await asyncio.to_thread(eventually, lambda: is_sent_to_https("127.0.0.1"))
    assert complaints("legation-system", "legation") == []


@pytest.mark.usefixtures("helm", "cleared")
def test_what_other_pages_do_in_a_cluster_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    follow("Install")
    pages = (page.relative_to(PROJECT).as_posix() for page in sorted((PROJECT / "docs").rglob("*.md")))
    found = [block for page in pages for block in blocks(page) if block.said("in a cluster")]
    assert {block.page for block in found} >= {"docs/alerts.md", "docs/limits.md", "docs/operations.md"}
    kubectl("create", "namespace", "shop")
    for block in found:
        if block.language == "yaml":
            apply("shop", block.text)
        else:
            shell(f"set -e\n{block.text}")


@pytest.mark.usefixtures("helm", "cleared")
def test_with_certificates_from_elsewhere_next_to_nothing_may_be_written() -> None:
    kubectl("create", "namespace", "legation-system")
    authority = Authority("elsewhere")
    issued = authority.issue(dns=["legation.legation-system.svc"])
    files = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem, "ca.crt": authority.pem}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "given"}, "stringData": files}
    apply("legation-system", json.dumps(secret))
    shell(
        "helm install legation deploy/helm/legation --namespace legation-system --set xdsSecret=given --wait"
    )
    wait_for("default", "condition=Accepted", "gatewayclass/legation")
    granted = [each.rule() for each in (*of_cluster(), *of_namespaces(managed=False))]
    assert rules("clusterrole", "legation.legation-system") == granted
    own = [each.rule() for each in of_own_namespace(managed=False)]
    assert rules("role", "legation", "--namespace=legation-system") == own
    assert complaints("legation-system", "legation") == []


@pytest.fixture
def monitored(cluster: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """The operator of Prometheus has its kind here."""
    crd, name = Programs(here().programs).pod_monitors, "podmonitors.monitoring.coreos.com"
    was_there = kubectl("get", "crd", name, "--ignore-not-found", "--output=name")
    kubectl("apply", "--server-side", f"--filename={crd}")
    wait_for("default", "condition=Established", f"crd/{name}")
    yield
    if not was_there:  # else somebody's monitors would go with it
        kubectl("delete", "crd", name)


def test_prometheus_finds_the_port_of_metrics_by_its_monitor(helm: str) -> None:
    made = shell(f"{helm} template edge {CHART} --set podMonitor.create=true")
    found = {each["kind"]: each["spec"] for each in yaml.safe_load_all(made) if each and "spec" in each}
    pod, monitor = found["Deployment"]["template"], found["PodMonitor"]
    assert monitor["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    [endpoint] = monitor["podMetricsEndpoints"]
    [container] = pod["spec"]["containers"]
    ports = {each["name"]: str(each["containerPort"]) for each in container["ports"]}
    assert (endpoint["path"], ports[endpoint["port"]]) == ("/metrics", "19080")


@pytest.mark.usefixtures("monitored")
@pytest.mark.parametrize("values", [(), ("replicas=2",), ("xdsSecret=given",), EVERYTHING])
def test_what_is_chosen_is_what_an_api_server_takes(helm: str, namespace: str, values: Values) -> None:
    kubectl("apply", "--server-side", f"--filename={CHART / 'crds'}")
    wait_for("default", "condition=Established", f"crd/{OURS}")
    chosen = " ".join(f"--set '{value}'" for value in values)
    shell(f"{helm} lint --strict {CHART} {chosen}")
    made = shell(f"{helm} template edge {CHART} --namespace {namespace} {chosen}")
    strict = ("apply", "--server-side", "--validate=strict", "--dry-run=server", "--filename=-")
    kubectl(*strict, given=made)


@pytest.mark.parametrize("value", ["replica=2", "watch={a,a}", "xds=here", "image.pullPolicy=Seldom"])
def test_a_value_that_nobody_would_read_is_refused(helm: str, value: str) -> None:
    done = subprocess.run(  # noqa: S603  as written here
        [helm, "template", "edge", CHART, "--set", value], text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert "don't meet the specifications of the schema" in done.stderr
