"""Access logs and traces: which words they are made of, and where they go."""

from types import MappingProxyType

from envoy.config.accesslog.v3 import accesslog_pb2
from envoy.config.core.v3 import grpc_service_pb2
from envoy.config.trace.v3 import opentelemetry_pb2
from envoy.extensions.access_loggers.open_telemetry.v3 import logs_service_pb2
from envoy.extensions.access_loggers.stream.v3 import stream_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2

from translator.envoy.encode import packed
from translator.rules.backends import Backend
from translator.rules.telemetry import Telemetry

LOG_NAME = "access"
OF_CONNECTIONS = MappingProxyType({
    "time": "%START_TIME%",
    "client": "%DOWNSTREAM_REMOTE_ADDRESS%",
    "listener": "%FILTER_CHAIN_NAME%",
    "client_tls": "%DOWNSTREAM_TLS_VERSION%",
    "client_subject": "%DOWNSTREAM_PEER_SUBJECT%",
    "server_name": "%REQUESTED_SERVER_NAME%",
    "received": "%BYTES_RECEIVED%",
    "sent": "%BYTES_SENT%",
    "duration": "%DURATION%",
    "flags": "%RESPONSE_FLAGS%",
    "cluster": "%UPSTREAM_CLUSTER%",
    "endpoint": "%UPSTREAM_HOST%",
    "policy": "%METADATA(CLUSTER:legation.dev:policy)%",
    "verification": "%METADATA(CLUSTER:legation.dev:verification)%",  # what is left out of the proof
    "backend_tls": "%UPSTREAM_TLS_VERSION%",
    "backend_cipher": "%UPSTREAM_TLS_CIPHER%",
    "backend_subject": "%UPSTREAM_PEER_SUBJECT%",
    "backend_failure": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
})  # fmt: skip
OF_REQUESTS = MappingProxyType({
    **OF_CONNECTIONS,
    "method": "%REQ(:METHOD)%",
    "host": "%REQ(:AUTHORITY)%",
    "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
    "protocol": "%PROTOCOL%",
    "status": "%RESPONSE_CODE%",
    "grpc_status": "%GRPC_STATUS%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "route": "%ROUTE_NAME%",
    "forwarded_for": "%REQ(X-FORWARDED-FOR)%",
    "user_agent": "%REQ(USER-AGENT)%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "trace_id": "%TRACE_ID%",
})  # fmt: skip
VERIFICATION = OF_CONNECTIONS["verification"]
CONNECTION_LINE = (
    "[%START_TIME%] %DOWNSTREAM_REMOTE_ADDRESS% %FILTER_CHAIN_NAME% %RESPONSE_FLAGS% "
    "%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %UPSTREAM_CLUSTER% %UPSTREAM_HOST% %UPSTREAM_TLS_VERSION% "
    f"{VERIFICATION}"
)
REQUEST_LINE = (
    "[%START_TIME%] %DOWNSTREAM_REMOTE_ADDRESS% "
    '"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %REQ(:AUTHORITY)% '
    '%RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% "%ROUTE_NAME%" '
    f"%UPSTREAM_CLUSTER% %UPSTREAM_HOST% %UPSTREAM_TLS_VERSION% %REQ(X-REQUEST-ID)% {VERIFICATION}"
)


def request_logs(told: Telemetry) -> list[accesslog_pb2.AccessLog]:
    """Return the logs that each request is written to."""
    return _logs(told, OF_REQUESTS, REQUEST_LINE)


def connection_logs(told: Telemetry) -> list[accesslog_pb2.AccessLog]:
    """Return the logs that each connection is written to which is passed on."""
    return _logs(told, OF_CONNECTIONS, CONNECTION_LINE)


def tracing(told: Telemetry) -> http_connection_manager_pb2.HttpConnectionManager.Tracing | None:
    """Return how requests are traced; no client may ask for it by Envoy's own header."""
    if not isinstance(told.traces_to, Backend):
        return None
    tracer = opentelemetry_pb2.OpenTelemetryConfig(
        grpc_service=_reaching(told.traces_to), service_name=told.service_name
    )
    made = http_connection_manager_pb2.HttpConnectionManager.Tracing(
        client_sampling={}, random_sampling={"value": told.sampled}
    )
    made.provider.name = "envoy.tracers.opentelemetry"
    made.provider.typed_config.CopyFrom(packed(tracer))
    return made


def collectors(told: Telemetry) -> frozenset[str]:
    """Name the clusters that are told something."""
    return frozenset(str(each) for each in told.collectors if isinstance(each, Backend))


def _logs(told: Telemetry, words: MappingProxyType[str, str], line: str) -> list[accesslog_pb2.AccessLog]:
    logs = []
    if told.stdout != "Off":
        logs.append(_on_stdout(words if told.stdout == "JSON" else line))
    if isinstance(told.logs_to, Backend):
        logs.append(_over_otlp(told, told.logs_to, words, line))
    return logs


def _on_stdout(written: MappingProxyType[str, str] | str) -> accesslog_pb2.AccessLog:
    log = stream_pb2.StdoutAccessLog()
    if isinstance(written, str):
        log.log_format.text_format_source.inline_string = f"{written}\n"
    else:
        log.log_format.json_format.update(written)
    return accesslog_pb2.AccessLog(name="envoy.access_loggers.stdout", typed_config=packed(log))


def _over_otlp(
    told: Telemetry, collector: Backend, words: MappingProxyType[str, str], line: str
) -> accesslog_pb2.AccessLog:
    log = logs_service_pb2.OpenTelemetryAccessLogConfig(
        common_config={  # the messages that we have know no successor of it; Envoys of any age take it
            "log_name": LOG_NAME,
            "grpc_service": _reaching(collector),
            "transport_api_version": "V3",
        }
    )
    log.body.string_value = line
    for key, value in words.items():
        log.attributes.values.add(key=key).value.string_value = value
    log.resource_attributes.values.add(key="service.name").value.string_value = told.service_name
    return accesslog_pb2.AccessLog(name="envoy.access_loggers.open_telemetry", typed_config=packed(log))


def _reaching(collector: Backend) -> grpc_service_pb2.GrpcService:
    name, namespace = collector.port.service.name, collector.port.service.namespace
    authority = f"{name}.{namespace}:{collector.port.port}"
    made = grpc_service_pb2.GrpcService(timeout={"seconds": 5})
    made.envoy_grpc.cluster_name, made.envoy_grpc.authority = str(collector), authority
    return made
