"""HTTP/3 from clients: another Envoy speaks it to ours, which got all of it over xDS."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, http_backend
from tests.handshakes.clients import Place, Security, get
from tests.handshakes.manifests import Json, edge, endpoints, manifest, route, service, tls_secret
from tests.handshakes.rig import Rig, rigged
from tests.loopback import LOOPBACK
from tests.pki import Authority
from tests.real_envoy import RunningEnvoy, running_envoy, until

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

HTTPS, PLAIN, WITHIN = 18443, 80, 120.0
HOST, OTHER = "pay.test", "other.test"
MANAGER = (
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
)
PUBLIC = Authority("public")
CERTIFICATE = PUBLIC.issue(dns=[HOST])
ROOTS = ssl.create_default_context(cadata=PUBLIC.pem)
PARAMETERS = {"group": "legation.dev", "kind": "GatewayParameters", "name": "its-own"}


class Stage(Struct, frozen=True):
    """A Gateway with an HTTPS listener, what its backend was told, and a client that speaks HTTP/3 to it."""

    rig: Rig
    backend: Backend
    client: RunningEnvoy

    async def ask(self, host: str = HOST) -> int | None:
        """Return what a request over HTTP/3 is answered."""
        return await get(Place(LOOPBACK, await self.client.listener_port("client")), host)

    async def over_tcp(self, answer: int | None) -> None:
        """Wait until a new connection over TCP is answered so; what holds for it holds for QUIC as well."""
        await self.rig.settled()

        async def answered() -> bool:
            with suppress(ssl.SSLCertVerificationError):
                return await get(self.rig.place(HTTPS), HOST, Security(ROOTS, HOST)) == answer
            return answer is None

        await until(answered, WITHIN)

    async def head(self) -> str:
        """Return the head of an answer over TCP."""
        place = self.rig.place(HTTPS)
        async with asyncio.timeout(WITHIN):
            reader, writer = await asyncio.open_connection(
                place.address, place.port, ssl=ROOTS, server_hostname=HOST
            )
            writer.write(f"GET / HTTP/1.1\r\nhost: {HOST}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            writer.transport.abort()
        return head.decode()


def speaking_http3(place: Place) -> Mapping[str, object]:
    """Return a bootstrap of an Envoy that sends what it gets on over HTTP/3."""
    trust = {"trusted_ca": {"inline_string": PUBLIC.pem}}
    quic = {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport",
        "upstream_tls_context": {"sni": HOST, "common_tls_context": {"validation_context": trust}},
    }
    options = {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http3_protocol_options": {}},
    }
    cluster = {
        "name": "gateway",
        "load_assignment": {
            "cluster_name": "gateway",
            "endpoints": [
                {"lb_endpoints": [{"endpoint": {"address": at(place.address, place.port, "UDP")}}]}
            ],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options
        },
        "transport_socket": {"name": "envoy.transport_sockets.quic", "typed_config": quic},
    }
    return {"static_resources": {"clusters": [cluster], "listeners": [passing_on()]}}


def passing_on() -> Json:
    """Return a listener that passes everything on to the gateway."""
    every = {
        "name": "all",
        "domains": ["*"],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "gateway"}}],
    }
    router = {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}
    manager = {
        "@type": MANAGER,
        "stat_prefix": "client",
        "route_config": {"virtual_hosts": [every]},
        "http_filters": [{"name": "router", "typed_config": router}],
    }
    chain = {"filters": [{"name": "http", "typed_config": manager}]}
    return {"name": "client", "address": at(LOOPBACK, 0), "filter_chains": [chain]}


def at(address: str, port: int, protocol: str = "TCP") -> Json:
    """Return an address of Envoy."""
    return {"socket_address": {"protocol": protocol, "address": address, "port_value": port}}


def wishing(http3: str, **more: object) -> Json:
    """Return parameters that want HTTP/3, or do not, and other things."""
    spec = {"clients": {"http3": http3, **more}}
    return manifest("GatewayParameters", "its-own", "legation.dev/v1alpha1", spec=spec)


@asynccontextmanager
async def client(rig: Rig) -> AsyncIterator[RunningEnvoy]:
    async with running_envoy(speaking_http3(rig.place(HTTPS))) as envoy:
        yield envoy


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    https = {
        "name": "https",
        "port": HTTPS,
        "protocol": "HTTPS",
        "hostname": HOST,
        "tls": {"certificateRefs": [{"name": "public"}]},
    }
    other = {**https, "name": "other", "hostname": OTHER}
    async with http_backend(Speech()) as backend, rigged() as rig, client(rig) as asking:
        rig.apply(
            edge(https, other, infrastructure={"parametersRef": PARAMETERS}),
            wishing("On"),
            tls_secret("public", CERTIFICATE),
            service("pay", {PLAIN: None}),
            *endpoints("pay", PLAIN, backend.port),
            route("HTTPRoute", "pay", [("pay", PLAIN)]),
        )
        await rig.settled()
        yield Stage(rig, backend, asking)


async def test_a_request_over_http3_reaches_the_backend_as_one_over_tcp_does(stage: Stage) -> None:
    stage.backend.told.clear()
    assert await stage.ask() == HTTPStatus.OK
    assert len(stage.backend.told) == 1
    assert (await stage.client.stats("cluster.gateway.upstream_cx_http3_total")).popitem()[1] >= 1


async def test_answers_over_tcp_say_where_http3_is_spoken(stage: Stage) -> None:
    assert f'alt-svc: h3=":{HTTPS}"; ma=86400\r\n' in await stage.head()


async def test_a_name_of_another_listener_is_misdirected(stage: Stage) -> None:
    assert await stage.ask(OTHER) == HTTPStatus.MISDIRECTED_REQUEST


async def test_a_new_certificate_is_shown_to_the_next_connection(stage: Stage) -> None:
    stage.rig.apply(tls_secret("public", Authority("unknown").issue(dns=[HOST])))
    await stage.over_tcp(None)
    async with client(stage.rig) as another:
        place = Place(LOOPBACK, await another.listener_port("client"))
        assert await get(place, HOST) == HTTPStatus.SERVICE_UNAVAILABLE
        stage.rig.apply(tls_secret("public", CERTIFICATE))
        await stage.rig.settled()

        async def served() -> bool:
            return await get(place, HOST) == HTTPStatus.OK

        await until(served)


async def test_limits_hold_over_quic(stage: Stage) -> None:
    stage.rig.apply(wishing("On", maxConnections=1, requestRate={"requests": 1, "per": "1h"}))
    await stage.over_tcp(HTTPStatus.TOO_MANY_REQUESTS)
    async with client(stage.rig) as first, client(stage.rig) as second:
        places = [Place(LOOPBACK, await each.listener_port("client")) for each in (first, second)]
        assert await get(places[0], HOST) == HTTPStatus.OK
        assert await get(places[0], HOST) == HTTPStatus.TOO_MANY_REQUESTS
        assert await get(places[1], HOST) == HTTPStatus.SERVICE_UNAVAILABLE
    stage.rig.apply(wishing("On"))
    await stage.over_tcp(HTTPStatus.OK)


async def test_nothing_is_said_and_nobody_served_over_quic_once_it_is_off(stage: Stage) -> None:
    stage.rig.apply(wishing("Off"))
    await stage.rig.settled()

    async def unsaid() -> bool:
        return "alt-svc" not in await stage.head()

    await until(unsaid, WITHIN)
    async with client(stage.rig) as another:
        place = Place(LOOPBACK, await another.listener_port("client"))
        assert await get(place, HOST) == HTTPStatus.SERVICE_UNAVAILABLE
