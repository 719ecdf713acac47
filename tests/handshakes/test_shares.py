"""Backends of one rule that each have filters: every share is proved, or fails, as if it were alone."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.handshakes.backends import http_backend, speaks
from tests.handshakes.cases import HOSTNAME, OTHER, RIGHT, trusting
from tests.handshakes.manifests import EDGE, Json, manifest, policy
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTPS, OPEN, SHUT, encrypted, gateway, visit
from tests.real_envoy import until

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

VISITS = 60  # of three equal shares one is missed once in 10^10 runs
COPIES: Json = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "copies", "port": HTTPS}}}
FILTERS: dict[str, Json] = {
    "headers": {
        "type": "RequestHeaderModifier",
        "requestHeaderModifier": {"set": [{"name": "x", "value": "a"}]},
    },
    "host": {"type": "URLRewrite", "urlRewrite": {"hostname": "other.test"}},
    "path": {
        "type": "URLRewrite",
        "urlRewrite": {"path": {"type": "ReplaceFullPath", "replaceFullPath": "/other"}},
    },
    "cors": {"type": "CORS", "cors": {"allowOrigins": ["https://a.test"]}},
    "copies": COPIES,
}
SEEN = {"headers": "\r\nx: a\r\n", "host": "\r\nhost: other.test\r\n", "path": "ET /other HTTP/1.1\r\n"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with rigged() as rig:
        rig.apply(*gateway())
        yield rig


@pytest.mark.parametrize("name", FILTERS)
async def test_a_share_with_filters_is_proved_or_fails_and_is_never_in_cleartext(rig: Rig, name: str) -> None:
    wrong = speaks(OTHER.issue(dns=[HOSTNAME]))
    async with (
        http_backend(speaks(RIGHT)) as right,
        http_backend(wrong) as unproved,
        http_backend(speaks(RIGHT)) as untried,
        http_backend(speaks(RIGHT)) as copies,
    ):
        rig.apply(
            *encrypted("right", right.port),
            *encrypted("unproved", unproved.port),
            *encrypted("untried", untried.port),
            *encrypted("copies", copies.port),
            policy("untried", trusting("nowhere")),
            split("right", "unproved", "untried", filters=[FILTERS[name]]),
        )
        await rig.settled()
        answers = Counter(await asyncio.gather(*(visit(rig, "pay") for _ in range(VISITS))))
        assert answers.keys() == {OPEN, SHUT}
        assert len(right.told) == answers[OPEN]
        assert unproved.told == untried.told == []
        assert (untried.tap.opened, len(unproved.tap.hellos) > 0) == (0, True)
        assert all(SEEN.get(name, "host: pay.test") in head for head in right.told)
        if FILTERS[name] is COPIES:

            async def copied() -> bool:
                return len(copies.told) >= answers[OPEN]

            await until(copied)
        for each in (right, unproved, untried, copies):
            assert each.tap.cleartext == b""


def split(first: str, *others: str, filters: list[Json]) -> Json:
    """Return a route to several Services, all but the last with filters."""
    refs: list[Json] = [{"name": each, "port": HTTPS, "filters": filters} for each in (first, *others)]
    del refs[-1]["filters"]
    spec = {"parentRefs": [EDGE], "hostnames": ["pay.test"], "rules": [{"backendRefs": refs}]}
    return manifest("HTTPRoute", "pay", spec=spec)
