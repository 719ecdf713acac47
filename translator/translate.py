"""The table of contents: everything that a world asks for."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
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
from translator.rules.route_status import route_status
from translator.rules.status import Status
from translator.rules.tables import Placed
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
    grants.GRANTS_BY_NAMESPACE,
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
ALL = "all"  # the one row of the agenda
ALWAYS = {clusters.REFUSED: clusters.refused_cluster()}  # clusters that every Envoy has


def translate(world: World) -> Translation:
    """Translate a world as it is now."""
    return Translator(world).translate()


class Agenda(Struct, frozen=True):
    """What has to be served, and who has to be told."""

    gateways: frozenset[Name]
    subjects: frozenset[Ref]


NOTHING = Agenda(frozenset(), frozenset())


class Translator:
    """Translates one world again and again: what equals last time's is the same object as last time."""

    def __init__(self, world: World) -> None:
        """Begin with nothing translated."""
        self._world = world
        self._agenda: Table[Agenda] = Table(world.memory, agenda)
        self._needs: Table[Needs] = Table(world.memory, needs)
        self._supplies = [Supply(part, world) for part in PARTS]
        self._told: Table[Status | None] = Table(world.memory, status)
        self._gateways: dict[Name, Resources] = {}
        self._statuses: dict[Ref, Status] = {}

    def translate(self) -> Translation:
        """Bring everything up to date."""
        planned = self._agenda.keep(frozenset({ALL}), self._world)
        todo = planned.values.get(ALL, NOTHING)
        wanted = self._needs.keep(todo.gateways, self._world)
        for supply in self._supplies:
            supply.refresh(wanted)
        self._gateways = {gateway: self._gather(gateway, wanted) for gateway in wanted.values}
        told = self._told.keep(todo.subjects, self._world)
        if told.changed:
            self._statuses = {ref: each for ref, each in told.values.items() if each is not None}
        self._world.memory.sweep()
        broken = [
            _broken("needs", wanted, "Gateway"),
            *(supply.broken() for supply in self._supplies),
            _broken("status", told),
            {f"relations of {ref}": Mistake(bug, ref) for ref, bug in self._world.mistakes.items()},
            {
                _titled(*each): Mistake(bug, _subject(each[1]))
                for each, bug in self._world.memory.faults().items()
            },
        ]
        mistakes = dict(ChainMap(*broken))
        return Translation(self._gateways, self._statuses, mistakes, self._doubted(mistakes))

    def _doubted(self, mistakes: Mapping[str, Mistake]) -> frozenset[Ref]:
        """Name what mistakes are about, and all routes of a virtual host that stayed as it was."""
        hosts = [names for _, names in self._world.memory.faults() if isinstance(names[0], RouteTable)]
        guests = (placed.route for names in hosts for placed in _guests(self._world, names))
        return frozenset(each.about for each in mistakes.values() if each.about).union(guests)

    def _gather(self, gateway: Name, wanted: Rows[Needs]) -> Resources:
        """Return a Gateway's resources, the same mapping as before where none of them changed."""
        needed, gathered = wanted.values[gateway], self._gateways.get(gateway)
        if gathered is None or gateway in wanted.changed:
            everything: dict[str, dict[str, Resource]] = {CLUSTER: dict(ALWAYS)}
            for supply in self._supplies:
                everything.setdefault(supply.part.type_url, {}).update(supply.given(needed))
            return everything
        for supply in self._supplies:
            if news := supply.news(needed):
                type_url = supply.part.type_url
                gathered = {**gathered, type_url: {**gathered[type_url], **news}}
        return gathered


class Supply:
    """All resources of one sort, for every Gateway that needs them: each is built once."""

    def __init__(self, part: Part, world: World) -> None:
        """Begin without any."""
        self.part = part
        self._world = world
        self._table: Table[Resource] = Table(world.memory, part.build)
        self._keys: frozenset[Any] = frozenset()
        self._rows: Rows[Resource] = Rows({}, frozenset(), {})

    def refresh(self, wanted: Rows[Needs]) -> None:
        """Bring up to date what the Gateways need now."""
        if wanted.changed:
            self._keys = frozenset().union(*(self.part.wanted(each) for each in wanted.values.values()))
        self._rows = self._table.keep(self._keys, self._world)

    def given(self, needed: Needs) -> dict[str, Resource]:
        """Return what a Gateway needs, by name; what could never be built is missing."""
        values = self._rows.values
        return {self.part.named(key): values[key] for key in self.part.wanted(needed) if key in values}

    def news(self, needed: Needs) -> dict[str, Resource]:
        """Return what has just changed of what a Gateway needs, by name."""
        changed = self._rows.changed and self._rows.changed & self.part.wanted(needed)
        return {self.part.named(key): self._rows.values[key] for key in changed}

    def broken(self) -> dict[str, Mistake]:
        """Return what our own mistakes kept from being built."""
        return _broken(self.part.type_url.rpartition(".")[2], self._rows, self.part.kind)


def _guests(world: World, names: tuple[Any, ...]) -> tuple[Placed, ...]:
    """Return the routes of a virtual host, as far as they can be told."""
    try:
        return tables.guests(world, *names)
    except Exception:  # noqa: BLE001  # the mistake that is looked into may be in the way
        return ()


@query
def agenda(world: World, _: str) -> Agenda:
    """Return which Gateways have to be served, and every object that is told something about itself."""
    ours = gateways.ours(world)
    named: dict[str, frozenset[Name] | tuple[Name, ...]] = {
        "GatewayClass": world.names_where(gateways.CLASSES_BY_CONTROLLER, gateways.CONTROLLER),
        "Gateway": ours,
        "ListenerSet": world.names(ListenerSet),
        "BackendTLSPolicy": world.names(BackendTLSPolicy),
        "XBackend": world.names(XBackend),
        **{kind: world.names(each) for kind, each in attachment.ROUTES.items()},
    }
    return Agenda(ours, frozenset(Ref(kind, name) for kind, names in named.items() for name in names))


@query
def status(world: World, ref: Ref) -> Status | None:
    """Return what one object is told."""
    match ref.kind:
        case "GatewayClass":
            return gateway_class_status(world, ref.name)
        case "Gateway":
            return gateway_status(world, ref.name)
        case "ListenerSet":
            return listener_set_status(world, ref.name)
        case "BackendTLSPolicy":
            return backend_tls_status(world, ref.name)
        case "XBackend":
            return x_backend_status(world, ref.name)
        case _:
            return route_status(world, ref)


def _broken(title: str, rows: Rows[Any], kind: str = "") -> dict[str, Mistake]:
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
