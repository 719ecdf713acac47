"""Where traces go, by OpenTelemetry's own variables."""

from pathlib import Path

import pytest

from legation.telemetry.otlp_settings import NotUnderstoodError, Traces, traces

HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
SENT = Traces("http://collector:4318/v1/traces", {"service.name": "legation"}, {})


@pytest.mark.parametrize(
    "variables",
    [
        {},
        HERE | {"OTEL_SDK_DISABLED": "true"},
        HERE | {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4318"},
    ],
)
def test_nothing_is_sent_unless_somebody_says_where_to(variables: dict[str, str]) -> None:
    assert traces(variables) is None


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        (HERE, SENT.endpoint),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}, SENT.endpoint),
        (HERE | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://other/otlp"}, "http://other/otlp"),
    ],
)
def test_what_is_said_of_traces_alone_wins_and_is_taken_as_it_is(
    variables: dict[str, str], endpoint: str
) -> None:
    found = traces(variables)
    assert found is not None
    assert found.endpoint == endpoint


def test_every_variable_that_is_documented_is_heard() -> None:
    variables = HERE | {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc, x-tenant=shop",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": "roots.pem",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,service.name=other",
        "OTEL_SERVICE_NAME": "office",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.25",
    }
    assert traces(variables) == Traces(
        SENT.endpoint,
        {"deployment.environment": "test", "service.name": "office"},
        {"authorization": "Bearer abc", "x-tenant": "shop"},
        share=0.25,
        timeout=2.5,
        roots=Path("roots.pem"),
    )
    page = (Path(__file__).parents[3] / "docs" / "tracing.md").read_text()
    assert [name for name in variables if name.replace("_TRACES_PROTOCOL", "_PROTOCOL") not in page] == []


@pytest.mark.parametrize(
    ("sampler", "share"),
    [("", 1.0), ("always_on", 1.0), ("parentbased_always_off", 0.0), ("traceidratio", 1.0)],
)
def test_a_sampler_without_a_share_follows_all_or_nothing(sampler: str, share: float) -> None:
    found = traces(HERE | {"OTEL_TRACES_SAMPLER": sampler})
    assert found is not None
    assert found.share == share


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no-value"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc%0A"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
    ],
)
def test_what_is_not_understood_is_named(name: str, value: str) -> None:
    with pytest.raises(NotUnderstoodError, match=name):
        traces(HERE | {name: value})


def test_a_share_that_is_no_number_is_named() -> None:
    with pytest.raises(NotUnderstoodError, match="OTEL_TRACES_SAMPLER_ARG=nan"):
        traces(HERE | {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "nan"})
