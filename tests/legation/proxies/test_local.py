"""Local Envoys: one for each Gateway, back when they end, gone when they should be."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from legation.proxies import leash
from legation.proxies.binary import envoy_path
from legation.proxies.envoy_admin import EnvoyAdmin
from legation.proxies.envoy_process import Launch
from legation.proxies.local import Fleet
from tests.legation.running import is_alive
from tests.real_envoy import STARTS_WITHIN, until
from translator.names import Name

pytestmark = pytest.mark.envoy
EDGE, INNER = Name("infra", "edge"), Name("infra", "inner")


@asynccontextmanager
async def fleet(home: Path) -> AsyncIterator[Fleet]:
    binary = envoy_path()
    assert binary is not None
    made = Fleet(Launch(binary, home, home / "xds"))
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(made.run())
        try:
            yield made
        finally:
            made.stop()


async def pid_of(made: Fleet, name: Name, *, other_than: int | None = None) -> int:
    """Wait until a Gateway's Envoy answers, and return its process id."""

    async def runs() -> bool:
        proxy = made.proxies().get(name)
        return proxy is not None and proxy.pid not in (None, other_than)

    await until(runs, within=STARTS_WITHIN)
    pid = made.proxies()[name].pid
    assert pid is not None
    return pid


async def answers(home: Path) -> None:
    async def live() -> bool:
        try:
            await EnvoyAdmin(home / "1" / "admin").busy()
        except OSError:
            return False
        return True

    await until(live, within=STARTS_WITHIN)


async def test_an_envoy_that_cannot_be_started_ends_no_other_and_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "1").touch()  # where its files are to be
    async with fleet(tmp_path) as made:
        made.want({EDGE})

        async def failed() -> bool:
            return (proxy := made.proxies().get(EDGE)) is not None and "File exists" in proxy.last_exit

        await until(failed)
        made.want({EDGE, INNER})
        await pid_of(made, INNER)
        (tmp_path / "1").unlink()
        await pid_of(made, EDGE)


async def test_each_gateway_has_an_envoy_for_as_long_as_it_is_wanted(tmp_path: Path) -> None:
    async with fleet(tmp_path) as made:
        made.want({EDGE, INNER})
        edge, inner = await pid_of(made, EDGE), await pid_of(made, INNER)
        made.want({INNER})

        async def gone() -> bool:
            return EDGE not in made.proxies()

        await until(gone)
        assert not is_alive(edge)
        assert is_alive(inner)
    assert not is_alive(inner)


async def test_an_envoy_that_was_killed_is_started_again(tmp_path: Path) -> None:
    async with fleet(tmp_path) as made:
        made.want({EDGE})
        first = await pid_of(made, EDGE)
        await answers(tmp_path)
        os.kill(first, signal.SIGKILL)
        await pid_of(made, EDGE, other_than=first)
        await answers(tmp_path)
        assert made.proxies()[EDGE].starts == 2
        assert made.proxies()[EDGE].last_exit == "ended with code -9"


async def test_an_envoy_that_cannot_start_is_tried_again_with_growing_pauses(tmp_path: Path) -> None:
    made = Fleet(Launch(tmp_path / "no-envoy", tmp_path, tmp_path / "xds"))
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(made.run())
        made.want({EDGE})

        async def tried_thrice() -> bool:
            proxy = made.proxies().get(EDGE)
            return proxy is not None and proxy.starts >= 3

        await until(tried_thrice)
        made.stop()
    assert made.proxies() == {}


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], sys.executable, "-c", sys.argv[2]])
print(child.pid, flush=True)
child.wait()
"""
CHILD = "import signal; print('up', flush=True); signal.pause()"


async def test_an_envoy_does_not_outlive_a_parent_that_was_killed() -> None:
    command = [sys.executable, "-c", PARENT, str(leash.__file__), CHILD]
    parent = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    assert await parent.stdout.readline() == b"up\n"
    parent.kill()
    await parent.wait()

    async def ended() -> bool:
        return not is_alive(child) or _is_zombie(child)

    await until(ended)


def _is_zombie(pid: int) -> bool:
    """Tell an ended process that nobody has waited for, as in a container without an init."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
