"""What is wrong: in what was read, and in what objects say about themselves, with known remedies."""

from collections.abc import Iterable, Mapping
from itertools import chain

import msgspec
from msgspec import Struct

from legation.checks.fields import field_of
from legation.checks.table import (
    GROUPS,
    MISTAKE,
    NOT_OURS,
    PROBLEMS,
    REFUSED,
    REMEDIES,
    STRICT,
    UNHONOURED,
    UNREAD,
)
from legation.folder import WHOLE_FILE
from legation.manifests import Problem
from legation.written_status import OWN_PREFIX, Condition, WrittenStatus, read_status
from translator.advice.checks import REMARK, Check
from translator.advice.everything import Advised
from translator.names import Ref
from translator.translate import Mistake

BY_ALL = "an API server would refuse it as well"
CONSEQUENCES = frozenset({"Programmed"})  # says again what another condition of the same object said


class Finding(Struct, frozen=True, gc=False):
    """One thing that somebody should look at."""

    group: str
    object: str
    where: str
    message: str
    remedy: str = ""
    field: str = ""  # of the object
    check: str = ""  # the name of what found it

    @property
    def is_problem(self) -> bool:
        """Tell what is not done from what is done with a remark."""
        return self.group in PROBLEMS

    @property
    def is_strictly_a_problem(self) -> bool:
        """Tell what concerns us at all from what is for others."""
        return self.group in STRICT

    @property
    def place(self) -> tuple[int, str, str, str]:
        """Say where it comes among others; a group that only newer processes know comes last."""
        rank = GROUPS.index(self.group) if self.group in GROUPS else len(GROUPS)
        return rank, self.object, self.where, self.field


def findings(
    problems: Iterable[Problem], statuses: Mapping[Ref, bytes], broken: Mapping[str, Mistake]
) -> tuple[Finding, ...]:
    """Gather everything, reading problems first."""
    told = Told().take(statuses, statuses)
    return together(problems, told, broken)


def together(
    problems: Iterable[Problem], told: Iterable[Finding], broken: Mapping[str, Mistake]
) -> tuple[Finding, ...]:
    """Put what objects say of themselves between what was not read and what is our own mistake."""
    read = [_unread(problem) for problem in problems]
    bugs = (
        Finding(MISTAKE.group, what, "", in_words(mistake), MISTAKE.remedy, check=MISTAKE.id)
        for what, mistake in broken.items()
    )
    return (*read, *told, *bugs)


def advice(advised: Advised) -> tuple[Finding, ...]:
    """Put advice as what is wrong is put."""
    given = (of_check(check, str(about), field, words) for check, about, field, words in advised.found)
    broken = together((), (), {what: Mistake(bug) for what, bug in advised.broken.items()})
    return (*broken, *given)


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put the gravest first, and by object what is alike."""
    return tuple(sorted(found, key=lambda each: each.place))


def read_findings(written: bytes) -> tuple[Finding, ...]:
    """Read what a running process answered."""
    return msgspec.json.decode(written, type=tuple[Finding, ...])


def of_check(check: Check, about: str, field: str, message: str) -> Finding:
    """Say what a check found."""
    return Finding(check.group, about, "", message, check.remedy, field, check.id)


class Told:
    """What is wrong by what objects say of themselves; only those of which there is news are read."""

    def __init__(self) -> None:
        """Begin without having read anything."""
        self._wrong: dict[Ref, tuple[Finding, ...]] = {}
        self._all: tuple[Finding, ...] = ()

    def take(self, statuses: Mapping[Ref, bytes], news: Iterable[Ref]) -> tuple[Finding, ...]:
        """Return what is wrong now, by object; the same as before where it is."""
        found = {ref: _told(ref, statuses[ref]) if ref in statuses else () for ref in news}
        if any(each != self._wrong.get(ref, ()) for ref, each in found.items()):
            wrong = self._wrong | found
            self._wrong = {ref: wrong[ref] for ref in sorted(wrong) if wrong[ref]}
            self._all = tuple(chain.from_iterable(self._wrong.values()))
        return self._all


def in_words(mistake: Mistake) -> str:
    """Say what kind of mistake of ours it is, in a line."""
    return f"{type(mistake.bug).__name__}: {mistake.bug}"


def _unread(problem: Problem) -> Finding:
    place = str(problem.place) if problem.place.document != WHOLE_FILE else problem.place.source
    where = f"{place}: {problem.path}" if problem.path else place
    check = {"error": UNREAD, "idle": UNHONOURED, "note": NOT_OURS}[problem.severity]
    about = str(problem.about or "")
    judged = problem.path and check is UNREAD  # files, and whom two of them name, no API server ever sees
    remedy = f"{check.remedy}; {BY_ALL}" if judged else check.remedy
    return Finding(check.group, about, where, problem.message, remedy, problem.path, check.id)


class Fault(Struct, frozen=True):
    """A condition that somebody should look at, and which part of the object it speaks of."""

    where: str
    condition: Condition
    listener: int | None = None  # the place of the one that says it

    @property
    def check(self) -> str:
        """The name of what found it: why something is bad, or what is remarkable."""
        found = self.condition
        return found.reason if found.is_bad else found.type.removeprefix(OWN_PREFIX)

    @property
    def remedy(self) -> str:
        """What helps, where that is known."""
        return REMEDIES.get(self.check, "")


def faults(namespace: str, status: WrittenStatus) -> Iterable[Fault]:
    """Name what an object in some namespace says is wrong with it, causes only, each once; then remarks."""
    yield from _among("", status.conditions)
    for place, listener in enumerate(status.listeners):
        yield from _among(f"listener {listener.name}", listener.conditions, place)
    for entry in status.ours:
        yield from _among(f"by {entry.about(namespace)}", entry.conditions)


def _among(where: str, conditions: Iterable[Condition], listener: int | None = None) -> Iterable[Fault]:
    bad: dict[str, Condition] = {}
    for each in conditions:
        if each.is_bad:
            bad.setdefault(each.reason, each)  # one reason is told once, whatever conditions it made bad
    causes = [each for each in bad.values() if each.type not in CONSEQUENCES] or [*bad.values()]
    remarks = (each for each in conditions if each.is_warning)
    yield from (Fault(where, each, listener) for each in (*causes, *remarks))


def _told(ref: Ref, written: bytes) -> tuple[Finding, ...]:
    return tuple(_finding(ref, fault) for fault in faults(ref.name.namespace, read_status(written)))


def _finding(ref: Ref, fault: Fault) -> Finding:
    condition = fault.condition
    said = f"{condition.type}={condition.status}, {condition.reason}: {condition.message}"
    field = field_of(ref.kind, condition, fault.listener)
    group = REFUSED if condition.is_bad else REMARK
    return Finding(group, str(ref), fault.where, said, fault.remedy, field, fault.check)
