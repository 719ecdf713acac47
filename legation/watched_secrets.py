"""Envoy's own identity as files that it watches: renewed without a restart and without a new connection.

Envoy takes changed files only from secrets that come by SDS; SDS may come from a file.
"""

from pathlib import Path

from envoy_data_plane.envoy.config.core.v3 import (
    ApiVersion,
    ConfigSource,
    DataSource,
    PathConfigSource,
    WatchedDirectory,
)
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import (
    CertificateValidationContext,
    SdsSecretConfig,
    Secret,
    TlsCertificate,
)

from legation.addresses import ClientFiles, WatchedFiles
from xds_server.snapshot import SDS

IDENTITY, ROOTS = "legation-identity", "legation-roots"


def watched(files: WatchedFiles, name: str) -> SdsSecretConfig:
    """Say where a secret comes from."""
    path = PathConfigSource(path=str(files.secrets / f"{name}.json"))
    source = ConfigSource(path_config_source=path, resource_api_version=ApiVersion.V3)
    return SdsSecretConfig(name=name, sds_config=source)


def watched_secrets(files: ClientFiles) -> dict[str, dict[str, object]]:
    """Give the files that tell of these, by name: whatever is moved to their folders has them read again."""
    certificate = TlsCertificate(
        certificate_chain=file(files.certificate),
        private_key=file(files.key),
        watched_directory=_beside(files.certificate),
    )
    trust = CertificateValidationContext(
        trusted_ca=file(files.server_ca), watched_directory=_beside(files.server_ca)
    )
    secrets = (
        Secret(name=IDENTITY, tls_certificate=certificate),
        Secret(name=ROOTS, validation_context=trust),
    )
    return {f"{secret.name}.json": _answer(secret) for secret in secrets}


def _answer(secret: Secret) -> dict[str, object]:
    """Write what a discovery service would answer."""
    return {"version_info": "1", "resources": [{"@type": SDS, **secret.to_dict()}]}


def file(path: Path) -> DataSource:
    """Say where a file is that Envoy reads."""
    return DataSource(filename=str(path))


def _beside(path: Path) -> WatchedDirectory:
    return WatchedDirectory(path=str(path.parent))
