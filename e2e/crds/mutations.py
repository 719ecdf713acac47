"""Objects that are nearly right: valid ones, changed in a few places by what the schema says can stand there."""

import copy
import random
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# Strings at which patterns and rules change their mind.
_STRINGS = (
    "", "a", "A", "-a", "a-", "a.b", "a..b", "a_b", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "é", "a b", "a\n", "1",
    "Service", "XBackend", "Gateway", "ConfigMap", "ClusterTrustBundle", "certificates.k8s.io",
    "gateway.networking.x-k8s.io", "example.com", "*.example.com", "*", "192.0.2.1", "2001:db8::1", "::ffff:1.2.3.4",
    "System", "example.com/roots", "example.com/", "k8s.io/a", "a.k8s.io/b", "Cluster", "/", "/a", "//", "/a/./b",
    "/a/../b", "/..", "/a%2fb", "/a%", "/é", "a?b", "#", "10s", "0s", "1h30m", "1001ms", "10", "100000s", "1h1h1h1h1h",
    "spiffe://example.com/a", "https:a", "://", "http://a", "https://*.a:80", "https://a..b", "http://*", "GET", "get",
    "HTTP", "HTTPS", "TLS", "TCP", "UDP", "Hostname", "IPAddress", "xIPAddressx", "NamedAddress", ".a.b", "a/b", "x y",
    "x  y", "x\ty", "x ", "app", "example.com/app", "example.com//app", "A/b",
)  # fmt: skip
_NUMBERS = (
    0,
    1,
    2,
    80,
    99,
    100,
    101,
    302,
    303,
    304,
    400,
    599,
    600,
    65535,
    65536,
    -1,
    1_000_000,
    1_000_001,
    2**31,
)
_WRONG = (True, "text", 7, 1.5, [], {}, None)


def mutants(
    valid: dict[str, Any], schema: Schema, chance: random.Random, count: int
) -> Iterator[dict[str, Any]]:
    """Give so many variants of a valid object, each changed in one to three places below its spec."""
    for _ in range(count):
        thing = copy.deepcopy(valid)
        for _ in range(chance.randint(1, 3)):
            _change(thing, "spec", schema["properties"]["spec"], chance)
        if chance.random() < 0.05:  # noqa: PLR2004  now and then
            thing["metadata"]["name"] = chance.choice(_STRINGS)
        yield thing


def _change(parent: Any, key: Any, schema: Schema, chance: random.Random) -> None:  # noqa: ANN401  JSON of any shape
    """Walk down a random way, and change what is at its end."""
    value = parent[key]
    below = [way for way in _ways(value, schema) if way[1]]
    if below and chance.random() < 0.85:  # noqa: PLR2004  mostly deeper
        name, lower = chance.choice(below)
        if isinstance(value, dict) and name not in value:
            value[name] = grow(lower, chance)
        else:
            _change(value, name, lower, chance)
        return
    match chance.randrange(6):
        case 0 if isinstance(value, list) and value:
            value.append(copy.deepcopy(chance.choice(value)))
        case 1 if isinstance(value, list) and value:
            value.pop(chance.randrange(len(value)))
        case 2 if isinstance(parent, dict) and key != "spec":
            del parent[key]
        case 3 if isinstance(value, dict):
            value[chance.choice(("extra", "name", "port"))] = grow({"type": "string"}, chance)
        case 4 if chance.random() < 0.3:  # noqa: PLR2004  now and then
            parent[key] = copy.deepcopy(chance.choice(_WRONG))
        case _:
            parent[key] = grow(schema, chance)


def _ways(value: Any, schema: Schema) -> list[tuple[Any, Schema]]:  # noqa: ANN401  JSON of any shape
    if isinstance(value, dict) and "properties" in schema:
        return list(schema["properties"].items())
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        return [(key, schema["additionalProperties"]) for key in value]
    if isinstance(value, list) and "items" in schema:
        return [(index, schema["items"]) for index in range(len(value))]
    return []


def grow(schema: Schema, chance: random.Random) -> Any:  # noqa: ANN401  JSON of any shape
    """Make a value of about the schema's shape."""
    if "enum" in schema and chance.random() < 0.9:  # noqa: PLR2004  mostly one of them
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            required = schema.get("required", [])
            names = [name for name in schema["properties"] if name in required or chance.random() < 0.3]  # noqa: PLR2004
            return {name: grow(schema["properties"][name], chance) for name in names}
        case "object":
            lower = schema.get("additionalProperties", {"type": "string"})
            return {
                chance.choice(_STRINGS): grow(lower, chance) for _ in range(chance.choice((0, 1, 2, 9, 17)))
            }
        case "array":
            most = schema.get("maxItems", 3)
            length = chance.choice(
                (0, 1, 1, 1, 2, 2, 3, most if most < 20 else 2, most + 1 if most < 20 else 2)
            )  # noqa: PLR2004
            return [grow(schema["items"], chance) for _ in range(length)]
        case "integer":
            return chance.choice(_NUMBERS)
        case "boolean":
            return chance.choice((True, False))
        case _:
            return chance.choice(_STRINGS)
