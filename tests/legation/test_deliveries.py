"""What Envoy's words become in a Gateway's status."""

import pytest

from legation.deliveries import Heard, Refusal, delivery
from translator.names import Name
from translator.objects.gateway import Gateway, GatewaySpec
from translator.objects.gateway_class import GatewayClass, GatewayClassSpec
from translator.objects.listeners import Listener
from translator.objects.provenance import TracedMeta
from translator.rules.gateways import CONTROLLER
from translator.rules.rejections import told as sentence
from translator.translate import INDEXES
from translator.world import World

EDGE = Name("infra", "edge")
LISTENERS = (Listener("web", 80, "HTTP"), Listener("other", 8080, "HTTP"), Listener("dns", 53, "UDP"))
CLASS = GatewayClass(TracedMeta("legation"), GatewayClassSpec(CONTROLLER))
GATEWAY = Gateway(TracedMeta("edge", "infra"), GatewaySpec("legation", LISTENERS))


def told(resource: str, words: str) -> str:
    [rejection] = delivery(Heard(EDGE, refusals=(Refusal(resource, words),)), GATEWAY).rejections
    world = World(INDEXES)
    world.put(GatewayClass, Name("", "legation"), CLASS)
    world.put(Gateway, EDGE, GATEWAY)
    return sentence(world, EDGE, rejection)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("cannot bind '127.0.0.1:80': Permission denied", "--port-offset"),
        ("cannot bind '127.0.0.1:80': Address already in use", "another process has this port"),
        ("cannot bind '192.0.2.1:80': Cannot assign requested address", "--address"),
    ],
)
def test_a_port_that_cannot_be_bound_names_gateway_listener_port_and_remedy(words: str, remedy: str) -> None:
    said = told("infra/edge:80", words)
    assert said.startswith(f"infra/edge:80 (listener web): {words}; ")
    assert remedy in said


def test_a_datagram_port_names_its_listener() -> None:
    assert told("infra/edge:53/udp", "no").startswith("infra/edge:53/udp (listener dns): no")


def test_what_nobody_knows_a_remedy_for_is_told_in_envoys_words() -> None:
    assert told("shop/pay:443", "Proto constraint validation failed") == (
        "shop/pay:443: Proto constraint validation failed"
    )


def test_a_cluster_on_a_listeners_port_is_not_taken_for_the_listener() -> None:
    assert told("shop/pay:80", "no") == "shop/pay:80: no"
