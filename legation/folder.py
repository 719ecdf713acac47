"""What a folder's files say together: each file's last good state, and which of two files has an object.

A file that cannot be read whole keeps the objects it had; a new one gives those that could be read. A new one
that may hide a BackendTLSPolicy whose targets nobody could read makes the folder unsafe: without it, there
could be plaintext where TLS was asked for. An object that two files have is the first file's, by path.
Nothing here opens a file.
"""

from bisect import insort
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from legation.change import Put
from legation.manifests import Loaded, Place, Problem, read_manifests
from legation.turns import give_way
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.kinds import KINDS, Object, name_of, ref_of
from translator.objects.provenance import TracedMeta, written_in

Key = tuple[type, Name]


WHOLE_FILE = 0  # in the place of a document's number
KEPT = "kept as it was before; what it says now is not used"
HOLDS = (
    "may hold a BackendTLSPolicy that nobody could read yet, so no change takes effect until it is repaired"
)

_HARMLESS = frozenset(info.kind for info in KINDS if info.type is not BackendTLSPolicy)


class Reading(Struct, frozen=True):
    """What one file says now."""

    loaded: tuple[Loaded, ...] = ()
    problems: tuple[Problem, ...] = ()
    mentions_policies: bool = True  # unless it was read and does not

    def may_hide_a_policy(self, problem: Problem) -> bool:
        """Say whether a policy may be missing for this reason, and nothing stands in for it."""
        if problem.about is None:
            return self.mentions_policies
        found = (ref_of(one.thing) for one in self.loaded)
        return problem.about.kind not in _HARMLESS and not any(_is_same(one, problem.about) for one in found)


def read(text: str, path: str) -> Reading:
    """Read what a file says."""
    return Reading(*read_manifests(text, path), mentions_policies="BackendTLSPolicy" in text)


class Folder:
    """The objects of all files."""

    def __init__(self) -> None:
        """Begin without files."""
        self._good: dict[str, dict[Key, Loaded]] = {}
        self._unsafe: set[str] = set()
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self._paths: dict[Key, list[str]] = {}
        self._told: dict[Key, Object] = {}
        self._due: set[Key] = set()

    def has_objects(self, path: str) -> bool:
        """Say whether a file gives any object now."""
        return bool(self._good.get(path))

    def take(self, path: str, reading: Reading) -> None:
        """Take what a file says now; one with mistakes keeps the good state it had.

        One that is unsafe had none: nobody was told of what could be read of it.
        """
        mistakes = [problem for problem in reading.problems if problem.severity == "error"]
        if mistakes and self._good.get(path) and path not in self._unsafe:
            self._problems[path] = (*reading.problems, about_file(path, KEPT))
            return
        self._unsafe.discard(path)
        self._problems[path] = reading.problems
        if any(reading.may_hide_a_policy(problem) for problem in mistakes):
            self._unsafe.add(path)
            self._problems[path] += (about_file(path, HOLDS),)
        self._replace(path, {(type(one.thing), name_of(one.thing)): one for one in reading.loaded})

    def drop(self, path: str) -> None:
        """Forget a file that is gone, with its objects."""
        self._problems.pop(path, None)
        self._unsafe.discard(path)
        self._replace(path, {})
        self._good.pop(path, None)

    def is_unsafe(self) -> bool:
        """Say whether something may be missing without which nothing new should be served."""
        return bool(self._unsafe)

    def paths(self) -> frozenset[str]:
        """Name the files that are known."""
        return frozenset(self._problems)

    def changes(self) -> tuple[Put, ...]:
        """Return what differs from what was returned before, by kind and name."""
        due: dict[type, list[Name]] = {}
        for kind, name in self._due:
            due.setdefault(kind, []).append(name)
        self._due.clear()
        in_order = ((kind, name) for kind in sorted(due, key=_kind) for name in sorted(due[kind]))
        return tuple(change for key in in_order for change in self._change(key))

    def problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with the files, by path; an object that two of them have is named in both."""
        found = {path: list(problems) for path, problems in self._problems.items()}
        for key, paths in self._paths.items():
            for path in paths[1:]:
                found[path].append(self._in_two_files(key, path, paths[0]))
        return tuple(problem for path in sorted(found) for problem in found[path])

    def _replace(self, path: str, objects: dict[Key, Loaded]) -> None:
        before = self._good.get(path, {})
        self._good[path] = objects
        for key in objects:
            give_way()
            self._due.add(key)
            if key not in before:
                insort(self._paths.setdefault(key, []), path)
        while before:  # one by one: to let go of thousands at once would keep the interpreter from others
            give_way()
            key, _ = before.popitem()
            self._due.add(key)
            if key not in objects:
                self._paths[key].remove(path)
                if not self._paths[key]:
                    del self._paths[key]

    def _change(self, key: Key) -> Iterable[Put]:
        give_way()
        kind, name = key
        before = self._told.pop(key, None)
        paths = self._paths.get(key)
        if paths is None:
            return () if before is None else (Put(kind, name, None),)
        after = _numbered(_traced(self._good[paths[0]][key].thing, paths[0]), before)
        self._told[key] = after
        return () if after == before else (Put(kind, name, after),)

    def _in_two_files(self, key: Key, path: str, winner: str) -> Problem:
        here, there = self._good[path][key].place, self._good[winner][key].place
        message = f"is also in {there}: that one is used, because its path is first; remove one"
        return Problem(here, message, Ref(key[0].__name__, key[1]))


def about_file(path: str, message: str) -> Problem:
    """Find fault with a whole file."""
    return Problem(Place(path, WHOLE_FILE), message)


def _is_same(one: Ref, about: Ref) -> bool:
    """Compare with what a manifest says of itself, which may leave out its namespace."""
    return (one.kind, one.name.name) == (about.kind, about.name.name)


def _traced(thing: Object, path: str) -> Object:
    """Note the file as what wrote an object of which that is told."""
    if not isinstance(thing.metadata, TracedMeta):
        return thing
    return replace(thing, metadata=replace(thing.metadata, managed_fields=written_in(path)))


def _numbered(now: Object, before: Object | None) -> Object:
    """Count the generations of an object whose file does not say one, as the API server would."""
    if now.metadata.generation:
        return now
    number = before.metadata.generation if before else 1
    same = replace(now, metadata=replace(now.metadata, generation=number))
    return same if same == before or before is None else _next(same)


def _next(thing: Object) -> Object:
    return replace(thing, metadata=replace(thing.metadata, generation=thing.metadata.generation + 1))


def _kind(kind: type) -> str:
    return kind.__name__
