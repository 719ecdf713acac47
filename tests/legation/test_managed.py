"""What a Gateway's managed proxies are made of."""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legation.addresses import HostPort
from legation.proxies.managed import Environment, Manifest, manifests
from legation.proxies.wanted import Wanted, wanted
from tests.golden import cases, world_of
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters, GatewayParametersSpec
from translator.rules.gateways import CONTROLLER
from translator.rules.managed import RUNS_PROXIES, label, proxy_name, settle, short
from translator.rules.ports import Bound
from translator.translate import INDEXES
from translator.world import World

EDGE = Name("infra", "edge")
SERVER = "legation-xds.legation-system.svc"
ENVIRONMENT = Environment(HostPort(SERVER, 18000), SERVER, "envoyproxy/envoy:v1.40.0")
PORTS = (Bound(EDGE, 80), Bound(EDGE, 443), Bound(EDGE, 53, "UDP"))
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
VALUE = re.compile(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?")  # of a label
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/card"]), st.just(1))
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]{1,60})?", fullmatch=True)


def gateway(spec: dict[str, object] | None = None) -> Gateway:
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    whole = {"gatewayClassName": "legation", "listeners": listeners, **(spec or {})}
    metadata = {"name": "edge", "namespace": "infra", "uid": "0b5f"}
    return msgspec.convert({"metadata": metadata, "spec": whole}, Gateway)


def said(**spec: object) -> GatewayParametersSpec:
    return msgspec.convert(spec, GatewayParametersSpec)


def made(*specs: GatewayParametersSpec, of: Gateway | None = None) -> dict[str, Manifest]:
    wanted = Wanted(of or gateway(), PORTS, settle(*specs))
    return {str(each["kind"]): each for each in manifests(wanted, ENVIRONMENT)}


def made_by(of_class: dict[str, object], own: dict[str, object]) -> tuple[Manifest, ...]:
    """Make the proxies of a Gateway that refers to parameters, as does its class."""
    ref = {"group": "legation.dev", "kind": "GatewayParameters", "name": "own"}
    world = World(INDEXES)
    world.state(RUNS_PROXIES, value=True)
    for name, spec in {"of-class": of_class, "own": own}.items():
        metadata = {"name": name, "namespace": "infra"}
        world.put(
            GatewayParameters,
            Name("infra", name),
            msgspec.convert({"metadata": metadata, "spec": spec}, GatewayParameters),
        )
    by_class = {
        "controllerName": CONTROLLER,
        "parametersRef": ref | {"name": "of-class", "namespace": "infra"},
    }
    class_ = {"metadata": {"name": "legation"}, "spec": by_class}
    world.put(GatewayClass, Name("", "legation"), msgspec.convert(class_, GatewayClass))
    world.put(Gateway, EDGE, gateway({"infrastructure": {"parametersRef": ref}}))
    found = wanted(world, EDGE)
    assert found is not None
    return manifests(found, ENVIRONMENT)


def at(manifest: Manifest, path: str) -> object:
    found: object = manifest
    for step in path.split("/"):
        found = found[int(step)] if isinstance(found, list) else found[step]  # type: ignore[index]  # plain JSON
    return found


POD = "spec/template/spec"
CONTAINER = f"{POD}/containers/0"


def test_everything_belongs_to_its_gateway_and_bears_its_labels() -> None:
    asked = {"labels": {"team": "a"}, "annotations": {"example.com/a": "b"}}
    set_ = made(
        said(envoy={"autoscaling": {"maxReplicas": 9, "minReplicas": 2}}),
        of=gateway({"infrastructure": asked}),
    )
    own = {"ServiceAccount", "ConfigMap", "Deployment", "Service"}
    assert set_.keys() == own | {"PodDisruptionBudget", "HorizontalPodAutoscaler"}
    for manifest in set_.values():
        assert at(manifest, "metadata/name") == "legation-edge"
        assert at(manifest, "metadata/namespace") == "infra"
        assert at(manifest, "metadata/labels/team") == "a"
        assert at(manifest, "metadata/annotations") == {"example.com/a": "b"}
        assert at(manifest, "metadata/ownerReferences/0/kind") == "Gateway"
        assert at(manifest, "metadata/ownerReferences/0/name") == "edge"
        assert at(manifest, "metadata/ownerReferences/0/uid") == "0b5f"
    assert at(set_["Deployment"], "spec/template/metadata/labels/team") == "a"


def test_a_proxy_is_told_how_much_memory_it_has_by_whoever_starts_it() -> None:
    deployment = made()["Deployment"]
    arguments = at(deployment, f"{CONTAINER}/args")
    assert isinstance(arguments, list)
    told = json.loads(arguments[arguments.index("--config-yaml") + 1])
    [monitor] = told["overloadManager"]["resourceMonitors"]
    assert monitor["typedConfig"]["maxHeapSizeBytes"] == "$(MEMORY)"
    source = {"resourceFieldRef": {"resource": "limits.memory"}}
    assert at(deployment, f"{CONTAINER}/env/1") == {"name": "MEMORY", "valueFrom": source}


def test_proxies_are_kept_apart_by_node_and_by_zone_where_that_is_possible() -> None:
    deployment = made()["Deployment"]
    constraints = at(deployment, f"{POD}/topologySpreadConstraints")
    assert isinstance(constraints, list)
    assert [each["topologyKey"] for each in constraints] == [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    ]
    for each in constraints:
        assert each["whenUnsatisfiable"] == "ScheduleAnyway"
        assert each["labelSelector"] == at(deployment, "spec/selector")
        assert each["matchLabelKeys"] == ["pod-template-hash"]


def test_a_service_has_the_ports_of_its_gateway() -> None:
    ports = at(made()["Service"], "spec/ports")
    assert isinstance(ports, list)
    assert [(each["port"], each["targetPort"], each["protocol"]) for each in ports] == [
        (80, 80, "TCP"),
        (443, 443, "TCP"),
        (53, 53, "UDP"),
    ]


def test_a_service_has_a_port_for_http3_beside_that_for_tcp() -> None:
    case = next(each for each in cases() if each.name == "clients/http3")
    found = wanted(world_of(case), EDGE)
    assert found is not None
    service = next(each for each in manifests(found, ENVIRONMENT) if each["kind"] == "Service")
    ports = at(service, "spec/ports")
    assert isinstance(ports, list)
    assert [(each["name"], each["port"], each["protocol"]) for each in ports] == [
        ("tcp-80", 80, "TCP"),
        ("tcp-443", 443, "TCP"),
        ("udp-443", 443, "UDP"),
    ]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("ServiceAccount", "automountServiceAccountToken", False),
        ("Deployment", f"{POD}/automountServiceAccountToken", False),
        ("Deployment", f"{POD}/securityContext/runAsNonRoot", True),
        ("Deployment", f"{POD}/securityContext/seccompProfile/type", "RuntimeDefault"),
        ("Deployment", f"{CONTAINER}/securityContext/readOnlyRootFilesystem", True),
        ("Deployment", f"{CONTAINER}/securityContext/allowPrivilegeEscalation", False),
        ("Deployment", f"{CONTAINER}/securityContext/capabilities/drop", ["ALL"]),
        ("Deployment", f"{CONTAINER}/readinessProbe/periodSeconds", 1),
    ],
)
def test_proxies_may_do_nothing_that_they_need_not(kind: str, path: str, value: object) -> None:
    assert at(made()[kind], path) == value


@pytest.mark.parametrize(
    ("spec", "kind", "path", "value"),
    [
        ({"envoy": {"image": "a/b:c"}}, "Deployment", f"{CONTAINER}/image", "a/b:c"),
        ({"envoy": {"replicas": 3}}, "Deployment", "spec/replicas", 3),
        ({"envoy": {"replicas": 3}}, "PodDisruptionBudget", "spec/maxUnavailable", 1),
        (
            {"envoy": {"replicas": 3}},
            "PodDisruptionBudget",
            "spec/unhealthyPodEvictionPolicy",
            "AlwaysAllow",
        ),
        ({"envoy": {"autoscaling": {"maxReplicas": 9}}}, "HorizontalPodAutoscaler", "spec/maxReplicas", 9),
        (
            {"envoy": {"resources": {"limits": {"memory": "1Gi"}}}},
            "Deployment",
            f"{CONTAINER}/resources",
            {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
        ),
        ({"service": {"type": "ClusterIP"}}, "Service", "spec/type", "ClusterIP"),
    ],
)
def test_parameters_shape_what_they_name(
    spec: dict[str, object], kind: str, path: str, value: object
) -> None:
    assert at(made(said(**spec))[kind], path) == value


@pytest.mark.parametrize(
    ("envoy", "flag", "value"),
    [({"concurrency": 7}, "--concurrency", "7"), ({"logLevel": "debug"}, "--log-level", "debug")],
)
def test_parameters_become_flags_of_envoy(envoy: dict[str, object], flag: str, value: str) -> None:
    arguments = at(made(said(envoy=envoy))["Deployment"], f"{CONTAINER}/args")
    assert isinstance(arguments, list)
    assert arguments[arguments.index(flag) + 1] == value


def test_a_gateway_replaces_single_fields_of_what_its_class_says() -> None:
    of_class: dict[str, object] = {
        "proxies": "External",
        "envoy": {"replicas": 2, "concurrency": 4},
        "service": {"type": "NodePort"},
    }
    own: dict[str, object] = {
        "proxies": "Managed",
        "envoy": {"replicas": 5},
        "service": {"type": "ClusterIP"},
    }
    deployment, service = (
        each for each in made_by(of_class, own) if each["kind"] in {"Deployment", "Service"}
    )
    assert at(deployment, "spec/replicas") == 5
    assert at(service, "spec/type") == "ClusterIP"
    arguments = at(deployment, f"{CONTAINER}/args")
    assert isinstance(arguments, list)
    assert arguments[arguments.index("--concurrency") + 1] == "4"


AUTOSCALED = {"autoscaling": {"maxReplicas": 9}}


@pytest.mark.parametrize(("of_class", "own"), [(AUTOSCALED, {"replicas": 3}), ({"replicas": 3}, AUTOSCALED)])
def test_a_gateway_that_says_how_many_is_not_held_to_the_other_way_of_saying_it(
    of_class: dict[str, object], own: dict[str, object]
) -> None:
    made = made_by({"envoy": of_class}, {"envoy": own})
    autoscaled = "HorizontalPodAutoscaler" in {each["kind"] for each in made}
    [deployment] = [each for each in made if each["kind"] == "Deployment"]
    number = deployment["spec"].get("replicas")  # type: ignore[attr-defined]  # plain JSON
    assert (autoscaled, number) == ((False, 3) if own != AUTOSCALED else (True, None))


@pytest.mark.parametrize(
    ("resources", "becomes"),
    [
        ([], {"requests": {"cpu": "100m", "memory": "128Mi"}}),
        ([{"limits": {"cpu": 2, "memory": "64Mi"}}], {"limits": {"cpu": 2, "memory": "64Mi"}}),
        (
            [{"limits": {"memory": "2Gi"}}, {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}],
            {"requests": {"cpu": 1}, "limits": {"memory": "2Gi"}},
        ),
        (
            [{"requests": {"cpu": "50m"}}, {"requests": {"cpu": 1, "memory": "1Gi"}}],
            {"requests": {"cpu": "50m", "memory": "1Gi"}},
        ),
    ],
)
def test_resources_are_settled_name_by_name(
    resources: list[dict[str, object]], becomes: dict[str, object]
) -> None:
    set_ = made(*(said(envoy={"resources": each}) for each in resources))
    assert at(set_["Deployment"], f"{CONTAINER}/resources") == becomes


@given(st.lists(st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS}), max_size=2))
def test_an_autoscaler_always_knows_how_much_cpu_time_is_asked_for(
    resources: list[dict[str, object]],
) -> None:
    asked = [said(envoy={"autoscaling": {"maxReplicas": 9}, "resources": each}) for each in resources]
    its = settle(*asked).resources
    assert "cpu" in its.requests.keys() | its.limits.keys()  # Kubernetes takes a limit for a request, too


def test_nothing_is_made_for_proxies_that_others_run() -> None:
    assert made(said(proxies="External")) == {}
    assert made(said(proxies="Managed"), said(proxies="External")) != {}


def test_an_autoscaler_and_a_deployment_do_not_both_set_the_number() -> None:
    set_ = made(said(envoy={"replicas": 4, "autoscaling": {"maxReplicas": 9, "minReplicas": 2}}))
    assert "replicas" not in at(set_["Deployment"], "spec")  # type: ignore[operator]  # plain JSON
    assert "PodDisruptionBudget" in set_


def test_a_single_proxy_does_not_hold_up_the_drain_of_its_node() -> None:
    assert "PodDisruptionBudget" not in made(said(envoy={"replicas": 1}))


def test_a_gateway_without_ports_has_no_service() -> None:
    wanted = Wanted(gateway(), (), settle())
    assert "Service" not in {each["kind"] for each in manifests(wanted, ENVIRONMENT)}


@pytest.mark.parametrize(
    ("kind", "balanced", "taken_in"),
    [
        ("LoadBalancer", "192.0.2.7", ["2001:db8::7"]),
        ("ClusterIP", None, ["192.0.2.7", "2001:db8::7"]),
        ("NodePort", None, ["192.0.2.7", "2001:db8::7"]),
    ],
)
def test_addresses_are_asked_of_whoever_can_give_them(
    kind: str, balanced: str | None, taken_in: list[str]
) -> None:
    addresses: dict[str, object] = {"addresses": [{"value": "192.0.2.7"}, {}, {"value": "2001:db8::7"}]}
    spec = made(said(service={"type": kind}), of=gateway(addresses))["Service"]["spec"]
    assert isinstance(spec, dict)
    assert (spec.get("loadBalancerIP"), spec.get("externalIPs")) == (balanced, taken_in)


@pytest.mark.parametrize(
    ("wishes", "kind", "own"),
    [
        ([{"routability": "Cluster"}], "ClusterIP", None),
        ([{"routability": "Cluster", "value": "10.96.0.7"}], "ClusterIP", "10.96.0.7"),
        ([{"routability": "Cluster", "value": "10.96.0.7"}, {}], "LoadBalancer", "10.96.0.7"),
        ([{}], "LoadBalancer", None),
    ],
)
def test_who_wishes_to_be_reached_within_the_cluster_alone_is_not_reached_from_outside(
    wishes: list[dict[str, str]], kind: str, own: str | None
) -> None:
    spec = made(of=gateway({"addresses": wishes}))["Service"]["spec"]
    assert isinstance(spec, dict)
    assert (spec["type"], spec.get("clusterIP")) == (kind, own)
    assert not {"loadBalancerIP", "externalIPs"} & spec.keys()


@pytest.mark.parametrize("seconds", [1, 60, 86400])
def test_there_is_time_to_drain_before_the_end(seconds: int) -> None:
    deployment = made(said(envoy={"drainSeconds": seconds}))["Deployment"]
    grace = at(deployment, f"{POD}/terminationGracePeriodSeconds")
    assert isinstance(grace, int)
    assert grace > seconds
    command = at(deployment, f"{CONTAINER}/lifecycle/preStop/exec/command")
    assert isinstance(command, list)
    assert command[-2:] == [str(min(seconds, ENVIRONMENT.withdrawal)), str(seconds)]


def test_a_changed_bootstrap_replaces_the_pods_and_a_changed_port_does_not() -> None:
    def template(wanted: Wanted, environment: Environment) -> object:
        return at(manifests(wanted, environment)[2], "spec/template")

    wanted = Wanted(gateway(), PORTS, settle())
    fewer = msgspec.structs.replace(wanted, ports=PORTS[:1])
    elsewhere = msgspec.structs.replace(ENVIRONMENT, server_name="elsewhere")
    assert template(wanted, ENVIRONMENT) == template(fewer, ENVIRONMENT)
    assert template(wanted, ENVIRONMENT) != template(wanted, elsewhere)


def test_labels_of_a_gateway_do_not_break_the_selector() -> None:
    asked = {"labels": {"gateway.networking.k8s.io/gateway-name": "another"}}
    deployment = made(of=gateway({"infrastructure": asked}))["Deployment"]
    labels = at(deployment, "spec/template/metadata/labels")
    selector = at(deployment, "spec/selector/matchLabels")
    assert isinstance(labels, dict)
    assert isinstance(selector, dict)
    assert selector.items() <= labels.items()


@pytest.mark.parametrize("name", ["edge", "edge.v1", "1.edge", "a" * 63])
def test_whatever_is_made_is_found_by_the_names_of_its_gateway_and_of_its_class(name: str) -> None:
    asked = gateway({"gatewayClassName": "gateways.example.com"})
    asked = msgspec.structs.replace(asked, metadata=msgspec.structs.replace(asked.metadata, name=name))
    for manifest in made(of=asked).values():
        labels = manifest["metadata"]["labels"]  # type: ignore[index]  # it is one
        assert labels["gateway.networking.k8s.io/gateway-name"] == name
        assert labels["gateway.networking.k8s.io/gateway-class-name"] == "gateways.example.com"


@given(NAMES)
def test_every_name_is_written_as_a_label_may_be(name: str) -> None:
    assert VALUE.fullmatch(label(name))


@given(NAMES)
def test_every_name_is_one_that_a_service_may_have(name: str) -> None:
    assert LABEL.fullmatch(proxy_name(Name("infra", name)).name)
    assert LABEL.fullmatch("a" + short(name, 62))


@given(st.lists(NAMES, unique=True, min_size=2, max_size=20))
def test_no_two_gateways_share_a_name(names: list[str]) -> None:
    shortened = [*(short(name, 54) for name in names), *map(label, names)]
    shared = [*names, *shortened]  # as if somebody had read a shortened one
    distinct = set(shared)
    assert len({proxy_name(Name("infra", name)).name for name in distinct}) == len(distinct)
    assert len({label(name) for name in distinct}) == len(distinct)


def test_long_names_that_begin_alike_stay_apart() -> None:
    one, other = (proxy_name(Name("infra", "a" * 200 + end)).name for end in "bc")
    assert one != other
    assert len(one) == 63
