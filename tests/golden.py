"""Golden cases: how their files are read, and what every one of them begins with."""

import re
from base64 import b64encode, encodebytes
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import yaml

from legation.manifests import read_manifests
from tests.pki import Authority, Issued, Wish, self_signed
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object, find_kind, name_of
from translator.rules.backend_tls import SYSTEM_ROOTS
from translator.rules.bundles import BUNDLES, Bundle
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES
from translator.rules.certificates import NOW
from translator.rules.gateways import WATCHED, Delivery
from translator.rules.managed import RUNS_PROXIES
from translator.translate import INDEXES
from translator.world import Fact, World

FOLDER = Path(__file__).with_name("cases")
TODAY = datetime(2026, 2, 1, tzinfo=UTC)
LONG: Wish = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2100, 1, 1, tzinfo=UTC)}
LAPSED: Wish = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2021, 1, 1, tzinfo=UTC)}
ENDING: Wish = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2026, 2, 6, tzinfo=UTC)}
FUTURE: Wish = {"not_before": datetime(2090, 1, 1, tzinfo=UTC), "not_after": datetime(2100, 1, 1, tzinfo=UTC)}
OTHER_CRDS = "the CRDs ask for less than those of this release"
HEADING = re.compile(r"# (Shows|While): (.+)")
PLACEHOLDER = re.compile(r"\$\{([^}]+)\}")
CIRCUMSTANCES = MappingProxyType[str, tuple[Fact[Any], Any]]({
    "the API server serves no ClusterTrustBundles": (CLUSTER_TRUST_BUNDLES, False),
    "Envoy's machine has no roots": (SYSTEM_ROOTS, False),
    "only the namespaces infra and shop are watched": (WATCHED, frozenset({"infra", "shop"})),
    "proxies are run for Gateways": (RUNS_PROXIES, True),
    "the API is of the standard channel": (BUNDLES, frozenset({Bundle("v1.7.0", "standard")})),
})  # fmt: skip


class Case(NamedTuple):
    """A pair of files: objects as a user writes them, and what is promised about them."""

    given: Path

    @property
    def name(self) -> str:
        """The rule and the case, as its folder and its files are called."""
        return f"{self.given.parent.name}/{self.given.name.removesuffix('.given.yaml')}"

    @property
    def expected(self) -> Path:
        """Where the promise is kept."""
        return self.given.with_name(self.given.name.replace(".given.", ".expect."))

    @property
    def headings(self) -> Mapping[str, str]:
        """What the comments below the first line say: what is shown, and under which circumstance."""
        lines = self.given.read_text().splitlines()[1:3]
        return {found[1]: found[2] for line in lines if (found := HEADING.fullmatch(line))}

    @property
    def shown(self) -> tuple[str, ...]:
        """The sections that the promise consists of, such as `clusters` or `statuses Gateway`."""
        return tuple(part.strip() for part in self.headings["Shows"].split(","))


def cases() -> list[Case]:
    """Return every case."""
    return [Case(path) for path in sorted(FOLDER.glob("*/*.given.yaml"))]


def world_of(case: Case) -> World:
    """Return a case's world: the background's objects, save those that the case says otherwise.

    It is the same day in all of them, and the Envoys of every Gateway have taken what they were sent.
    """
    world = World(INDEXES)
    world.state(NOW, TODAY)
    circumstance = case.headings.get("While", "")
    if circumstance in CIRCUMSTANCES:
        world.state(*CIRCUMSTANCES[circumstance])
    before = (FOLDER / "background.yaml", case.given.with_name("background.yaml"))
    there = chain.from_iterable(objects(path) for path in before if path.exists())
    given = _let_in(case.given) if circumstance == OTHER_CRDS else objects(case.given)
    for thing in chain(there, given):
        world.put(type(thing), name_of(thing), thing)
    for name in world.names(Gateway):
        world.put(Delivery, name, Delivery(acknowledged=True))
    return world


def objects(path: Path) -> Iterator[Object]:
    """Read manifests as users' are read; one that is wrong in any way is a mistake of the case."""
    text = PLACEHOLDER.sub(lambda found: pems()[found[1]].replace("\n", "\\n"), path.read_text())
    loaded, problems = read_manifests(text, path.name)
    assert not problems, problems
    yield from (each.thing for each in loaded)


def _let_in(path: Path) -> Iterator[Object]:
    """Read manifests as they are read where other CRDs let them in; by ours, each must be wrong."""
    manifests = list(yaml.safe_load_all(path.read_text()))
    _, problems = read_manifests(path.read_text(), path.name)
    assert len({each.place for each in problems}) == len(manifests), "drop the circumstance, or what is right"
    yield from map(let_in, manifests)


def let_in(manifest: Mapping[str, Any]) -> Object:
    """Read an object as an API server with other CRDs gives it: whatever fits the struct."""
    info = find_kind(manifest["apiVersion"], manifest["kind"])
    assert info is not None
    return msgspec.convert({key: each for key, each in manifest.items() if key != "kind"}, info.type)


@cache
def pems() -> Mapping[str, str]:
    """Return what cases name, such as `${roots}`: keys are new each time, subjects and dates are not."""
    roots = Authority("roots", **LONG)
    edge, lapsed = served(roots, "edge", LONG), served(roots, "lapsed", LAPSED)
    ending = served(roots, "ending", ENDING)
    alone = served(
        Authority("below roots", roots, **LONG), "alone", {**LONG, "issuer_at": "http://ca.test/below"}
    )
    return {
        "roots": roots.pem,
        "roots in base64": b64encode(roots.pem.encode()).decode(),
        "roots in lines of base64": encodebytes(roots.pem.encode()).decode(),
        "roots.key": roots.own.key_pem,
        "other roots": Authority("other roots", **LONG).pem,
        "ending roots": Authority("ending roots", **ENDING).pem,
        "expired roots": Authority("expired roots", **LAPSED).pem,
        "future roots": Authority("future roots", **FUTURE).pem,
        "self-signed": self_signed(**LONG).pem,
        "edge": edge.chain_pem,
        "edge.key": edge.key_pem,
        "other": served(roots, "other", LONG).chain_pem,
        "ending": ending.chain_pem,
        "ending.key": ending.key_pem,
        "lapsed": lapsed.chain_pem,
        "lapsed.key": lapsed.key_pem,
        "alone": alone.pem,
        "alone.key": alone.key_pem,
    }


def served(roots: Authority, name: str, dates: Wish) -> Issued:
    """Issue a certificate that a Gateway can show."""
    wish: Wish = {"common_name": name, "dns": ["*.shop.test"], **dates}
    return roots.issue(**wish)
