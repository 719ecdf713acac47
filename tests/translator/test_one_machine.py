"""Gateways whose Envoys run on one machine: a port is one Gateway's, wherever their addresses meet."""

import pytest

from tests.worlds import Put, thing, working
from translator.envoy.resource import LISTENER
from translator.names import Name, Ref
from translator.rules.gateways import BINDING, Binding
from translator.rules.status import GatewayStatus
from translator.translate import INDEXES, Translation, Translator, translate
from translator.world import World

FIRST, SECOND = Name("shop", "a"), Name("shop", "b")
HERE = Binding("127.0.0.1", has_all=True)


def second(port: int = 80, protocol: str = "HTTP", address: str = "") -> Put:
    """Another Gateway, with a port that the first one may have."""
    addresses = [{"type": "IPAddress", "value": address}] if address else []
    listeners = [{"name": "web", "port": port, "protocol": protocol}]
    spec = {"gatewayClassName": "a", "listeners": listeners, "addresses": addresses}
    return thing("Gateway", "shop", "b", spec=spec)


def beside(other: Put, here: Binding = HERE) -> World:
    """Put it beside the first."""
    world = World(INDEXES)
    for put in (*working(), other):
        put.into(world)
    world.state(BINDING, here)
    return world


def listening(translation: Translation, gateway: Name) -> set[str]:
    return set(translation.gateways.get(gateway, {}).get(LISTENER, {}))


@pytest.mark.parametrize(
    ("other", "here"),
    [
        (second(), HERE),
        (second(443, "HTTP"), HERE),
        (second(8443, "UDP"), HERE),
        (second(address="::1"), Binding("::", has_all=True)),
        (second(address="127.0.0.1"), Binding("0.0.0.0", has_all=True)),  # noqa: S104  # what is tested
    ],
    ids=["alike", "by another protocol", "for datagrams", "within all of IPv6", "within all of IPv4"],
)
def test_a_port_that_an_elder_has_is_refused_to_the_younger_in_words(other: Put, here: Binding) -> None:
    translation = translate(beside(other, here))
    assert len(listening(translation, FIRST)) == 4
    assert listening(translation, SECOND) == set()
    status = translation.statuses[Ref("Gateway", SECOND)]
    assert isinstance(status, GatewayStatus)
    [listener] = status.listeners
    [accepted] = [each for each in listener.conditions if each.type == "Accepted"]
    assert accepted.reason == "PortUnavailable"
    assert "Gateway shop/a" in accepted.message
    assert "use another port, or another of spec.addresses" in accepted.message


@pytest.mark.parametrize(
    ("other", "here"),
    [
        (second(protocol="UDP"), HERE),
        (second(address="127.0.0.2"), HERE),
        (second(), Binding("127.0.0.1", is_exclusive=True)),
    ],
    ids=["for datagrams", "at another address", "on another machine"],
)
def test_a_port_that_nobody_else_has_is_served(other: Put, here: Binding) -> None:
    translation = translate(beside(other, here))
    assert len(listening(translation, FIRST)) == 4
    assert len(listening(translation, SECOND)) == 1


def test_a_port_goes_to_the_younger_when_the_elder_is_gone_or_cannot_serve_it() -> None:
    world = beside(second())
    translator = Translator(world)
    lacking = {"parametersRef": {"group": "legation.dev", "kind": "GatewayParameters", "name": "none"}}
    unsecured = {"name": "web", "port": 80, "protocol": "HTTPS"}
    assert listening(translator.translate(), SECOND) == set()
    for spec in ({"infrastructure": lacking}, {"listeners": [unsecured]}, None):
        whole = {"gatewayClassName": "a", "listeners": [unsecured | {"protocol": "HTTP"}], **(spec or {})}
        elder = thing("Gateway", "shop", "a", spec=whole)
        (elder._replace(thing=None) if spec is None else elder).into(world)
        assert listening(translator.translate(), SECOND) == {"shop/b:80"}


@pytest.mark.parametrize(
    ("other", "here", "is_served"),
    [
        (second(443, "UDP"), HERE, False),
        (second(444, "UDP"), HERE, True),
        (second(443, "UDP", "127.0.0.2"), HERE, True),
        (second(443, "UDP"), Binding("127.0.0.1"), True),
    ],
    ids=["at its port", "at another port", "at another address", "on another machine"],
)
def test_http3_leaves_a_port_to_whoever_wants_its_datagrams(
    other: Put, here: Binding, *, is_served: bool
) -> None:
    world = beside(other, here)
    secured = {"name": "web", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "a"}]}}
    spec = {"gatewayClassName": "a", "listeners": [secured]}
    thing("Gateway", "shop", "a", spec=spec).into(world)
    thing("GatewayParameters", "shop", "a", spec={"clients": {"http3": "On"}}).into(world)
    translation = translate(world)
    over_quic = {"shop/a:443/udp"} if is_served else set()
    assert listening(translation, FIRST) == {"shop/a:443", *over_quic}
    assert len(listening(translation, SECOND)) == 1
