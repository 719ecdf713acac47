"""What a folder's files say together: each file's last good state, and which of two files has an object.

A file that cannot be read whole keeps the objects it had; a new one gives those that could be read. An object
that two files have is the first file's, by path. Nothing here opens a file.
"""

from bisect import insort
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from legation.change import Put
from legation.manifests import Loaded, Problem
from translator.names import Name, Ref
from translator.objects.kinds import Object, name_of

Key = tuple[type, Name]


class Reading(Struct, frozen=True):
    """What one file says now."""

    loaded: tuple[Loaded, ...] = ()
    problems: tuple[Problem, ...] = ()


class Folder:
    """The objects of all files."""

    def __init__(self) -> None:
        """Begin without files."""
        self._good: dict[str, Mapping[Key, Loaded]] = {}
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self._paths: dict[Key, list[str]] = {}
        self._told: dict[Key, Object] = {}
        self._due: set[Key] = set()

    def has_objects(self, path: str) -> bool:
        """Say whether a file gives any object now."""
        return bool(self._good.get(path))

    def take(self, path: str, reading: Reading) -> None:
        """Take what a file says now; one with problems keeps the good state it had."""
        if reading.problems and self._good.get(path):
            kept = Problem(path, None, None, None, "kept as it was before; what it says now is not used")
            self._problems[path] = (*reading.problems, kept)
            return
        first, again = _first_of_each(reading.loaded)
        self._problems[path] = (*reading.problems, *again)
        self._replace(path, first)

    def drop(self, path: str) -> None:
        """Forget a file that is gone, with its objects."""
        self._problems.pop(path, None)
        self._replace(path, {})
        self._good.pop(path, None)

    def paths(self) -> frozenset[str]:
        """Name the files that are known."""
        return frozenset(self._problems)

    def changes(self) -> tuple[Put, ...]:
        """Return what differs from what was returned before, by kind and name."""
        changes = tuple(change for key in sorted(self._due, key=_place) for change in self._change(key))
        self._due.clear()
        return changes

    def problems(self) -> tuple[Problem, ...]:
        """Return what is wrong with the files, by path; an object that two of them have is named in both."""
        found = {path: list(problems) for path, problems in self._problems.items()}
        for key, paths in self._paths.items():
            for path in paths[1:]:
                found[path].append(self._in_two_files(key, path, paths[0]))
        return tuple(problem for path in sorted(found) for problem in found[path])

    def _replace(self, path: str, objects: Mapping[Key, Loaded]) -> None:
        before = self._good.get(path, {})
        for key in before.keys() - objects.keys():
            self._paths[key].remove(path)
            if not self._paths[key]:
                del self._paths[key]
        for key in objects.keys() - before.keys():
            insort(self._paths.setdefault(key, []), path)
        self._good[path] = objects
        self._due |= before.keys() | objects.keys()

    def _change(self, key: Key) -> Iterable[Put]:
        kind, name = key
        before = self._told.pop(key, None)
        paths = self._paths.get(key)
        if paths is None:
            return () if before is None else (Put(kind, name, None),)
        after = _numbered(self._good[paths[0]][key].object, before)
        self._told[key] = after
        return () if after == before else (Put(kind, name, after),)

    def _in_two_files(self, key: Key, path: str, winner: str) -> Problem:
        here, there = self._good[path][key], self._good[winner][key]
        message = (
            f"is also in {winner}, document {there.document}; that one is used, because its path is first"
        )
        return Problem(path, here.document, _ref(key), None, message)


def _first_of_each(loaded: Iterable[Loaded]) -> tuple[dict[Key, Loaded], list[Problem]]:
    """Keep the first of each object in one file."""
    first: dict[Key, Loaded] = {}
    again: list[Problem] = []
    for one in loaded:
        key = (type(one.object), name_of(one.object))
        if (before := first.setdefault(key, one)) is not one:
            message = f"is already in document {before.document} of this file; that one is used"
            again.append(Problem(one.source, one.document, _ref(key), None, message))
    return first, again


def _numbered(now: Object, before: Object | None) -> Object:
    """Count the generations of an object whose file does not say one, as the API server would."""
    if now.metadata.generation:
        return now
    number = before.metadata.generation if before else 1
    same = replace(now, metadata=replace(now.metadata, generation=number))
    return same if same == before or before is None else _next(same)


def _next(thing: Object) -> Object:
    return replace(thing, metadata=replace(thing.metadata, generation=thing.metadata.generation + 1))


def _ref(key: Key) -> Ref:
    kind, name = key
    return Ref(kind.__name__, name)


def _place(key: Key) -> tuple[str, Name]:
    kind, name = key
    return kind.__name__, name
