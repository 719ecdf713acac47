"""The CRD that we publish and the struct that we read say the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

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
from translator.objects.constraints import Between, Entries, OneOf, Text
from translator.objects.gateway_parameters import GatewayParametersSpec

ROOT = Path(__file__).parents[3]
CRD = yaml.safe_load((ROOT / "deploy/helm/legation/crds/legation.dev_gatewayparameters.yaml").read_text())
[VERSION] = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]["properties"]["spec"]


def structure(schema: Mapping[str, Any]) -> object:
    """Reduce a schema to what a struct can say: fields, types, bounds."""
    if schema.get("x-kubernetes-int-or-string"):
        return "number or text", schema["minLength"], schema["maxLength"]
    match schema["type"]:
        case "object" if "additionalProperties" in schema:
            return {"*": structure(schema["additionalProperties"])}, schema.get("maxProperties")
        case "object":
            required = frozenset(schema.get("required", ()))
            return {(name, name in required): structure(each) for name, each in schema["properties"].items()}
        case "array":
            return [structure(schema["items"])]
        case "integer":
            return "number", schema["minimum"], schema["maximum"]
        case kind:
            assert kind == "string"
            return "text", tuple(schema.get("enum", ())), schema.get("minLength", 0), schema.get("maxLength")


def known(shape: Shape) -> object:
    """Reduce a struct's shape in the same way."""
    match shape:
        case RecordShape():
            return {(name, each.required): known(each.shape) for name, each in shape.fields.items()}
        case MapShape():
            return {"*": known(shape.value)}, shape.demand.most if isinstance(shape.demand, Entries) else None
        case ListShape():
            return [known(shape.item)]
        case NumberOrTextShape(demand):
            assert demand is not None
            return "number or text", demand.shortest, demand.longest
        case NumberShape():
            assert isinstance(shape.demand, Between)
            return "number", shape.demand.least, shape.demand.most
        case TextShape():
            return text(shape.demand)
        case FlagShape() | TimeShape() | AnyShape():
            raise AssertionError(shape)


def text(demand: Text | OneOf | None) -> object:
    match demand:
        case OneOf(options):
            return "text", options, 0, None
        case Text(shortest, longest):
            return "text", (), shortest, longest
        case None:
            return "text", (), 0, None


def test_fields_types_and_bounds_are_the_same() -> None:
    published = structure(SCHEMA)
    assert isinstance(published, dict)
    selector = published["backendTLS", False]["namespaceSelector", False]["matchExpressions", False][0]
    selector["operator", True] = ("text", (), 0, None)  # the struct reads operators that are yet to come
    assert published == known(shape_of(GatewayParametersSpec))


def test_everything_is_described() -> None:
    assert [path for path, schema in schemas(SCHEMA, "spec") if not schema.get("description")] == []


def test_defaults_are_those_of_the_struct() -> None:
    given = {path: schema["default"] for path, schema in schemas(SCHEMA, "spec") if "default" in schema}
    assert given == {
        "spec.backendTLS.insecureVerification": GatewayParametersSpec().backend_tls.insecure_verification,
        "spec.envoy.autoscaling.minReplicas": 1,
        "spec.envoy.autoscaling.cpuUtilization": 70,
        "spec.clients.requestRate.per": "1s",
        "spec.ports.clients.requestRate.per": "1s",
        "spec.listeners.clients.requestRate.per": "1s",
    }


def schemas(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every field's schema, by its path."""
    yield path, schema
    inner = schema.get("items", schema)
    for name, each in inner.get("properties", {}).items():
        yield from schemas(each, f"{path}.{name}")
