"""`legation run`: the control plane in a cluster."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from legation.addresses import HostPort
from legation.cli.terminal import fail, host_port
from legation.cli.xds_files import xds_files
from legation.settings import CONNECTION_AGE, ENVOY_IMAGE, RUN_ADMIN, RUN_XDS, SERVICE, LogFormat, RunSettings
from translator.objects.durations import milliseconds

EXAMPLES = """
Examples:

`legation run`: in a pod, with an authority of its own, and Envoys for every Gateway

`legation run --xds-cert server.pem --xds-key server.key --xds-client-ca clients.pem`: with certificates that
somebody else issues, for Envoys that somebody else runs

`legation run --kubeconfig ~/.kube/config --xds 127.0.0.1:18000`: for an Envoy on this machine

Every flag has an environment variable: LEGATION_ and its name.
"""

OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "legation-system"
NAMESPACE = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
DURATION = re.compile("([0-9]{1,5}(h|ms|m|s)){1,4}")


def run(  # noqa: PLR0913  # one argument for each flag
    *,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            envvar="LEGATION_KUBECONFIG", help="Default: what a pod is given, or what kubectl uses."
        ),
    ] = None,
    namespace: Annotated[
        str, typer.Option(envvar="LEGATION_NAMESPACE", help="Where our Lease lies; default: our pod's.")
    ] = "",
    watch: Annotated[
        list[str] | None,
        typer.Option(envvar="LEGATION_WATCH", help="A namespace to serve, repeatedly; default: all."),
    ] = None,
    admin: Annotated[
        HostPort,
        typer.Option(
            parser=host_port, metavar="HOST:PORT", envvar="LEGATION_ADMIN", help="Health, metrics, status."
        ),
    ] = RUN_ADMIN,
    xds: Annotated[
        HostPort,
        typer.Option(
            parser=host_port,
            metavar="HOST:PORT",
            envvar="LEGATION_XDS",
            help="Serve Envoys there: by mutual TLS, except on loopback; by IPv6, if they are to listen so.",
        ),
    ] = RUN_XDS,
    xds_cert: Annotated[
        Path | None, typer.Option(envvar="LEGATION_XDS_CERT", help="Certificate of the --xds port, PEM.")
    ] = None,
    xds_key: Annotated[Path | None, typer.Option(envvar="LEGATION_XDS_KEY", help="Its key, PEM.")] = None,
    xds_client_ca: Annotated[
        Path | None,
        typer.Option(envvar="LEGATION_XDS_CLIENT_CA", help="Whose certificates Envoys must have, PEM."),
    ] = None,
    service: Annotated[
        str, typer.Option(envvar="LEGATION_SERVICE", help="The Service by which Envoys reach the xDS port.")
    ] = SERVICE,
    envoy_image: Annotated[
        str, typer.Option(envvar="LEGATION_ENVOY_IMAGE", help="What Envoys run, if parameters do not say.")
    ] = ENVOY_IMAGE,
    connection_age: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            envvar="LEGATION_CONNECTION_AGE",
            help="Envoys connect anew by then, so that they spread over replicas; 0s: never.",
        ),
    ] = f"{CONNECTION_AGE / 60:.0f}m",
    verbose: Annotated[bool, typer.Option("--verbose", envvar="LEGATION_VERBOSE", help="Log more.")] = False,
    log_format: Annotated[
        LogFormat,
        typer.Option(envvar="LEGATION_LOG_FORMAT", help="auto: text on a terminal, JSON elsewhere."),
    ] = LogFormat.AUTO,
    audit_log: Annotated[
        str,
        typer.Option(
            metavar="PATH|-",
            envvar="LEGATION_AUDIT_LOG",
            help="A line for each change of what backends prove, by who leads.",
        ),
    ] = "",
) -> None:
    """Serve the Gateways of a cluster to their Envoys, and write statuses, until SIGTERM."""
    if kubeconfig is not None and not os.access(kubeconfig, os.R_OK):
        fail(f"{kubeconfig} cannot be read", "name a kubeconfig, or leave --kubeconfig out")
    settings = RunSettings(
        namespace=namespace or _own_namespace(),
        kubeconfig=kubeconfig,
        watched=_namespaces(watch or ()),
        admin=admin,
        xds=xds,
        xds_files=xds_files((xds_cert, xds_key, xds_client_ca)),
        service=service,
        envoy_image=envoy_image,
        connection_age=_seconds(connection_age),
        verbose=verbose,
        log_format=log_format,
        audit_log=audit_log,
    )
    from legation.cli.serving import serve_cluster  # noqa: PLC0415  # slow to import

    serve_cluster(settings)


def _seconds(written: str) -> float | None:
    if not DURATION.fullmatch(written):
        fail(f"--connection-age {written} is no duration", "write one such as 15m or 1h30m, or 0s for ever")
    return milliseconds(written) / 1_000 or None


def _namespaces(named: Sequence[str]) -> tuple[str, ...]:
    """Check names: of one that no namespace can have nothing would ever be told, and all would seem well."""
    for each in named:
        if not NAMESPACE.fullmatch(each):
            remedy = "name one by each --watch; in LEGATION_WATCH, put spaces between them"
            fail(f"--watch {each} is no namespace", remedy)
    return tuple(named)


def _own_namespace() -> str:
    try:
        return OWN_NAMESPACE.read_text().strip()
    except OSError:
        return DEFAULT_NAMESPACE
