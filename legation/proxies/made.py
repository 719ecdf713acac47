"""What was made for Gateways and what the cluster has of it: which differ, and what is too much. No IO."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec import Struct

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import Kind, Place
from k8s_watch.versions import is_older
from legation.proxies.belonging import MANAGED_BY
from translator.names import Name, Ref

Manifest = dict[str, object]


class Owner(Struct, frozen=True, rename="camel"):
    """Whose an object is."""

    kind: str
    name: str
    uid: str
    controller: bool = False


class Metadata(Struct, frozen=True, rename="camel"):
    """What the metadata of an object tells of who changed it and whose it is."""

    uid: str = ""
    generation: int = 0
    owner_references: tuple[Owner, ...] = ()


class Found(Struct, frozen=True):
    """An object as the cluster has it, without what it says."""

    metadata: Metadata

    def is_of(self, owner: Ref) -> bool:
        """Say whether it was made for an object of this name; an older one's is taken over."""
        owners = (each for each in self.metadata.owner_references if each.controller)
        return any((each.kind, each.name) == (owner.kind, owner.name.name) for each in owners)


class Sort(NamedTuple):
    """A kind of object that is made, and how one sees that somebody changed it.

    Where neither generation nor version tells, because somebody else writes to it all the time, only its
    deletion is noticed.
    """

    group: str
    version: str
    plural: str
    told_by: str = ""

    def watched(self, selector: str = f"{MANAGED_BY}=legation") -> Kind[Found]:
        """Say how those with certain labels are watched."""
        return Kind(self.group, (self.version,), self.plural, Found, metadata_only=True, selector=selector)

    def place(self, name: Name) -> Place:
        """Say where one of them is."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        return Place(api_version, self.plural, *name)


SORTS = MappingProxyType({
    "Secret": Sort("", "v1", "secrets", "version"),
    "ServiceAccount": Sort("", "v1", "serviceaccounts", "version"),
    "ConfigMap": Sort("", "v1", "configmaps", "version"),
    "Service": Sort("", "v1", "services", "version"),
    "Deployment": Sort("apps", "v1", "deployments", "generation"),
    "PodDisruptionBudget": Sort("policy", "v1", "poddisruptionbudgets", "generation"),
    "HorizontalPodAutoscaler": Sort("autoscaling", "v2", "horizontalpodautoscalers"),
})  # fmt: skip


class Key(NamedTuple):
    """One object that is made."""

    kind: str
    name: Name

    def place(self) -> Place:
        """Say where it is."""
        return SORTS[self.kind].place(self.name)

    def __str__(self) -> str:
        """Name it as people do."""
        return f"{self.kind} {self.name}"


class Seen(NamedTuple):
    """An object of ours as the cluster has it."""

    version: str
    found: Found


class Applied(Struct):
    """What we applied last, and by what one sees that it is still so."""

    digest: bytes
    version: str
    generation: int = 0


class Ledger:
    """What is in the cluster, and what we applied to it."""

    def __init__(self) -> None:
        """Begin without knowing of anything."""
        self._seen: dict[Key, Seen] = {}
        self._applied: dict[Key, Applied] = {}

    def learn(self, kind: str, changes: Sequence[Change[Found]]) -> set[Name]:
        """Take in what an informer tells; return the names under which something is not as we left it."""
        touched = set[Name]()
        for change in changes:
            match change:
                case Put(name=name, version=version, thing=found):
                    key = Key(kind, Name(*name))
                    self._seen[key] = Seen(version, found)
                    if self._is_changed(key):
                        del self._applied[key]
                        touched.add(key.name)
                case Gone(name=name):
                    key = Key(kind, Name(*name))
                    self._seen.pop(key, None)
                    if self._applied.pop(key, None):
                        touched.add(key.name)
                case Unreadable() | Synced() | Absent():
                    pass
        return touched

    def found(self, key: Key) -> Found | None:
        """Return an object, if it is there and bears our label."""
        seen = self._seen.get(key)
        return seen.found if seen else None

    def is_applied(self, key: Key, body: bytes) -> bool:
        """Say whether this was applied, and nobody changed it since."""
        applied = self._applied.get(key)
        return applied is not None and applied.digest == _digest(body)

    def note(self, key: Key, body: bytes, version: str, generation: int = 0) -> None:
        """Remember that something was applied, and which version and generation this made."""
        self._applied[key] = Applied(_digest(body), version, generation)
        if key in self._seen and self._is_changed(key):
            del self._applied[key]

    def surplus(self, owner: Ref, name: Name, kept: Iterable[Key]) -> Mapping[Key, str]:
        """Return what is there for an object and no longer wanted, each with its uid."""
        keys = {Key(kind, name) for kind in SORTS} - {*kept}
        there = {key: self._seen[key].found for key in keys if key in self._seen}
        return {key: found.metadata.uid for key, found in sorted(there.items()) if found.is_of(owner)}

    def _is_changed(self, key: Key) -> bool:
        """Compare what is seen with what we applied; what was before that is history."""
        seen, applied = self._seen[key], self._applied.get(key)
        if applied is None or is_older(seen.version, applied.version):
            return False
        match SORTS[key.kind].told_by:
            case "version":
                return seen.version != applied.version
            case "generation":
                applied.generation = applied.generation or seen.found.metadata.generation
                return seen.found.metadata.generation != applied.generation
            case _:
                return False


def key_of(manifest: Manifest) -> Key:
    """Name the object that a manifest describes."""
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict), "every manifest has some"
    return Key(str(manifest["kind"]), Name(metadata["namespace"], metadata["name"]))


def read_found(body: bytes) -> Found:
    """Read whose an object is."""
    return msgspec.json.decode(body, type=Found)


def _digest(body: bytes) -> bytes:
    return sha256(body).digest()
