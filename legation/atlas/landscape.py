"""What leads where, as it is shown and told: `survey.py` finds it, the tree and the page read it."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from translator.envoy.proofs import Grade
from translator.names import Name, Ref
from translator.verdict import Refused


class Thing(Struct, frozen=True):
    """An object, as the Kubernetes API names it."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: `Service shop/pay`."""
        return str(self.ref)

    @property
    def ref(self) -> Ref:
        """As rules name it."""
        return Ref(self.kind, Name(self.namespace, self.name))


class Proving(Struct, frozen=True, rename="camel"):
    """What a backend must prove before anything is sent there, and who decided so."""

    grade: Grade
    words: str
    decided_by: Thing | None = None  # None where nobody asks for TLS
    server_name: str = ""
    names: tuple[str, ...] = ()  # one of them must be in its certificate
    roots: str = ""  # who vouches for it
    expires: datetime | None = None  # when the first of these roots does, if they are the policy's own
    pins: int = 0
    shows: Thing | None = None  # the Secret whose certificate the Gateway shows there
    refusal: Refused | None = None


class Destination(Struct, frozen=True, rename="camel"):
    """A backend as one Gateway reaches it."""

    cluster: str
    port: str
    service: Thing
    protocol: str
    proving: Proving
    endpoints: int | None = None  # None where it is found by its DNS name
    dns_name: str = ""


class Way(Struct, frozen=True, rename="camel"):
    """Where a share of the traffic goes; a refused one fails."""

    percent: float
    to: Destination | None
    refusal: Refused | None = None


class Forwards(Struct, frozen=True, tag_field="does", tag="forwards"):
    """Sends requests or connections on by their shares, and copies besides."""

    ways: tuple[Way, ...]
    failure: str  # what becomes of a share that is refused
    copies: tuple[Way, ...] = ()


class Shares(Struct, frozen=True, tag_field="does", tag="shares"):
    """Does something else with each share."""

    parts: tuple["Part", ...]


class Redirects(Struct, frozen=True, tag_field="does", tag="redirects"):
    """Sends clients elsewhere."""

    status: int


class Answers(Struct, frozen=True, tag_field="does", tag="answers"):
    """Answers by itself, because nothing else can be done."""

    status: int
    message: str


Action = Forwards | Shares | Redirects | Answers


class Part(Struct, frozen=True):
    """One share of requests and what becomes of it."""

    percent: float
    action: Action
    asks: tuple[Way, ...] = ()


class Leads(Struct, frozen=True, rename="camel"):
    """What becomes of requests that one match of one rule takes; the first of a name that matches does."""

    match: str
    route: Thing | None
    rule: int | None  # counted from 0
    author: str  # route and rule in words, or who else says so
    action: Action
    asks: tuple[Way, ...] = ()  # who is asked before


class Host(Struct, frozen=True, rename="camel"):
    """A name of a route table, in sum."""

    hostname: str
    listener: str
    routes: tuple[str, ...]
    entries: int
    grades: Mapping[str, int]  # how many backends, and refusals, of each grade


class Lane(Struct, frozen=True, rename="camel"):
    """What connections for one server name meet; where nothing tells them apart, there is one for all."""

    server_name: str  # empty for any
    listener: str
    tls: str  # `ended` here, `passed` through, or `none`
    table: str = ""  # the route table that requests go through
    route: Thing | None = None  # or the one route that takes connections
    action: Forwards | None = None
    asks: tuple[Way, ...] = ()  # who is asked before any route is chosen


class Port(Struct, frozen=True, rename="camel"):
    """A port where a Gateway's Envoys listen."""

    name: str
    number: int
    speaks: str  # `HTTP`, `TLS`, `HTTP/3`, `TCP` or `UDP`
    lanes: tuple[Lane, ...]


class Landscape(Struct, frozen=True, rename="camel"):
    """A Gateway, down to its route tables."""

    gateway: Thing
    addresses: tuple[str, ...]
    ports: tuple[Port, ...]
    collectors: tuple[Way, ...] = ()  # who is told of requests
    shows: Thing | None = None  # the Secret whose certificate backends are shown
    refusal: Refused | None = None  # why that cannot be, so that TLS to every backend fails


def thing(ref: Ref) -> Thing:
    """Name an object as the Kubernetes API does."""
    return Thing(ref.kind, *ref.name)
