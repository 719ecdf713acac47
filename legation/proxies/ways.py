"""How objects of ours are made in a cluster: only where nobody else has something under the name."""

from msgspec import Struct

from k8s_watch.answers import Failed, Item
from k8s_watch.reader import Reader
from k8s_watch.writer import Missing, Unchanged, Writer, Written
from legation.proxies.made import Key, Ledger, read_found
from translator.names import Ref


class TroubleError(Exception):
    """Something could not be made as it should be; says what, and what to do."""


class Ways(Struct, frozen=True):
    """How the cluster is read and written, and where in it."""

    reader: Reader
    writer: Writer
    namespaces: tuple[str, ...] = ()

    async def keep(self, ledger: Ledger, key: Key, body: bytes, owner: Ref) -> bool:
        """Apply what is not as it should be; say whether anything was done."""
        if ledger.is_applied(key, body):
            return False
        found = ledger.found(key)
        if found is None:
            await self.read(key, owner)
        elif not found.is_of(owner):
            raise _not_ours(key, owner)
        written = await self.apply(key, body)
        ledger.note(key, body, written.version, written.generation)
        return True

    async def read(self, key: Key, owner: Ref) -> Item | None:
        """Read what is there; what somebody else has is not touched, and not read any further."""
        found = await self.writer.read(key.place())
        match found:
            case Missing():
                return None
            case Failed(reason=why):
                message = f"{key} cannot be read: {why}"
                raise TroubleError(message)
            case Item():
                if not read_found(found.body).is_of(owner):
                    raise _not_ours(key, owner)
                return found

    async def apply(self, key: Key, body: bytes, manager: str = "") -> Written:
        """Let an object be so, as we or another manager say it; return what this made of it."""
        outcome = await self.writer.apply(key.place(), body, manager)
        match outcome:
            case Written():
                return outcome
            case Failed(reason=why):
                message = f"{key} cannot be made: {why}"
                raise TroubleError(message)
            case Missing() | Unchanged():
                message = f"{key} cannot be made: the API server does not know its kind, or its namespace"
                raise TroubleError(message)

    async def delete(self, key: Key, uid: str) -> None:
        """Delete an object, and none that has come in its place."""
        outcome = await self.writer.delete(key.place(), uid)
        if isinstance(outcome, Failed):
            message = f"{key} is no longer wanted and cannot be deleted: {outcome.reason}"
            raise TroubleError(message)


def _not_ours(key: Key, owner: Ref) -> TroubleError:
    return TroubleError(f"{key} is somebody else's: rename or delete it, or rename the {owner.kind}")
