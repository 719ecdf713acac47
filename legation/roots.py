"""The certificates that this machine trusts: found, not assumed."""

import os
import ssl
from collections.abc import Iterable
from pathlib import Path

BUNDLES = (  # where distributions keep them, when OpenSSL's own paths lead nowhere
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  # Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",  # older RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # Alpine, BSD
)


def system_roots() -> Path | None:
    """Return the first bundle that holds a certificate, if this machine has one."""
    return next((path for path in _candidates() if _holds_certificates(path)), None)


def _candidates() -> Iterable[Path]:
    paths = ssl.get_default_verify_paths()
    asked = os.environ.get(paths.openssl_cafile_env)
    return (Path(path) for path in (asked, paths.cafile, paths.openssl_cafile, *BUNDLES) if path)


def _holds_certificates(path: Path) -> bool:
    try:
        return b"-----BEGIN CERTIFICATE-----" in path.read_bytes()
    except OSError:
        return False
