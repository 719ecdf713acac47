"""What `check` says of a cluster, asked over real HTTP of an API server that lacks what a test takes away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from k8s_watch.api_server import ApiServer, kubeconfig
from legation.checks.access_review import Account, needed
from legation.checks.findings import Finding
from legation.checks.of_cluster import of_cluster
from legation.checks.of_crds import OWN_CRD
from legation.crds import NAMES
from tests.k8s_watch.faulty_api import LOOPBACK, write_kubeconfig
from tests.legation.whole_cluster import HOME, Cluster


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
    assert {each.right for each in cluster.reviews} == set(needed(HOME))
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
        denied={("gateways/status", "patch"), ("services", "delete"), ("services", "watch")},
        environment={"LEGATION_WATCH": "a b"},
    )
    told = await found(cluster, tmp_path)
    assert {each[:2] for each in told} == {("permission-lacking", str(Account(HOME, "legation")))}
    assert [each[3] for each in told] == [
        "may not delete, watch services in namespace a",
        "may not patch gateways/status.gateway.networking.k8s.io in namespace a",
        "may not delete, watch services in namespace b",
        "may not patch gateways/status.gateway.networking.k8s.io in namespace b",
    ]


async def test_less_is_needed_where_proxies_are_run_by_others_and_for_some_namespaces(tmp_path: Path) -> None:
    cluster = Cluster(environment={"LEGATION_WATCH": "a", "LEGATION_XDS_CERT": "/tls.crt"})
    assert await found(cluster, tmp_path) == []
    asked = {each.right for each in cluster.reviews}
    assert asked == set(needed(HOME, ("a",), managed=False))
    assert {right.namespace for right in asked} == {"", "a", "default", HOME}
    assert "deployments" not in {right.resource for right in asked}


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


async def test_policies_that_are_not_honoured_are_told_one_by_one(tmp_path: Path) -> None:
    told = await found(Cluster(policies=("pay", "web")), tmp_path)
    message = "nothing comes of it: XBackendTrafficPolicy is not honoured"
    assert told == [
        ("policy-not-honoured", f"XBackendTrafficPolicy shop/{name}", "", message) for name in ("pay", "web")
    ]


async def test_policies_that_may_not_be_asked_about_are_told_as_such(tmp_path: Path) -> None:
    [told] = await found(Cluster(closed={"xbackendtrafficpolicies"}), tmp_path)
    assert told == ("not-asked", "", "", "xbackendtrafficpolicies: you may not")
