"""The audit record is written by who leads, loses nothing that can be written, and is in nobody's way."""

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from legation.proofs import audit_log
from legation.proofs.audit_log import MOST_INHERITED, MOST_WAITING, PORTION, AppendedFile, AuditLog, appending
from legation.proofs.audit_record import Began, Cause, Changed, Edit, Policy, Strength, Weak, line, read_line
from legation.workbench import Outcome
from tests.looking import eventually
from tests.pages.blocks import blocks
from translator.envoy.proofs import Grade

DOCUMENT = Path(__file__).parents[3] / "docs/audit-record.md"
NOTHING = Outcome({}, {}, {}, 0.0)


def change(number: int = 0) -> Changed:
    return Changed(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        gateway="infra/edge",
        cluster=f"shop/pay:{number}",
        backend=f"shop/pay:{number}",
        policy=None,
        before=None,
        after=Strength(Grade.VERIFIED),
        why=Cause.REACHED,
    )


def outcome(*changes: Changed) -> Outcome:
    return msgspec.structs.replace(NOTHING, records=changes)


@asynccontextmanager
async def leading(log: AuditLog) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(log.run())
        yield
        task.cancel()


def counted(log: AuditLog) -> dict[str, float]:
    return {each.name.rpartition("_")[2]: each.samples[0].value for each in log.collect()}


def lines(path: Path) -> list[Changed | Began | Weak]:
    return [read_line(each) for each in path.read_bytes().splitlines()] if path.exists() else []


async def test_who_leads_begins_with_how_things_stand_and_then_writes_each_change_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit"
    log = AuditLog(appending(str(path)))
    async with leading(log):
        log.take(NOTHING)
        await eventually(lambda: len(lines(path)) == 1)
        log.take(outcome(change(1), change(2)))
        await eventually(lambda: len(lines(path)) == 3)
    began, *changes = lines(path)
    assert isinstance(began, Began)
    assert changes == [change(1), change(2)]
    assert counted(log) == {"lines": 3, "failures": 0, "lost": 0}


async def test_what_changed_while_nobody_led_is_written_as_inherited(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    log = AuditLog(appending(str(path)))
    log.take(outcome(change(1)))
    assert lines(path) == []
    async with leading(log):
        await eventually(lambda: len(lines(path)) == 2)
    first, _ = lines(path)
    assert first == msgspec.structs.replace(change(1), inherited=True)
    log.take(outcome(change(2)))
    assert len(lines(path)) == 2


async def test_what_changes_while_nobody_leads_and_cannot_be_kept_is_counted_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    log = AuditLog(appending(str(path)))
    log.take(outcome(change(-2), change(-1)))
    log.take(outcome(*(change(number) for number in range(MOST_INHERITED))))
    assert counted(log)["lost"] == 0  # whoever leads may have written them
    async with leading(log):
        await eventually(lambda: len(lines(path)) == MOST_INHERITED + 1)
    assert counted(log)["lost"] == 2
    assert lines(path)[0] == msgspec.structs.replace(change(0), inherited=True)


async def test_what_was_given_up_while_somebody_led_long_ago_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit"
    log = AuditLog(appending(str(path)))
    log.take(outcome(*(change(number) for number in range(2 * MOST_INHERITED))))
    monkeypatch.setattr(audit_log, "INHERITED", 0.0)
    async with leading(log):
        await eventually(lambda: len(lines(path)) == 1)
    assert counted(log)["lost"] == 0


async def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "audit"
    log = AuditLog(appending(str(path)))
    async with leading(log):
        log.take(NOTHING)
        await eventually(lambda: lines(path))
        path.rename(tmp_path / "audit.1")
        log.take(outcome(change(1)))
        await eventually(lambda: lines(path) == [change(1)])
    assert len(lines(tmp_path / "audit.1")) == 1


async def test_a_write_that_fails_is_counted_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit_log, "AGAIN", 0.05)
    folder = tmp_path / "missing"
    log = AuditLog(appending(str(folder / "audit")))
    async with leading(log):
        log.take(outcome())
        await eventually(lambda: counted(log)["failures"] > 1)
        log.take(outcome(change(1)))
        folder.mkdir()
        await eventually(lambda: len(lines(folder / "audit")) == 2)
    assert capfd.readouterr().out.count("the audit record was not written") == 1


async def test_what_cannot_be_written_for_too_long_is_counted_as_lost(tmp_path: Path) -> None:
    log = AuditLog(appending(str(tmp_path / "missing" / "audit")))
    async with leading(log):
        log.take(NOTHING)
        await eventually(lambda: counted(log)["failures"])
        log.take(outcome(*(change(number) for number in range(MOST_WAITING))))
        assert counted(log)["lost"] == 1


async def test_long_lines_are_written_a_few_at_a_time_and_those_that_were_are_not_written_again() -> None:
    written = list[bytes]()

    def append(some: bytes) -> None:
        if len(written) == 2:
            raise OSError
        written.append(some)

    log = AuditLog(append)
    long = Strength(Grade.VERIFIED, fingerprints=("f" * 1000,) * 1000)
    changes = [msgspec.structs.replace(change(number), after=long) for number in range(10)]
    log._put(changes)
    assert not log._write()
    assert max(map(len, written)) < PORTION + len(line(changes[0]))
    assert [read_line(each) for some in written for each in some.splitlines()] == changes[: log._written]
    assert list(log._waiting) == changes[log._written :]


def test_half_a_line_that_a_full_disk_left_is_ended(tmp_path: Path) -> None:
    script = """
import resource, signal, sys
from legation.proofs.audit_log import AppendedFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = AppendedFile(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
try:
    file.append(b"123456\\n12345678\\n")
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    file.append(b"whole\\n")
"""
    path = tmp_path / "audit"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    assert path.read_bytes() == b"123456\n123\nwhole\n"
    AppendedFile(str(path)).append(b"")
    assert path.read_bytes().endswith(b"whole\n")


def test_the_minus_sign_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with suppress(OSError):
        appending("-")(line(change(1)))
    assert read_line(capfdbinary.readouterr().out) == change(1)


def fields(heading: str) -> set[str]:
    """Return what the first table below some words names."""
    _, _, rest = DOCUMENT.read_text().partition(heading)
    table, _, _ = rest[rest.index("| Field |") :].partition("\n\n")
    return set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


@pytest.mark.parametrize(
    ("heading", "struct"),
    [
        ("## `changed`", Changed),
        ("In `policy`:", Policy),
        ("In each of `because`:", Edit),
        ("In `before` and `after`", Strength),
        ("## `began`", Began),
        ("followed by a line `weak`", Weak),
    ],
)
def test_the_document_names_every_field(heading: str, struct: type[msgspec.Struct]) -> None:
    assert fields(heading) == set(struct.__struct_encode_fields__)


def test_the_document_names_every_grade_and_every_cause() -> None:
    text = DOCUMENT.read_text()
    assert {each.value for each in Cause} == set(re.findall(r"^\| `([A-Z]\w+)` \|", text, re.MULTILINE))
    assert all(f"`{each.value}`" in text for each in Grade)


def test_the_example_in_the_document_is_a_record() -> None:
    [example] = [block for block in blocks("docs/audit-record.md") if block.language == "json"]
    record = read_line(example.text.encode())
    assert isinstance(record, Changed)
    assert record.why is Cause.POLICY_APPLIED
