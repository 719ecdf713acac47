"""A bug in a rule, from where it is planted to the alarm: last good version, log, metric, and its end."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import ask, http_backend
from tests.poison.bugs import with_bug
from tests.poison.passers_by import asking
from tests.poison.test_quarantine import answers
from tests.real_envoy import until

pytestmark = pytest.mark.envoy
EVIL, QUIET = "evil.example", "quiet.example"
OURS = 'legation_findings{group="our mistake"}'
MARK = "labels: {planted: here}"
#: What Python reads before anything else: a rule that has a mistake about whatever is marked.
SITE = """
from translator.rules import http_routes
from translator.rules.held_back import HTTP_ROUTES

good = http_routes.rules.__wrapped__

def failing(world, route):
    if "planted" in world.must(HTTP_ROUTES[route.kind], route.name).metadata.labels:
        raise ArithmeticError("planted in a rule")
    return good(world, route)

http_routes.rules.__wrapped__ = failing
"""


def evil(path: str, mark: str = "") -> str:
    """Write the route that the bug will be about."""
    written = route("evil", "store", host=EVIL).replace(
        "- backendRefs", f"- matches: [{{path: {{value: {path}}}}}]\n    backendRefs"
    )
    return written.replace("namespace: shop}", f"namespace: shop, {mark}}}", 1) if mark else written


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the bug; return a folder for manifests."""
    return with_bug(SITE, tmp_path, monkeypatch)


async def alarm_is(legation: Legation, count: int) -> None:
    async def so() -> bool:
        return await legation.metric(OURS) == count

    await until(so)


async def status(port: int, path: str) -> int:
    return (await ask(port, path, {"host": EVIL})).status


async def is_served(port: int, path: str) -> bool:
    return await status(port, path) == 200


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Legation, int]]:
    """Serve both tenants by an Envoy, at a port."""
    port = free_port()
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(http_backend("store"))
        base = together(LEGATION_CLASS, gateway("edge", port), service("store", backend.port))
        (folder / "a.yaml").write_text(base)
        (folder / "evil.yaml").write_text(evil("/first"))
        (folder / "quiet.yaml").write_text(route("quiet", "store", host=QUIET))
        legation = await stack.enter_async_context(legation_up(folder))
        await answers(port, QUIET)
        await until(lambda: is_served(port, "/first"))
        yield legation, port
    assert legation.process.returncode == 0


async def test_a_bug_in_a_rule_keeps_the_last_good_version_and_raises_the_alarm_until_it_is_over(
    planted: Path,
) -> None:
    async with serving(planted) as (legation, port):
        await alarm_is(legation, 0)
        async with asking(port, EVIL, "/first"), asking(port, QUIET):
            (planted / "evil.yaml").write_text(evil("/second", MARK))
            await alarm_is(legation, 1)
            (planted / "late.yaml").write_text(route("late", "store", host="late.example"))
            await answers(port, "late.example")
            assert await status(port, "/second") == 404
        entry = await legation.logged("a mistake of ours: it stays as it was")
        assert entry["object"] == "HTTPRoute shop/evil"
        assert "ArithmeticError: planted in a rule" in entry["exception"]
        [finding] = [each for each in (await legation.overview()).findings if each.group == "our mistake"]
        assert "HTTPRoute shop/evil" in finding.object
        (planted / "evil.yaml").write_text(evil("/second"))
        await alarm_is(legation, 0)
        await until(lambda: is_served(port, "/second"))
