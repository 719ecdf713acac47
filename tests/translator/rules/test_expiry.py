"""What ends soon is said as the clock goes, whichever way it goes, and is read back as it was written."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.pki import Authority
from tests.translator.rules.backend_tls_given import config_map, policy, put, shop, world_of
from translator.names import Ref
from translator.rules.backend_tls import judge, trust_bundle
from translator.rules.certificates import NOW
from translator.rules.expiry import MOST, REASONS, expiring, told
from translator.world import World

START = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = Ref("BackendTLSPolicy", shop("tls"))
AUTHORITIES = [
    Authority(f"a{days}", not_before=START, not_after=START + timedelta(days)) for days in (1, 8, 100, 400)
]
BUNDLE = config_map("".join(each.pem for each in AUTHORITIES))
DAYS = st.floats(min_value=-10, max_value=420)


def at(world: World, day: float) -> World:
    world.state(NOW, START + timedelta(day))
    return world


def said(world: World) -> tuple[object, ...]:
    """What depends on the clock: the verdict, what is trusted, and what ends soon."""
    return judge(world, OWNER.name), trust_bundle(world, OWNER.name), expiring(world, OWNER)


@given(st.lists(DAYS, min_size=1, max_size=12))
def test_a_clock_that_goes_anywhere_gives_what_a_fresh_look_gives(days: list[float]) -> None:
    world = world_of(BUNDLE, policy("tls", "pay"))
    for day in days:
        assert said(at(world, day)) == said(at(world_of(BUNDLE, policy("tls", "pay")), day))


def test_the_most_urgent_certificate_gives_the_reason_and_each_is_told_with_its_own() -> None:
    world = at(world_of(BUNDLE, policy("tls", "pay")), 7.5)
    [condition] = expiring(world, OWNER)
    assert condition.reason == REASONS[1]
    assert [reason for reason, _ in told(condition.message)] == ["ExpiresWithin1Day"]
    [later] = expiring(at(world, 80), OWNER)
    assert [reason for reason, _ in told(later.message)] == ["ExpiresWithin30Days"]


def test_a_minute_in_which_nothing_ends_makes_nothing_anew() -> None:
    world = at(world_of(BUNDLE, policy("tls", "pay")), 50)
    said(world)
    before = world.memory.runs.copy()
    assert said(at(world, 50.001))
    assert world.memory.runs == before


def test_of_many_certificates_the_most_urgent_are_named_and_the_others_counted() -> None:
    many = [
        Authority(f"a{number}", not_before=START, not_after=START + timedelta(100, number))
        for number in range(MOST + 2)
    ]
    world = world_of(policy("tls", "pay"))
    put(world, config_map("".join(each.pem for each in many)))
    [condition] = expiring(at(world, 99.5), OWNER)
    assert condition.message.endswith("; and 2 more")
    assert len(list(told(condition.message))) == MOST
