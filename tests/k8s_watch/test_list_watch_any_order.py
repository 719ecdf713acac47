"""Whatever happens in whatever order: in the end what was told is what there is, nothing was told twice."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from k8s_watch.answers import Ended, Failed, Received
from k8s_watch.change import Absent, Gone, Put, Synced, Unreadable
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import List, ListWatch, Pace, Wait, Watch
from tests.k8s_watch.model_server import ModelServer

NAMES = st.sampled_from([ObjectName("shop", letter) for letter in "abcdef"])
CODES = st.sampled_from([0, 400, 401, 403, 404, 410, 429, 500, 503, 504])
A_FEW, ENOUGH = 10, 500


class AnyOrder(RuleBasedStateMachine):
    """Changes, answers, failures, losses and forgetting, in any order."""

    @initialize(streams_lists=st.booleans(), page=st.integers(1, 4), names=st.lists(NAMES, max_size=6))
    def start(self, *, streams_lists: bool, page: int, names: list[ObjectName]) -> None:
        self.machine = ListWatch(Pace(chance=lambda: 0.0))
        self.server = ModelServer(self.machine, streams_lists=streams_lists, page=page)
        self.told: dict[ObjectName, str] = {}
        self.newest: dict[ObjectName, int] = {}
        self.synced = 0
        self.absent = False
        for name in names:
            self.server.put(name)

    def _receive(self, received: Received) -> None:
        for change in self.machine.receive(received):
            match change:
                case Put():
                    assert self.newest.get(change.name, 0) < int(change.version)
                    self.newest[change.name] = int(change.version)
                    assert bytes(change.thing) == change.version.encode()
                    self.told[change.name] = change.version
                case Gone() | Unreadable():
                    del self.told[change.name]
                case Synced():
                    self.synced += 1
                case Absent():
                    assert not self.absent
                    assert not self.told
                    self.absent = True
        self.absent = self.absent and self.machine.absent
        self.server.hand_over(received)

    @rule(name=NAMES)
    def put(self, name: ObjectName) -> None:
        if self.server.served:
            self.server.put(name)

    @rule(name=NAMES)
    def delete(self, name: ObjectName) -> None:
        self.server.delete(name)

    @rule(name=NAMES, is_there=st.booleans())
    def forget(self, name: ObjectName, *, is_there: bool) -> None:
        if is_there:
            self.put(name)
        self.server.compact()

    @rule(name=NAMES)
    def forget_a_list_halfway(self, name: ObjectName) -> None:
        for _ in range(A_FEW):
            if isinstance(self.machine.next, List) and self.machine.next.token:
                return self.forget(name, is_there=True)
            self._receive(self.server.answer())
        return None

    @rule()
    def remove_the_kind(self) -> None:
        for name in list(self.server.objects):
            self.server.delete(name)
        self.server.served = False

    @rule()
    def bring_the_kind(self) -> None:
        self.server.served = True

    @rule(pieces=st.sampled_from([1, 2, 3, 12]))
    def answer(self, pieces: int) -> None:
        for _ in range(pieces):
            self._receive(self.server.answer())

    @rule(code=CODES, lasted=st.sampled_from([0.0, 60.0]))
    def fail(self, code: int, lasted: float) -> None:
        if not isinstance(self.machine.next, Wait):
            self._receive(Failed(code, "no", lasted=lasted))

    @rule(lasted=st.sampled_from([0.0, 60.0]))
    def end_the_watch(self, lasted: float) -> None:
        if isinstance(self.machine.next, Watch):
            self._receive(Ended(lasted))

    @rule(begin=st.integers(1, 5), end=st.integers(0, 2))
    def repeat(self, begin: int, end: int) -> None:
        for event in self.server.again(begin, end):
            self._receive(event)

    @rule()
    def come_to_rest(self) -> None:
        for _ in range(ENOUGH):
            if self.server.at_rest():
                break
            self._receive(self.server.answer())
        else:
            raise AssertionError(self.machine.next)
        assert self.told == {name: str(version) for name, version in self.server.objects.items()}
        assert self.machine.absent == (not self.server.served)
        assert self.synced == 1 or not self.server.served

    @invariant()
    def it_is_synced_at_most_once(self) -> None:
        assert self.synced <= 1

    def teardown(self) -> None:
        if hasattr(self, "machine"):
            self.come_to_rest()


AnyOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
test_any_order = AnyOrder.TestCase
