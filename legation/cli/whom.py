"""Whom `status`, `check`, `audit` and `explain` ask: one rule, and the flags that it speaks of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from legation.addresses import HostPort
from legation.cli.terminal import CANNOT_TELL, fail, host_port, must_exist, must_hold_manifests

INSTALLED_IN = "legation-system"
WHO = "Whom to ask"
RULE = """
Whom to ask: with `--admin` the process there; with `--kubeconfig`, `--context` or `--namespace` Legation in
that cluster; else `legation up` on this machine, if there is one, or else Legation in the cluster of kubectl.
"""
RULE_OF_PATHS = f"{RULE.rstrip()} Manifests that are named are read, and nobody is asked.\n"

Admin = Annotated[
    HostPort | None,
    typer.Option(
        parser=host_port, metavar="HOST:PORT", help="The admin port of a process.", rich_help_panel=WHO
    ),
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="How to reach a cluster; default: as kubectl.", rich_help_panel=WHO)
]
Context = Annotated[str, typer.Option(help="One of its contexts; default: the current.", rich_help_panel=WHO)]
Namespace = Annotated[
    str,
    typer.Option(
        "--namespace", "-n", help=f"Where Legation is; default: {INSTALLED_IN}.", rich_help_panel=WHO
    ),
]


class Cluster(Struct, frozen=True):
    """How a cluster was named; nothing, if it was not."""

    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""

    def __bool__(self) -> bool:
        """Tell whether anything was named."""
        return self != Cluster()


class Whom(Struct, frozen=True):
    """Whoever is to be asked: what is named here, or whoever is there."""

    admin: HostPort | None = None
    cluster: Cluster = Cluster()
    or_manifests: bool = False  # could have been named instead


def whom(
    paths: Sequence[Path] | None, admin: HostPort | None, cluster: Cluster, code: int = CANNOT_TELL
) -> Whom | None:
    """Say whom to ask: nobody, where manifests are named; exit where two are named, or what is not there.

    A command that takes no manifests gives None for them.
    """
    named = [
        words
        for words, is_named in (("manifests", paths), ("--admin", admin), ("a cluster", cluster))
        if is_named
    ]
    if len(named) > 1:
        fail(f"{' and '.join(named)} cannot be asked at once", "leave one of them out", code=code)
    there = "give the path of a file that is there"
    must_hold_manifests(paths or (), there, code)
    if cluster.kubeconfig is not None:
        must_exist(cluster.kubeconfig, there, code)
    return None if paths else Whom(admin, cluster, or_manifests=paths is not None)
