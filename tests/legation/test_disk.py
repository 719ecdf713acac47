"""Which files of a folder are manifests, and what is never opened."""

import os
import socket
from pathlib import Path

import pytest

from legation.disk import LARGEST, Unreadable, list_manifests, read_manifest


def why(path: Path, root: Path) -> str:
    found = read_manifest(path, root)
    assert isinstance(found, Unreadable)
    return found.why


def test_manifests_are_found_in_every_folder_below_and_hidden_ones_are_left_alone(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "deep/er/c.json", "notes.txt", ".hidden.yaml", ".git/d.yaml", "e.yaml~"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert list(list_manifests(tmp_path).files) == ["a.yml", "b.yaml", "deep/er/c.json"]


def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    (outside / "secret.yaml").write_text("kind: Secret")
    (root / "link.yaml").symlink_to(outside / "secret.yaml")
    (root / "folder").symlink_to(outside)
    assert "leads outside" in why(root / "link.yaml", root)
    assert "leads outside" in list_manifests(root).closed["folder"]
    assert list(list_manifests(root).files) == ["link.yaml"]


def test_a_link_inside_the_folder_is_read_as_kubernetes_mounts_a_config_map(tmp_path: Path) -> None:
    (tmp_path / "..2026").mkdir()
    (tmp_path / "..2026" / "shop.yaml").write_text("kind: Service")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "shop.yaml").symlink_to("..data/shop.yaml")
    assert list(list_manifests(tmp_path).files) == ["shop.yaml"]
    assert read_manifest(tmp_path / "shop.yaml", tmp_path) == "kind: Service"


def test_a_folder_of_a_config_map_is_read_as_kubernetes_mounts_it(tmp_path: Path) -> None:
    (tmp_path / "..2026" / "team").mkdir(parents=True)
    (tmp_path / "..2026" / "team" / "shop.yaml").write_text("kind: Service")
    (tmp_path / "..2026" / "team" / "again").symlink_to(tmp_path / "..2026")
    (tmp_path / "..data").symlink_to("..2026")
    (tmp_path / "team").symlink_to("..data/team")
    assert list(list_manifests(tmp_path).files) == ["team/shop.yaml"]
    assert read_manifest(tmp_path / "team" / "shop.yaml", tmp_path) == "kind: Service"


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket.yaml"))
        assert why(tmp_path / "socket.yaml", tmp_path) == "is no regular file"
    assert why(tmp_path / "pipe.yaml", tmp_path) == "is no regular file"
    assert "leads outside" in why(tmp_path / "zero.yaml", tmp_path)
    assert "folder.yaml" not in list_manifests(tmp_path).files


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(LARGEST + 1)
    assert "larger than 10 MiB" in why(tmp_path / "large.yaml", tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"), [(b"a: \xff", "byte 3 cannot be read; save it as UTF-8"), (None, "leads nowhere")]
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "a.yaml"
    if content is None:
        path.symlink_to("missing.yaml")
    else:
        path.write_bytes(content)
    assert reason in why(path, tmp_path)


def test_a_name_of_any_bytes_can_be_shown(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")).write_text("")
    [name] = list_manifests(tmp_path).files
    assert name.encode() == rb"\udcff.yaml"
