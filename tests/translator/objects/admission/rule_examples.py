"""Examples for the CRDs' rules, put together into whole objects."""

import copy
import re
from pathlib import Path
from typing import NamedTuple

import msgspec
import yaml

from translator.objects.kinds import KINDS

_FILE = Path(__file__).with_name("rules.yaml")
_WRAPPED = {
    "urlRewrite": "URLRewrite",
    "requestMirror": "RequestMirror",
    "cors": "CORS",
    "externalAuth": "ExternalAuth",
}


class Example(NamedTuple):
    rule: str
    accepted: dict[str, object]
    refused: dict[str, object]
    at: str


class _Case(msgspec.Struct):
    rule: str
    kind: str
    put: str
    accepted: object
    refused: object
    at: str
    version: str = "v1"


class _Book(msgspec.Struct):
    objects: dict[str, dict[str, object]]
    cases: list[_Case]


def examples() -> list[Example]:
    book = msgspec.convert(yaml.safe_load(_FILE.read_text()), _Book)
    return [
        Example(
            case.rule,
            _object(case, book.objects[case.kind], case.accepted),
            _object(case, book.objects[case.kind], case.refused),
            case.at,
        )
        for case in book.cases
    ]


def _object(case: _Case, spec: object, snippet: object) -> dict[str, object]:
    [info] = [each for each in KINDS if each.kind == case.kind]
    thing: dict[str, object] = {
        "apiVersion": info.api_version(case.version),
        "kind": case.kind,
        "metadata": {"name": "example", "namespace": "shop"},
        "spec": copy.deepcopy(spec),
    }
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", case.put)]
    _put(thing, steps, copy.deepcopy(snippet))
    return thing


def _put(place: object, steps: list[str | int], snippet: object) -> None:
    """Set a value deep inside, making the way there; a filter on the way gets the type of its settings."""
    match place, steps:
        case dict(), [str(name)]:
            place[name] = snippet
            if name in _WRAPPED:
                place["type"] = _WRAPPED[name]
        case dict(), [str(name), *rest]:
            _put(place.setdefault(name, [] if isinstance(rest[0], int) else {}), rest, snippet)
        case list(), [int(), *rest]:
            if not place:
                place.append({})
            if rest:
                _put(place[0], rest, snippet)
            else:
                place[0] = snippet
        case _:
            message = f"no way to put anything at {steps}"
            raise ValueError(message)
