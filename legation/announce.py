"""Says in the log what changed for the better or the worse, once."""

from collections.abc import Iterable

import structlog

from legation.checks.findings import Finding
from legation.standing import Gateway, Standing
from legation.turns import in_turns
from translator.names import Ref
from translator.rules.gateways import CONTROLLER


class Announcer:
    """Remembers what was said."""

    def __init__(self, standing: Standing) -> None:
        """Begin without having said anything."""
        self._standing = standing
        self._log = structlog.get_logger()
        self._findings: tuple[Finding, ...] = ()
        self._gateways: dict[Ref, bool] = {}  # whether each is programmed
        self._is_lonely = False

    async def announce(self, news: Iterable[Ref] = ()) -> None:
        """Say what is new; what a Gateway says is looked at only where there is news of it."""
        before, self._findings = self._findings, self._standing.found()
        if before != self._findings:
            await self._announce_findings(frozenset(before), frozenset(self._findings))
        for ref in sorted(ref for ref in news if ref.kind == "Gateway"):
            self._announce_gateway(ref)
        self._announce_loneliness()

    async def _announce_findings(self, before: frozenset[Finding], found: frozenset[Finding]) -> None:
        async for each in in_turns(sorted(found - before, key=_place)):
            self._log.warning(each.group, **_words(each))
        still = {(each.group, each.object, each.where) for each in found}  # perhaps for other reasons
        async for each in in_turns(sorted(before - found, key=_place)):
            if (each.group, each.object, each.where) not in still:
                self._log.info(f"no longer {each.group}", object=each.object, where=each.where)

    def _announce_gateway(self, ref: Ref) -> None:
        if ref not in self._standing.outcome.statuses:
            self._gateways.pop(ref, None)
            return
        gateway = self._standing.gateway(ref)
        before, self._gateways[ref] = self._gateways.get(ref, False), _is_programmed(gateway)
        if self._gateways[ref] and not before:
            self._log.info("programmed", gateway=gateway.name, at=" ".join(gateway.bound))

    def _announce_loneliness(self) -> None:
        was_lonely, self._is_lonely = self._is_lonely, self._standing.ready and not self._gateways
        if self._is_lonely and not was_lonely:
            remedy = f"its GatewayClass must name {CONTROLLER}"
            self._log.warning("there is no Gateway to serve", remedy=remedy)


def _is_programmed(gateway: Gateway) -> bool:
    return (found := gateway.programmed) is not None and found.status == "True"


def _place(finding: Finding) -> tuple[str, str, str]:
    return finding.object, finding.where, finding.message


def _words(finding: Finding) -> dict[str, str]:
    words = {
        "object": finding.object,
        "where": finding.where,
        "why": finding.message,
        "remedy": finding.remedy,
    }
    return {key: value for key, value in words.items() if value}
