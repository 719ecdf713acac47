"""What strangers name their objects steers no terminal, and a traceback on one shows no key."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from legation.telemetry.logs import harmless
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, together
from tests.legation.running import environment, run

HOSTILE = r"\e]0;owned\a\e[2J\e[8m"  # a title, a cleared screen, hidden text: as YAML writes it
ESCAPE = "\x1b"
LOGS = """
from structlog import get_logger
from legation.telemetry.logs import set_up_logs

def broken(key):
    shown = key + key
    raise ValueError("a mistake of ours")

set_up_logs()
try:
    broken("-----BEGIN " + "PRIVATE KEY-----")
except ValueError as bug:
    get_logger().error("it stays as it was \\x1b[2J", what="\\x1b]0;owned\\x07", exc_info=bug)
"""


def on_a_terminal(*command: str) -> str:
    """Run a program whose standard error is a terminal, and return what the terminal was sent."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(ours, 4096):
                seen.append(data)
        except OSError:  # how Linux says that nobody has the other end any more
            pass

    reading = threading.Thread(target=read)
    reading.start()
    try:
        subprocess.run(command, stdout=theirs, stderr=theirs, check=False, timeout=60, env=environment())
    finally:
        os.close(theirs)
        reading.join()
        os.close(ours)
    return b"".join(seen).decode()


@pytest.mark.parametrize("command", [("check",), ("translate", "-o", "tree")])
async def test_commands_write_a_hostile_name_as_source_code_has_it(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    manifests = together(LEGATION_CLASS, gateway("edge", 80), route("store", f'"{HOSTILE}"'))
    (tmp_path / "shop.yaml").write_text(manifests)
    (tmp_path / f"odd{ESCAPE}[2J.yaml").write_text(manifests)
    _, out, err = await run(*command, str(tmp_path))
    assert ESCAPE not in out + err
    assert r"odd\x1b[2J.yaml" in out + err
    assert command != ("check",) or "]0;owned" in out + err


def test_a_log_on_a_terminal_shows_a_mistake_and_no_values() -> None:
    seen = on_a_terminal(sys.executable, "-c", LOGS)
    assert "ValueError: a mistake of ours" in seen
    assert "PRIVATE KEY" not in seen
    assert r"\x1b]0;owned\x07" in seen
    assert f"{ESCAPE}]0" not in seen
    assert f"{ESCAPE}[2J" not in seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Gateway infra/edge: für jeden\n", "Gateway infra/edge: für jeden\n"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\u202eb\x00\x9b", r"a\u202eb\x00\x9b"),
        ("a\rb", r"a\rb"),
    ],
)
def test_what_people_can_read_stays_as_it_is(text: str, shown: str) -> None:
    assert harmless(text) == shown
