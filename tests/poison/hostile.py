"""Objects that a hostile or a careless tenant may write, drawn from the shapes of the structs that are read.

A field that a struct gains is drawn without a word here. What several fields together make wrong is mended:
what is found fault with is taken away, what is missing is drawn, until an API server would take the object.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from tests.poison.spells import BY_FIELD, LEADING, MISSES, NAMES, SPELLS, TENANT
from translator.objects.admission.admit import admit
from translator.objects.admission.finding import Finding
from translator.objects.admission.shape import (
    AnyShape,
    FlagShape,
    ListShape,
    MapShape,
    NumberOrTextShape,
    NumberShape,
    RecordShape,
    Shape,
    TextShape,
    TimeShape,
    shape_of,
)
from translator.objects.constraints import Between, Entries, Items, OneOf, Text
from translator.objects.kinds import KINDS, KindInfo, Object

T = TypeVar("T")
Json = dict[str, Any]
Drawn = st.SearchStrategy[Any]

TOP_LEVEL = frozenset({"metadata", "status", "apiVersion"})  # the same for every kind
WEIGHTS: Mapping[str, int] = MappingProxyType({
    "HTTPRoute": 12, "GRPCRoute": 4, "TLSRoute": 4, "TCPRoute": 3, "UDPRoute": 3, "BackendTLSPolicy": 4,
})  # fmt: skip
KIND_OF_EACH = tuple(info for info in KINDS if info.namespaced for _ in range(WEIGHTS.get(info.kind, 1)))
MOST_ITEMS = 3
MOST_ENTRIES = 3
MENDINGS = 40
LATER_WORD, LATER_NUMBER = "Later", 399  # what later CRDs may let into fields of which each value is named
STEPS = re.compile(r"\[(\d+)\]|\[([^\]]+)\]|([^.\[\]]+)")
TIMES = ("2026-01-01T00:00:00Z", "1601-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
KEYS = ("a", "ca.crt", "tls.crt", "tls.key", "legation.dev/min-tls-version", "app", "x-1")


def manifests(kinds: Sequence[KindInfo] = KIND_OF_EACH) -> st.SearchStrategy[tuple[Json, KindInfo]]:
    """Draw an object of the tenant as JSON, of a kind that a namespace's owner may write."""
    return st.sampled_from(kinds).flatmap(_manifest)


def refused() -> st.SearchStrategy[Json]:
    """Draw an object of the tenant that an API server refuses."""
    return manifests().filter(lambda drawn: isinstance(admit(*drawn), tuple)).map(lambda drawn: drawn[0])


@st.composite
def admitted(draw: st.DrawFn, kinds: Sequence[KindInfo] = KIND_OF_EACH) -> Object:
    """Draw an object of the tenant that an API server takes."""
    manifest, info = draw(manifests(kinds))
    answer = admit(manifest, info)
    for _ in range(MENDINGS):
        if not isinstance(answer, tuple) or not _mend(draw, manifest, shape_of(info.type), answer[0]):
            break
        answer = admit(manifest, info)
    return reject() if isinstance(answer, tuple) else answer


def some_of_each_kind(most: int) -> tuple[Object, ...]:
    """Draw objects of every kind that an API server takes, the same each time."""
    kinds = (info for info in KINDS if info.namespaced)
    return tuple(each for info in kinds for each in the_same(most, admitted([info])))


def the_same(most: int, of: st.SearchStrategy[T]) -> tuple[T, ...]:
    """Draw examples, the same each time."""
    found: list[T] = []

    @settings(
        max_examples=most,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(of)
    def draw(thing: T) -> None:
        found.append(thing)

    draw()
    return tuple(found)


@cache
def _manifest(info: KindInfo) -> st.SearchStrategy[tuple[Json, KindInfo]]:
    fields = {name: field for name, field in shape_of(info.type).fields.items() if name not in TOP_LEVEL}
    heading = {"apiVersion": info.api_version(info.versions[0]), "kind": info.kind}
    metadata = st.sampled_from("abc").map(lambda name: {"name": name, "namespace": TENANT})
    return st.tuples(metadata, _record(RecordShape(fields, frozenset()))).map(
        lambda parts: ({**heading, "metadata": parts[0], **parts[1]}, info)
    )


def drawn(shape: Shape, field: str) -> Drawn:
    """Draw a value of a shape, for a field of this name."""
    match shape:
        case ListShape(item, demand):
            return _list(item, demand, field)
        case MapShape(value, demand):
            return _map(value, demand, field)
        case RecordShape():
            return _leading(_record(shape), field)
        case TextShape(demand):
            return _text(demand, field)
        case NumberShape() | NumberOrTextShape() | FlagShape() | TimeShape() | AnyShape():
            return _plain(shape, field)


def _plain(shape: NumberShape | NumberOrTextShape | FlagShape | TimeShape | AnyShape, field: str) -> Drawn:
    match shape:
        case NumberShape(demand):
            return _number(demand, field)
        case NumberOrTextShape():
            return st.one_of(_number(Between(1, 65535), field), st.sampled_from(NAMES))
        case FlagShape():
            return st.booleans()
        case TimeShape():
            return st.sampled_from(TIMES)
        case AnyShape():
            return st.sampled_from(({}, {"a": None}))


def mostly(often: Drawn, seldom: Drawn) -> Drawn:
    """Draw from the first nine times out of ten."""
    return st.sampled_from((often,) * 9 + (seldom,)).flatmap(lambda chosen: chosen)


def _leading(records: Drawn, field: str) -> Drawn:
    """Have references mostly lead somewhere."""
    if field not in LEADING:
        return records
    kept = records.map(lambda record: {key: each for key, each in record.items() if key not in MISSES})
    led = st.tuples(kept, st.sampled_from(LEADING[field])).map(lambda parts: {**parts[0], **parts[1]})
    return mostly(led, records)


@cache
def _text(demand: Text | OneOf | None, field: str) -> Drawn:
    known = [each for each in BY_FIELD.get(field, ()) if isinstance(each, str)]
    match demand:
        case OneOf(options):
            return mostly(st.sampled_from(options), st.just(LATER_WORD))
        case Text():
            fitting = [each for each in SPELLS if _fits(each, demand)]
            free = _free_text(demand)
            others = mostly(st.sampled_from(fitting), free) if fitting else free
            return mostly(st.sampled_from(known), others) if known else others
        case None:
            return st.sampled_from(known or SPELLS) | st.text(max_size=20)


def _fits(text: str, demand: Text) -> bool:
    matches = demand.pattern is None or demand.pattern.fullmatch(text) is not None
    return (
        matches and demand.shortest <= len(text) and (demand.longest is None or len(text) <= demand.longest)
    )


def _free_text(demand: Text) -> Drawn:
    if demand.pattern is None:
        return st.text(min_size=demand.shortest, max_size=min(demand.longest or 20, 20))
    return st.from_regex(demand.pattern, fullmatch=True).filter(lambda text: _fits(text, demand))


@cache
def _number(demand: Between | OneOf | None, field: str) -> Drawn:
    known = [each for each in BY_FIELD.get(field, ()) if isinstance(each, int)]
    match demand:
        case OneOf(options):
            return mostly(st.sampled_from(options), st.just(LATER_NUMBER))
        case Between(least, most):
            others = st.sampled_from((least, most)) | st.integers(least, most)
            return mostly(st.sampled_from(known), others) if known else others
        case None:
            return st.sampled_from((0, 1, -1, 2**31 - 1, 2**63 - 1))


def _list(item: Shape, demand: Items, field: str) -> Drawn:
    least = max(demand.fewest, field in LEADING)
    most = max(least, min(demand.most or MOST_ITEMS, MOST_ITEMS))
    return st.lists(drawn(item, field), min_size=least, max_size=most)


def _map(value: Shape, demand: Entries | None, field: str) -> Drawn:
    most = min(demand.most, MOST_ENTRIES) if demand else MOST_ENTRIES
    return st.dictionaries(st.sampled_from(KEYS), drawn(value, field), max_size=most)


def _record(shape: RecordShape) -> Drawn:
    """Draw every required field and every reference, and some of the others."""
    fields = {name: _field(name, each.shape) for name, each in shape.fields.items()}
    always = {
        name for name, each in shape.fields.items() if each.required or name in {*LEADING, "spec", "rules"}
    }
    return st.fixed_dictionaries(
        {name: each for name, each in fields.items() if name in always},
        optional={name: each for name, each in fields.items() if name not in always},
    )


def _field(name: str, shape: Shape) -> Drawn:
    return st.deferred(lambda: drawn(shape, name))


def _mend(draw: st.DrawFn, manifest: Json, shape: Shape, finding: Finding) -> bool:
    """Take away what is found fault with, or draw what is missing; say whether anything could be done."""
    steps = [int(found[1]) if found[1] else found[2] or found[3] for found in STEPS.finditer(finding.path)]
    holder: Any = manifest
    for depth, step in enumerate(steps):
        inside = _inside(shape, step)
        if not _has(holder, step):
            if inside is not None and isinstance(holder, dict):
                holder[step] = draw(drawn(inside, str(step)))
                return True
            return False
        if depth == len(steps) - 1:
            del holder[step]
            return depth > 0
        holder, shape = holder[step], inside or AnyShape()
    return False


def _has(holder: object, step: str | int) -> bool:
    if isinstance(holder, dict):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and step < len(holder)


def _inside(shape: Shape, step: str | int) -> Shape | None:
    """Return the shape of a field or an item."""
    match shape:
        case RecordShape(fields):
            return fields[str(step)].shape if step in fields else None
        case ListShape(item=below) | MapShape(value=below):
            return below
        case TextShape() | NumberShape() | NumberOrTextShape() | FlagShape() | TimeShape() | AnyShape():
            return None
