"""What is wrong with the Envoys of Gateways, by what a running process says of them."""

from collections.abc import Iterator

from legation.checks.findings import Finding, of_check
from legation.checks.table import CLUSTER, WAITING
from legation.standing import Envoy, Gateway, Overview
from translator.advice.checks import Check

REJECTING = Check(
    "proxy-rejecting",
    CLUSTER,
    "an Envoy that refuses what it is sent, and goes on with what it had",
    "run the Envoy of this release; if it is, please report the message with the manifests",
)
LAGGING = Check(
    "proxy-lagging",
    WAITING,
    "an Envoy that does not hold the newest of everything yet",
    "ask again in a moment; an Envoy that stays behind is too busy, or its network is",
)
ABSENT = Check(
    "proxy-absent",
    WAITING,
    "a Gateway that is accepted, and that no Envoy is connected for",
    "see whether its pods run: kubectl get pods --selector app.kubernetes.io/managed-by=legation -A",
)
OUT_OF_DATE = Check(
    "source-stale",
    WAITING,
    "objects of a kind of which there may be news that nobody hears",
    "let the control plane reach the API server, and list and watch the kind",
)
CHECKS = (REJECTING, LAGGING, ABSENT, OUT_OF_DATE)


def of_proxies(overview: Overview) -> Iterator[Finding]:
    """Tell of Gateways whose Envoys are not where they should be, and of sources that are silent."""
    for gateway in overview.gateways:
        about = f"Gateway {gateway.name}"
        if not gateway.envoys and _is_accepted(gateway):
            yield of_check(ABSENT, about, "", "no Envoy is connected")
        for envoy in gateway.envoys:
            if not envoy.current:
                yield _behind(about, envoy)
    for stale in overview.stale:
        yield of_check(OUT_OF_DATE, stale.kind, "", f"out of date: {stale}")


def _behind(about: str, envoy: Envoy) -> Finding:
    replica = f" at {envoy.replica}" if envoy.replica else ""
    who, nack = f"Envoy {envoy.node}{replica}", envoy.last_nack
    if nack is None:
        return of_check(LAGGING, about, "", f"{who} does not hold the newest of everything")
    return of_check(REJECTING, about, "", f"{who} refuses {', '.join(nack.resources)}: {nack.error}")


def _is_accepted(gateway: Gateway) -> bool:
    return any((each.type, each.status) == ("Accepted", "True") for each in gateway.conditions)
