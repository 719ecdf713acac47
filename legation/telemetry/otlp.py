"""Sends spans to a collector by OTLP over HTTP; the one module that knows its messages."""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus

import aiohttp
import structlog
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # type: ignore[import-untyped]  # generated
from opentelemetry.proto.common.v1 import common_pb2  # type: ignore[import-untyped]  # generated
from opentelemetry.proto.trace.v1 import trace_pb2  # type: ignore[import-untyped]  # generated

from legation.telemetry.otlp_settings import Traces
from legation.telemetry.tracing import Span, Tracer, Value

GATHER = 1.0  # seconds between two requests
MOST_KEPT = 4_096  # spans that wait; of more, the oldest go
AT_ONCE = 512  # spans in one request
GOODBYE = 2.0  # seconds for what is left at the end
CONTENT = "application/x-protobuf"
NANO = 1_000_000_000


class Exporter:
    """Sends what a tracer tells, many spans at once; what a collector does not take is lost."""

    def __init__(self, settings: Traces) -> None:
        """Begin with nothing to send."""
        self._settings = settings
        self._log = structlog.get_logger()
        self._waiting: deque[Span] = deque(maxlen=MOST_KEPT)
        self._failure = ""
        self._epoch = time.time() - time.monotonic()  # once, or parts of a trace would not fit together
        self.tracer = Tracer(self._waiting.append, settings.share)

    async def run(self) -> None:
        """Send what there is once in a while until cancelled; then send the rest."""
        timeout = aiohttp.ClientTimeout(total=self._settings.timeout)
        headers = {**self._settings.headers, "Content-Type": CONTENT}
        connector = aiohttp.TCPConnector(ssl=await self._trust())
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
            try:
                while True:
                    await asyncio.sleep(GATHER)
                    self.tracer.tidy()
                    await self._send(session)
            finally:
                with suppress(TimeoutError):
                    async with asyncio.timeout(GOODBYE):
                        await self._send(session)

    async def _trust(self) -> ssl.SSLContext | bool:
        """Give what proves the collector, once it can be read; until then nothing is sent."""
        while True:
            try:
                roots = self._settings.roots
                return ssl.create_default_context(cafile=roots) if roots else True
            except OSError as error:
                self._complain(f"{self._settings.roots} cannot be trusted: {error.strerror or error}")
            await asyncio.sleep(GATHER)
            self.tracer.tidy()

    async def _send(self, session: aiohttp.ClientSession) -> None:
        while self._waiting:
            spans = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            self._complain(await self._post(session, message(spans, self._settings.resource, self._epoch)))

    def _complain(self, why: str) -> None:
        """Say once that traces are lost, and nothing more until one is taken or it fails otherwise."""
        if why and why != self._failure:
            self._log.warning("traces are not taken", url=self._settings.endpoint, why=why)
        self._failure = why

    async def _post(self, session: aiohttp.ClientSession, body: bytes) -> str:
        """Send one request; return what went wrong."""
        try:
            async with session.post(self._settings.endpoint, data=body) as answer:
                return "" if answer.status == HTTPStatus.OK else f"HTTP {answer.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return f"{type(error).__name__}: {error}"


def message(spans: Iterable[Span], resource: Mapping[str, str], epoch: float) -> bytes:
    """Write spans as a collector reads them; the epoch is when the monotonic clock began."""
    request = trace_service_pb2.ExportTraceServiceRequest()
    whole = request.resource_spans.add()
    whole.resource.attributes.extend(_attribute(name, value) for name, value in sorted(resource.items()))
    part = whole.instrumentation_library_spans.add()  # which is what scopes were called
    part.instrumentation_library.name = "legation"
    part.spans.extend(_span(span, epoch) for span in spans)
    return bytes(request.SerializeToString())


def _span(span: Span, epoch: float) -> object:
    failed = trace_pb2.Status.STATUS_CODE_ERROR if span.error else trace_pb2.Status.STATUS_CODE_UNSET
    return trace_pb2.Span(
        trace_id=span.trace,
        span_id=span.own,
        parent_span_id=span.parent,
        name=span.name,
        kind=trace_pb2.Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=int((epoch + span.begun) * NANO),
        end_time_unix_nano=int((epoch + span.ended) * NANO),
        attributes=[_attribute(name, value) for name, value in span.attributes.items()],
        status=trace_pb2.Status(code=failed, message=span.error),
    )


def _attribute(name: str, value: Value) -> object:
    return common_pb2.KeyValue(key=name, value=_value(value))


def _value(value: Value) -> object:
    match value:
        case bool():
            return common_pb2.AnyValue(bool_value=value)
        case int():
            return common_pb2.AnyValue(int_value=value)
        case float():
            return common_pb2.AnyValue(double_value=value)
        case str():
            return common_pb2.AnyValue(string_value=value)
        case tuple():
            values = common_pb2.ArrayValue(values=[_value(each) for each in value])
            return common_pb2.AnyValue(array_value=values)
