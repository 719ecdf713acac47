"""What Envoy itself says of serialized resources: its validate mode loads them as a static bootstrap."""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import any_pb2, json_format, message, symbol_database

from tests.real_envoy import ENVOY
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET
from translator.envoy.upstream_tls import LONGEST_PROOF

ANSWERS_WITHIN = 60.0
SYSTEM_ROOTS = "legation/system-roots"  # what an Envoy of ours finds in its bootstrap under this name
ONLY_WAY = "OpenTelemetryAccessLogConfig.common_config"  # deprecated, and xds-protos has no successor yet
CHANNEL = "the channel that resources arrive by"
IMPORTED = (tls_pb2, http_protocol_options_pb2)  # types that an Any of the bootstrap names
SKELETON = {
    "node": {"id": "validate", "cluster": "tests/validate"},
    "dynamic_resources": {
        "ads_config": {
            "api_type": "DELTA_GRPC",
            "transport_api_version": "V3",
            "grpc_services": [{"envoy_grpc": {"cluster_name": CHANNEL}}],
        }
    },
    "layered_runtime": {
        "layers": [
            {
                "name": "as in our bootstrap",
                "static_layer": {
                    "re2.max_program_size.error_level": LONGEST_PROOF,
                    "re2.max_program_size.warn_level": LONGEST_PROOF,
                },
            }
        ]
    },
    "static_resources": {
        "clusters": [
            {
                "name": CHANNEL,
                "load_assignment": {"cluster_name": CHANNEL},
                "typed_extension_protocol_options": {
                    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                        "explicit_http_config": {"http2_protocol_options": {}},
                    }
                },
            }
        ]
    },
}
Resources = Mapping[str, Mapping[str, bytes]]  # serialized, by type and name


class RefusedByEnvoyError(AssertionError):
    """Envoy does not take a resource; the message holds its own words."""


def validate(resources: Resources) -> None:
    """Let Envoy judge resources, in about 50 ms; a deprecated field is an objection too.

    Route tables, secrets and endpoints stand in place of the references to them, so that Envoy reads them as
    deeply as if they had been delivered. A secret that a cluster or a listener names, and a cluster that a
    route table names, must be among the resources.
    """
    with tempfile.TemporaryDirectory(prefix="envoy-") as folder:
        path = Path(folder) / "bootstrap.pb"  # read as it is served, without a detour over JSON
        path.write_bytes(bootstrap(_with_every_table_led_to(resources)).SerializeToString())
        command = [str(ENVOY), "--mode", "validate", "--log-level", "warning", "-c", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=ANSWERS_WITHIN, check=False)
    objections = [line for line in run.stderr.splitlines() if "deprecated" in line and ONLY_WAY not in line]
    if run.returncode or objections:
        raise RefusedByEnvoyError(run.stderr or f"exit {run.returncode}")


def bootstrap(resources: Resources) -> bootstrap_pb2.Bootstrap:
    """Return a bootstrap that holds all resources."""
    whole = bootstrap_pb2.Bootstrap()
    json_format.ParseDict(SKELETON, whole)
    static = whole.static_resources
    for body in resources.get(SECRET, {}).values():
        static.secrets.add().ParseFromString(body)
    for body in resources.get(CLUSTER, {}).values():
        static.clusters.add().ParseFromString(body)
    for body in resources.get(LISTENER, {}).values():
        static.listeners.add().ParseFromString(body)
    _resolve(static, resources)
    if SYSTEM_ROOTS not in resources.get(SECRET, {}):
        roots = static.secrets.add(name=SYSTEM_ROOTS)
        roots.validation_context.trusted_ca.inline_bytes = some_root()
    return whole


def runnable(resources: Resources) -> Mapping[str, object]:
    """Return the same as a configuration that a real Envoy can be started from."""
    whole: Mapping[str, object] = json_format.MessageToDict(bootstrap(resources))
    return whole


@cache
def some_root() -> bytes:
    """Return a certificate that can stand as a root."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    dated = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    return dated.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _with_every_table_led_to(resources: Resources) -> Resources:
    """Add a listener for each route table, so that none stays unread."""
    leading = {f"leads to {table}": _listener_of(table) for table in resources.get(ROUTES, {})}
    return {**resources, LISTENER: {**resources.get(LISTENER, {}), **leading}}


def _listener_of(table: str) -> bytes:
    """Return a listener that does nothing but lead to a route table."""
    manager = http_connection_manager_pb2.HttpConnectionManager(stat_prefix="table")
    manager.rds.route_config_name = table
    manager.http_filters.add(name="router").typed_config.Pack(router_pb2.Router())
    listener = listener_pb2.Listener(name=f"leads to {table}")
    listener.address.pipe.path = f"@{sha256(table.encode()).hexdigest()}"  # a long name would not fit
    listener.filter_chains.add().filters.add(name="http").typed_config.Pack(manager)
    return bytes(listener.SerializeToString())


def _resolve(whole: message.Message, resources: Resources) -> None:
    """Put what is referred to in the place of each reference, at any depth."""
    for part in _parts(whole):
        if isinstance(part, any_pb2.Any):
            inner = symbol_database.Default().GetSymbol(part.TypeName()).FromString(part.value)
            _replace(inner, resources)
            _resolve(inner, resources)
            part.value = inner.SerializeToString(deterministic=True)
        else:
            _replace(part, resources)
            _resolve(part, resources)


def _replace(part: message.Message, resources: Resources) -> None:
    """Put what a reference leads to in its place, if it is among the resources."""
    match part:
        case secret_pb2.SdsSecretConfig():
            part.ClearField("sds_config")
        case http_connection_manager_pb2.HttpConnectionManager() if part.HasField("rds"):
            if body := resources.get(ROUTES, {}).get(part.rds.route_config_name):
                part.route_config.ParseFromString(body)
                part.route_config.validate_clusters.value = True
        case cluster_pb2.Cluster() if part.HasField("eds_cluster_config"):
            if body := resources.get(ENDPOINTS, {}).get(part.eds_cluster_config.service_name):
                part.type = cluster_pb2.Cluster.STATIC
                part.ClearField("eds_cluster_config")
                part.load_assignment.ParseFromString(body)


def _parts(whole: message.Message) -> Iterator[message.Message]:
    """Yield the messages that a message directly consists of."""
    for field, value in whole.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            yield from (part for part in value.values() if isinstance(part, message.Message))
        elif field.is_repeated:
            yield from value
        else:
            yield value
