"""When an Envoy has nothing more to finish."""

import pytest

from legation.proxies.envoy_admin import in_flight

IDLE_HTTP = {
    "listener.127.0.0.1_8080.downstream_cx_active": 2,
    "listener.127.0.0.1_8080.worker_0.downstream_cx_active": 2,
    "http.edge.downstream_cx_active": 2,
}
NAMED_LIKE_ENVOYS_OWN = {
    "listener.0.0.0.0_443.downstream_cx_active": 4,
    "listener.0.0.0.0_443.worker_1.downstream_cx_active": 4,
    "http.infra/edge_443/pay.admin.example.downstream_cx_active": 2,
    "http.infra/x.worker_443.downstream_cx_active": 2,
}
COUNTED: tuple[tuple[dict[str, int], int], ...] = (
    ({}, 0),
    (IDLE_HTTP, 0),
    (IDLE_HTTP | {"http.edge.downstream_rq_active": 1}, 1),
    (IDLE_HTTP | {"listener.[__]_5432.downstream_cx_active": 3}, 3),
    (NAMED_LIKE_ENVOYS_OWN, 0),
    (NAMED_LIKE_ENVOYS_OWN | {"http.infra/edge_443/pay.admin.example.downstream_rq_active": 1}, 1),
    ({"http.admin.downstream_rq_active": 1, "listener.admin.downstream_cx_active": 1}, 0),
)


@pytest.mark.parametrize(("gauges", "number"), COUNTED)
def test_requests_and_plain_connections_are_in_flight_and_idle_http_is_not(
    gauges: dict[str, int], number: int
) -> None:
    assert in_flight(gauges) == number
