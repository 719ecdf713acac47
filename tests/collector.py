"""A collector of logs and spans over OTLP, which keeps what it is told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from aiohttp import web
from msgspec import Struct
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2  # type: ignore[import-untyped]  # generated
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # type: ignore[import-untyped]  # generated

from tests.loopback import LOOPBACK
from tests.pki import Issued

Told = Any  # generated messages, without annotations


class Collector(Struct, frozen=True):
    """Where it listens, and what it has been told."""

    port: int
    logs: asyncio.Queue[Told]  # records, each with whom it is from
    spans: asyncio.Queue[Told]


class Service(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    """Takes what is exported; xds-protos calls scopes by an older name of the same fields."""

    def __init__(self, logs: asyncio.Queue[Told], spans: asyncio.Queue[Told]) -> None:
        """Keep what is told in these."""
        self._logs = logs
        self._spans = spans

    def service(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """Name who takes a call."""
        match call.method:
            case "/opentelemetry.proto.collector.logs.v1.LogsService/Export":
                return _handler(self._take_logs, logs_service_pb2.ExportLogsServiceRequest.FromString)
            case "/opentelemetry.proto.collector.trace.v1.TraceService/Export":
                return _handler(self._take_spans, trace_service_pb2.ExportTraceServiceRequest.FromString)
            case _:
                return None

    async def _take_logs(self, request: Told, _: grpc.aio.ServicerContext) -> Told:
        for whole in request.resource_logs:
            records = (each for part in whole.instrumentation_library_logs for each in part.logs)
            for record in records:
                self._logs.put_nowait((attributes(whole.resource), record))
        return logs_service_pb2.ExportLogsServiceResponse()

    async def _take_spans(self, request: Told, _: grpc.aio.ServicerContext) -> Told:
        for whole in request.resource_spans:
            spans = (each for part in whole.instrumentation_library_spans for each in part.spans)
            for span in spans:
                self._spans.put_nowait((attributes(whole.resource), span))
        return trace_service_pb2.ExportTraceServiceResponse()


@asynccontextmanager
async def collecting(shows: Issued | None = None) -> AsyncIterator[Collector]:
    """Take logs and spans, over TLS if there is a certificate to show."""
    logs: asyncio.Queue[Told] = asyncio.Queue()
    spans: asyncio.Queue[Told] = asyncio.Queue()
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Service(logs, spans),))
    port = _listening(server, shows)
    await server.start()
    try:
        yield Collector(port, logs, spans)
    finally:
        await server.stop(grace=None)


@asynccontextmanager
async def collecting_over_http(answers: int = 200) -> AsyncIterator[Collector]:
    """Take spans as an OTLP receiver over HTTP does, or refuse them."""
    spans: asyncio.Queue[Told] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        told = trace_service_pb2.ExportTraceServiceRequest.FromString(await request.read())
        for whole in told.resource_spans:
            for span in (each for part in whole.instrumentation_library_spans for each in part.spans):
                spans.put_nowait((attributes(whole.resource), span))
        return web.Response(status=answers)

    app = web.Application()
    app.add_routes([web.post("/v1/traces", take)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, 0).start()
        yield Collector(runner.addresses[0][1], asyncio.Queue(), spans)
    finally:
        await runner.cleanup()


def attributes(thing: Told) -> dict[str, str]:
    """Return the attributes of a resource, a record or a span that are text."""
    return {each.key: each.value.string_value for each in thing.attributes}


async def traced(collector: Collector, whose: Callable[[list[str]], bool], within: float) -> dict[str, Told]:
    """Wait for the trace of the change that is about such objects; return its spans by name."""
    traces: dict[bytes, dict[str, Told]] = {}
    async with asyncio.timeout(within):
        while True:
            _, span = await collector.spans.get()
            parts = traces.setdefault(span.trace_id, {})
            parts[span.name] = span
            lists = [each.value.array_value for each in span.attributes if each.key == "legation.objects"]
            if whose([each.string_value for objects in lists for each in objects.values]):
                return parts


def is_whole(parts: dict[str, Told]) -> bool:
    """Say whether all spans of a change are its parts, and lie within it."""
    change = parts["change"]
    return all(
        change.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        and span.end_time_unix_nano <= change.end_time_unix_nano
        and (span is change or span.parent_span_id == change.span_id)
        for span in parts.values()
    )


def _listening(server: grpc.aio.Server, shows: Issued | None) -> int:
    if shows is None:
        return int(server.add_insecure_port(f"{LOOPBACK}:0"))
    pair = (shows.key_pem.encode(), shows.chain_pem.encode())
    return int(server.add_secure_port(f"{LOOPBACK}:0", grpc.ssl_server_credentials([pair])))


def _handler(take: Callable[..., Any], read: Callable[[bytes], Told]) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(
        take, request_deserializer=read, response_serializer=lambda answer: answer.SerializeToString()
    )
