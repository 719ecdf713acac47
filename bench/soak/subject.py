"""`legation up` in this process, which says what no other can see whenever a line is written to it."""

import asyncio
import gc
import os
import sys
import threading
from pathlib import Path

import msgspec
from msgspec import Struct

from legation.addresses import HostPort
from legation.app import up
from legation.collection import look_at_the_young_only
from legation.settings import LogFormat, Settings
from legation.telemetry.logs import set_up_logs

YOUNG_ONES = 1  # the older ones of the two generations that the collector looks at


class Inside(Struct, frozen=True):
    """What only the process itself knows."""

    tasks: int
    blocks: int
    circles: int  # objects so far that nothing else refers to, and that the collector would have left


def left_behind() -> int:
    """Collect what the collector never looks at, and count what would have stayed."""
    gc.collect(YOUNG_ONES)
    gc.unfreeze()
    found = gc.collect()
    gc.freeze()
    return found


def tell(loop: asyncio.AbstractEventLoop) -> None:
    """Answer every line, until there are no more."""
    circles = 0
    for _ in sys.stdin.buffer:
        circles += left_behind()
        found = Inside(len(asyncio.all_tasks(loop)), sys.getallocatedblocks(), circles)
        sys.stdout.buffer.write(msgspec.json.encode(found) + b"\n")
        sys.stdout.buffer.flush()


async def fill() -> None:
    """Have all threads that the pool may ever have, which otherwise come one by one."""
    many = min(32, (os.cpu_count() or 1) + 4)  # as the library decides
    met = threading.Barrier(many)
    await asyncio.gather(*(asyncio.to_thread(met.wait) for _ in range(many)))


async def main(folder: Path, xds: int) -> None:
    """Serve a folder to Envoys that come by themselves."""
    await fill()
    threading.Thread(target=tell, args=(asyncio.get_running_loop(),), daemon=True).start()
    loopback = "127.0.0.1"
    record = str(folder.parent / "audit.log")
    await up(Settings(folder, admin=HostPort(loopback, 0), xds=HostPort(loopback, xds), audit_log=record))


if __name__ == "__main__":
    set_up_logs(LogFormat.JSON)
    look_at_the_young_only()
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
