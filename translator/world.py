"""The inputs: objects by kind and name, relations between them, and facts; every read is remembered."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Hashable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

from translator.memo import Memory, query
from translator.names import Name, Ref

T = TypeVar("T")

FEW = 64  # points of a fact, for which it is not worth looking who still asks about them


class Index(Generic[T]):
    """A relation, declared next to the rule that needs it: the keys under which an object is found."""

    def __init__(self, kind: type[T], keys: Callable[[T], Iterable[Hashable]]) -> None:
        """Relate each object of `kind` to the keys that `keys` names for it."""
        self.kind = kind
        self.keys = keys


class Fact(Generic[T]):
    """An input that is no object, such as the time or where the system's roots are; it always has a value."""

    def __init__(self, title: str, otherwise: T) -> None:
        """Name a fact and say what holds until it is put."""
        self.title = title
        self.otherwise = otherwise


class World:
    """All that a translation may know."""

    def __init__(self, indexes: Iterable[Index[Any]] = ()) -> None:
        """Begin empty, keeping these relations."""
        self.memory = Memory()
        self.mistakes: dict[Ref, Exception] = {}  # by the object that nobody can relate to others
        self._missed: set[Ref] = set()  # what is not as it was told, by whatever mistake
        self._objects: dict[type, dict[Name, Any]] = {}
        self._names: dict[type, list[Name]] = {}
        self._facts: dict[Fact[Any], Any] = {}
        self._points: dict[Fact[Any], list[Any]] = {}  # those that somebody asked about, in order
        self._asked: dict[Fact[Any], int] = {}  # how many of them, when that was looked at last
        self._indexes: dict[type, list[Index[Any]]] = {}
        self._members: dict[Index[Any], dict[Hashable, list[Name]]] = {}
        for index in indexes:
            self._indexes.setdefault(index.kind, []).append(index)
            self._members[index] = {}

    def put(self, kind: type[T], name: Name, thing: T | None) -> None:
        """Set an object, or remove it by None; what was made from it turns stale.

        What a mistake of ours keeps from being related to others stays as it was, and is missed.
        """
        objects = self._objects.setdefault(kind, {})
        before = objects.get(name)
        ref = Ref(kind.__name__, name)
        self.mistakes.pop(ref, None)
        if ref in self._missed:
            self._missed.remove(ref)
            self.memory.touch(_misses, kind, name.namespace)
        if before == thing:
            return
        try:
            moves = [(index, _moved(index, before, thing)) for index in self._indexes.get(kind, ())]
        except Exception as bug:  # noqa: BLE001  # our own mistake: this object stays as it was, all others go on
            self.mistakes[ref] = bug
            self.miss(kind, name)
            return
        if thing is None:
            del objects[name]
        else:
            objects[name] = thing
        self.memory.touch(_thing, kind, name)
        if (before is None) != (thing is None):
            self._call(kind, name)
        for index, keys in moves:
            self._relate(index, name, keys)

    def miss(self, kind: type, name: Name) -> None:
        """Remember that an object is not as it was told, until it is put without a mistake."""
        self._missed.add(Ref(kind.__name__, name))
        self.memory.touch(_misses, kind, name.namespace)

    def misses(self, kind: type, namespace: str) -> bool:
        """Say whether objects of a kind are not as they were told: one that is not there may be meant to."""
        found: bool = _misses(self, kind, namespace)
        return found

    def state(self, fact: Fact[T], value: T) -> None:
        """Set a fact; what was made from it turns stale."""
        before = self._facts.get(fact, fact.otherwise)
        if before == value:
            return
        self._facts[fact] = value
        self.memory.touch(_fact, fact)
        if fact in self._points:
            self._cross(fact, *sorted((before, value)))

    def get(self, kind: type[T], name: Name) -> T | None:
        """Return an object, if it is there."""
        found: T | None = self.memory.recall(_thing, self, (kind, name))
        return found

    def standing(self, kind: type[T], name: Name) -> T | None:
        """Return an object for whoever puts others: nothing is remembered of it or made fresh for it."""
        assert not self.memory.is_asked, "a rule asks for an object by get"
        found: T | None = self._objects.get(kind, {}).get(name)
        return found

    def must(self, kind: type[T], name: Name) -> T:
        """Return an object that the caller knows to be there."""
        found: T | None = self.memory.recall(_thing, self, (kind, name))
        assert found is not None, f"{kind.__name__} {name} is not there"
        return found

    def names(self, kind: type) -> frozenset[Name]:
        """Return the names of all objects of a kind."""
        return _names(self, kind)

    def has_seen(self, kind: type) -> bool:
        """Say whether there ever was an object of a kind: if not, nobody has to ask name by name."""
        found: bool = _seen(self, kind)
        return found

    def where(self, index: Index[T], key: Hashable) -> tuple[T, ...]:
        """Return the objects found under a key, in the order of their names; for narrow relations."""
        names = _found_names(self, index, key)
        return tuple([self.must(index.kind, name) for name in names]) if names else ()

    def names_where(self, index: Index[Any], key: Hashable) -> tuple[Name, ...]:
        """Return the names found under a key: they differ only when one joins or leaves."""
        return _found_names(self, index, key)

    def any_where(self, index: Index[Any], key: Hashable) -> bool:
        """Say whether there is anything under a key; who asks this is not disturbed by all that join."""
        found: bool = _any_found(self, index, key)
        return found

    def fact(self, fact: Fact[T]) -> T:
        """Return what holds now."""
        value: T = _fact(self, fact)
        return value

    def reached(self, fact: Fact[T], point: T) -> bool:
        """Say whether a fact that goes on, such as the time, is at a point; nobody hears of other changes."""
        found: bool = _reached(self, fact, point)
        return found

    def _call(self, kind: type, name: Name) -> None:
        """Have the name of an object that comes or goes join or leave the names of its kind."""
        if kind not in self._names:
            self._names[kind] = []
            self.memory.touch(_seen, kind)
        _toggle(self._names[kind], name)
        self.memory.touch(_names, kind)

    def _cross(self, fact: Fact[T], low: T, high: T) -> None:
        """Have those look again who asked about points between two others; they name them anew."""
        points = self._points[fact]
        crossed = slice(bisect_right(points, low), bisect_right(points, high))
        for point in points[crossed]:
            self.memory.touch(_reached, fact, point)
        del points[crossed]

    def _await(self, fact: Fact[T], point: T) -> None:
        """Remember a point that somebody asks about."""
        points = self._points.setdefault(fact, [])
        place = bisect_left(points, point)
        if place == len(points) or points[place] != point:
            points.insert(place, point)
            if len(points) >= 2 * self._asked.get(fact, FEW):
                self._forget(fact, points)

    def _forget(self, fact: Fact[Any], points: list[Any]) -> None:
        """Let go of points that nobody asks about any more: some would be reached in ten years."""
        points[:] = [point for point in points if self.memory.knows(_reached, fact, point)]
        self._asked[fact] = max(FEW, len(points))

    def _relate(self, index: Index[Any], name: Name, keys: Iterable[Hashable]) -> None:
        """Have a name join or leave what is found under each of these keys."""
        for key in keys:
            members = self._members[index].setdefault(key, [])
            was_empty = not members
            _toggle(members, name)
            if not members:
                del self._members[index][key]
            self.memory.touch(_found_names, index, key)
            if was_empty or not members:
                self.memory.touch(_any_found, index, key)


def _moved(index: Index[T], before: T | None, after: T | None) -> AbstractSet[Hashable]:
    """Return the keys under which an object is found before or after, and not both."""
    if before is None or after is None:
        present = before if after is None else after
        return set() if present is None else set(index.keys(present))
    return set(index.keys(before)) ^ set(index.keys(after))


def _toggle(names: list[Name], name: Name) -> None:
    """Put a name into a sorted list, or take it out."""
    place = bisect_left(names, name)
    if place < len(names) and names[place] == name:
        del names[place]
    else:
        insort(names, name)


@query
def _thing(world: World, kind: type, name: Name) -> Any:
    return world._objects.get(kind, {}).get(name)  # noqa: SLF001  # the inputs' own query


@query
def _misses(world: World, kind: type, namespace: str) -> bool:
    missed = world._missed  # noqa: SLF001  # the inputs' own query
    return any((each.kind, each.name.namespace) == (kind.__name__, namespace) for each in missed)


@query
def _seen(world: World, kind: type) -> bool:
    return kind in world._names  # noqa: SLF001  # the inputs' own query


@query
def _names(world: World, kind: type) -> frozenset[Name]:
    return frozenset(world._names.get(kind, ()))  # noqa: SLF001  # the inputs' own query


@query
def _found_names(world: World, index: Index[Any], key: Hashable) -> tuple[Name, ...]:
    return tuple(world._members[index].get(key, ()))  # noqa: SLF001  # the inputs' own query


@query
def _any_found(world: World, index: Index[Any], key: Hashable) -> bool:
    return key in world._members[index]  # noqa: SLF001  # the inputs' own query


@query
def _fact(world: World, fact: Fact[Any]) -> Any:
    return world._facts.get(fact, fact.otherwise)  # noqa: SLF001  # the inputs' own query


@query
def _reached(world: World, fact: Fact[Any], point: Any) -> bool:
    world._await(fact, point)  # noqa: SLF001  # the inputs' own query
    return bool(world._facts.get(fact, fact.otherwise) >= point)  # noqa: SLF001  # the inputs' own query
