"""What is read of a run of whole controllers, and how it is told."""

import os

import pytest

from bench.cluster.asking import Churned, Probed, seen
from bench.cluster.manifests import (
    ADDRESSES,
    MOST,
    Ports,
    address,
    backends,
    endpoints,
    first_routes,
    policies,
    proved_hosts,
    routes,
)
from bench.cluster.report import Busy, Created, Size, percentile, report
from bench.cluster.usage import Usage, together, usage
from bench.cluster.writes import GATEWAYS, POLICIES, ROUTES, status_writes

pytestmark = pytest.mark.tree

COUNTED = 'apiserver_request_total{{code="{}",group="g",resource="{}",subresource="{}",verb="{}"}} {}\n'
METRICS = "".join(
    (
        "# TYPE apiserver_request_total counter\n",
        COUNTED.format(200, "httproutes", "status", "PATCH", 1000),
        COUNTED.format(200, "httproutes", "status", "PUT", 20),
        COUNTED.format(409, "httproutes", "status", "PUT", "3"),
        COUNTED.format(200, "httproutes", "status", "GET", 500),
        COUNTED.format(200, "httproutes", "", "APPLY", 7000),
        COUNTED.format(200, "gateways", "status", "APPLY", "1.08e+02"),
        COUNTED.format(200, "backendtlspolicies", "status", "APPLY", 50),
        COUNTED.format(200, "grpcroutes", "status", "PATCH", 9),
        'apiserver_request_body_size_bytes_sum{resource="gateways",subresource="status",verb="PUT"} 4\n',
    )
)


def size(scale: float) -> Size:
    """Make up figures, all times in proportion."""
    created = Created(Usage(scale, 100, int(200 * scale)), {ROUTES: 10, GATEWAYS: 2, POLICIES: 5}, scale / 2)
    probed = Probed((scale, 2 * scale, 40 * scale), 3, 1)
    return Size(
        created,
        probed,
        Busy(Churned((0.04, 0.05), 0, 9000), 0.25, {ROUTES: 0, GATEWAYS: 1, POLICIES: 0}),
        probed,
    )


def test_writes_of_statuses_are_counted_whoever_they_are_from_and_whatever_became_of_them() -> None:
    assert status_writes(METRICS) == {ROUTES: 1023, GATEWAYS: 108, POLICIES: 50}


def test_an_endpoint_counts_as_seen_when_it_or_a_newer_one_is_asked() -> None:
    put = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert seen(put, {"a": 1.5, "c": 4.0, "before": 0.5}) == (0.5, 2.0, 1.0)


def test_an_endpoint_that_is_asked_before_the_api_has_answered_took_no_time() -> None:
    assert seen({"a": 1.0}, {"a": 0.9}) == (0.0,)


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: int) -> None:
    assert percentile(range(100, 0, -1), percent) == value
    assert percentile([7], percent) == 7


def test_each_endpoint_is_new_one_is_ready_and_those_before_it_still_answer() -> None:
    found = endpoints("s0", 80, 300)["endpoints"]
    assert [each["conditions"]["ready"] for each in found] == [False, False, False, True]
    assert [each["addresses"] for each in found[2:]] == [["198.18.129.43"], ["198.18.129.44"]]
    assert address(MOST - 1).startswith(ADDRESSES.split(".")[0])


def test_every_second_service_has_a_policy_and_answers_with_tls() -> None:
    led_to = [each for each in backends(60, Ports(80, 443)) if each["kind"] == "EndpointSlice"]
    ports = {each["metadata"]["name"]: each["ports"][0]["port"] for each in led_to}
    assert ports == {"s0": 80, "s1": 443, "s2": 80, "s3": 443, "s4": 80, "s5": 443}
    assert [each["metadata"]["name"] for each in policies(60)] == ["s1", "s3", "s5"]


def test_routes_are_shared_by_gateways_and_asked_at_the_first_one() -> None:
    attached = {each["spec"]["hostnames"][0]: each["spec"]["parentRefs"][0]["name"] for each in routes(40, 3)}
    assert {*attached.values()} == {"edge", "edge-1", "edge-2"}
    asked = [*proved_hosts(40, 3)]
    assert asked == ["r12.test", "r15.test", "r18.test", "r30.test", "r33.test", "r36.test", "r39.test"]
    assert {attached[each] for each in asked} == {"edge"}


def test_each_gateway_has_a_first_route_at_which_no_other_route_is() -> None:
    led = [(each["spec"]["parentRefs"][0]["name"], each["spec"]["hostnames"]) for each in first_routes(3)]
    assert led == [("edge", ["first.test"]), ("edge-1", ["first.test"]), ("edge-2", ["first.test"])]
    names = [each["metadata"]["name"] for each in (*first_routes(3), *routes(40, 3))]
    assert len({*names}) == len(names)


def test_processes_together_use_what_each_of_them_uses() -> None:
    alone, twice = usage(os.getpid()), together([os.getpid()] * 2)
    assert twice.memory >= 1.9 * alone.memory
    assert twice.peak >= 2 * alone.peak
    assert twice.cpu >= 2 * alone.cpu


def test_what_is_told_is_counts_and_what_one_thing_is_of_another() -> None:
    text = report(
        (10, 1000),
        {"Legation": [size(1), size(2)], "Envoy Gateway": [size(3), size(30)], "Contour": [size(2), size(5)]},
    )
    few, many = (part.splitlines() for part in text.split("\n1000 routes"))
    assert "10 routes" in text
    assert " ".join(few[1].split()) == "10 routes Legation Envoy Gateway Contour"
    cells = {" ".join(line.split()[:-3]): line.split()[-3:] for line in many[1:]}
    assert cells["new route to 200, median"] == ["2.00x", "30.00x", "5.00x"]
    assert cells["under churn: new route to 200, p99"] == ["40.00x", "600.00x", "100.00x"]
    assert cells["status writes for Gateways"] == ["2", "2", "2"]
    assert cells["churn: status writes for Gateways"] == ["1", "1", "1"]
    assert cells["churn: endpoint seen, p99, of 100 ms"] == ["0.50", "0.50", "0.50"]
