"""Runs `legation up` and `legation run`, and says by the exit code how it went."""

import asyncio
import os

import structlog
import typer
from msgspec import structs

from legation.app import up
from legation.cli.drawing import print_findings, print_overview
from legation.cli.terminal import PROBLEMS, fail, out
from legation.engine import CannotStartError
from legation.in_cluster import run
from legation.settings import RunSettings, Settings
from legation.standing import Overview
from legation.telemetry.logs import set_up_logs
from legation.telemetry.otlp_settings import NotUnderstoodError, Traces, traces
from legation.turns import give_way_soon
from translator.rules.gateways import CONTROLLER


def serve(settings: Settings) -> None:
    """Serve until there is a reason to stop."""
    set_up_logs(settings.log_format, verbose=settings.verbose)
    give_way_soon()
    try:
        overview = asyncio.run(up(structs.replace(settings, traces=_traces())))
    except CannotStartError as error:
        fail(str(error), error.remedy)
    if settings.check:
        _report(overview)


def serve_cluster(settings: RunSettings) -> None:
    """Serve a cluster until a signal."""
    set_up_logs(settings.log_format, verbose=settings.verbose)
    give_way_soon()
    try:
        asyncio.run(run(structs.replace(settings, traces=_traces())))
    except CannotStartError as error:
        fail(str(error), error.remedy)


def _traces() -> Traces | None:
    """Read where traces go; what is meant for other programs, and is not understood, ends none."""
    try:
        return traces(os.environ)
    except NotUnderstoodError as error:
        structlog.get_logger().warning("traces are not sent", why=str(error))
        return None


def _report(overview: Overview) -> None:
    """Print how things stood, and say it by the exit code."""
    console = out()
    print_overview(console, overview)
    print_findings(console, overview.findings)
    if not overview.gateways:
        console.print(f"there is no Gateway to serve: its GatewayClass must name {CONTROLLER}")
    waiting = [gateway.name for gateway in overview.gateways if not gateway.is_settled]
    if waiting:
        console.print(f"still waiting for Envoy: {', '.join(waiting)}", style="red")
    good = overview.gateways and not waiting and not any(each.is_problem for each in overview.findings)
    raise typer.Exit(0 if good else PROBLEMS)
