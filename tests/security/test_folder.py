"""A folder that somebody hostile writes in: what is wrong is named, what is right served, nothing hangs."""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from legation.disk import LARGEST, Unreadable, read_manifest
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, legation_up, run
from tests.real_envoy import until

SHOP = together(LEGATION_CLASS, gateway("edge", 80), route("store", "store"), service("store", 9))
WITHIN = 180.0
NOBODY = 65534
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{number}: &a{number} [{','.join([f'*a{number - 1}'] * 10)}]\n" for number in range(1, 30)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{number}: &a{number} {{<<: [{', '.join([f'*a{number - 1}'] * 50)}], k{number}: 1}}\n"
    for number in range(1, 50)
)
TEXTS = {
    "bomb.yaml": BOMB.encode(),
    "merged.yaml": MERGED.encode(),
    "tag.yaml": b"a: !!python/object/apply:os.mkdir ['owned']",
    "deep.yaml": b"[" * 100_000,
    "flow.yaml": b"{a: " * 100_000,
    "latin.yaml": "kind: Gew\xfcrz".encode("latin-1"),
    "utf16.yaml": "kind: Gateway".encode("utf-16"),
    "nul.yaml": b"kind: Gate\0way",
    "json.json": b'{"kind": ' * 10_000,
    "number.yaml": b"a: " + b"9" * 1_000_000,
    "documents.yaml": b"---\n{}\n" * 200,
    "keys.yaml": b"".join(b"k%d: 1\n" % number for number in range(260_000)),
}

UNREADABLE = ("latin.yaml", "utf16.yaml")  # so that nobody can say what is in them


def things_that_are_no_files(folder: Path) -> list[str]:
    """Put everything that a manifest's name can stand at; say what is written of each."""
    before = {each.name for each in folder.iterdir()}
    os.mkfifo(folder / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket.yaml"))
    outside = folder.parent / "outside.yaml"
    outside.write_text("{apiVersion: v1, kind: Secret, metadata: {name: stolen}, data: {password: c3RvbGVu}}")
    for name, target in {
        "out.yaml": outside,
        "root.yaml": Path("/etc/shadow"),
        "zero.yaml": Path("/dev/zero"),
        "tty.yaml": Path("/dev/tty"),
        "process.yaml": Path("/proc/self/environ"),
        "loop.yaml": folder / "loop.yaml",
        "nowhere.yaml": folder / "none",
    }.items():
        (folder / name).symlink_to(target)
    (folder / "self").symlink_to(folder)
    (folder / "up").symlink_to(folder.parent)
    (folder / "large.yaml").touch()
    os.truncate(folder / "large.yaml", LARGEST * 1000)  # which no disk holds, nor any memory
    return [each.name for each in folder.iterdir() if each.suffix == ".yaml" and each.name not in before]


async def named(up: Legation, *files: str) -> None:
    """Wait until every file is named with what is wrong."""

    async def so() -> bool:
        found = (await up.overview()).findings
        told = " ".join(each.where for each in found)
        return all(file in told for file in files)

    await until(so, within=WITHIN)


async def served(up: Legation, port: int) -> None:
    """Wait until the Gateway is served at a port."""

    async def so() -> bool:
        return [f"127.0.0.1:{port}"] == [at for each in (await up.overview()).gateways for at in each.bound]

    await until(so, within=WITHIN)


async def test_what_is_wrong_in_a_folder_is_named_and_what_is_right_is_served(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "good.yaml").write_text(SHOP)
    texts = {name: content for name, content in TEXTS.items() if name not in UNREADABLE}
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    async with legation_up(folder, "--no-envoy") as up:
        await served(up, 80)
        await named(up, *texts)
        (folder / "good.yaml").write_text(SHOP.replace("port: 80,", "port: 81,"))
        await served(up, 81)
    assert [*Path.cwd().glob("owned")] == []


async def test_what_cannot_be_read_holds_changes_back_and_ends_nothing_that_is_served(tmp_path: Path) -> None:
    """It may hold a policy without which something would be sent in plaintext."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "good.yaml").write_text(SHOP)
    async with legation_up(folder, "--no-envoy") as up:
        await served(up, 80)
        odd = [*things_that_are_no_files(folder), *UNREADABLE]
        for name in UNREADABLE:
            (folder / name).write_bytes(TEXTS[name])
        (folder / "good.yaml").write_text(SHOP.replace("port: 80,", "port: 81,"))
        await named(up, *odd)
        await served(up, 80)
        assert "stolen" not in str(await up.overview())
        for name in (*odd, "up"):  # which is a folder that nobody looks into
            (folder / name).unlink()
        await served(up, 81)


async def test_a_check_of_such_a_folder_ends_and_names_each_file_with_a_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    odd = things_that_are_no_files(folder)
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content)
    code, out, err = await run("check", str(folder))
    assert code == 1
    assert "Traceback" not in out + err
    assert [name for name in (*odd, *TEXTS) if name not in out] == []
    assert "c3RvbGVu" not in out


async def test_files_that_come_go_and_grow_while_they_are_read_disturb_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(SHOP)
    restless = tmp_path / "restless.yaml"

    def disturb() -> None:
        for turn in range(300):
            restless.write_text(f"kind: {'x' * turn * 100}")
            with restless.open("a") as growing:
                growing.write("\na: [" * turn)
            restless.rename(tmp_path / f"moved-{turn % 3}.yaml")
            (tmp_path / "folder.yaml").mkdir()
            (tmp_path / "folder.yaml").rmdir()
            (tmp_path / "link.yaml").symlink_to("restless.yaml")
            (tmp_path / "link.yaml").unlink()

    async with legation_up(tmp_path, "--no-envoy") as up:
        await served(up, 80)
        await asyncio.to_thread(disturb)
        (tmp_path / "good.yaml").write_text(SHOP.replace("port: 80,", "port: 81,"))
        for number in range(3):
            (tmp_path / f"moved-{number}.yaml").unlink()
        await served(up, 81)
        assert [each for each in (await up.overview()).findings if "moved" in str(each)] == []


async def test_a_deep_and_wide_tree_is_looked_through(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(80):
        deep /= "d" * 40
        deep.mkdir()
    (deep / "good.yaml").write_text(SHOP)
    for number in range(2_000):
        (tmp_path / f"empty-{number}").mkdir()
    async with legation_up(tmp_path, "--no-envoy") as up:
        await served(up, 80)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be somebody to whom permissions matter, which they do not to root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed.yaml").write_text(SHOP)
    (tmp_path / "closed.yaml").chmod(0)
    with as_nobody():
        found = read_manifest(tmp_path / "closed.yaml", tmp_path)
    assert found == Unreadable("cannot be read: Permission denied")
