"""`legation bootstrap`: what an Envoy that somebody else runs is started with."""

import json
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from legation.addresses import ClientFiles, HostPort, Socket, WatchedFiles
from legation.cli.terminal import fail, host_port
from legation.roots import system_roots
from translator.names import Name

EXAMPLES = """
Examples:

`legation bootstrap --gateway infra/edge > envoy.yaml`: for `legation up FOLDER --xds 127.0.0.1:18000`

`legation bootstrap --gateway infra/edge --xds legation.example.com:18000 --tls-cert tls.crt --tls-key tls.key
--tls-ca ca.crt` for another machine

The same with `--into FOLDER` has Envoy take renewed certificates while it runs
"""


ENVOY_ADMIN = HostPort("127.0.0.1", 19000)
NO_PLACE = "write HOST:PORT, such as 127.0.0.1:18000, or unix:PATH, such as unix:/run/legation/xds.sock"
APART = "give --tls-cert, --tls-key and --tls-ca"
TLS_REMEDY = "give Envoy's certificate, its key and the control plane's CA, or leave all three out"


class Output(Enum):
    """How to write it."""

    YAML = "yaml"
    JSON = "json"


def _checked(xds: str) -> str:
    """Have a place that cannot be read refused as what it was given by."""
    _place(xds)
    return xds


def bootstrap(  # noqa: PLR0913  # one argument for each flag
    *,
    gateway: Annotated[str, typer.Option(metavar="NAMESPACE/NAME", help="Whose configuration Envoy gets.")],
    node_id: Annotated[str, typer.Option(help="Tells Envoys of one Gateway apart.")] = "envoy",
    xds: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT|unix:PATH", callback=_checked, help="Where the control plane serves."
        ),
    ] = "127.0.0.1:18000",
    admin: Annotated[
        HostPort, typer.Option(parser=host_port, metavar="HOST:PORT", help="Envoy's own admin port.")
    ] = ENVOY_ADMIN,
    tls_cert: Annotated[Path | None, typer.Option(help="Envoy's certificate, as Envoy finds it.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Who vouches for the control plane.")] = None,
    tls_server_name: Annotated[str, typer.Option(help="The control plane's name; default: HOST.")] = "",
    system_roots_path: Annotated[
        Path | None,
        typer.Option("--system-roots", help="Trusted roots of Envoy's machine; default: as here."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write it there instead, with what has Envoy take renewed certificates while it runs.",
        ),
    ] = None,
    mounted_at: Annotated[
        Path | None, typer.Option(help="Where Envoy finds that folder; default: where it is.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.YAML,
) -> None:
    """Print a bootstrap for an Envoy that somebody else runs."""
    from legation.bootstrap import Start, as_fields, as_yaml  # noqa: PLC0415  # slow to import
    from legation.bootstrap import bootstrap as built  # noqa: PLC0415  # slow to import

    if mounted_at and into is None:
        fail(
            "--mounted-at says where the folder of --into is found",
            "name that folder, too, or leave both out",
        )
    place = _place(xds)
    files = _tls((tls_cert, tls_key, tls_ca), tls_server_name or _host(place))
    if files is None and isinstance(place, HostPort) and not place.is_loopback:
        fail(f"--xds {place} is not on loopback, and nobody serves Envoys in cleartext there", APART)
    start = Start(
        gateway=_name(gateway),
        node_id=node_id,
        xds=place,
        admin=admin,
        tls=files if into is None or files is None else _watched(files, mounted_at or into.absolute()),
        system_roots=system_roots_path or system_roots(),
    )
    made = built(start)
    text = as_yaml(made) if output is Output.YAML else json.dumps(as_fields(made), indent=2)
    if into is None:
        typer.echo(text)
    else:
        _write(into, f"envoy.{output.value}", text, files)


def _name(text: str) -> Name:
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        fail(f"--gateway {text} is no NAMESPACE/NAME", "write it as in `--gateway infra/edge`")
    return Name(namespace, name)


def _place(text: str) -> Socket | HostPort:
    if text.startswith("unix:"):
        return Socket(Path(text.removeprefix("unix:")))
    try:
        return host_port(text)
    except typer.BadParameter as error:
        raise typer.BadParameter(NO_PLACE) from error


def _host(place: Socket | HostPort) -> str:
    match place:
        case Socket():
            return ""
        case HostPort(host):
            return host


def _tls(files: tuple[Path | None, Path | None, Path | None], server_name: str) -> ClientFiles | None:
    certificate, key, ca = files
    if certificate is None and key is None and ca is None:
        return None
    if certificate is None or key is None or ca is None:
        fail("of --tls-cert, --tls-key and --tls-ca, all are needed or none", TLS_REMEDY)
    if not server_name:
        fail("over a socket file, --tls-server-name is needed", "give the name in Legation's certificate")
    return ClientFiles(certificate, key, ca, server_name)


def _watched(files: ClientFiles, secrets: Path) -> WatchedFiles:
    if files.certificate.parent != files.key.parent:
        fail("--tls-cert and --tls-key lie in different folders", "have both in one, where both are renewed")
    return WatchedFiles(files, secrets)


def _write(folder: Path, name: str, text: str, files: ClientFiles | None) -> None:
    from legation.watched_secrets import watched_secrets  # noqa: PLC0415  # slow to import

    secrets = watched_secrets(files) if files else {}
    written = {name: f"{text}\n", **{each: json.dumps(fields, indent=2) for each, fields in secrets.items()}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each, content in written.items():
            (folder / each).write_text(content)
    except OSError as error:
        fail(f"{folder} cannot be written: {error.strerror}", "name a folder that you may write to")
    typer.echo(folder / name)
