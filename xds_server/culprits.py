"""Which of several refused resources an Envoy means: by its words, else by halving."""

from collections.abc import Collection


def blamed(error: str, names: Collection[str]) -> frozenset[str]:
    """The names an error speaks of: `... cluster(s) NAME: why, NAME: why`, or in quotes."""
    text = f" {error}"
    return frozenset(name for name in names if name and _speaks_of(text, name))


def _speaks_of(text: str, name: str) -> bool:
    shapes = (f" {name}: ", f" {name} - ", f"'{name}'", f'"{name}"')
    return any(shape in text for shape in shapes)


def halves(names: Collection[str]) -> list[frozenset[str]]:
    """Two groups to offer apart, in a stable order."""
    ordered = sorted(names)
    middle = len(ordered) // 2
    return [frozenset(ordered[:middle]), frozenset(ordered[middle:])]
