"""The table of contents: everything that a world asks for."""

from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from translator.envoy import clusters, endpoints, listeners, routes, secrets
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, Resource
from translator.memo import Rows, Table, query
from translator.names import Name, Ref, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.listener_set import ListenerSet
from translator.objects.x_backend import XBackend
from translator.rules import (
    attachment,
    backend_tls,
    default_gateways,
    gateways,
    grants,
    listener_filters,
    listener_sets,
    reach,
    tables,
    telemetry,
    x_backends,
)
from translator.rules import endpoints as addresses
from translator.rules.backend_certificate import Hop
from translator.rules.backend_tls_status import backend_tls_status
from translator.rules.backends import Backend
from translator.rules.gateway_status import gateway_class_status, gateway_status, listener_set_status
from translator.rules.listener_sets import Slot
from translator.rules.needs import Needs, needs
from translator.rules.ports import Bound
from translator.rules.route_status import ROUTE_STATUSES
from translator.rules.status import Status
from translator.rules.tables import Table as RouteTable
from translator.rules.x_backend_status import x_backend_status
from translator.world import Index, World

INDEXES: tuple[Index[Any], ...] = (
    addresses.SERVICES_BY_SELECTION,
    addresses.SLICES_BY_OWNER,
    backend_tls.POLICIES_BY_TARGET,
    default_gateways.GATEWAYS_BY_SCOPE,
    gateways.CLASSES_BY_CONTROLLER,
    gateways.GATEWAYS_BY_CLASS,
    grants.GRANTS_BY_SOURCE,
    listener_filters.GATEWAYS_BY_SERVICE,
    listener_filters.SETS_BY_SERVICE,
    listener_sets.SETS_BY_GATEWAY,
    telemetry.PARAMETERS_BY_COLLECTOR,
    *attachment.ROUTES_BY_PARENT.values(),
    *default_gateways.ROUTES_BY_WISH.values(),
    *reach.ROUTES_BY_TARGET.values(),
)

Resources = Mapping[str, Mapping[str, Resource]]  # by type and name


class Mistake(Struct, frozen=True, eq=False):
    """A mistake of ours: what it was, and the object that shows it; None where no single one does."""

    bug: Exception
    about: Ref | None = None


class Translation(Struct, frozen=True):
    """What Envoys are to have, by Gateway, and what the objects are to say about themselves."""

    gateways: Mapping[Name, Resources]
    statuses: Mapping[Ref, Status]
    broken: Mapping[str, Mistake]  # by what stayed as it was
    told: frozenset[Ref] = frozenset()  # objects that say something else than last time, or nothing any more
    doubted: frozenset[Ref] = frozenset()  # objects of which the newest may not be what is served


class Part(Struct, frozen=True):
    """One sort of resource: which of a Gateway's needs it meets, how it is built, how it is called."""

    type_url: str
    wanted: Callable[[Needs], frozenset[Any]]
    build: Callable[[World, Any], Resource]
    named: Callable[[Any], str] = str
    kind: str = ""  # of the object that it is made of, where names of one kind are wanted


PARTS = (
    Part(CLUSTER, lambda needed: needed.hops, clusters.cluster),
    Part(ENDPOINTS, lambda needed: needed.endpoints, endpoints.load_assignment),
    Part(SECRET, lambda needed: needed.policies, secrets.trust, backend_tls.bundle_name, "BackendTLSPolicy"),
    Part(SECRET, lambda needed: needed.x_backends, secrets.own_trust, x_backends.bundle_name, "XBackend"),
    Part(SECRET, lambda needed: needed.clients, secrets.client_trust),
    Part(
        SECRET,
        lambda needed: needed.certificates,
        secrets.server_certificate,
        secrets.certificate_name,
        "Secret",
    ),
    Part(LISTENER, lambda needed: needed.ports, listeners.listener),
    Part(ROUTES, lambda needed: needed.tables, routes.route_table),
)
ALWAYS = {clusters.REFUSED: clusters.refused_cluster()}  # clusters that every Envoy has


def translate(world: World) -> Translation:
    """Translate a world as it is now."""
    return Translator(world).translate()


AUDIENCE: Mapping[str, Callable[[World, Name], Status | None]] = MappingProxyType({
    "GatewayClass": gateway_class_status,
    "Gateway": gateway_status,
    "ListenerSet": listener_set_status,
    "BackendTLSPolicy": backend_tls_status,
    "XBackend": x_backend_status,
    **ROUTE_STATUSES,
})  # fmt: skip
SUBJECTS: Mapping[str, type] = MappingProxyType({
    "ListenerSet": ListenerSet,
    "BackendTLSPolicy": BackendTLSPolicy,
    "XBackend": XBackend,
    **attachment.ROUTES,
})  # fmt: skip
KINDS = frozenset(AUDIENCE)
NOBODY: frozenset[Name] = frozenset()


class Translator:
    """Translates one world again and again: what equals last time's is the same object as last time."""

    def __init__(self, world: World) -> None:
        """Begin with nothing translated."""
        self._world = world
        self._subjects: Table[frozenset[Name]] = Table(world.memory, subjects)
        self._needs: Table[Needs] = Table(world.memory, needs)
        self._supplies = [Supply(part, world) for part in PARTS]
        self._told = {kind: Table(world.memory, status) for kind, status in AUDIENCE.items()}
        self._news: set[Ref] = set()  # who says something else, and nobody was told yet
        self._is_whole = False
        self._gateways: dict[Name, Resources] = {}
        self._statuses: dict[Ref, Status] = {}

    def translate(self) -> Translation:
        """Bring everything up to date; all is new at first, and where a mistake of ours ended last time."""
        is_next, self._is_whole = self._is_whole, False
        audience = self._subjects.keep(KINDS, self._world).values
        wanted = self._needs.keep(audience.get("Gateway", NOBODY), self._world)
        for supply in self._supplies:
            if not is_next:
                supply.forget()
            supply.refresh(wanted.values, wanted.changed if is_next else frozenset(wanted.values))
        moving = [supply for supply in self._supplies if supply.is_moved]
        known = self._gateways if is_next else {}
        self._gateways = {each: self._gather(each, known.get(each), moving) for each in wanted.values}
        told = {kind: self._tell(kind, audience.get(kind, NOBODY)) for kind in AUDIENCE}
        self._world.memory.sweep()
        broken = [
            mistakes_in("needs", wanted, "Gateway"),
            *(supply.broken() for supply in self._supplies),
            *(mistakes_in(f"status of {kind}", rows, kind) for kind, rows in told.items()),
            {f"relations of {ref}": Mistake(bug, ref) for ref, bug in self._world.mistakes.items()},
            {
                _titled(*each): Mistake(bug, _subject(each[1]))
                for each, bug in self._world.memory.faults().items()
            },
        ]
        mistakes = dict(ChainMap(*broken))
        news, self._news = frozenset(self._news), set()
        self._is_whole = True
        return Translation(self._gateways, self._statuses, mistakes, news, self._doubted(mistakes))

    def _tell(self, kind: str, names: frozenset[Name]) -> Rows[Status | None]:
        """Bring up to date what the objects of one kind are told."""
        rows = self._told[kind].keep(names, self._world)
        if not rows.changed:
            return rows
        self._statuses = dict(self._statuses)  # what was handed out before stays as it was
        for name in rows.changed:
            ref = Ref(kind, name)
            self._news.add(ref)
            if (said := rows.values.get(name)) is None:
                self._statuses.pop(ref, None)
            else:
                self._statuses[ref] = said
        return rows

    def _doubted(self, mistakes: Mapping[str, Mistake]) -> frozenset[Ref]:
        """Name what mistakes are about, and all routes of a virtual host that stayed as it was."""
        hosts = [names for _, names in self._world.memory.faults() if isinstance(names[0], RouteTable)]
        guests = (route for names in hosts for route in _guests(self._world, names))
        return frozenset(each.about for each in mistakes.values() if each.about).union(guests)

    def _gather(self, gateway: Name, known: Resources | None, moving: Iterable["Supply"]) -> Resources:
        """Return a Gateway's resources, the same mapping as before where none of them changed."""
        if known is None:
            everything: dict[str, dict[str, Resource]] = {CLUSTER: dict(ALWAYS)}
            for supply in self._supplies:
                everything.setdefault(supply.part.type_url, {}).update(supply.given(gateway))
            return everything
        for supply in moving:
            gone, news = supply.gone(gateway), supply.news(gateway)
            if gone or news:
                named = dict(known[supply.part.type_url])
                for name in gone:
                    named.pop(name, None)
                known = {**known, supply.part.type_url: named | news}
        return known


class Supply:
    """All resources of one sort, for every Gateway that needs them: each is built once."""

    def __init__(self, part: Part, world: World) -> None:
        """Begin without any."""
        self.part = part
        self._world = world
        self._table: Table[Resource] = Table(world.memory, part.build)
        self._rows: Rows[Resource] = Rows({}, frozenset(), {})
        self._came: dict[Name, frozenset[Any]] = {}  # by Gateway, of what it wants
        self._went: dict[Name, frozenset[Any]] = {}
        self.forget()

    def forget(self) -> None:
        """Know no more what Gateways want; what was built is kept."""
        self._wanted: dict[Name, frozenset[Any]] = {}
        self._users: Counter[Any] = Counter()  # how many Gateways want it
        self._in_doubt = set(self._table.keys())

    @property
    def is_moved(self) -> bool:
        """Say whether anything is new in what any Gateway is given."""
        return bool(self._rows.changed or self._came or self._went)

    def refresh(self, needed: Mapping[Name, Needs], changed: Iterable[Name]) -> None:
        """Bring up to date what Gateways need now, some of which need something else than before."""
        self._came, self._went = {}, {}
        for gateway in changed:
            self._want(gateway, self.part.wanted(needed[gateway]) if gateway in needed else frozenset())
        moved = self._in_doubt.union(*self._came.values(), *self._went.values())
        self._in_doubt = set()
        held = self._table.keys()
        came = [key for key in moved if self._users[key] > 0 and key not in held]
        gone = [key for key in moved if self._users[key] <= 0 and key in held]
        for key in gone:
            del self._users[key]
        self._rows = self._table.move(came, gone, self._world)

    def _want(self, gateway: Name, wanted: frozenset[Any]) -> None:
        """Note what a Gateway wants now."""
        before = self._wanted.pop(gateway, frozenset())
        if wanted:
            self._wanted[gateway] = wanted
        if came := wanted - before:
            self._came[gateway] = came
            self._users.update(came)
        if went := before - wanted:
            self._went[gateway] = went
            self._users.subtract(went)

    def given(self, gateway: Name) -> dict[str, Resource]:
        """Return all that a Gateway needs, by name; what could never be built is missing."""
        return self._named(self._wanted.get(gateway, frozenset()))

    def news(self, gateway: Name) -> dict[str, Resource]:
        """Return what a Gateway has not had before, by name, and what has just changed."""
        changed = self._rows.changed and self._rows.changed & self._wanted.get(gateway, frozenset())
        return self._named(changed | self._came.get(gateway, frozenset()))

    def gone(self, gateway: Name) -> list[str]:
        """Name what a Gateway needs no more; something else of that name may have come."""
        return [self.part.named(key) for key in self._went.get(gateway, ())]

    def _named(self, keys: Iterable[Any]) -> dict[str, Resource]:
        values = self._rows.values
        return {self.part.named(key): values[key] for key in keys if key in values}

    def broken(self) -> dict[str, Mistake]:
        """Return what our own mistakes kept from being built."""
        return mistakes_in(self.part.type_url.rpartition(".")[2], self._rows, self.part.kind)


def _guests(world: World, names: tuple[Any, ...]) -> frozenset[Ref]:
    """Return the routes of a virtual host, as far as they can be told."""
    try:
        return tables.guests(world, *names)
    except Exception:  # noqa: BLE001  # the mistake that is looked into may be in the way
        return frozenset()


@query
def subjects(world: World, kind: str) -> frozenset[Name]:
    """Name every object of a kind that is told something about itself; Gateways of ours are also served."""
    match kind:
        case "GatewayClass":
            return frozenset(world.names_where(gateways.CLASSES_BY_CONTROLLER, gateways.CONTROLLER))
        case "Gateway":
            return gateways.ours(world)
        case _:
            return world.names(SUBJECTS[kind])


def mistakes_in(title: str, rows: Rows[Any], kind: str = "") -> dict[str, Mistake]:
    """Name the rows that a mistake of ours kept as they were; mere names are of this kind."""
    return {f"{title} {key}": Mistake(bug, _about(key, kind)) for key, bug in rows.broken.items()}


def _titled(question: str, names: tuple[object, ...]) -> str:
    """Name a query that fails, as people can search for it."""
    return f"{question} of {', '.join(map(str, names))}"


def _subject(names: Iterable[object]) -> Ref | None:
    """Name the object that a query asks about, as far as its names say."""
    return next((about for name in names if (about := _about(name, "")) is not None), None)


def _about(key: object, kind: str) -> Ref | None:
    """Name the object that a row is made for; a mere name is of this kind."""
    if isinstance(key, Ref):
        return key
    if isinstance(key, Bound | RouteTable):
        return Ref("Gateway", key.gateway)
    backend = key.backend if isinstance(key, Hop) else key
    place = backend.port if isinstance(backend, Backend) else backend
    if isinstance(place, ServicePort | Slot):
        return place.owner
    return Ref(kind, key) if isinstance(key, Name) and kind else None
