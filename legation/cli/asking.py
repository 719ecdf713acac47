"""Asks whoever is to be asked, and says in words why nobody answers."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

import aiohttp
import msgspec

from legation.addresses import HostPort
from legation.answers import FROM_NO_PAGE, Answers, Told, UnansweredError
from legation.checks.findings import Finding
from legation.cli.terminal import CANNOT_TELL, fail, out
from legation.cli.whom import INSTALLED_IN, Cluster, Whom
from legation.settings import ADMIN

T = TypeVar("T")

WITHIN = aiohttp.ClientTimeout(total=20, connect=5)
LONGEST = 200  # characters of somebody's words
OTHER_VERSION = "use the same version of `legation` for both"

Ask = Callable[[str], Awaitable[Answers]]


def asked(whom: Whom, question: str, read: Callable[[Answers], T], code: int = CANNOT_TELL) -> T:
    """Return what is answered; exit with this code where nobody answers, or so that nobody understands it."""
    try:
        answers = asyncio.run(_once(whom, question))
        for why in answers.silent:
            out(stderr=True).print(f"a replica does not answer: {why}", style="yellow", markup=False)
        return read(answers)
    except UnansweredError as error:
        fail(str(error), error.remedy, code)


def of_any(read: Callable[[bytes], T]) -> Callable[[Answers], T]:
    """Read what one of them says, where all of them say the same."""
    return lambda answers: understood(read, answers.told[0].body)


def understood(read: Callable[[bytes], T], body: bytes) -> T:
    """Read an answer."""
    try:
        return read(body)
    except msgspec.MsgspecError as error:
        what = f"the answer is not what was expected: {error}"
        raise UnansweredError(what, OTHER_VERSION) from error


async def _once(whom: Whom, question: str) -> Answers:
    async with reached(whom) as ask:
        return await ask(question)


@asynccontextmanager
async def reached(whom: Whom) -> AsyncGenerator[Ask]:
    """Yield the way to whoever is asked, for as many questions as there are."""
    admin = await _port_of(whom)
    if admin is not None:
        async with aiohttp.ClientSession(timeout=WITHIN, headers=FROM_NO_PAGE) as session:
            yield _Port(session, admin).ask
    else:
        async with _cluster(whom) as ask:
            yield ask


async def look(whom: Whom) -> tuple[Finding, ...]:
    """Return what a cluster lacks; nothing where a process on a machine is asked."""
    if await _port_of(whom) is not None:
        return ()
    from legation.through_api_server import InCluster, replicas_of  # noqa: PLC0415  # slow to import

    async with replicas_of(InCluster(*_place(whom.cluster))) as replicas:
        return await replicas.look()


async def _port_of(whom: Whom) -> HostPort | None:
    """Return the admin port that is asked; None where a cluster is."""
    if whom.admin is None and not whom.cluster and await _listens(ADMIN):
        return ADMIN
    return whom.admin


class _Port:
    """One admin port."""

    def __init__(self, session: aiohttp.ClientSession, at: HostPort) -> None:
        self._session = session
        self._at = at

    async def ask(self, question: str) -> Answers:
        url = f"http://{self._at}/api/v1/{question}"
        try:
            async with self._session.get(url) as answer:
                if answer.status != HTTPStatus.OK:
                    words = (await answer.text(errors="replace"))[:LONGEST].strip()
                    what = f"{url} answers {answer.status}: {words}"
                    raise UnansweredError(what, "is it the admin port of this version of `legation`?")
                return Answers((Told("", await answer.read()),))
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            what = f"nobody answers at {url}: {str(error) or type(error).__name__}"
            raise UnansweredError(
                what, "is `legation up` running? Name its port with --admin HOST:PORT"
            ) from error


@asynccontextmanager
async def _cluster(whom: Whom) -> AsyncGenerator[Ask]:
    from legation.through_api_server import InCluster, replicas_of  # noqa: PLC0415  # slow to import

    try:
        async with replicas_of(InCluster(*_place(whom.cluster))) as replicas:
            yield replicas.ask
    except UnansweredError as error:
        if whom.cluster:
            raise
        what = f"no `legation up` listens at {ADMIN}, and of a cluster: {error}"
        instead = "name manifests," if whom.or_manifests else "start it, name"
        remedy = f"{instead} --admin HOST:PORT, or a cluster; {error.remedy}"
        raise UnansweredError(what, remedy) from error


def _place(cluster: Cluster) -> tuple[str, str | None, str | None]:
    """Name the namespace, the kubeconfig and the context of an installation."""
    file = str(cluster.kubeconfig) if cluster.kubeconfig else None
    return cluster.namespace or INSTALLED_IN, file, cluster.context or None


async def _listens(at: HostPort) -> bool:
    try:
        async with asyncio.timeout(1):
            _, writer = await asyncio.open_connection(at.host, at.port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
