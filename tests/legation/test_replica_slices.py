"""Where replicas are: every endpoint of our Service, once all its slices are known."""

from k8s_watch.change import Change, Gone, Put, Synced
from k8s_watch.kind import ObjectName
from legation.replica_slices import ReplicaSlices, slices_of
from translator.objects.endpoint_slice import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from translator.objects.meta import ObjectMeta

READY, LEAVING = EndpointConditions(ready=True), EndpointConditions(ready=False, terminating=True)


class Ears:
    """What was found, in order."""

    def __init__(self) -> None:
        self.found: list[set[str]] = []
        self.slices = ReplicaSlices(18000, lambda addresses: self.found.append(set(addresses)))

    async def told(self, *changes: Change[EndpointSlice]) -> None:
        await self.slices.listen(changes)


def put(name: str, *endpoints: Endpoint, ports: tuple[EndpointPort, ...] | None = ()) -> Put[EndpointSlice]:
    made = EndpointSlice(ObjectMeta(name, "legation-system"), "IPv4", endpoints, ports)
    return Put(ObjectName("legation-system", name), "1", made)


def at(address: str, conditions: EndpointConditions = READY) -> Endpoint:
    return Endpoint((address,), conditions)


async def test_nothing_is_said_before_every_slice_is_known() -> None:
    ears = Ears()
    await ears.told(put("a", at("198.51.100.1")))
    assert ears.found == []
    await ears.told(put("b", at("198.51.100.2")), Synced())
    assert ears.found == [{"198.51.100.1:18000", "198.51.100.2:18000"}]


async def test_an_envoy_may_still_be_connected_to_a_replica_that_is_leaving() -> None:
    ears = Ears()
    await ears.told(put("a", at("198.51.100.1", LEAVING)), Synced())
    assert ears.found == [{"198.51.100.1:18000"}]


async def test_the_port_is_the_one_that_the_service_names() -> None:
    ears = Ears()
    ports = (EndpointPort("admin", port=19080), EndpointPort("xds", port=443))
    await ears.told(put("a", at("2001:db8::1"), ports=ports), Synced())
    assert ears.found == [{"[2001:db8::1]:443"}]


async def test_slices_and_endpoints_come_and_go() -> None:
    ears = Ears()
    await ears.told(put("a", at("198.51.100.1"), ports=None), Synced())
    await ears.told(put("a", at("198.51.100.2")))
    await ears.told(Gone(ObjectName("legation-system", "a")))
    assert ears.found == [{"198.51.100.1:18000"}, {"198.51.100.2:18000"}, set()]


def test_only_slices_of_our_own_service_are_read() -> None:
    assert slices_of("legation").selector == "kubernetes.io/service-name=legation"
