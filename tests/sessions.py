"""Clients that come often, and that send again what answers gave them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http.cookies import SimpleCookie

from tests.loopback import Answer

VISITS = 160  # of six that share them evenly one is missed once in 10^12 runs


async def many(ask: Callable[[], Awaitable[Answer]], count: int = VISITS) -> list[Answer]:
    """Ask so often that everybody answers who may."""
    return await asyncio.gather(*(ask() for _ in range(count)))


def bodies(answers: Sequence[Answer]) -> set[str]:
    """Return what those say that are no failures."""
    return {answer.body for answer in answers if answer.status == 200}


def cookies(answers: Sequence[Answer]) -> Mapping[str, str]:
    """Return what a browser would send after these answers."""
    found: SimpleCookie = SimpleCookie()
    for answer in answers:
        found.load(answer.headers.get("set-cookie", ""))
    return {"cookie": "; ".join(f'{name}="{each.value}"' for name, each in found.items())}
