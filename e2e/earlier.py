"""An earlier version of all that is installed, out of the repository's own history."""

import compileall
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from e2e.cluster.place import PROJECT

COMMIT = "2aac9266fc8a8b5f25dc618ef6b28f65243bb697"  # the first one that the official suite has judged
FOLDER = PROJECT / "build" / "earlier"  # where cluster/images.yaml has the image `legation:earlier` find it
CHART = Path("deploy", "helm", "legation")
PARTS = ("legation", "k8s_watch", "translator", "xds_server", str(CHART))


class HistoryError(LookupError):
    """The history of this clone does not go back so far."""


def is_shallow() -> bool:
    """Say whether this clone was made without its history."""
    command = ["git", "rev-parse", "--is-shallow-repository"]
    return subprocess.run(command, cwd=PROJECT, text=True, capture_output=True, check=True).stdout == "true\n"  # noqa: S603  as written above


def checked_out() -> Path:
    """Write its program and its chart to a folder; return where the chart is."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    with TemporaryDirectory() as folder:
        archive = Path(folder, "earlier.zip")
        command = ["git", "archive", f"--output={archive}", COMMIT, "--", *PARTS]
        done = subprocess.run(command, cwd=PROJECT, text=True, capture_output=True, check=False)  # noqa: S603  as written above
        if done.returncode:
            where = f"the history of {PROJECT}, which has to be a whole clone (`git fetch --unshallow`)"
            message = f"the earlier version {COMMIT} is not in {where}: {done.stderr}"
            raise HistoryError(message)
        shutil.unpack_archive(archive, FOLDER)
    compileall.compile_dir(FOLDER, quiet=1)  # a container cannot write there, and would do so at each start
    return FOLDER / CHART
