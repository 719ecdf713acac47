"""Says in the log what changed for the better or the worse, once."""

import structlog

from legation.findings import Finding
from legation.standing import Gateway, Standing
from translator.rules.gateways import CONTROLLER


class Announcer:
    """Remembers what was said."""

    def __init__(self, standing: Standing) -> None:
        """Begin without having said anything."""
        self._standing = standing
        self._log = structlog.get_logger()
        self._findings: frozenset[Finding] = frozenset()
        self._programmed: frozenset[str] = frozenset()
        self._had_gateways = True

    def announce(self) -> None:
        """Say what is new."""
        found = frozenset(self._standing.found())
        for each in sorted(found - self._findings, key=_place):
            self._log.warning(each.group, **_words(each))
        for each in sorted(self._findings - found, key=_place):
            self._log.info(f"no longer {each.group}", object=each.object, where=each.where)
        self._findings = found
        self._announce_gateways(self._standing.gateways())

    def _announce_gateways(self, gateways: tuple[Gateway, ...]) -> None:
        if self._had_gateways and not gateways and self._standing.ready:
            self._log.warning(
                "there is no Gateway to serve", remedy=f"its GatewayClass must name {CONTROLLER}"
            )
        self._had_gateways = bool(gateways)
        programmed = {each.name: each for each in gateways if _is_programmed(each)}
        for name in sorted(programmed.keys() - self._programmed):
            self._log.info("programmed", gateway=name, at=" ".join(programmed[name].bound))
        self._programmed = frozenset(programmed)


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
