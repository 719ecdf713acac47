"""Whatever happens, in whatever order: one winner per port, and the same answers as a fresh world gives."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tests.pki import Authority
from tests.translator.rules.backend_tls_given import (
    ALWAYS,
    config_map,
    policy,
    secret,
    service,
    shop,
    world_of,
)
from translator.names import Name, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import Object, name_of
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.rules.backend_tls import UpstreamTls, judge, trust_bundle, winner
from translator.rules.backend_tls_status import backend_tls_status
from translator.rules.certificates import NOW
from translator.verdict import Refused
from translator.world import World

ROOTS = Authority("roots", **ALWAYS).pem
BRIEF = Authority(
    "brief", not_before=datetime(2026, 1, 1, tzinfo=UTC), not_after=datetime(2026, 1, 10, tzinfo=UTC)
).pem

SERVICES = ("cart", "pay")
POLICIES = ("a", "b", "c", "d")
PORTS = ("https:443", "admin:8443", "quic:443/UDP")
TARGETS = [f"{each}{section}" for each in SERVICES for section in ("", "#https", "#admin", "#quic", "#gone")]
TEXTS = ("", "Hello world", ROOTS, BRIEF, ROOTS + BRIEF, BRIEF + BRIEF[:100])


class Change(Struct, frozen=True):
    """One thing that happens to a world: an object is put or taken away, or the clock is set."""

    kind: type[Object] | None
    name: Name
    thing: Object | datetime | None

    def happen_to(self, world: World) -> None:
        """Make the change."""
        if isinstance(self.thing, datetime):
            world.state(NOW, self.thing)
        elif self.kind is not None:
            world.put(self.kind, self.name, self.thing)


def put(thing: Object) -> Change:
    return Change(type(thing), name_of(thing), thing)


def a_few(*of: str, most: int = 3) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(of), min_size=1, max_size=most, unique=True)


policies = st.builds(
    lambda name, targets, refs, day: put(policy(name, *targets, refs=refs, created=day)),
    st.sampled_from(POLICIES),
    a_few(*TARGETS),
    a_few("ConfigMap roots", "Secret roots", "ConfigMap other", "Service pay"),
    st.sampled_from([None, 1, 1, 2]),
)
changes = st.one_of(
    policies,
    policies,
    st.builds(lambda n, ports: put(service(n, *ports)), st.sampled_from(SERVICES), a_few(*PORTS)),
    st.builds(
        lambda name, text: put(config_map(text, name)),
        st.sampled_from(["roots", "other"]),
        st.sampled_from(TEXTS),
    ),
    st.builds(lambda text: put(secret(ca_crt=text)), st.sampled_from(TEXTS)),
    st.builds(
        lambda kind, name: Change(kind, shop(name), None),
        st.just(BackendTLSPolicy),
        st.sampled_from(POLICIES),
    ),
    st.builds(lambda name: Change(Service, shop(name), None), st.sampled_from(SERVICES)),
    st.builds(lambda kind: Change(kind, shop("roots"), None), st.sampled_from([ConfigMap, Secret])),
    st.builds(
        lambda day: Change(None, shop("clock"), datetime(2026, 1, day, tzinfo=UTC)), st.integers(2, 20)
    ),
)
histories = st.lists(changes, min_size=1, max_size=20)


def open_ports(world: World) -> list[ServicePort]:
    return [
        ServicePort(name, port.port, port.protocol)
        for name in sorted(world.names(Service))
        for port in world.must(Service, name).spec.ports
    ]


def living(world: World) -> list[Name]:
    return sorted(world.names(BackendTLSPolicy))


def answers(world: World) -> dict[str, object]:
    """Ask everything there is to ask."""
    return {
        **{str(port): winner(world, port) for port in open_ports(world)},
        **{f"judge {name}": judge(world, name) for name in living(world)},
        **{f"trust {name}": trust_bundle(world, name) for name in living(world)},
        **{f"status {name}": backend_tls_status(world, name) for name in living(world)},
    }


def rightful(world: World, port: ServicePort) -> Name | None:
    """Find the winner in the plainest way: sort all claims, most specific, oldest and first name first."""
    section = next(
        each.name
        for each in world.must(Service, port.service).spec.ports
        if (each.port, each.protocol) == (port.port, port.transport)
    )
    far = datetime(9999, 1, 1, tzinfo=UTC)
    claims = [
        (target.section_name is None, each.metadata.creation_timestamp or far, name)
        for name in living(world)
        for each in [world.must(BackendTLSPolicy, name)]
        for target in each.spec.target_refs
        if target.name == port.service.name and target.section_name in (None, section)
    ]
    return min(claims)[2] if claims and port.transport == "TCP" else None


@given(histories)
def test_any_sequence_of_changes_gives_what_a_fresh_world_gives(history: list[Change]) -> None:
    world, last = world_of(), dict[tuple[object, Name], Change]()
    for change in history:
        change.happen_to(world)
        answers(world)
        last[change.kind, change.name] = change
    fresh = world_of()
    for change in last.values():
        change.happen_to(fresh)
    assert answers(world) == answers(fresh)


@given(histories)
def test_every_port_has_the_one_winner_it_should_have(history: list[Change]) -> None:
    world = world_of()
    for change in history:
        change.happen_to(world)
        for port in open_ports(world):
            assert winner(world, port) == rightful(world, port)


@given(histories)
def test_a_verdict_and_its_conditions_never_disagree(history: list[Change]) -> None:
    world = world_of()
    for change in history:
        change.happen_to(world)
    for name in living(world):
        verdict = judge(world, name)
        accepted, resolved = verdict.conditions
        [entry] = backend_tls_status(world, name).ancestors
        match verdict.value:
            case UpstreamTls():
                assert accepted.status
                assert trust_bundle(world, name)
            case Refused(reason):
                assert (accepted.status, accepted.reason, resolved.status) == (False, reason, False)
                assert not entry.conditions[0].status
        assert entry.conditions[1] == resolved
