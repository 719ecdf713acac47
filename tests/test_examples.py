"""Examples do what they say: a real Envoy takes the good ones, the broken ones tell why they are refused."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.stage import EXAMPLES, Stage
from legation.checks.findings import Finding, advice, findings
from legation.offline import Offline, translated
from tests.envoy_validate import validate
from translator.advice.everything import advised

GOOD = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "broken")
BROKEN = sorted((EXAMPLES / "broken").glob("*.yaml"))


def found_in(offline: Offline) -> tuple[Finding, ...]:
    told = findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)
    return (*told, *advice(advised(offline.world)))


def promised(manifest: Path) -> Iterator[str]:
    for line in manifest.read_text().splitlines():
        if line.startswith("# check: "):
            yield line.removeprefix("# check: ")


def as_said(finding: Finding) -> str:
    """Write a finding as the examples' comments do."""
    about = f"{finding.object}, {finding.where}" if finding.where.startswith("listener") else finding.object
    return f"{about}: {re.sub('=(False|True),', '', finding.message)} {finding.where}"


@pytest.mark.parametrize("name", GOOD)
def test_nothing_is_wrong_with_a_good_example(name: str, tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.prepare(name)
    offline = translated([stage.manifests])
    assert found_in(offline) == ()
    [snapshot] = offline.outcome.snapshots.values()
    validate(
        {kind: {n: e.resource.body for n, e in named.items()} for kind, named in snapshot.entries.items()}
    )


@pytest.mark.parametrize("manifest", BROKEN, ids=lambda path: path.stem)
def test_a_broken_example_shows_what_it_promises(manifest: Path) -> None:
    told = [as_said(finding) for finding in found_in(translated([manifest]))]
    wanted = list(promised(manifest))
    assert wanted, "an example says what its reader will see"
    for each in wanted:
        assert any(each in line for line in told), (each, told)
