"""Whatever is wanted and whatever happens meanwhile: in the end all that is wanted is known as it is."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import ObjectName
from k8s_watch.wants import Errand, Wants

NAMES = st.sampled_from([ObjectName("shop", letter) for letter in "abc"])


class AnyOrder(RuleBasedStateMachine):
    """Objects change; their metadata is told later; errands are run, and return later still."""

    @initialize()
    def start(self) -> None:
        self.wants = Wants[str]()
        self.revision = 0
        self.objects: dict[ObjectName, str] = {}
        self.untold: list[Change[None]] = []
        self.away: list[tuple[Errand, Put[str] | None]] = []
        self.wanted: set[ObjectName] = set()
        self.told: dict[ObjectName, str | None] = {}

    def _hear(self, changes: list[Change[str]]) -> None:
        for change in changes:
            match change:
                case Put(name=name, version=version) | Unreadable(name=name, version=version):
                    assert name in self.wanted
                    assert self.told.get(name) != version
                    self.told[name] = version
                case Gone(name=name):
                    assert self.told.get(name, "") is not None
                    self.told[name] = None
                case Synced() | Absent():
                    pass

    @rule(name=NAMES)
    def put(self, name: ObjectName) -> None:
        self.revision += 1
        self.objects[name] = str(self.revision)
        self.untold.append(Put(name, str(self.revision), None))

    @rule(name=NAMES)
    def delete(self, name: ObjectName) -> None:
        if self.objects.pop(name, None) is not None:
            self.untold.append(Gone(name))

    @rule()
    def all_are_known(self) -> None:
        self.untold.append(Synced())

    @rule(names=st.sets(NAMES))
    def want(self, names: set[ObjectName]) -> None:
        self.wanted = names
        self._hear(self.wants.want(frozenset(names)))
        self.told = {name: told for name, told in self.told.items() if name in names}

    @precondition(lambda self: self.untold)
    @rule()
    def tell(self) -> None:
        self._hear(self.wants.learn([self.untold.pop(0)]))

    @rule()
    def set_out(self) -> None:
        errand = self.wants.next_errand()
        if errand is not None:
            version = self.objects.get(errand.name)
            self.away.append((errand, Put(errand.name, version, "body") if version else None))

    @precondition(lambda self: self.away)
    @rule(place=st.integers(0, 3), fails=st.booleans())
    def come_back(self, place: int, *, fails: bool) -> None:
        errand, found = self.away.pop(place % len(self.away))
        if fails:
            self.wants.put_off(errand)
        else:
            self._hear(self.wants.read(errand, found))

    @rule()
    def come_to_rest(self) -> None:
        self.all_are_known()
        while self.untold:
            self.tell()
        while self.away:
            self.come_back(0, fails=False)
        for _ in {*self.objects, *self.wanted}:
            self.set_out()
        while self.away:
            self.come_back(0, fails=False)
        assert self.wants.next_errand() is None
        assert self.told == {name: self.objects.get(name) for name in self.wanted}

    def teardown(self) -> None:
        if hasattr(self, "wants"):
            self.come_to_rest()


AnyOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
test_any_order = AnyOrder.TestCase
