"""What an example needs here: manifests in a folder of their own, certificates, backends, Legation."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import msgspec

from demo import backends
from demo.authority import Authority, Certified, pin
from legation.standing import Overview, read_overview

EXAMPLES = Path(__file__).parent.parent / "examples"
ADMIN = "127.0.0.1:19080"
EXAMPLE_PIN = "d6qzRu9zOECb90Uez27xWltNsj0e1Md7GkYYkVoZWmM="  # RFC 7469's own
PATIENCE = 20.0  # seconds for anything that takes a moment
LOOK_AGAIN = 0.05
WITHIN = aiohttp.ClientTimeout(total=5)  # for who has the port and says nothing
TAKEN = "{}\nExamples use the ports that their manifests name: end whoever has them, and try again."

Wanted = Callable[[Overview], bool]


class Stage:
    """One example while it runs."""

    def __init__(self, folder: Path) -> None:
        """Use a folder that belongs to nobody else."""
        self.manifests = folder / "manifests"
        self.backend_roots = folder / "backend-roots.pem"
        self.client_roots = folder / "client-roots.pem"
        self.log = folder / "legation.log"
        self.authority = Authority("Demo Authority")
        self.pay = self.authority.vouch("pay.internal", "one.pay.internal", "spiffe://shop.example/pay")
        self._folder = folder

    def prepare(self, example: str) -> None:
        """Copy an example's manifests, and make the certificates and pins that they mention."""
        shutil.copytree(EXAMPLES / example, self.manifests)
        for path in self.manifests.glob("*.yaml"):
            path.write_text(path.read_text().replace(EXAMPLE_PIN, pin(self.pay.certificate)))
        clients = Authority("Demo Client Authority")
        self.client_roots.write_text(clients.pem)
        self.backend_roots.write_text(self.authority.pem)
        self.write("certificate", tls_secret("shop-example", clients.vouch("shop.example")))
        self.trust(self.authority)

    def trust(self, authority: Authority) -> None:
        """Say which roots the backends are held against."""
        self.write("roots", config_map("backend-roots", {"ca.crt": authority.pem}))

    def write(self, name: str, manifest: dict[str, Any]) -> None:
        """Write a manifest as an editor would: beside its place first, so that nobody reads half of it."""
        draft = self.manifests / f".{name}.draft"
        draft.write_text(json.dumps(manifest, indent=2))
        draft.rename(self.manifests / f"{name}.yaml")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run backends and `legation up` until the end of the block; begin once Envoy has the example."""
        certificate = self.pay.save(self._folder / "pay.pem")
        command = [sys.executable, "-m", "legation", "up", str(self.manifests), "--admin", ADMIN]
        if await self._overview() is not None:
            raise SystemExit(TAKEN.format(f"a `legation up` answers at {ADMIN}"))
        async with AsyncExitStack() as behind:
            try:
                await behind.enter_async_context(backends.running(certificate))
            except (OSError, RuntimeError) as error:  # gRPC's is the latter
                raise SystemExit(TAKEN.format(f"a backend cannot listen: {error}")) from None
            with self.log.open("wb") as log:
                process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
            ended = asyncio.create_task(process.wait())
            try:
                _check(await self._settled(ended))
                yield
            finally:
                if process.returncode is None:
                    process.terminate()
                await process.wait()

    async def _settled(self, ended: "asyncio.Task[int]") -> Overview:
        settled = asyncio.create_task(
            self.until(lambda found: bool(found.gateways) and all(g.is_settled for g in found.gateways))
        )
        await asyncio.wait((ended, settled), return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            settled.cancel()
            raise SystemExit(TAKEN.format(f"`legation up` ended: {self.log.read_text().strip()}"))
        return await settled

    async def until(self, wanted: Wanted) -> Overview:
        """Wait until things stand as wanted, and say how they do."""
        try:
            async with asyncio.timeout(PATIENCE):
                while (found := await self._overview()) is None or not wanted(found):  # noqa: ASYNC110  it is over there
                    await asyncio.sleep(LOOK_AGAIN)
                return found
        except TimeoutError:
            message = f"it should not take so long; Legation said:\n{self.log.read_text()}"
            raise SystemExit(message) from None

    async def _overview(self) -> Overview | None:
        """Ask the running Legation how things stand; nothing as long as it does not answer."""
        url = f"http://{ADMIN}/api/v1/status"
        try:
            async with aiohttp.ClientSession(timeout=WITHIN) as session, session.get(url) as answer:
                return read_overview(await answer.read())
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError):
            return None


def _check(overview: Overview) -> None:
    """Go on only with ports that are ours: whoever has them would be taken for a Gateway."""
    for each in overview.gateways:
        if (found := each.programmed) is not None and found.status != "True":
            raise SystemExit(TAKEN.format(f"Gateway {each.name}: {found.message}"))


@asynccontextmanager
async def staged(example: str) -> AsyncIterator[Stage]:
    """Run an example until the end of the block."""
    with TemporaryDirectory(prefix="legation-") as folder:
        stage = Stage(Path(folder))
        stage.prepare(example)
        async with stage.running():
            yield stage


def config_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    """Make a ConfigMap of the shop."""
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def tls_secret(name: str, certified: Certified) -> dict[str, Any]:
    """Make a Secret of the shop with a certificate and its key."""
    metadata = {"name": name, "namespace": "shop"}
    data = {"tls.crt": certified.certificate, "tls.key": certified.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": metadata,
        "stringData": data,
    }
