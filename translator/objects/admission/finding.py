"""A reason to refuse an object, and the rules that find some."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar, cast

from translator.objects.meta import Part

PartT = TypeVar("PartT", bound=Part)


class Finding(NamedTuple):
    """What is wrong with one field, and what to do about it."""

    path: str
    message: str


Rule = Callable[[PartT], Iterator[Finding]]
Check = tuple[type[Part], Callable[[Part], Iterator[Finding]]]


def rules_of(part: type[PartT], *rules: Rule[PartT]) -> Check:
    """Tie rules to the struct they judge; the paths they find are relative to it."""

    def check(thing: Part) -> Iterator[Finding]:
        for rule in rules:  # who asks goes by the struct's type
            yield from rule(cast("PartT", thing))

    return part, check


def fits(chosen: str, fields: Mapping[str, tuple[str, object]], by: str = "type") -> Iterator[Finding]:
    """Yield what is wrong where one field must be there and no other, as the value of `by` asks."""
    for of_type, (field, value) in fields.items():
        is_there = value is not None
        if of_type == chosen and not is_there:
            yield Finding(field, f"is required where {by} is {chosen}: add it")
        if of_type != chosen and is_there:
            remedy = f"remove it, or set {by} to {of_type}"
            yield Finding(field, f"must be left out where {by} is {chosen}: {remedy}")


def join(path: str, step: str) -> str:
    """Put a step below a path: `spec` and `rules` make `spec.rules`, `rules` and `[0]` make `rules[0]`."""
    if not path or not step or step.startswith("["):
        return path + step
    return f"{path}.{step}"
