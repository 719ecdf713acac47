"""`python -m e2e.cluster COMMAND`: see --help."""

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from e2e.cluster.build import SUITE, Programs
from e2e.cluster.clusters import Cluster, Kind, Theirs, chosen
from e2e.cluster.network import UNUSABLE_ADDRESS, USABLE_ADDRESS
from e2e.cluster.own import Own
from e2e.cluster.place import here
from e2e.cluster.processes import WITH_US
from e2e.cluster.tools import UnreadyError

AS_IT_IS = {"ignore_unknown_options": True, "help_option_names": []}
TESTS_AT_ONCE = 8  # Go runs as many as there are cores, and most of them wait
SUITE_FLAGS = (
    "-test.v",
    "-test.run=^TestConformance$",
    "-test.timeout=2h",
    f"-test.parallel={TESTS_AT_ONCE}",
    f"-usable-address={USABLE_ADDRESS}",
    f"-unusable-address={UNUSABLE_ADDRESS}",
)
Arguments = Annotated[list[str], typer.Argument()]

application = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A Kubernetes cluster for tests, on a machine without containers.",
)


@application.command()
def up() -> None:
    """Build what is missing and bring the cluster up, with the CRDs of Gateway API."""
    chosen().up()


@application.command()
def down() -> None:
    """Take the cluster down and leave nothing running."""
    chosen().down()


@application.command()
def status() -> None:
    """Say which processes of the control plane run; exit code 1 if any does not."""
    found = _own().status()
    for name, runs in found.items():
        typer.echo(f"{'runs' if runs else 'does not run':12}  {name}")
    sys.exit(not found or not all(found.values()))


@application.command()
def restart(process: str) -> None:
    """End one process of the control plane, kube-apiserver for example, and start it again."""
    _own().restart(process)


@application.command(name="with", context_settings=AS_IT_IS)
def bring_up_for(command: Arguments) -> None:
    """Bring up a cluster of its own, run a command inside it, take it down."""
    signal.signal(signal.SIGTERM, _leave)
    Programs(here().programs).make()  # inside there is no way to fetch what they are built from
    cluster = chosen().alone()
    cluster.up()
    try:
        arguments = [*WITH_US, *cluster.command(command)]
        code = subprocess.run(arguments, env=cluster.variables(), check=False).returncode  # noqa: S603  the user's
    finally:
        cluster.down()
    sys.exit(code)


@application.command(name="in", context_settings=AS_IT_IS)
def inside(command: Arguments) -> None:
    """Run a command inside the cluster: it reaches pods, Services and their names."""
    _become(chosen(), command)


@application.command(context_settings=AS_IT_IS)
def kubectl(arguments: Arguments) -> None:
    """Run kubectl."""
    _become(chosen(), ["kubectl", *arguments])


@application.command(name="exec", context_settings={"ignore_unknown_options": True})
def enter(pod: str, command: Arguments, container: Annotated[str, typer.Option("-c")] = "") -> None:
    """Run a command inside a container, as root: `exec [-c CONTAINER] NAMESPACE/POD COMMAND`."""
    arguments = _own().entering(pod, container, command)
    os.execvp(arguments[0], arguments)  # noqa: S606  the user's command


@application.command(context_settings=AS_IT_IS)
def conformance(gateway_class: str, flags: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Run the official suite against a GatewayClass; flags are its own, and those of Go's tests."""
    Programs(here().programs).path(SUITE)
    _become(chosen(), [SUITE, *SUITE_FLAGS, f"-gateway-class={gateway_class}", *(flags or [])])


def _own() -> Own:
    match cluster := chosen():
        case Own():
            return cluster
        case Theirs() | Kind():
            message = "this is for our own cluster only"
            raise UnreadyError(message)


def _become(cluster: Cluster, command: list[str]) -> NoReturn:
    arguments = cluster.command(command)
    os.execvpe(arguments[0], arguments, dict(cluster.variables()))  # noqa: S606  the user's command


def _leave(number: int, _: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    try:
        application()
    except (UnreadyError, RuntimeError, TimeoutError) as error:
        sys.exit(str(error))
