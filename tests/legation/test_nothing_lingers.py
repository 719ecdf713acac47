"""However much comes and goes, nothing of it stays: every table is as large afterwards as it was before."""

import asyncio
import json
from collections.abc import Iterator, Sized

from legation.announce import Announcer
from legation.deliveries import Heard
from legation.folder import Folder, read
from legation.standing import Standing
from legation.workbench import Kept, Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.pki import Authority
from translator.names import Name
from xds_server.hub import Hub

ROUNDS = 8
EDGE = Name("infra", "edge")
LASTING = together(
    LEGATION_CLASS, gateway("stays", 80), service("store", 8080), route("own", "store", parent="stays")
)
POLICY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: p{number}, namespace: shop}}
spec:
  targetRefs: [{{group: "", kind: Service, name: store}}]
  validation: {{hostname: store.test, caCertificateRefs: [{{group: "", kind: ConfigMap, name: c{number}}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c{number}, namespace: shop}}
data: {{ca.crt: {roots}}}
"""
SET = """\
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {{name: s{number}, namespace: infra}}
spec:
  parentRef: {{name: e{number}}}
  listeners: [{{name: more, port: {port}, protocol: HTTP}}]
"""


def policy(number: int) -> str:
    return POLICY.format(number=number, roots=json.dumps(Authority("roots").pem))


class Parts:
    """What keeps tables between two batches."""

    def __init__(self) -> None:
        self.workbench = Workbench(keeps_what_is_written=True)
        self.standing = Standing(Hub(lambda _: None), dict)
        self.announcer = Announcer(self.standing)
        self._folder = Folder()

    def edit(self, text: str, *others: Heard | Kept) -> None:
        """Have this be all there is, and hear this of Envoys and proxies."""
        self._folder.take("a.yaml", read(text, "a.yaml"))
        outcome = self.workbench.work([*self._folder.changes(), *others])
        self.standing.take(outcome)
        asyncio.run(self.announcer.announce(outcome.news))

    def sizes(self) -> dict[str, int]:
        """Measure every table."""
        bench = self.workbench
        memory = {"memory": len(bench.world.memory)}
        objects = {kind.__name__: len(found) for kind, found in bench.world._objects.items() if found}
        parts = (
            bench.world,
            bench._notebook,
            bench._publisher,
            bench._translator,
            bench._told,
            bench._follower,
        )
        tables = {f"{type(part).__name__}{name}": size for part in parts for name, size in _tables(part)}
        return memory | objects | tables | {"found": len(self.standing.found())}


def _tables(part: object) -> Iterator[tuple[str, int]]:
    for name, value in vars(part).items():
        if isinstance(value, Sized) and name not in (
            "memory",
            "_objects",
            "_names",
            "moves",
        ):  # told apart, or by kind, or of the last batch alone
            yield name, len(value)


def test_of_gateways_routes_sets_and_policies_that_went_nothing_stays() -> None:
    parts = Parts()
    parts.edit(LASTING)
    parts.edit(together(LASTING, gateway("edge", 80), policy(ROUNDS)), Heard(EDGE, acknowledged=True))
    parts.edit(LASTING)
    before = parts.sizes()
    for number in range(ROUNDS):
        edge = Name("infra", f"e{number}")
        passing = [
            gateway(edge.name, 80),
            *(
                route(f"r{number}-{each}", "none", host=f"h{each}.test", parent=edge.name)
                for each in range(3)
            ),
            policy(number),
            SET.format(number=number, port=9000 + number),
        ]
        parts.edit(together(LASTING, *passing), Heard(edge, acknowledged=True), Kept(edge, "no room"))
        assert parts.sizes() != before
        parts.edit(LASTING)
        parts.edit(LASTING, Heard(edge, acknowledged=True), Kept(edge, "too late"))
        assert parts.sizes() == before
