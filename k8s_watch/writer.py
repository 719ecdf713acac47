"""HTTP: writes one object's status, retrying a conflict; creates Events; applies and deletes objects."""

import hashlib
import socket
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from k8s_watch.answers import BROKEN, Failed, Item, read_item
from k8s_watch.api_server import ApiServer, Call, RequestError
from k8s_watch.kind import Place
from k8s_watch.list_watch import NOT_FOUND
from k8s_watch.merge_patch import Fields, merge_patch

CONFLICT = 409
MOST_TRIES = 5
WITHIN = 30.0  # seconds
EVENT_LIMITS = {"action": 128, "reason": 128, "note": 1024}  # bytes, as the API server counts
LONGEST_NAME = 253


class Status(Struct, frozen=True):
    """An object's status as it was at a version, empty where it had none, and its generation then."""

    version: str
    status: bytes
    generation: int = 0


class Written(Struct, frozen=True):
    """It is so now, and these are the object's version and, if its kind has one, its generation."""

    version: str
    generation: int = 0


class Unchanged(Struct, frozen=True):
    """Nothing was sent, because it is so already."""


class Missing(Struct, frozen=True):
    """There is no such object, or no such kind."""


Outcome = Written | Unchanged | Missing | Failed


class Happening(Struct, frozen=True):
    """What an Event tells of an object: `type` is Normal or Warning, the note is for people.

    What happens again while its Event is kept is counted there; what is told once is left as it is.
    """

    regarding: Place
    kind: str
    uid: str
    type: str
    reason: str
    action: str
    note: str
    once: bool = False


class _Metadata(Struct, frozen=True):
    generation: int = 0


class _Object(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    status: Raw = Raw(b"{}")


class _Series(Struct, frozen=True):
    count: int = 1


class _Event(Struct, frozen=True):
    series: _Series = _Series()


class Writer:
    """Writes to one API server, under one name."""

    def __init__(self, server: ApiServer, manager: str) -> None:
        """Write as this field manager and reporting controller, such as `legation.dev/gateway-controller`."""
        self._server = server
        self.manager = manager
        self._instance = socket.gethostname()[:128]

    async def write_status(
        self, place: Place, make: Callable[[Status], bytes], known: Status | None = None
    ) -> Outcome:
        """Make an object's status from the one it has.

        `make` is asked anew whenever somebody else wrote in between. The version that is sent along makes the
        server refuse what was made from anything but the newest. What is known already saves a reading.
        """
        for _ in range(MOST_TRIES):
            if known is None:
                found = await self.read(place)
                if not isinstance(found, Item):
                    return found
                known = _status(found)
            outcome = await self._patch_status(place, known, make(known))
            if not _is_conflict(outcome):
                return outcome
            known = None
        return Failed(CONFLICT, f"{MOST_TRIES} times somebody else wrote first")

    async def announce(self, happening: Happening) -> Outcome:
        """Tell of an object by an Event, in its namespace or in `default`: one for all who say the same."""
        namespace = happening.regarding.namespace or "default"
        place = Place("events.k8s.io/v1", "events", namespace, _event_name(happening))
        outcome = await self.create(place, msgspec.json.encode(self._event(happening, place)))
        if not _is_conflict(outcome):
            return outcome
        return Unchanged() if happening.once else await self._count(place)

    async def create(self, place: Place, manifest: bytes) -> Outcome:
        """Create an object; that there is one already is a conflict."""
        return await self._write(Call("POST", replace(place, name="").path(), body=manifest, total=WITHIN))

    async def replace(self, place: Place, manifest: bytes) -> Outcome:
        """Replace an object; that it is no longer of the manifest's version is a conflict."""
        return await self._write(Call("PUT", place.path(), body=manifest, total=WITHIN))

    async def apply(self, place: Place, manifest: bytes, manager: str = "") -> Outcome:
        """Let an object have all that a manifest says, and nothing else of ours, by server-side apply.

        Under another manager's name, what is ours stays as it is.
        """
        query = {"fieldManager": manager or self.manager, "force": "true"}
        content_type = "application/apply-patch+yaml"  # JSON is YAML
        return await self._write(
            Call("PATCH", place.path(), query, body=manifest, content_type=content_type, total=WITHIN)
        )

    async def delete(self, place: Place, uid: str = "") -> Outcome:
        """Delete an object and what it owns; if a uid is given, only the object that has it."""
        options: dict[str, object] = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        body = msgspec.json.encode(options)
        return await self._write(Call("DELETE", place.path(), body=body, total=WITHIN))

    async def read(self, place: Place) -> Item | Missing | Failed:
        """Read an object as it is now."""
        try:
            async with self._server.send(Call("GET", place.path(), total=WITHIN)) as response:
                return read_item(await response.read())
        except RequestError as error:
            return Missing() if error.failed.code == NOT_FOUND else error.failed
        except BROKEN as error:
            return Failed(0, f"an answer that cannot be read: {error}")

    async def _patch_status(self, place: Place, known: Status, status: bytes) -> Outcome:
        patch = merge_patch(_fields(known.status), _fields(status))
        if not patch:
            return Unchanged()
        body = msgspec.json.encode({"metadata": {"resourceVersion": known.version}, "status": patch})
        query = {"fieldManager": self.manager}
        content_type = "application/merge-patch+json"
        return await self._write(
            Call("PATCH", place.path("status"), query, body=body, content_type=content_type, total=WITHIN)
        )

    async def _write(self, call: Call) -> Outcome:
        try:
            async with self._server.send(call) as response:
                return _written(await response.read())
        except RequestError as error:
            return Missing() if error.failed.code == NOT_FOUND else error.failed

    async def _count(self, place: Place) -> Outcome:
        """Note in an Event that it happened again; who counts at the same time counts for both."""
        found = await self.read(place)
        if not isinstance(found, Item):
            return found
        count = msgspec.json.decode(found.body, type=_Event).series.count + 1
        series = {"count": count, "lastObservedTime": _now()}
        body = msgspec.json.encode({"metadata": {"resourceVersion": found.version}, "series": series})
        content_type = "application/merge-patch+json"
        return await self._write(
            Call("PATCH", place.path(), body=body, content_type=content_type, total=WITHIN)
        )

    def _event(self, happening: Happening, place: Place) -> dict[str, object]:
        regarding = happening.regarding
        texts = {name: _cut(getattr(happening, name), limit) for name, limit in EVENT_LIMITS.items()}
        return texts | {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": place.name, "namespace": place.namespace},
            "eventTime": _now(),
            "type": happening.type,
            "reportingController": self.manager,
            "reportingInstance": self._instance,
            "regarding": {
                "apiVersion": regarding.api_version,
                "kind": happening.kind,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": happening.uid,
            },
        }


def _event_name(happening: Happening) -> str:
    """Name an Event by what it says, so that whoever says the same finds it."""
    said = (happening.kind, happening.uid, happening.type, happening.reason, happening.note)
    digest = hashlib.blake2s(msgspec.json.encode(said), digest_size=8).hexdigest()
    return f"{happening.regarding.name[: LONGEST_NAME - len(digest) - 1].rstrip('.-')}.{digest}"


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _is_conflict(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.code == CONFLICT


def _status(found: Item) -> Status:
    thing = msgspec.json.decode(found.body, type=_Object)
    return Status(found.version, bytes(thing.status), thing.metadata.generation)


def _fields(status: bytes) -> Fields:
    return msgspec.json.decode(status, type=Fields) if status else {}


def _written(body: bytes) -> Written:
    """Read what was made; the answer to a deletion may be no object."""
    try:
        made = read_item(body)
        return Written(made.version, msgspec.json.decode(made.body, type=_Object).metadata.generation)
    except BROKEN:
        return Written("")
