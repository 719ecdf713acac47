"""Names of a route's rules, by which policies and people point at them."""

from collections.abc import Iterator, Sequence

from translator.objects.admission.finding import Finding


def names_are_unique(names: Sequence[str | None]) -> Iterator[Finding]:
    """Refuse a rule whose name an earlier rule has."""
    for index, name in enumerate(names):
        if name is not None and name in names[:index]:
            yield Finding(f"rules[{index}].name", f'must be unique within the route, and "{name}" is taken')
