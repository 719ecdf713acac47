"""The steps that make the image, taken as an engine would take them, in a folder instead of a container."""

import os
import shutil
import subprocess
from pathlib import Path

from e2e.cluster.place import PROJECT

INTO = "/opt/legation"


def build(recipe: str, source: Path, into: Path) -> None:
    """Follow a stage of the recipe: copy what it copies, run what it runs."""
    variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    for line in recipe.splitlines():
        step, _, rest = line.partition(" ")
        if step == "COPY":
            *names, folder = rest.split()
            for name in names:
                copy(PROJECT / name, source / folder / ("" if folder == name else Path(name).name))
        elif step == "RUN":
            command = rest.replace(INTO, str(into))
            subprocess.run(["bash", "-ec", command], cwd=source, env=variables, check=True)  # noqa: S603, S607  the recipe's


def copy(what: Path, to: Path) -> None:
    """Copy a file or a folder."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if what.is_dir():
        shutil.copytree(what, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copyfile(what, to)


def test_what_the_image_is_made_of_runs_without_the_envoy_that_it_leaves_out(tmp_path: Path) -> None:
    recipe = (PROJECT / "Dockerfile").read_text()
    _, first, last = recipe.split("\nFROM ")
    assert f"COPY --from=build {INTO} {INTO}\n" in last
    (tmp_path / "source").mkdir()
    build(first, tmp_path / "source", tmp_path / "installed")
    shutil.rmtree(tmp_path / "source")
    legation = tmp_path / "installed" / "bin" / "legation"
    command = (legation, "run", "--kubeconfig", tmp_path / "none")
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)  # noqa: S603  as written above
    assert "cannot be read" in done.stderr
    assert not list((tmp_path / "installed").rglob("_bin/envoy"))
