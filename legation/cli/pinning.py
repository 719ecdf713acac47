"""Prints pins as a policy takes them."""

from pathlib import Path

import msgspec
import typer

from legation.addresses import HostPort
from legation.cli.terminal import fail, host_port
from legation.fingerprints import Fingerprint, Unusable, held_in, shown_at

EXAMPLE = "pay.internal"
AN_EXAMPLE = " # an example: write the name that this backend is to be asked for"
NO_BACKEND = "write the HOST:PORT of a backend, such as pay.shop.svc:8443, or the name of a file"
OF_A_SERVER = "# Nobody vouched for it: compare it with what the backend's owner says.\n"
POLICY = """spec:
  validation:
    hostname: {name}{remark}
    wellKnownCACertificates: legation.dev/pinned
  options:
"""
PUBLIC_KEY = """    legation.dev/pinned-public-key-sha256: "{found.public_key_sha256}"
"""
OR_CERTIFICATE = """    # or the certificate, which each renewal changes; of pins of both forms one is enough:
    # legation.dev/pinned-certificate-sha256: "{found.certificate_sha256}"
"""
CERTIFICATE = """    # each renewal changes it; its public key cannot be pinned:
    # {found.unread}
    legation.dev/pinned-certificate-sha256: "{found.certificate_sha256}"
"""
BACKUP = """# Add the pin of a key in reserve after a comma, or the backend's next key fails every request:
#   openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out spare.key
#   openssl pkey -in spare.key -pubout -out spare.pub
#   legation pin spare.pub
"""
# what has no certificate yet may be that key, and the commands above would make another in its place
BESIDE = "# Of a key in reserve: add it after a comma, beside the pin of the key that is in use.\n"


def print_pins(source: Path | str, server_name: str | None, *, as_json: bool) -> None:
    """Print what is found; what the policy needs besides is there to be filled in."""
    found = _read(source) if isinstance(source, Path) else shown_at(_place(source), server_name)
    if isinstance(found, Unusable):
        fail(f"{source}: {found.why}" if isinstance(source, Path) else found.why, found.remedy)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        typer.echo(_written(found, source, server_name), nl=False)


def _written(found: Fingerprint, source: Path | str, server_name: str | None) -> str:
    is_shown = not isinstance(source, Path)
    return "".join((
        f"# {found.what}, {'shown by' if is_shown else 'from'} {source}\n",
        OF_A_SERVER if is_shown else "",
        _policy(found, server_name or _name(source)),
        BACKUP if found.certificate_sha256 else BESIDE,
    ))  # fmt: skip


def _policy(found: Fingerprint, name: str) -> str:
    """Write what can be pinned: the public key, the certificate besides, or that alone."""
    pins = [PUBLIC_KEY] if found.public_key_sha256 else []
    if found.certificate_sha256:
        pins.append(OR_CERTIFICATE if pins else CERTIFICATE)
    remark = "" if name else AN_EXAMPLE
    return "".join(each.format(name=name or EXAMPLE, remark=remark, found=found) for each in (POLICY, *pins))


def _name(source: Path | str) -> str:
    """Return the name that a backend was reached by, if it is one that a policy may ask for, or nothing."""
    host = "" if isinstance(source, Path) else _place(source).host
    return "" if ":" in host or host.replace(".", "").isdecimal() else host


def _read(path: Path) -> Fingerprint | Unusable:
    try:
        return held_in(path.read_bytes())
    except OSError as error:
        return Unusable(f"it cannot be read: {error.strerror}", "give a file that this user may read")


def _place(source: str) -> HostPort:
    try:
        return host_port(source)
    except typer.BadParameter:
        fail(f"{source} is no file, and no address", NO_BACKEND)
