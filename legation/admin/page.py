"""The admin port's front door: how things stand in a few lines, and where the rest is."""

from collections import Counter
from collections.abc import Iterable
from html import escape

from legation.standing import Standing
from legation.written_status import Condition

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Legation</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto }}</style>
<h1>Legation</h1>
<p>{state}</p>
<ul>{gateways}</ul>
<p>{findings}</p>
<p><a href="/api/v1/status">/api/v1/status</a> everything, as JSON
<br><a href="/metrics">/metrics</a> for Prometheus
<br><a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a> for probes
<br><code>legation status</code> shows the same in a terminal</p>
</html>
"""


def page(standing: Standing) -> str:
    """Write the page; everything that users named is escaped."""
    gateways = (
        f"<li>{escape(each.name)}: {escape(_programmed(each.programmed))}{_alarms(each.conditions)}"
        for each in standing.gateways()
    )
    groups = Counter(each.group for each in standing.found())
    found = ", ".join(f"{number} {escape(group)}" for group, number in sorted(groups.items()))
    return PAGE.format(
        state=_state(standing),
        gateways="\n".join(gateways) or "<li>no Gateway of ours",
        findings=f"To look at: {found}." if found else "Nothing to look at.",
    )


def _state(standing: Standing) -> str:
    if not standing.ready:
        return "Nothing was read yet."
    stale = ", ".join(escape(str(each)) for each in standing.stale())
    return f"Serving what was known; out of date: {stale}." if stale else "Serving."


def _alarms(conditions: Iterable[Condition]) -> str:
    """Name in red what nobody should miss."""
    return "".join(
        f'<br><strong style="color: #b00020">{escape(each.reason)}</strong>: {escape(each.message)}'
        for each in conditions
        if each.is_alarm
    )


def _programmed(condition: Condition | None) -> str:
    if condition is None:
        return "not judged yet"
    return "programmed" if condition.status == "True" else f"not programmed: {condition.message}"
