"""What the control plane may not do with an API server, though it needs to: asked of the server itself."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from k8s_watch.api_server import ApiServer, Call
from legation.permissions import Permission, of_cluster, of_default_namespace, of_namespaces, of_own_namespace

AT_ONCE = 8
WITHIN = 20.0  # seconds


class Account(NamedTuple):
    """A service account, as those that ask by it are known."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: `ServiceAccount legation-system/legation`."""
        return f"ServiceAccount {self.namespace}/{self.name}"

    @property
    def asking(self) -> dict[str, object]:
        """Who it is to an API server, with the groups that all such belong to."""
        group = "system:serviceaccounts"
        groups = [group, f"{group}:{self.namespace}", "system:authenticated"]
        return {"user": f"system:serviceaccount:{self.namespace}:{self.name}", "groups": groups}


class Right(NamedTuple):
    """One thing that may be done with objects of one kind, everywhere or in one namespace."""

    namespace: str
    group: str
    resource: str
    verb: str
    name: str = ""

    @property
    def attributes(self) -> dict[str, str]:
        """Name it as an API server is asked for it."""
        resource, _, part = self.resource.partition("/")
        return {**self._asdict(), "resource": resource, "subresource": part}


class _Answer(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _Answer = _Answer()


def needed(own: str, watched: Sequence[str] = (), *, managed: bool = True) -> Iterator[Right]:
    """Name all that is needed, by a control plane in one namespace that serves these, or all."""
    yield from _rights("", of_cluster())
    for namespace in watched or ("",):
        yield from _rights(namespace, of_namespaces(managed=managed))
    if watched:
        yield from _rights("default", of_default_namespace())
    yield from _rights(own, of_own_namespace(managed=managed))


async def lacking(server: ApiServer, account: Account | None, rights: Iterable[Right]) -> tuple[Right, ...]:
    """Return which of these an account does not have, or whoever asks here; raises what went wrong."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def lacks(right: Right) -> bool:
        async with turns:
            return not await _is_allowed(server, account, right)

    asked = tuple(dict.fromkeys(rights))
    try:
        async with asyncio.TaskGroup() as tasks:
            answers = [tasks.create_task(lacks(right)) for right in asked]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed  # what is wrong with one question is wrong with all of them
    return tuple(right for right, is_lacking in zip(asked, answers, strict=True) if is_lacking.result())


async def _is_allowed(server: ApiServer, account: Account | None, right: Right) -> bool:
    kind = "SubjectAccessReview" if account else "SelfSubjectAccessReview"
    spec = {**(account.asking if account else {}), "resourceAttributes": right.attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
    call = Call("POST", path, body=msgspec.json.encode(review), total=WITHIN)
    async with server.send(call) as response:
        return msgspec.json.decode(await response.read(), type=_Review).status.allowed


def _rights(namespace: str, permissions: Iterable[Permission]) -> Iterator[Right]:
    for each in permissions:
        for resource in each.resources:
            for verb in each.verbs:
                for name in each.names or ("",):
                    yield Right(namespace, each.group, resource, verb, name)
