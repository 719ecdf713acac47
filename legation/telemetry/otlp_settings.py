"""Whether traces are sent, and where to: by the variables that OpenTelemetry names for all programs."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote

from msgspec import Struct

SERVICE = "legation"
SPOKEN = "http/protobuf"
BY_SHARE = "traceidratio"
SHARES = MappingProxyType({"always_on": 1.0, "always_off": 0.0, BY_SHARE: 1.0})
PARENT = "parentbased_"  # changes have no parent of somebody else's, so that it makes no difference


class NotUnderstoodError(Exception):
    """A variable has a value that means nothing here; says which, and what it may be."""


class Traces(Struct, frozen=True):
    """Where traces go, and which of them."""

    endpoint: str
    resource: Mapping[str, str]  # who tells it
    headers: Mapping[str, str]
    share: float = 1.0  # of all changes, at random
    timeout: float = 10.0  # seconds
    roots: Path | None = None  # that prove the collector; without any, those of the machine


def traces(variables: Mapping[str, str]) -> Traces | None:
    """Read the variables; without an endpoint nothing is sent."""
    endpoint = _endpoint(variables)
    if not endpoint or variables.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    if _exporter(variables) == "none":
        return None
    _one_of("OTEL_EXPORTER_OTLP_PROTOCOL", _of_traces(variables, "PROTOCOL") or SPOKEN, (SPOKEN,))
    roots = _of_traces(variables, "CERTIFICATE")
    return Traces(
        endpoint=endpoint,
        resource=_resource(variables),
        headers=_headers(variables),
        share=_share(variables),
        timeout=_number(_of_traces(variables, "TIMEOUT") or "10000", "OTEL_EXPORTER_OTLP_TIMEOUT") / 1000,
        roots=Path(roots) if roots else None,
    )


def _endpoint(variables: Mapping[str, str]) -> str:
    own = variables.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
    common = variables.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return own or (f"{common.rstrip('/')}/v1/traces" if common else "")


def _exporter(variables: Mapping[str, str]) -> str:
    name = "OTEL_TRACES_EXPORTER"
    return _one_of(name, variables.get(name) or "otlp", ("otlp", "none"))


def _of_traces(variables: Mapping[str, str], what: str) -> str:
    """What is said of traces wins over what is said of everything."""
    return variables.get(f"OTEL_EXPORTER_OTLP_TRACES_{what}") or variables.get(
        f"OTEL_EXPORTER_OTLP_{what}", ""
    )


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        message = f"{name}={value} is not known here: it may be {' or '.join(known)}"
        raise NotUnderstoodError(message)
    return value


def _resource(variables: Mapping[str, str]) -> Mapping[str, str]:
    name = "OTEL_RESOURCE_ATTRIBUTES"
    said = _pairs(variables.get(name, ""), name)
    service = variables.get("OTEL_SERVICE_NAME") or said.get("service.name") or SERVICE
    return {**said, "service.name": service}


def _headers(variables: Mapping[str, str]) -> Mapping[str, str]:
    name = "OTEL_EXPORTER_OTLP_HEADERS"
    headers = _pairs(_of_traces(variables, "HEADERS"), name)
    if not all(each.isprintable() for each in (*headers, *headers.values())):
        message = f"{name} is not understood: it holds what no header may, such as the end of a line"
        raise NotUnderstoodError(message)
    return headers


def _pairs(text: str, name: str) -> Mapping[str, str]:
    """Read `key=value,key=value`, as W3C baggage is written."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not equals or not key.strip() for key, equals, _ in pairs):
        message = f"{name} is not understood: it is written KEY=VALUE,KEY=VALUE"
        raise NotUnderstoodError(message)
    return {unquote(key.strip()): unquote(value.strip()) for key, _, value in pairs}


def _share(variables: Mapping[str, str]) -> float:
    name = "OTEL_TRACES_SAMPLER"
    sampler = (variables.get(name) or "always_on").removeprefix(PARENT)
    if _one_of(name, sampler, tuple(SHARES)) != BY_SHARE:
        return SHARES[sampler]
    name = "OTEL_TRACES_SAMPLER_ARG"
    return min(1.0, _number(variables.get(name) or "1", name))


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        message = f"{name}={text} is no number that is 0 or more"
        raise NotUnderstoodError(message)
    return number
