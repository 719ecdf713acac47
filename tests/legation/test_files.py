"""The watched folder: whatever an editor does to it, what it says is served within moments."""

import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from legation.files import BELIEVE_EMPTY_AFTER, Files, Update, watch
from tests.legation.manifest_texts import gateway, service, together
from tests.looking import SOON
from translator.objects.gateway import Gateway

NOBODY = 65534


def ports(update: Update) -> list[int | None]:
    """The port of each Gateway that came, None for each that went."""
    gateways = [change for change in update.changes if change.kind is Gateway]
    return [
        each.thing.spec.listeners[0].port if isinstance(each.thing, Gateway) else None for each in gateways
    ]


@contextmanager
def nobodys() -> Iterator[Path]:
    """Give a folder to somebody to whom permissions matter, which they do not to root, and be that one."""
    before = os.geteuid()
    with TemporaryDirectory() as folder:
        if before == 0:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(before)


async def following(updates: AsyncIterator[Update]) -> Update:
    return await anext(updates)


def write(path: Path, text: str) -> None:
    path.write_text(text)


def rename_over(path: Path, text: str) -> None:
    beside = path.with_name(f"{path.name}.tmp")
    beside.write_text(text)
    beside.replace(path)


def write_as_vim_does(path: Path, text: str) -> None:
    path.replace(path.with_name(f"{path.name}~"))
    path.write_text(text)
    path.with_name(f"{path.name}~").unlink()


def remove_and_write(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


@pytest.mark.parametrize("edit", [write, rename_over, write_as_vim_does, remove_and_write])
async def test_an_edit_is_seen_however_it_is_made(tmp_path: Path, edit: Callable[[Path, str], None]) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(gateway("edge", 80))
    async with aclosing(watch(tmp_path)) as updates:
        assert ports(await following(updates)) == [80]
        edit(path, gateway("edge", 81))
        begun = time.perf_counter()
        seen: list[int | None] = []
        async for update in updates:
            seen += ports(update)
            if 81 in seen:
                break
        took = time.perf_counter() - begun
    print(f"seen after {took * 1000:.0f} ms")  # noqa: T201  # the number itself is for the reader, not a limit
    assert seen == [81], "never gone in between"
    assert took < SOON


async def test_files_and_folders_that_come_go_and_move_are_followed(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    async with aclosing(watch(tmp_path)) as updates:
        assert (await following(updates)).changes == ()
        (tmp_path / "team" / "a.yaml").write_text(gateway("edge", 80))
        assert ports(await following(updates)) == [80]
        (tmp_path / "team").rename(tmp_path / "other")
        (tmp_path / "other" / "b.yaml").write_text(gateway("inner", 90))
        assert ports(await following(updates)) == [80, 90]  # the first is written elsewhere now
        (tmp_path / "other").rename(tmp_path.with_name(f"{tmp_path.name}-away"))
        assert ports(await following(updates)) == [None, None]


async def test_a_folder_that_was_replaced_is_watched_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.yaml").write_text(gateway("edge", 80))
    async with aclosing(watch(root)) as updates:
        assert ports(await following(updates)) == [80]
        shutil.rmtree(root)
        gone = await following(updates)
        while not any("is gone" in problem.message for problem in gone.problems):
            assert ports(gone) in ([], [None])
            gone = await following(updates)
        root.mkdir()
        (root / "a.yaml").write_text(gateway("edge", 82))
        seen: list[int | None] = []
        while 82 not in seen:
            seen += ports(await following(updates))


async def test_a_link_to_the_folder_is_followed_when_it_comes_to_lead_elsewhere(tmp_path: Path) -> None:
    current, new = tmp_path / "current", tmp_path / "new"
    for release, port in (("first", 80), ("second", 81)):
        (tmp_path / release).mkdir()
        (tmp_path / release / "a.yaml").write_text(gateway("edge", port))
    current.symlink_to("first")
    async with aclosing(watch(current)) as updates:
        assert ports(await following(updates)) == [80]
        new.symlink_to("second")
        new.replace(current)
        assert ports(await following(updates)) == [81]
        (tmp_path / "second" / "a.yaml").write_text(gateway("edge", 82))
        assert ports(await following(updates)) == [82]


def test_a_folder_that_is_gone_keeps_its_objects(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.yaml").write_text(gateway("edge", 80))
    files = Files(root)
    files.look()
    root.rename(tmp_path / "elsewhere")
    update = files.look()
    assert update.changes == ()
    assert [problem.message for problem in update.problems] == ["is gone; its objects are kept as they were"]


@pytest.mark.parametrize("closed", ["root", "."])
def test_a_folder_that_may_not_be_looked_into_for_a_while_keeps_its_objects(closed: str) -> None:
    good = together(service("pay", 1), gateway("edge", 80))
    with nobodys() as folder:
        root = folder / "root"
        root.mkdir()
        (root / "a.yaml").write_text(good)
        files = Files(root)
        files.look()
        (folder / closed).chmod(0)
        shut = files.look()
        (folder / closed).chmod(0o755)
        (root / "a.yaml").write_text(f"{good}---\nkind: [")
        again = files.look()
    assert shut.changes == ()
    assert shut.problems[0].message.startswith("cannot be looked")
    assert again.changes == ()
    assert again.problems[-1].message.startswith("kept as it was before")


def test_a_file_that_is_emptied_is_believed_only_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(gateway("edge", 80))
    files = Files(tmp_path)
    files.look()
    path.write_text("")
    assert files.look(now=10.0).changes == ()
    path.write_text(gateway("edge", 81))
    assert ports(files.look(now=10.1)) == [81]
    path.write_text("")
    assert files.look(now=20.0).changes == ()
    assert ports(files.look(now=20.0 + BELIEVE_EMPTY_AFTER)) == [None]


def test_a_file_that_was_named_is_read_even_if_it_looks_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(gateway("edge", 80))
    files = Files(tmp_path)
    files.look()
    seen = path.stat()
    path.write_text(gateway("edge", 81))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert ports(files.look({str(path)})) == [81]


def test_a_file_that_can_no_longer_be_read_keeps_its_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(gateway("edge", 80))
    files = Files(tmp_path)
    files.look()
    path.unlink()
    os.mkfifo(path)
    update = files.look()
    assert (update.changes, update.held) == ((), False)
    assert "is no regular file" in update.problems[0].message


def test_nothing_new_is_served_while_a_policy_may_be_hidden(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(gateway("edge", 80))
    (tmp_path / "b.yaml").write_text("kind: [BackendTLSPolicy")
    files = Files(tmp_path)
    first = files.look()
    assert (first.changes, first.held) == ((), True)
    (tmp_path / "b.yaml").write_text(service("store", 1))
    update = files.look()
    assert ports(update) == [80]
    assert not update.held


def test_a_link_to_a_folder_elsewhere_holds_everything_back(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for folder in (root, elsewhere):
        folder.mkdir()
    (root / "a.yaml").write_text(gateway("edge", 80))
    (root / "team").symlink_to(elsewhere)
    update = Files(root).look()
    assert (update.changes, update.held) == ((), True)
    assert update.problems[0].place.source == "team"
