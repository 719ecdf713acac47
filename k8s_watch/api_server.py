"""The door to an API server: whose it is, how we prove who we are, and one request.

Credentials are read again when the server does not know us, or we no longer know it: tokens and authorities
are replaced while we run.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Self

import aiohttp
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config
from msgspec import Struct
from yaml import YAMLError

from k8s_watch.answers import Failed, read_failure

UNAUTHORIZED = HTTPStatus.UNAUTHORIZED.value
UNLIMITED = 0
LONGEST_REFUSAL = 64 * 1024  # bytes of an explanation that are read

Load = Callable[[Configuration], Awaitable[object]]


class NoAccessError(Exception):
    """Nothing says where the API server is, or who we are; says what was looked for."""


class RequestError(Exception):
    """A request came to nothing."""

    def __init__(self, failed: Failed) -> None:
        """Say how."""
        super().__init__(str(failed))
        self.failed = failed


class Call(Struct, frozen=True):
    """One request."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    accept: str = "application/json"
    body: bytes | None = None
    content_type: str = "application/json"
    connect: float = 5.0  # seconds, TLS included
    silence: float = 30.0  # seconds without a byte after which the other end counts as gone
    total: float | None = None
    headers: Mapping[str, str] = {}


class Session(Struct, frozen=True, eq=False):
    """Connections that were made with the same credentials."""

    configuration: Configuration
    client: ApiClient


class ApiServer:
    """One API server, reached as a configuration says."""

    def __init__(self, load: Load, agent: str = "legation") -> None:
        """Find server and credentials by `load`, every time they are needed anew."""
        self._load = load
        self._agent = agent
        self.failures: Counter[int] = Counter()  # requests that came to nothing, by HTTP's code, or 0
        self._session: Session | None = None
        self._renewing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Read the configuration; nothing is asked yet."""
        self._session = await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all connections."""
        await self._current().client.close()
        self._session = None

    def _current(self) -> Session:
        assert self._session is not None, "not entered"
        return self._session

    async def _open(self) -> Session:
        configuration = Configuration()
        configuration.connection_pool_maxsize = UNLIMITED  # every watch keeps one
        try:
            await self._load(configuration)
            client = ApiClient(configuration)
        except (ConfigException, OSError, ValueError) as error:
            raise NoAccessError(str(error)) from error
        return Session(configuration, client)

    async def _renew(self, before: Session) -> None:
        """Begin a new session, unless somebody has done so already; the old one's streams end."""
        async with self._renewing:
            if self._session is before:
                self._session = await self._open()
                connector = before.client.rest_client.pool_manager.connector
                assert connector is not None
                await connector.close()  # not the session: requests that it is just beginning would break it

    @asynccontextmanager
    async def send(self, call: Call) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield the answer; whatever goes wrong, in the caller's reading too, is a RequestError."""
        try:
            async with self._sent(call) as response:
                yield response
        except RequestError as error:
            self.failures[error.failed.code] += 1
            raise

    @asynccontextmanager
    async def _sent(self, call: Call) -> AsyncIterator[aiohttp.ClientResponse]:
        session = self._current()
        try:
            async with await self._request(session, call) as response:
                with _ended_at_once(response):
                    await _check(response)
                    yield response
        except RequestError as error:
            if error.failed.code == UNAUTHORIZED:
                await self._try_to_renew(session)
            raise
        except aiohttp.ClientSSLError as error:
            await self._try_to_renew(session)
            raise RequestError(_unanswered(error)) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise RequestError(_unanswered(error)) from error

    async def _try_to_renew(self, session: Session) -> None:
        try:
            await self._renew(session)
        except NoAccessError as error:
            raise RequestError(Failed(UNAUTHORIZED, f"credentials cannot be read again: {error}")) from error

    async def _request(self, session: Session, call: Call) -> aiohttp.ClientResponse:
        known = {"accept": call.accept, "user-agent": self._agent}
        headers = {**call.headers, **known, **await _authorization(session)}
        if call.body is not None:
            headers["content-type"] = call.content_type
        if session is not self._session:
            raise RequestError(Failed(0, "credentials were replaced meanwhile"))
        rest = session.client.rest_client
        response: aiohttp.ClientResponse = await rest.pool_manager.request(
            call.method,
            f"{session.configuration.host}{call.path}",
            params=call.query,
            data=call.body,
            headers=headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=call.total, connect=call.connect, sock_read=call.silence),
            proxy=rest.proxy,
            proxy_headers=rest.proxy_headers,
            server_hostname=rest.server_hostname,
        )
        return response


def in_cluster(token: str | None = None, authority: str | None = None) -> Load:
    """Use what a pod is given by its service account."""
    files = {"token_filename": token, "cert_filename": authority}
    given = {name: path for name, path in files.items() if path is not None}

    async def load(configuration: Configuration) -> None:
        load_incluster_config(client_configuration=configuration, **given)  # type: ignore[no-untyped-call]  # it has no types

    return load


def kubeconfig(path: str | None = None, context: str | None = None) -> Load:
    """Use a kubeconfig, by default the one kubectl uses, and its current context unless another is named."""
    return partial(_load_kubeconfig, path, context)


async def _load_kubeconfig(path: str | None, context: str | None, configuration: Configuration) -> None:
    """Read a kubeconfig; its reader takes whatever it says for one, and trips over what is half written."""
    named = path or "the kubeconfig"
    try:
        with _said_once():
            await load_kube_config(config_file=path, context=context, client_configuration=configuration)
    except YAMLError as error:
        message = f"{named} is not understood: {str(error).splitlines()[0]}"
        raise ConfigException(message) from error
    except (TypeError, LookupError, AttributeError) as error:
        message = f"{named} does not say what a kubeconfig says, or not in that form"
        raise ConfigException(message) from error
    except OSError as error:  # itself, or a plugin that it names
        message = f"{named}: {error}"
        raise ConfigException(message) from error


@contextmanager
def _said_once() -> Iterator[None]:
    """Raise what the reader would log: without credentials it only does that, and all else it raises, too."""
    log, said = logging.getLogger("kubernetes_asyncio.config.kube_config"), list[str]()

    def take(record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        said.append(record.getMessage())
        return False

    log.addFilter(take)
    try:
        yield
    finally:
        log.removeFilter(take)
    if said:
        raise ConfigException(said[0])


@contextmanager
def _ended_at_once(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Leave an unfinished answer without a goodbye: TLS would wait for whoever may be gone to return it."""
    connection = response.connection
    transport = connection.transport if connection is not None else None
    try:
        yield
    except BaseException:
        if transport is not None and not response.content.is_eof():  # else others may use it already
            transport.abort()
        raise


async def _authorization(session: Session) -> dict[str, str]:
    """Prove who we are by a token, if that is how; a file may end it with a newline."""
    try:
        known = await session.configuration.auth_settings()
    except (ConfigException, ValueError) as error:
        raise RequestError(Failed(UNAUTHORIZED, f"there is no token: {error}")) from error
    return {each["key"]: each["value"].strip() for each in known.values()}


async def _check(response: aiohttp.ClientResponse) -> None:
    if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
        body = await response.content.read(LONGEST_REFUSAL)
        raise RequestError(read_failure(response.status, body, response.headers.get("retry-after", "")))


def _unanswered(error: Exception) -> Failed:
    return Failed(0, str(error) or type(error).__name__)
