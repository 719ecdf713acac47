"""The README as its reader takes it: every command in it runs, every manifest in it is read.

All of it is in this one file, because the commands share the ports that the README names.
"""

import asyncio
import json
import os
import re
import socket
from http import HTTPStatus
from pathlib import Path

import pytest

from demo.__main__ import answered
from demo.stage import staged
from legation.manifests import read_manifests
from tests.pages.blocks import blocks

ROOT = Path(__file__).parent.parent
RUN_BY_THE_GATE = {"make test"}  # it is what runs this
BESIDE_A_RUNNING_UP = {".venv/bin/legation status"}

pytestmark = pytest.mark.tree


def written(language: str) -> list[str]:
    return [block.text for block in blocks("README.md") if block.language == language]


def commands() -> list[str]:
    lines = (line.partition("#")[0].strip() for text in written("console") for line in text.splitlines())
    return [line for line in lines if line]


async def run(command: str) -> tuple[int, str]:
    environment = {**os.environ, "ONCE": "1", "MAKEFLAGS": ""}
    pipe, merged = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
    process = await asyncio.create_subprocess_shell(
        command, cwd=ROOT, env=environment, stdout=pipe, stderr=merged
    )
    output, _ = await asyncio.wait_for(process.communicate(), timeout=120)
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.mark.parametrize("command", sorted({*commands()} - RUN_BY_THE_GATE - BESIDE_A_RUNNING_UP))
async def test_a_command_of_the_readme_succeeds(command: str) -> None:
    code, output = await run(command)
    assert code == 0, output


async def test_the_status_of_a_running_example_names_its_gateway() -> None:
    async with staged("backend-tls"):
        for command in BESIDE_A_RUNNING_UP:
            code, output = await run(command)
            assert (code, "shop/edge" in output) == (0, True), output


async def test_the_demo_shows_tls_kept_refused_explained_and_restored() -> None:
    code, output = await run("make demo")
    assert code == 0, output
    for each in ("200 from backend pay", "not proved to the trusted roots", "expired on", "200, without"):
        assert each in output


async def test_an_example_shows_what_to_type_in_lines_that_can_be_copied_whole() -> None:
    code, output = await run("COLUMNS=60 make try EXAMPLE=https")
    assert code == 0, output
    [line] = [line for line in output.splitlines() if "curl" in line]
    assert re.fullmatch(r"  curl --cacert /\S+ --resolve \S+ https://shop\.example:8443/", line), line


@pytest.mark.parametrize("port", [8080, 9180, 19080])
async def test_an_example_says_whose_port_is_taken_and_never_shows_who_has_it(port: int) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        code, output = await run("make try EXAMPLE=http")
    assert code != 0
    assert str(port) in output
    assert "address already in use" in output.lower()
    assert "end whoever has them, and try again" in output
    assert "Traceback" not in output


async def test_trying_nothing_says_what_there_is_to_try() -> None:
    code, output = await run("make try")
    assert code != 0
    assert "make try EXAMPLE=... with one of backend-tls, " in output


async def test_a_pinned_backend_answers_without_any_ca() -> None:
    async with staged("pins") as stage:
        (stage.manifests / "roots.yaml").unlink()
        assert json.loads(await answered(HTTPStatus.OK))["backend"] == "pay"


@pytest.mark.parametrize("manifest", written("yaml"))
def test_a_manifest_of_the_readme_is_read_without_complaint(manifest: str) -> None:
    loaded, problems = read_manifests(manifest, "README.md")
    assert (len(loaded), problems) == (1, ())


def test_the_readme_has_commands_to_run() -> None:
    assert commands()
