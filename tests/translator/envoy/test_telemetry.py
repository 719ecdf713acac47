"""What a real Envoy tells of the requests that it serves."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from tests.collector import attributes, collecting
from tests.envoy_validate import runnable
from tests.looking import SOON
from tests.loopback import LOOPBACK, ask, http_backend, server_tls
from tests.pki import Authority, Issued
from tests.real_envoy import RunningEnvoy, running_envoy, until
from tests.translator.envoy.plans import BOUND, EDGE, TABLE, Hop, Plans, backend, bodies, build
from translator.rules.backend_tls import DnsName, TrustBundle, UpstreamTls
from translator.rules.backends import Protocol, Share
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.ports import Bound, HttpPort, Site, TcpPort
from translator.rules.streams import Streams
from translator.rules.tables import Entry
from translator.rules.telemetry import Telemetry

pytestmark = pytest.mark.envoy
ROOT, OTHER = Authority("root"), Authority("other")
SHOWN = ROOT.issue(dns=["web.test"])
PROVED = UpstreamTls("web.test", TrustBundle("trust/shop/proof"), (DnsName("web.test"),))
WEB, COLLECTOR = backend("web", policy="proof"), backend("otel", Protocol.HTTP2)
TRUSTED = backend("otel", Protocol.HTTP2, policy="proof")
BYTES, TCP = backend("web", Protocol.TCP, policy="proof"), Bound(EDGE, 5432)
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Gateway(Struct, frozen=True):
    """A port for HTTP and one that is passed on, both with the same backend behind TLS."""

    envoy: RunningEnvoy
    http: int
    tcp: int

    async def written(self, sign: str) -> list[str]:
        """Return the lines of standard output with this in them, once there are any."""

        async def something() -> bool:
            return bool(self._with(sign))

        await until(something, within=SOON)
        return self._with(sign)

    def _with(self, sign: str) -> list[str]:
        return [line for line in self.envoy.log.read_text().splitlines() if sign in line]


@asynccontextmanager
async def gateway(told: Telemetry, folder: Path, *collectors: Hop) -> AsyncIterator[Gateway]:
    hosts = {
        "*": [Entry(HttpMatch(PathPrefix("/")), HttpRule(Forward((Share(WEB, 1),))), "HTTPRoute a/b rule 0")]
    }
    async with http_backend("web", server_tls(SHOWN, folder)) as web:
        hops = [Hop(each, (Endpoint(LOOPBACK, web.port),), PROVED, ROOT.pem) for each in (WEB, BYTES)]
        sites = {
            BOUND: Site((LOOPBACK,), 0, HttpPort(TABLE), telemetry=told),
            TCP: Site((LOOPBACK,), 0, TcpPort(Streams((Share(BYTES, 1),))), telemetry=told),
        }
        plans = Plans(sites, {TABLE: hosts}, (*hops, *collectors))
        started = runnable(bodies(build(plans)))
        async with running_envoy(started, "--file-flush-interval-msec", "20") as envoy:
            ports = [await envoy.listener_port(str(bound)) for bound in sites]
            yield Gateway(envoy, *ports)


def at(whom: object, port: int, tls: UpstreamTls | None = None, roots: str = "") -> Hop:
    assert whom in (COLLECTOR, TRUSTED)
    return Hop(COLLECTOR if tls is None else TRUSTED, (Endpoint(LOOPBACK, port),), tls, roots)


async def test_a_request_is_written_with_its_route_and_the_tls_of_its_backend(tmp_path: Path) -> None:
    async with gateway(Telemetry(stdout="JSON"), tmp_path) as edge:
        await ask(edge.http, "/a?b=c", {"user-agent": "test"})
        [line] = await edge.written('{"')
    told = json.loads(line)
    expected = {
        "method": "GET",
        "path": "/a?b=c",
        "status": 200,
        "route": "HTTPRoute a/b rule 0",
        "listener": str(BOUND),
        "cluster": str(WEB),
        "policy": "shop/proof",
        "backend_tls": "TLSv1.3",
        "backend_failure": None,
        "user_agent": "test",
        "sent": 3,
    }
    assert {key: told[key] for key in expected} == expected


async def test_a_connection_that_is_passed_on_is_written_down(tmp_path: Path) -> None:
    async with gateway(Telemetry(stdout="JSON"), tmp_path) as edge:
        await ask(edge.tcp)
        [line] = await edge.written('{"')
    told = json.loads(line)
    assert (told["listener"], told["cluster"], told["backend_tls"]) == (str(TCP), str(BYTES), "TLSv1.3")
    assert "route" not in told


async def test_text_is_a_line_for_each_request(tmp_path: Path) -> None:
    async with gateway(Telemetry(stdout="Text"), tmp_path) as edge:
        await ask(edge.http, "/a")
        [line] = await edge.written("GET")
    assert '"GET /a HTTP/1.1"' in line
    assert f'"HTTPRoute a/b rule 0" {WEB}' in line


async def test_a_collector_is_told_the_same_over_otlp(tmp_path: Path) -> None:
    async with collecting() as collector:
        told = Telemetry(logs_to=COLLECTOR, service_name="front door")
        async with gateway(told, tmp_path, at(COLLECTOR, collector.port)) as edge:
            await ask(edge.http, "/a")
            resource, record = await asyncio.wait_for(collector.logs.get(), SOON)
    assert resource["service.name"] == "front door"
    assert '"GET /a HTTP/1.1"' in record.body.string_value
    assert attributes(record)["route"] == "HTTPRoute a/b rule 0"
    assert attributes(record)["backend_tls"] == "TLSv1.3"


@pytest.mark.parametrize(("issued", "heard"), [(SHOWN, True), (OTHER.issue(dns=["web.test"]), False)])
async def test_a_collector_is_told_nothing_before_its_proof(
    tmp_path: Path, issued: Issued, *, heard: bool
) -> None:
    told = Telemetry(logs_to=TRUSTED)
    async with (
        collecting(issued) as collector,
        gateway(told, tmp_path, at(TRUSTED, collector.port, PROVED, ROOT.pem)) as edge,
    ):
        await ask(edge.http)

        async def judged() -> bool:
            stats = await edge.envoy.stats("access_logs.open_telemetry_access_log.")
            told, lost = (
                stats.get(f"access_logs.open_telemetry_access_log.logs_{each}", 0)
                for each in ("written", "dropped")
            )
            return bool(told and not lost if heard else lost)

        await until(judged, within=SOON)
        assert collector.logs.empty() is not heard


async def test_requests_are_traced_in_the_trace_that_they_belong_to_unless_that_is_nobodys(
    tmp_path: Path,
) -> None:
    told = Telemetry(traces_to=COLLECTOR, service_name="front door")
    async with (
        collecting() as collector,
        gateway(told, tmp_path, at(COLLECTOR, collector.port)) as edge,
    ):
        await ask(edge.http, "/not", {"traceparent": f"00-{TRACE}-b7ad6b7169203331-00"})
        await ask(edge.http, "/traced", {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
        resource, span = await asyncio.wait_for(collector.spans.get(), SOON)
    assert resource["service.name"] == "front door"
    assert attributes(span)["http.url"].endswith("/traced")
    assert span.trace_id.hex() == TRACE


async def test_no_client_has_more_traced_than_the_percentage(tmp_path: Path) -> None:
    told = Telemetry(traces_to=COLLECTOR, sampled=0)
    async with (
        collecting() as collector,
        gateway(told, tmp_path, at(COLLECTOR, collector.port)) as edge,
    ):
        traced = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "x-client-trace-id": "1"}
        await ask(edge.http, "/", {**traced, "x-envoy-force-trace": "1"})
        stats = await edge.envoy.stats(f"http.{BOUND}.tracing.".replace(":", "_"))
        assert {name.rpartition(".")[2]: value for name, value in stats.items() if value} == {
            "not_traceable": 1
        }
