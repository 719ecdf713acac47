"""What shells complete: commands, flags, and the names of objects that run or are in manifests."""

import asyncio
import os
import shlex
import sys
from pathlib import Path

import pytest

from tests.legation.running import environment, legation_up
from tests.legation.test_cli import run
from tests.legation.test_explain import SHOP
from tests.real_envoy import until

COMMAND = Path(sys.executable).parent / "legation"
WITHIN = 120.0


async def completed(line: str, shell: str) -> list[str]:
    """Ask as a shell does that has our completion."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(shlex.split(line)) - (not line.endswith(" ")))}
    asked = {**words, "_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    process = await asyncio.create_subprocess_exec(
        str(COMMAND),
        env={**environment(), **asked, "_LEGATION_COMPLETE": f"complete_{shell}"},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WITHIN):
        out, _ = await process.communicate()
    return out.decode().split()


async def completes(line: str, names: list[str]) -> None:
    """Ask until this is answered: nothing is, where whoever knows it takes longer than people would wait."""

    async def so() -> bool:
        return await completed(line, "bash") == names

    await until(so)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder of manifests."""
    (tmp_path / "a.yaml").write_text(SHOP)
    return tmp_path


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_is_printed_that_asks_us(shell: str) -> None:
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert f"_LEGATION_COMPLETE=complete_{shell}" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_commands_are_completed(shell: str) -> None:
    assert "status" in " ".join(await completed("legation sta", shell))


async def test_the_script_makes_bash_complete(tmp_path: Path) -> None:
    _, script, _ = run("completion", "bash")
    asks = 'COMP_WORDS=(legation expl); COMP_CWORD=1; _legation_completion legation; echo "${COMPREPLY[@]}"'
    (tmp_path / "script").write_text(f"{script}\n{asks}\n")
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        "bash",
        str(tmp_path / "script"),
        env={**environment(), "PATH": path},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WITHIN):
        out, _ = await process.communicate()
    assert out.decode().split() == ["explain"]


async def test_objects_to_explain_are_completed_by_what_runs(shop: Path) -> None:
    async with legation_up(shop, "--no-envoy") as running:
        at = (await running.admin()).removeprefix("http://")
        await running.logged("programmed")
        for begun, names in {
            "httproute/shop/r": ["httproute/shop/rules"],
            "HTTPRoutes/": ["HTTPRoutes/shop/rules", "HTTPRoutes/shop/stranger"],
            "httpr": ["httproute/shop/rules", "httproute/shop/stranger"],
            "gateway": ["gatewayclass/", "gateway/"],
            "nothing/": [],
        }.items():
            await completes(f"legation explain --admin {at} {begun}", names)


async def test_nothing_is_completed_where_nobody_answers() -> None:
    assert await completed("legation explain --admin 127.0.0.1:1 httproute/", "bash") == []
