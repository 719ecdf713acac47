"""Asks whether anything is known against a version that is locked: `make audit`.

0: nothing that was not accepted; 1: something; 2: nobody could be asked, which is no good news.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
import yaml

LOCKS = Path(__file__).parents[1] / "requirements"
ACCEPTED = LOCKS / "accepted.yaml"
NOTHING, SOMETHING, UNKNOWN = 0, 1, 2
DATABASE = "https://api.osv.dev/v1/query"


class Known(NamedTuple):
    """What is known against one version of a package, under all its names."""

    package: str
    version: str
    ids: frozenset[str]
    repaired_in: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in a line, with the remedy."""
        remedy = " or ".join(self.repaired_in) or "nothing yet"
        return f"{self.package} {self.version}: {', '.join(sorted(self.ids))}; repaired in {remedy}"


def known(database: str) -> list[Known] | str:
    """Ask a database about what every lock file has for this Python; or say why that was not possible."""
    locks = [word for lock in sorted(LOCKS.glob("*.lock")) for word in ("-r", str(lock))]
    asking = [sys.executable, "-m", "pip_audit", "--strict", "--require-hashes", "--disable-pip", *locks]
    telling = ["--format", "json", "--progress-spinner", "off", "-s", "osv", "--osv-url", database]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([*asking, *telling], check=False, text=True, capture_output=True, env=environment)  # noqa: S603  as written above
    try:
        told = json.loads(done.stdout)["dependencies"]
    except ValueError:
        return (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    silent = [each["name"] for each in told if "vulns" not in each]
    return f"nothing is said of {', '.join(silent)}" if silent else [*_read(told)]


def accepted(written: str, today: date) -> Mapping[str, str]:
    """Read which advisories count no more, and why; after its day, a reason is no reason."""
    entries = yaml.safe_load(written) or []
    return {each["id"]: each["reason"] for each in entries if each["until"] >= today}


def main(
    database: Annotated[str, typer.Option(help="Where OSV is asked.")] = DATABASE,
    accept: Annotated[Path, typer.Option(help="Advisories that do not count.")] = ACCEPTED,
) -> None:
    """Say what is known against what is locked."""
    found = known(database)
    if isinstance(found, str):
        print(f"Nobody could say what is known: {found}", file=sys.stderr)  # noqa: T201  a program of its own
        raise typer.Exit(UNKNOWN)
    raise typer.Exit(_told(found, accepted(accept.read_text(), datetime.now(UTC).date())))


def _told(found: Sequence[Known], excused: Mapping[str, str]) -> int:
    code = NOTHING
    for each in found:
        reason = next((excused[name] for name in sorted(each.ids) if name in excused), None)
        print(f"{each}{f'; accepted: {reason}' if reason else ''}")  # noqa: T201  a program of its own
        code = code if reason else SOMETHING
    if not found:
        print("Nothing is known against any version that is locked.")  # noqa: T201  a program of its own
    return code


def _read(told: Sequence[Mapping[str, object]]) -> Iterator[Known]:
    for each in told:
        for vulnerability in each["vulns"]:  # type: ignore[attr-defined]  # as pip-audit writes it
            ids = frozenset((vulnerability["id"], *vulnerability["aliases"]))
            yield Known(str(each["name"]), str(each["version"]), ids, tuple(vulnerability["fix_versions"]))


if __name__ == "__main__":
    typer.run(main)
