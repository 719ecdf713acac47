"""`legation run` against a real API server: what is read, what is written by whom, what traffic gets."""

import asyncio
import json
import signal
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from string import Template

import aiohttp
import pytest

from e2e.beside import conditions, gateway, replica, told
from e2e.cluster.control_plane import API_SERVER
from e2e.cluster.network import NODE_ADDRESS
from e2e.cluster.own import Own
from e2e.kubectl import WITHIN, apply, kubectl, read
from e2e.outages import away
from tests.collector import attributes, collecting_over_http, is_whole, traced
from tests.legation.running import Legation, free_port, run
from tests.loopback import LOOPBACK, ask
from tests.pki import Authority
from tests.real_envoy import running_envoy, until

OURS = "legation.dev/gateway-controller"
THEIRS = (  # as the API server writes it
    '{"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"","reason":"Seen","status":"True",'
    '"type":"Accepted"}],"controllerName":"example.com/other","parentRef":{"group":"gateway.networking.k8s.io",'
    '"kind":"Gateway","name":"elsewhere"}}'
)

CLASS = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace}
spec: {controllerName: legation.dev/gateway-controller}
""")
PAY = Template("""
apiVersion: v1
kind: Service
metadata: {name: pay}
spec:
  ports: [{name: https, port: 443, targetPort: $backend}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pay, labels: {kubernetes.io/service-name: pay}}
addressType: IPv4
ports: [{name: https, port: $backend}]
endpoints: [{addresses: [$address]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: pay, port: 443}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation:
    hostname: pay.internal
    caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]
""")


@pytest.fixture
def shop(namespace: str) -> Iterator[str]:
    """A namespace with a class of ours that has its name."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    yield namespace
    kubectl("delete", "gatewayclass", namespace)


def trust(namespace: str, authority: Authority) -> None:
    """Have the policy trust this authority."""
    roots = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roots"}}
    apply(namespace, json.dumps({**roots, "data": {"ca.crt": authority.pem}}))


def programmed(namespace: str, name: str) -> str:
    """Read whether the Envoys of a Gateway took what they were sent."""
    return conditions(namespace, "gateway", name).get("Programmed", ("", 0))[0]


def accepted(namespace: str, name: str) -> tuple[str, int] | None:
    """Read whether a Gateway is accepted, and of which generation that was said."""
    found = conditions(namespace, "gateway", name).get("Accepted")
    return found if found is not None and found[0] == "True" else None


def speakers(namespace: str, kind: str, name: str, entries: str) -> list[str]:
    """Read who says something of a route or a policy."""
    status = read(kind, name, "--namespace", namespace).get("status", {})
    return [each["controllerName"] for each in status.get(entries, [])]


def versions(namespace: str) -> dict[str, str]:
    """Read in which version every object is that we write to."""
    found = read("gateways,httproutes,backendtlspolicies", "--namespace", namespace)["items"]
    kept = [each for each in found if each["metadata"]["name"] != "marker"]
    kept.append(read("gatewayclass", namespace))
    return {
        f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in kept
    }


@asynccontextmanager
async def paid(authority: Authority, folder: Path) -> AsyncIterator[int]:
    """Answer over TLS, on an address that a Service may have as an endpoint."""
    issued = authority.issue(dns=["pay.internal"])
    (folder / "pay.pem").write_text(issued.chain_pem + issued.key_pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "pay.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\npaid")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, NODE_ADDRESS, 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def answers(port: int, status: int) -> None:
    """Wait until requests are answered with this status."""

    async def there() -> bool:
        try:
            return (await ask(port)).status == status
        except OSError:
            return False

    await until(there, within=WITHIN)


async def says_of_itself(running: Legation, text: str, *, entirely: bool = False) -> None:
    """Wait until a replica says this to a readiness probe; it must be ready all the time."""
    said = ""

    async def there() -> bool:
        nonlocal said
        async with session.get(f"{await running.admin()}/readyz") as answer:
            assert answer.status == HTTPStatus.OK
            said = await answer.text()
        return said == text if entirely else said.startswith(text)

    async with aiohttp.ClientSession() as session:
        try:
            await until(there, within=WITHIN)
        except TimeoutError:
            pytest.fail(f"it still says: {said}")


async def bootstrap(namespace: str, xds: int) -> dict[str, object]:
    """Have the command write what an Envoy is started with."""
    code, out, err = await run(
        "bootstrap", "-o", "json", "--gateway", f"{namespace}/edge", "--xds", f"127.0.0.1:{xds}"
    )
    assert code == 0, err
    made: dict[str, object] = json.loads(out)
    del made["admin"]  # the harness has its own
    return made


def pay(namespace: str, backend: int) -> None:
    """Route to a backend that wants TLS, on a route of which another controller has spoken already."""
    apply(namespace, PAY.substitute(backend=backend, address=NODE_ADDRESS))
    said = f'{{"status":{{"parents":[{THEIRS}]}}}}'
    patch = ("patch", "httproute", "pay", "--subresource=status", "--type=merge", "--patch", said)
    kubectl(*patch, "--namespace", namespace)


async def statuses_are_told(namespace: str) -> None:
    """Wait until everybody knows how things stand; what the other controller said is as it was."""
    await told(lambda: programmed(namespace, "edge") == "True")
    await told(lambda: OURS in speakers(namespace, "httproute", "pay", "parents"))
    await told(lambda: OURS in speakers(namespace, "backendtlspolicy", "pay", "ancestors"))
    assert conditions(namespace, "httproute", "pay", "parents", 1)["Accepted"] == ("True", 1)
    assert conditions(namespace, "backendtlspolicy", "pay", "ancestors", 0)["Accepted"] == ("True", 1)
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/pay"
    assert THEIRS in kubectl("get", "--raw", path)


@pytest.mark.usefixtures("inside")
async def test_traffic_is_proved_statuses_are_told_and_a_restart_writes_nothing(
    shop: str, tmp_path: Path
) -> None:
    authority, port, xds = Authority("pay"), free_port(), free_port()
    gateway(shop, "edge", port)
    trust(shop, authority)
    async with (
        paid(authority, tmp_path) as backend,
        running_envoy(await bootstrap(shop, xds), wait_ready=False),
    ):
        pay(shop, backend)
        async with replica(shop, xds):
            await answers(port, 200)
            await statuses_are_told(shop)
            trust(shop, Authority("somebody else"))
            await answers(port, 503)
            trust(shop, authority)
            await answers(port, 200)
        before = versions(shop)
        async with replica(shop, xds) as second:
            await second.logged("leads")
            gateway(shop, "marker", free_port())
            await told(lambda: accepted(shop, "marker") == ("True", 1))
            await answers(port, 200)
        assert versions(shop) == before
    features = [each["name"] for each in read("gatewayclass", shop)["status"]["supportedFeatures"]]
    assert {"HTTPRoute", "BackendTLSPolicy"} <= set(features)
    assert conditions(shop, "gatewayclass", shop)["SupportedVersion"][0] == "True"


async def test_traffic_goes_on_and_a_new_envoy_is_served_while_the_api_server_is_away(
    own: Own, shop: str, tmp_path: Path
) -> None:
    authority, port, xds = Authority("pay"), free_port(), free_port()
    gateway(shop, "edge", port)
    trust(shop, authority)
    async with paid(authority, tmp_path) as backend, replica(shop, xds) as running:
        pay(shop, backend)
        started = await bootstrap(shop, xds)
        async with AsyncExitStack() as envoys:
            await envoys.enter_async_context(running_envoy(started, wait_ready=False))
            await answers(port, 200)
            await statuses_are_told(shop)
            async with away(own, API_SERVER):
                await says_of_itself(running, "ok\nout of date: ")
                assert {(await ask(port)).status for _ in range(50)} == {200}
                await envoys.aclose()
                await envoys.enter_async_context(running_envoy(started, wait_ready=False))
                await answers(port, 200)
                stale = {each.kind for each in (await running.overview()).stale}
                assert {"HTTPRoute", "BackendTLSPolicy"} <= stale
            await says_of_itself(running, "ok\n", entirely=True)
            trust(shop, Authority("somebody else"))
            await answers(port, 503)
            trust(shop, authority)
            await answers(port, 200)
            gateway(shop, "marker", free_port())
            await told(lambda: accepted(shop, "marker") == ("True", 1))


@pytest.mark.usefixtures("inside")
async def test_one_change_at_the_api_server_is_one_trace_up_to_envoys_answer(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, port, xds = Authority("pay"), free_port(), free_port()
    gateway(shop, "edge", port)
    trust(shop, authority)
    async with collecting_over_http() as collector, paid(authority, tmp_path) as backend:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{LOOPBACK}:{collector.port}")
        pay(shop, backend)
        async with replica(shop, xds), running_envoy(await bootstrap(shop, xds), wait_ready=False):
            await answers(port, 200)
            before = time.time_ns()
            about = f"HTTPRoute {shop}/pay@{await asyncio.to_thread(rehosted, shop)}"
            parts = await traced(collector, lambda objects: about in objects, WITHIN)
    change, push = attributes(parts["change"]), attributes(parts["push RouteConfiguration"])
    assert change["legation.answer"] == "accepted"
    assert (push["legation.gateway"], push["legation.answer"]) == (f"{shop}/edge", "ACK")
    assert {"wait", "translate", "publish"} <= parts.keys()
    assert is_whole(parts)
    assert (
        before <= parts["change"].start_time_unix_nano <= parts["change"].end_time_unix_nano <= time.time_ns()
    )


def rehosted(namespace: str) -> str:
    """Give the route another hostname; return the version that this makes."""
    patch = json.dumps({"spec": {"hostnames": ["other.test"]}})
    place = ("httproute", "pay", "--namespace", namespace)
    made = json.loads(kubectl("patch", *place, "--type=merge", "--patch", patch, "--output=json"))
    return str(made["metadata"]["resourceVersion"])


@pytest.mark.usefixtures("cluster")
async def test_one_replica_writes_and_the_other_takes_over_when_it_is_killed(shop: str) -> None:
    gateway(shop, "edge", free_port())
    async with replica(shop, free_port()) as first:
        await first.logged("leads")
        async with replica(shop, free_port()) as second:
            await told(lambda: accepted(shop, "edge") == ("True", 1))
            await told(lambda: "SupportedVersion" in conditions(shop, "gatewayclass", shop))
            before = versions(shop)
            first.process.send_signal(signal.SIGKILL)
            await first.process.wait()
            await second.logged("leads", within=WITHIN)
            gateway(shop, "marker", free_port())
            await told(lambda: accepted(shop, "marker") == ("True", 1))
            assert versions(shop) == before
    lease = read("lease", "legation", "--namespace", shop)["spec"]
    assert lease.get("holderIdentity", "") == ""
    assert lease["leaseTransitions"] >= 1
