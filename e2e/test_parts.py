"""The parts of the cluster that need no cluster."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.cluster import identity
from e2e.cluster.kubelet import images, swap
from e2e.cluster.kubelet.fields import expand, quantity, read_field, read_resource
from e2e.cluster.kubelet.objects.containers import Container, Resources
from e2e.cluster.kubelet.objects.meta import ObjectMeta
from e2e.cluster.kubelet.objects.pods import Pod, PodSpec
from e2e.cluster.kubelet.objects.variables import FieldRef, ResourceFieldRef
from e2e.cluster.kubelet.pool import FIRST, Pool
from e2e.cluster.kubelet.swap import File
from e2e.cluster.place import Place
from e2e.cluster.processes import Recorded, start, wait_for

DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print(1, flush=True); signal.pause()"
FOREVER = [sys.executable, "-c", "import time; time.sleep(3600)"]


def test_an_address_that_was_given_back_comes_last() -> None:
    pool = Pool("198.18.0.0/28")
    given = [pool.take() for _ in range(14 - FIRST)]
    pool.give_back(given[0])
    pool.give_back(given[1])
    assert pool.take() == given[0]


def test_an_address_can_be_claimed_once() -> None:
    pool = Pool("198.18.0.0/28")
    assert pool.claim("198.18.0.1")
    assert not pool.claim("198.18.0.1")
    assert not pool.claim("203.0.113.7")


def test_files_of_a_volume_change_all_at_once(tmp_path: Path) -> None:
    swap.write(tmp_path, {"a": File(b"1", 0o644), "deep/b": File(b"1", 0o600)})
    before = (tmp_path / swap.CURRENT).resolve()
    seen = os.open(tmp_path / "a", os.O_RDONLY)
    swap.write(tmp_path, {"a": File(b"2", 0o644), "c": File(b"2", 0o644)})
    assert (tmp_path / "a").read_bytes() + (tmp_path / "c").read_bytes() == b"22"
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith("..")} == {"a", "c"}
    assert os.read(seen, 9) == b"1"
    os.close(seen)
    assert not before.exists()


def test_a_volume_that_did_not_change_is_left_alone(tmp_path: Path) -> None:
    files = {"a": File(b"1", 0o644)}
    swap.write(tmp_path, files)
    before = (tmp_path / swap.CURRENT).readlink()
    swap.write(tmp_path, files)
    assert (tmp_path / swap.CURRENT).readlink() == before


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("$(A)/$(B)", "1/$(B)"), ("$$(A)", "$(A)"), ("$A $", "$A $"), ("", "")],
)
def test_only_known_variables_are_expanded(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


@pytest.mark.parametrize(("text", "number"), [("250m", 0.25), ("1", 1), ("64Mi", 64 * 2**20), ("2G", 2e9)])
def test_quantities_are_read(text: str, number: float) -> None:
    assert quantity(text) == number


def test_a_pod_is_told_about_itself() -> None:
    limited = Container(
        name="main", image="any", resources=Resources(limits={"cpu": "1500m", "memory": "1Gi"})
    )
    pod = Pod(ObjectMeta(name="p", labels={"b": "2", "a": '"'}), PodSpec(containers=(limited,)))
    assert read_field(pod, "198.18.16.9", FieldRef("status.podIP")) == "198.18.16.9"
    assert read_field(pod, "", FieldRef("metadata.labels")) == 'a="\\""\nb="2"'
    assert read_field(pod, "", FieldRef("metadata.labels['b']")) == "2"
    assert read_resource(pod, ResourceFieldRef("limits.cpu"), "main") == "2"
    assert read_resource(pod, ResourceFieldRef("limits.memory", divisor="1Mi"), "main") == "1024"


def test_an_image_is_found_by_the_first_pattern_that_matches() -> None:
    table = """
- match: "*/echo:*"
  files: {/bin/echo: $echo}
- match: "*"
"""
    read = images.read(table, {"echo": "/somewhere/echo"})
    found = images.find(read, "example.com/echo:1")
    assert found
    assert found.files == {"/bin/echo": "/somewhere/echo"}
    assert images.find(read, "other") == read[1]


def test_a_process_is_ended_by_what_was_written_down(tmp_path: Path) -> None:
    start(FOREVER, tmp_path / "log", os.environ, tmp_path).save(tmp_path / "process")
    written = Recorded.load(tmp_path / "process")
    assert written
    assert written.runs
    written.end(5)
    assert not written.runs


def test_a_process_has_ended_when_it_was_killed(tmp_path: Path) -> None:
    deaf = [sys.executable, "-c", DEAF]
    process = start(deaf, tmp_path / "log", os.environ, tmp_path)
    wait_for("it listens to nobody", lambda: bool((tmp_path / "log").read_text()), process, 60)
    process.end(within=0)
    assert not process.runs


def test_a_process_that_has_another_ones_id_is_left_alone() -> None:
    with subprocess.Popen(FOREVER) as other:  # noqa: S603  as written above
        Recorded(other.pid, started=1).end(5)
        assert other.poll() is None
        other.kill()


def test_waiting_for_a_process_ends_when_the_process_does(tmp_path: Path) -> None:
    ended = start([sys.executable, "-c", ""], tmp_path / "log", os.environ, tmp_path)
    with pytest.raises(RuntimeError, match="has ended"):
        wait_for("something", lambda: False, ended, 60)


def test_a_place_that_its_process_left_is_found(tmp_path: Path) -> None:
    place = Place(tmp_path, "x")
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    for other in (place, Place(tmp_path, "xy"), place.of_process(gone.pid), place.of_process(os.getpid())):
        other.state.mkdir(parents=True)
    assert list(place.abandoned()) == [place.of_process(gone.pid)]


def test_every_user_of_a_cluster_has_a_token_of_its_own(tmp_path: Path) -> None:
    identity.make(tmp_path / "keys")
    tokens = {identity.token(tmp_path / "keys", user) for user in identity.USERS}
    assert len(tokens) == len(identity.USERS)
    assert tmp_path.joinpath("keys").stat().st_mode & 0o077 == 0
