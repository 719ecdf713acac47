"""Debian's Chromium, driven by its own protocol: a page, what it asked for, and whatever it complained of."""

import asyncio
import base64
import json
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.looking import eventually
from tests.real_envoy import until

STARTS_WITHIN = 120.0
SHOWS_WITHIN = 90.0
ENDS_WITHIN = 20.0
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # everything that is shown comes from this machine, and root has no sandbox
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
    "about:blank",
)
COMPLAINTS = ("error", "warning")
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}

Json = dict[str, Any]


class Tab:
    """One page in the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Talk to it over its socket."""
        self._socket = socket
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._number = 0
        self.complaints: list[str] = []
        self.asked: list[str] = []  # every address that the page asked anything of

    async def listen(self) -> None:
        """Take whatever the browser says, until it is gone."""
        async for message in self._socket:
            self._take(json.loads(message.data))

    async def call(self, method: str, **parameters: object) -> Json:
        """Have the browser do something, and return what it answers."""
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(SHOWS_WITHIN):
            told = await answer
        assert "error" not in told, f"{method}: {told['error']}"
        result: Json = told["result"]
        return result

    async def run(self, expression: str) -> Any:  # noqa: ANN401  # whatever a script returns
        """Return the value of an expression in the page."""
        told = await self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    async def shows(self, expression: str, within: float = SHOWS_WITHIN) -> None:
        """Wait until an expression holds in the page."""

        async def holds() -> bool:
            return bool(await self.run(f"Boolean(document.body && ({expression}))"))

        await until(holds, within)

    async def text(self, text: str, within: float = SHOWS_WITHIN) -> None:
        """Wait until the page has a text."""
        await self.shows(f"document.body.innerText.includes({json.dumps(text)})", within)

    async def goes(self, url: str) -> None:
        """Load a page anew."""
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=url)

    async def press(self, key: str) -> None:
        """Press a key, by its name or by what it writes."""
        code = KEYS[key] if key in KEYS else ord(key.upper()) if key.isalnum() else 0
        text = {"Enter": "\r"}.get(key, "" if key in KEYS else key)
        about = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **about)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    async def write(self, text: str) -> None:
        """Write by keys."""
        for letter in text:
            await self.press(letter)

    async def looks(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Have it shown so wide, and light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        wish = {"name": "prefers-color-scheme", "value": scheme}
        await self.call("Emulation.setEmulatedMedia", features=[wish])

    async def photograph(self, path: Path) -> None:
        """Write what is shown into a file."""
        told = await self.call("Page.captureScreenshot", format="png")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(told["data"]))

    def _take(self, told: Json) -> None:
        if "id" in told:
            self._answers.pop(told["id"]).set_result(told)
            return
        about = told.get("params", {})
        if told["method"] == "Network.requestWillBeSent":
            self.asked.append(about["request"]["url"])
        elif (
            told["method"] == "Runtime.exceptionThrown"
            or (told["method"] == "Runtime.consoleAPICalled" and about["type"] in COMPLAINTS)
            or (told["method"] == "Log.entryAdded" and about["entry"]["level"] in COMPLAINTS)
        ):
            self.complaints.append(json.dumps(about))


@asynccontextmanager
async def chromium(*flags: str) -> AsyncIterator[Tab]:
    """Run a browser until the block ends, and give its one page."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("chromium is not on PATH: `make page` says how to have it", pytrace=False)
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        with (home / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                program,
                *flags,
                *FLAGS,
                f"--user-data-dir={home}",
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            async with _page(home) as tab:
                yield tab
        finally:
            process.terminate()
            try:
                async with asyncio.timeout(ENDS_WITHIN):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@asynccontextmanager
async def _page(home: Path) -> AsyncIterator[Tab]:
    address = home / "DevToolsActivePort"
    await eventually(lambda: address.exists() and "\n" in address.read_text(), within=STARTS_WITHIN)
    port = address.read_text().splitlines()[0]
    async with aiohttp.ClientSession() as session:
        pages: list[str] = []

        async def is_there() -> bool:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                found = [each for each in await answer.json() if each["type"] == "page"]
            pages[:] = [each["webSocketDebuggerUrl"] for each in found]
            return bool(pages)

        await until(is_there, STARTS_WITHIN)
        async with session.ws_connect(pages[0], max_msg_size=0) as socket:
            tab = Tab(socket)
            listening = asyncio.create_task(tab.listen())
            for domain in ("Page", "Runtime", "Log", "Network"):
                await tab.call(f"{domain}.enable")
            yield tab
            listening.cancel()
