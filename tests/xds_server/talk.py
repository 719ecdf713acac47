"""One ADS stream, spoken word by word: what a test says, and what it hears."""

from collections.abc import Mapping

from tests.xds_server.honest_envoy import GROUP, Clock
from xds_server.hub import Hub, Seat
from xds_server.messages import Ask, DeltaAsk, Response
from xds_server.order import Patience
from xds_server.report import Envoy, Report
from xds_server.snapshot import Resource, Snapshot

HOLD, GRACE = 10, 5


class Server:
    """A hub with a clock that stands still, and everything it reported."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.reports: list[Report] = []
        self.hub = Hub(self.reports.append, patience=Patience(HOLD, GRACE), clock=self.clock)

    def publish(self, resources: Mapping[str, Mapping[str, Resource]]) -> None:
        """Replace the whole offer."""
        self.hub.publish(GROUP, Snapshot.of(resources, self.hub.snapshot(GROUP)))

    def connect(self, *, whole: bool, node: str = "envoy-1") -> "Talk":
        """Open a stream."""
        seat = self.hub.join(Envoy(GROUP, node), "memory", whole=whole, wake=lambda: None)
        assert isinstance(seat, Seat)
        return Talk(self, seat)


class Talk:
    """The client's side of one stream; nothing is acknowledged unless the test says so."""

    def __init__(self, server: Server, seat: Seat) -> None:
        self.server = server
        self.seat = seat
        self.names: dict[str, tuple[str, ...]] = {}
        self.versions: dict[str, str] = {}

    def ask(
        self, type_url: str, *names: str, nonce: str = "", version: str = "", error: str | None = None
    ) -> list[Response]:
        """State of the world: the whole list of names; hear what follows."""
        self.names[type_url] = names
        return self.say(Ask(type_url, names, version, nonce, error))

    def change(
        self,
        type_url: str,
        subscribe: tuple[str, ...] = (),
        unsubscribe: tuple[str, ...] = (),
        versions: Mapping[str, str] | None = None,
        nonce: str = "",
    ) -> list[Response]:
        """Delta: names to add and to take away; hear what follows."""
        return self.say(DeltaAsk(type_url, subscribe, unsubscribe, versions or {}, nonce))

    def want(self, type_url: str, *names: str, version: str = "") -> list[Response]:
        """The first request of a type, in whichever variant this stream speaks."""
        if self.seat.whole:
            return self.ask(type_url, *names, version=version)
        return self.change(type_url, names)

    def ack(self, response: Response, error: str | None = None) -> list[Response]:
        """Take a response, or refuse it; hear what follows."""
        if not self.seat.whole:
            return self.say(DeltaAsk(response.type_url, nonce=response.nonce, error=error))
        if error is None:
            self.versions[response.type_url] = response.version
        names, version = self.names[response.type_url], self.versions.get(response.type_url, "")
        return self.say(Ask(response.type_url, names, version, response.nonce, error))

    def nack(self, response: Response, error: str) -> list[Response]:
        """Refuse a response; hear what follows."""
        return self.ack(response, error)

    def say(self, ask: Ask | DeltaAsk) -> list[Response]:
        """Say anything; hear what follows."""
        assert self.server.hub.receive(self.seat, ask) is None
        return self.hear()

    def hear(self) -> list[Response]:
        """Everything that the server sends now, before any answer."""
        heard = []
        while (response := self.server.hub.next(self.seat)) is not None:
            heard.append(response)
        return heard

    def hear_after(self, seconds: float) -> list[Response]:
        """What the server sends once some time has passed."""
        self.server.clock.now += seconds
        return self.hear()

    def take_all(self, responses: list[Response]) -> list[Response]:
        """Acknowledge everything, and what follows from it; all that was heard."""
        heard, open_ = list(responses), list(responses)
        while open_:
            following = self.ack(open_.pop(0))
            heard += following
            open_ += following
        return heard

    def publish(self, resources: Mapping[str, Mapping[str, Resource]]) -> list[Response]:
        """Replace the offer; hear what follows."""
        self.server.publish(resources)
        return self.hear()

    def leave(self) -> None:
        """Close the stream."""
        self.server.hub.leave(self.seat)


def bodies(response: Response) -> dict[str, str]:
    """What a response brings, by name."""
    return {entry.name: entry.resource.body.decode() for entry in response.entries}


def names(response: Response) -> list[str]:
    """The names that a response brings."""
    return [entry.name for entry in response.entries]
