"""Objects that are nearly right: valid ones, changed in a few places by what the schema says may be there."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]

# Strings at which patterns and rules change their mind.
_STRINGS = (
    *("", "a", "A", "-a", "a-", "a.b", "a..b", ".a.b", "a_b", "a" * 63, "a" * 64, "a" * 253, "a" * 254),
    *(
        "é",
        "a b",
        "a\n",
        "1",
        "x y",
        "x  y",
        "x\ty",
        "x ",
        "app",
        "example.com/app",
        "example.com//app",
        "A/b",
    ),
    *("Service", "XBackend", "Gateway", "ConfigMap", "ClusterTrustBundle"),
    *("certificates.k8s.io", "gateway.networking.x-k8s.io", "example.com", "*.example.com", "*"),
    *("192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4", "Hostname", "IPAddress", "xIPAddressx", "NamedAddress"),
    *("System", "example.com/roots", "example.com/", "k8s.io/a", "a.k8s.io/b", "Cluster", "a/b"),
    *("/", "/a", "//", "/a/./b", "/a/../b", "/..", "/a%2fb", "/a%", "/é", "a?b", "#"),
    *("10s", "0s", "1h30m", "1001ms", "10", "100000s", "1h1h1h1h1h"),
    *("spiffe://example.com/a", "https:a", "://", "http://a", "https://*.a:80", "https://a..b", "http://*"),
    *("GET", "get", "HTTP", "HTTPS", "TLS", "TCP", "UDP"),
)
_NUMBERS = (
    *(0, 1, 2, 80, 99, 100, 101, 302, 303, 304, 400, 599, 600, 65535, 65536),
    *(-1, 1_000_000, 1_000_001, 2**31),
)
_WRONG: tuple[Any, ...] = (True, "text", 7, 1.5, [], {}, None)
_LONG = 20  # items; a list that may have more is not filled


def mutants(
    valid: dict[str, Any], schema: Schema, chance: random.Random, count: int
) -> Iterator[dict[str, Any]]:
    """Give so many variants of a valid object, each changed in one to three places below its spec."""
    for _ in range(count):
        thing = copy.deepcopy(valid)
        for _ in range(chance.randint(1, 3)):
            _mutate(thing, "spec", schema["properties"]["spec"], chance)
        if chance.random() < 0.05:
            thing["metadata"]["name"] = chance.choice(_STRINGS)
        yield thing


def _mutate(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    """Walk down a random way, and change what is at its end."""
    value = parent[key]
    ways = _ways(value, schema)
    if not ways or chance.random() > 0.85:
        chance.choice(_CHANGES)(parent, key, schema, chance)
        return
    name, below = chance.choice(ways)
    if isinstance(value, dict) and name not in value:
        value[name] = grow(below, chance)
    else:
        _mutate(value, name, below, chance)


def _ways(value: Any, schema: Schema) -> list[tuple[Any, Schema]]:  # noqa: ANN401  any JSON
    if isinstance(value, dict) and "properties" in schema:
        return list(schema["properties"].items())
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        return [(key, schema["additionalProperties"]) for key in value]
    if isinstance(value, list) and "items" in schema:
        return [(index, schema["items"]) for index in range(len(value))]
    return []


def _replace(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    parent[key] = grow(schema, chance)


def _repeat(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    if isinstance(parent[key], list) and parent[key]:
        parent[key].append(copy.deepcopy(chance.choice(parent[key])))
    else:
        _replace(parent, key, schema, chance)


def _remove(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    if isinstance(parent, dict) and key != "spec":
        del parent[key]
    else:
        _replace(parent, key, schema, chance)


def _misspell(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    if isinstance(parent[key], dict):
        parent[key][chance.choice(("extra", "name", "port"))] = chance.choice(_STRINGS)
    else:
        _replace(parent, key, schema, chance)


def _confuse(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  any JSON
    if chance.random() < 0.3:
        parent[key] = copy.deepcopy(chance.choice(_WRONG))
    else:
        _replace(parent, key, schema, chance)


_CHANGES: tuple[Callable[[Any, Any, Schema, random.Random], None], ...] = (
    _replace,
    _repeat,
    _remove,
    _misspell,
    _confuse,
)


def grow(schema: Schema, chance: random.Random) -> Any:  # noqa: ANN401  any JSON
    """Make a value of about the schema's shape."""
    if "enum" in schema and chance.random() < 0.9:
        return chance.choice(schema["enum"])
    makers: dict[str, Callable[[Schema, random.Random], Any]] = {
        "object": _grow_map,
        "array": _grow_list,
        "integer": lambda _, chance: chance.choice(_NUMBERS),
        "boolean": lambda _, chance: chance.choice((True, False)),
        "string": lambda _, chance: chance.choice(_STRINGS),
    }
    return makers[schema["type"]](schema, chance)


def _grow_map(schema: Schema, chance: random.Random) -> dict[str, Any]:
    if "properties" in schema:
        required = schema.get("required", [])
        names = [name for name in schema["properties"] if name in required or chance.random() < 0.3]
        return {name: grow(schema["properties"][name], chance) for name in names}
    size = chance.choice((0, 1, 2, 9, 17))
    return {chance.choice(_STRINGS): grow(schema["additionalProperties"], chance) for _ in range(size)}


def _grow_list(schema: Schema, chance: random.Random) -> list[Any]:
    most = schema.get("maxItems", _LONG)
    sizes = (0, 1, 1, 1, 2, 2, 3, most, most + 1) if most < _LONG else (0, 1, 1, 2, 2, 3)
    return [grow(schema["items"], chance) for _ in range(chance.choice(sizes))]
