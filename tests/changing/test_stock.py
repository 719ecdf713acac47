"""What is taken away goes in an order in which nobody is left leading to nothing."""

from msgspec import Struct

from tests.changing.stock import Stock
from tests.handshakes.manifests import Json, policy, route, service


class Shelf(Struct):
    """Knows in which order objects went, and what came after the first of them."""

    gone: list[tuple[object, object]]
    came_after: list[Json]

    async def put(self, each: Json) -> None:
        """Have an object."""
        if self.gone:
            self.came_after.append(each)

    async def delete(self, each: Json) -> None:
        """Have it no more."""
        metadata = each["metadata"]
        assert isinstance(metadata, dict)
        self.gone.append((each["kind"], metadata["name"]))


async def test_a_route_goes_before_what_it_leads_to_though_that_came_later() -> None:
    shelf = Shelf([], [])
    stock = Stock(shelf)
    for name in ("first", "second"):
        led = route("HTTPRoute", "led", [(name, 443)])
        await stock.hold([policy(name, {}), service(name, {443: "https"}), led])
    await stock.hold([])
    await stock.tidy()
    assert shelf.gone == [
        ("HTTPRoute", "led"),
        ("Service", "second"),
        ("Service", "first"),
        ("BackendTLSPolicy", "second"),
        ("BackendTLSPolicy", "first"),
    ]


async def test_a_route_goes_before_its_service_loses_the_port_that_it_leads_to() -> None:
    shelf = Shelf([], [])
    stock = Stock(shelf)
    await stock.hold([service("moved", {443: "https"}), route("HTTPRoute", "led", [("moved", 443)])])
    moved = service("moved", {8443: "https"})
    await stock.hold([moved])
    await stock.tidy()
    assert (shelf.gone, shelf.came_after) == ([("HTTPRoute", "led")], [moved])
