"""Policies in a cluster that say something of traffic, and that nothing comes of: nobody need guess."""

from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from k8s_watch.answers import BROKEN, Failed
from k8s_watch.api_server import ApiServer, Call, RequestError
from k8s_watch.kind import Place
from k8s_watch.list_watch import NOT_FOUND
from legation.checks.findings import Finding, of_check
from legation.checks.table import UNHONOURED
from legation.unasked import NOT_ASKED, UnaskedError
from translator.names import Name, Ref
from translator.objects.x_backend import X_GROUP, X_UNHONOURED

VERSION = "v1alpha1"
WITHIN = 20.0  # seconds


class _Metadata(Struct, frozen=True):
    name: str
    namespace: str = ""


class _Policy(Struct, frozen=True):
    metadata: _Metadata


class _Policies(Struct, frozen=True):
    items: tuple[_Policy, ...] | None = None


async def of_policies(server: ApiServer) -> AsyncIterator[Finding]:
    """Tell of each policy that is not honoured."""
    for kind, plural in X_UNHONOURED.items():
        try:
            found = await _all(server, plural)
        except UnaskedError as error:
            yield of_check(NOT_ASKED, "", "", str(error))
        else:
            for each in found:
                about = Ref(kind, Name(each.metadata.namespace, each.metadata.name))
                yield of_check(UNHONOURED, str(about), "", f"nothing comes of it: {kind} is not honoured")


async def _all(server: ApiServer, plural: str) -> tuple[_Policy, ...]:
    path = Place(f"{X_GROUP}/{VERSION}", plural, "").path()
    try:
        async with server.send(Call("GET", path, total=WITHIN)) as response:
            return msgspec.json.decode(await response.read(), type=_Policies).items or ()
    except RequestError as error:
        if error.failed.code == NOT_FOUND:
            return ()
        raise UnaskedError(error.failed, plural) from error
    except BROKEN as error:
        raise UnaskedError(Failed(0, str(error)), plural) from error
