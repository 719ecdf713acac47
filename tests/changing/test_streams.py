"""What lasts longer than a request, while routes are led elsewhere: sessions, calls and datagrams."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from itertools import count
from pathlib import Path
from time import monotonic

import grpc
import pytest
from msgspec import Struct

from tests.changing.kiosk import ALONE, bootstrap, xds_port
from tests.changing.lasting import CALL, Doors, manifests, staffed
from tests.changing.visitor import GONE, PACE
from tests.handshakes.traffic import WORKERS, Answer, Answers, Traffic
from tests.legation.running import free_port, legation_up
from tests.loopback import LOOPBACK
from tests.real_envoy import RunningEnvoy, running_envoy, until

pytestmark = pytest.mark.envoy

OLD, NEW = NAMES = ("old", "new")
TURNS = 16
DRAINS = 5  # seconds that Envoy leaves to sessions whose route has changed
WITHIN = 60.0
LOST = None
LOST_AFTER = 5.0  # seconds without an answer to a datagram
MOST_LOST = TURNS * WORKERS  # what is on its way back while the route is led elsewhere
UPGRADE = b"GET / HTTP/1.1\r\nhost: sockets.test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Ask = Callable[[], Awaitable[Answer]]


class Street(Struct, frozen=True):
    """A Gateway whose routes all lead to one of two backends, and its Envoy."""

    folder: Path
    behind: Mapping[str, Mapping[int, int]]
    doors: Doors
    envoy: RunningEnvoy

    def lead_to(self, name: str) -> None:
        """Have all routes lead to a backend."""
        write(self.folder, self.doors, self.behind, name)

    async def turn(self, traffic: Traffic, between: Answers = frozenset()) -> None:
        """Lead there and back; what is right in between is so until nobody finds but the new backend."""
        for led_to in (NEW, OLD) * (TURNS // 2):
            traffic.expect(frozenset(NAMES) | between)
            traffic.expect(frozenset({led_to}))
            self.lead_to(led_to)
            async with asyncio.timeout(WITHIN):
                await traffic.agree()
                await traffic.quiet()
            traffic.arrive()
            await traffic.more()


def write(folder: Path, doors: Doors, behind: Mapping[str, Mapping[int, int]], to: str) -> None:
    """Have a folder say so, at once."""
    (folder / "new").write_text(
        "---\n".join(json.dumps(each) + "\n" for each in manifests(doors, behind, to))
    )
    (folder / "new").rename(folder / "shop.yaml")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Street]:
    """Have all of it run, and lead to the first backend."""
    async with AsyncExitStack() as stack:
        behind = {name: await stack.enter_async_context(staffed(name)) for name in NAMES}
        doors = Doors(free_port(), free_port(), free_port())
        write(folder, doors, behind, OLD)
        running = await stack.enter_async_context(legation_up(folder, *ALONE))
        drains = ("--drain-time-s", str(DRAINS), "--drain-strategy", "immediate")  # as proxies of ours
        started = running_envoy(await bootstrap(await xds_port(running)), *drains)
        street = Street(folder, behind, doors, await stack.enter_async_context(started))
        await running.logged("programmed")
        await until(partial(is_open, street), within=WITHIN)
        yield street


async def is_open(street: Street) -> bool:
    """Say whether somebody answers lines."""
    return await new_line(street.doors.tcp) == OLD


@asynccontextmanager
async def coming(traffic: Traffic, asks: Iterable[Ask]) -> AsyncIterator[None]:
    """Have each of these ask again and again until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        sending = [tasks.create_task(traffic.send(ask)) for ask in asks]
        yield
        for each in sending:
            each.cancel()


async def said(pair: Pair) -> Answer:
    """Say a line on a connection that is open, and return the answer; None when it has ended."""
    reader, writer = pair
    await asyncio.sleep(PACE)
    writer.write(b"?\n")
    try:
        async with asyncio.timeout(WITHIN):
            return (await reader.readline()).decode().strip() or None
    except GONE:
        return None


async def new_line(port: int) -> Answer:
    """Say a line on a connection of its own."""
    try:
        pair = await asyncio.open_connection(LOOPBACK, port)
    except OSError:
        return None
    with closing(pair[1]):
        return await said(pair)


async def datagram(client: socket.socket, numbers: Iterable[int]) -> Answer:
    """Send one, and return who answers it."""
    await asyncio.sleep(PACE)
    loop, number = asyncio.get_running_loop(), str(next(iter(numbers)))
    await loop.sock_sendall(client, number.encode())
    try:
        async with asyncio.timeout(LOST_AFTER):
            while True:
                word, _, answered = (await loop.sock_recv(client, 100)).decode().partition(" ")
                if answered == number:
                    return word
    except (TimeoutError, ConnectionError):
        return LOST


def client_of(port: int) -> socket.socket:
    """Return a socket for datagrams."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(0)
    client.connect((LOOPBACK, port))
    return client


async def new_datagram(port: int, numbers: Iterable[int]) -> Answer:
    """Send one from a port of its own."""
    with client_of(port) as client:
        return await datagram(client, numbers)


async def socket_opened(port: int) -> Pair:
    """Open a WebSocket."""
    pair = await asyncio.open_connection(LOOPBACK, port)
    pair[1].write(UPGRADE)
    head = await pair[0].readuntil(b"\r\n\r\n")
    assert b" 101 " in head
    return pair


async def leads_sockets(street: Street, name: str) -> bool:
    """Say whether who comes anew is led to a backend."""
    pair = await socket_opened(street.doors.http)
    with closing(pair[1]):
        return await said(pair) == name


async def has_forgotten(street: Street, name: str) -> bool:
    """Say whether Envoy knows nothing of a backend any more."""
    _, clusters = await street.envoy.get("/clusters")
    return f"shop/{name}" not in clusters


async def test_no_new_connection_fails_while_a_tcp_route_is_led_there_and_back(tmp_path: Path) -> None:
    traffic = Traffic(frozenset({OLD}))
    async with (
        opened(tmp_path) as street,
        coming(traffic, [partial(new_line, street.doors.tcp)] * WORKERS),
    ):
        await street.turn(traffic)
    assert traffic.surprises == []
    assert traffic.answers.keys() == {OLD, NEW}


async def test_a_tcp_session_goes_on_for_the_drain_time_after_its_route_was_led_elsewhere(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as street:
        pair = await asyncio.open_connection(LOOPBACK, street.doors.tcp)
        with closing(pair[1]):
            assert await said(pair) == OLD
            led = monotonic()
            street.lead_to(NEW)
            answers: set[Answer] = {OLD}
            while answers == {OLD}:
                answers.add(await said(pair))
            assert answers == {OLD, None}, "nobody else ever spoke on it"
            assert monotonic() - led >= DRAINS


async def test_datagrams_are_lost_only_while_a_udp_route_is_being_led_elsewhere_and_few_then(
    tmp_path: Path,
) -> None:
    traffic, numbers = Traffic(frozenset({OLD})), count()
    async with AsyncExitStack() as stack:
        street = await stack.enter_async_context(opened(tmp_path))
        port = street.doors.udp
        lasting = [stack.enter_context(client_of(port)) for _ in range(WORKERS // 2)]
        asks = [partial(datagram, each, numbers) for each in lasting]
        asks += [partial(new_datagram, port, numbers)] * (WORKERS // 2)
        async with coming(traffic, asks):
            await street.turn(traffic, frozenset({LOST}))
    assert traffic.surprises == []
    assert traffic.answers.get(LOST, 0) <= MOST_LOST, traffic.answers


async def test_a_call_and_a_socket_go_on_where_they_began_wherever_their_routes_are_led_since(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        street = await stack.enter_async_context(opened(tmp_path))
        port = street.doors.http
        pair = await socket_opened(port)
        stack.enter_context(closing(pair[1]))
        options = [("grpc.default_authority", "calls.test")]
        channel = grpc.aio.insecure_channel(f"{LOOPBACK}:{port}", options)
        call = (await stack.enter_async_context(channel)).stream_stream(CALL)()

        async def go_on() -> bool:
            await call.write(b"?")
            return (await said(pair), await call.read()) == (OLD, OLD.encode())

        for led_to in (OLD, NEW) * (TURNS // 2):
            street.lead_to(led_to)
            await until(partial(leads_sockets, street, led_to), within=WITHIN)
            assert await go_on()
        await until(partial(has_forgotten, street, OLD), within=WITHIN)
        assert await go_on()
