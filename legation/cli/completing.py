"""Completes what `legation explain` is asked about: names of what runs, or of manifests that are named."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import typer

from legation.answers import UnansweredError
from legation.cli.asking import reached
from legation.cli.whom import Cluster, Whom
from legation.disk import stamp_of
from legation.explain.names import beginning_with
from legation.offline import translated

WITHIN = 4.0  # seconds that somebody waits who pressed a key


def names(context: typer.Context, incomplete: str) -> list[str]:
    """Return what may come next; nothing, where nobody answers in time."""
    paths = [Path(each) for each in context.params.get("paths") or ()]
    if paths:
        found = translated(each for each in paths if stamp_of(each) is not None)
        return [*beginning_with(found.world, incomplete)]
    try:
        return [*asyncio.run(_asked(_whom(context), incomplete))]
    except (UnansweredError, TimeoutError, msgspec.MsgspecError):
        return []


def _whom(context: typer.Context) -> Whom:
    named = context.params
    kubeconfig = named.get("kubeconfig")
    cluster = Cluster(
        Path(kubeconfig) if kubeconfig else None, named.get("context") or "", named.get("namespace") or ""
    )
    return Whom(named.get("admin"), cluster)


async def _asked(whom: Whom, incomplete: str) -> Iterable[str]:
    async with asyncio.timeout(WITHIN), reached(whom) as ask:
        answers = await ask(f"names?{urlencode({'of': incomplete})}")
        return msgspec.json.decode(answers.told[0].body, type=tuple[str, ...])
