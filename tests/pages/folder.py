"""The folder that a reader of a page would have: its manifests so far, and what it takes for granted."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from legation.checks.findings import Finding, findings
from legation.manifests import read_manifests
from legation.offline import translated
from tests.handshakes.manifests import Json, endpoints
from tests.pages.blocks import Block
from tests.pages.cast import Cast

Key = tuple[str, str, str]
Manifest = Mapping[str, Any]  # as YAML has it


class Folder:
    """Manifests by the objects they describe, so that a later one replaces an earlier one."""

    def __init__(self, path: Path, cast: Cast) -> None:
        """Begin with what no page shows."""
        self.path = path
        self._cast = cast
        self._objects: dict[Key, Manifest] = {_key(each): each for each in cast.properties()}
        self._first: dict[Key, Manifest] = {}
        path.mkdir()

    def begin_again(self) -> None:
        """Go back to what the page's first manifests said."""
        self._objects = dict(self._first)

    def take(self, block: Block) -> None:
        """Add what a block says."""
        text = self._cast.recast(block.text)
        loaded, problems = read_manifests(text, str(block))
        assert loaded, f"{block} holds no object that a gateway reads"
        assert [str(each) for each in problems if each.severity == "note"] == []
        self._add(text)
        self._first = self._first or dict(self._objects)

    def findings(self) -> tuple[Finding, ...]:
        """Tell what is wrong with the whole."""
        offline = translated([self.path])
        return findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)

    def put(self, manifest: Json) -> None:
        """Add something that belongs to a test, and not to a page."""
        self._add(json.dumps(manifest))

    def _add(self, text: str) -> None:
        self._objects |= {_key(each): each for each in yaml.safe_load_all(text) if each}
        self._write()

    def _write(self) -> None:
        told = (each for key, each in self._objects.items() if key[0] != "EndpointSlice")
        objects = [*told, *self._endpoints()]
        named = {f"{'-'.join(_key(each)).replace(':', '-')}.json".lower(): each for each in objects}
        for gone in self.path.glob("*.json"):
            if gone.name not in named:
                gone.unlink()
        for name, each in named.items():
            self._replace(name, each)

    def _replace(self, name: str, manifest: Manifest) -> None:
        """Write as an editor does: beside its place first, and only what differs."""
        path, text = self.path / name, json.dumps(manifest)
        if not path.exists() or path.read_text() != text:
            draft = path.with_suffix(".draft")
            draft.write_text(text)
            draft.rename(path)

    def _endpoints(self) -> Iterator[Manifest]:
        """Yield where Services are served here, whether a page says where it would be or not."""
        for (kind, namespace, name), each in self._objects.items():
            if kind == "Service" and "externalName" not in each["spec"]:
                yield from self._slices(namespace, name, each["spec"]["ports"])

    def _slices(self, namespace: str, name: str, ports: Iterable[Manifest]) -> Iterator[Manifest]:
        for port in ports:
            for each in endpoints(name, port["port"], self._cast.of(name).port):
                metadata: Any = each["metadata"]
                ported = [{"name": port.get("name", ""), "port": self._cast.of(name).port}]
                yield each | {"metadata": metadata | {"namespace": namespace}, "ports": ported}


def _key(manifest: Manifest) -> Key:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]
