"""What a terminal shows of how things stand, and how it marks what changed."""

import re
from datetime import UTC, datetime

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from legation.checks.findings import Finding
from legation.cli.drawing import drawn, sections
from legation.cli.sections import NOTICED_FOR, Changes, Row, Section, Sections, signs
from legation.cli.watching import Lines, Look
from legation.proxies.local import Proxy
from legation.standing import Overview
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.test_admin import standing_of

ROUTES = ("ROUTE", "STATUS")
SHOP = together(LEGATION_CLASS, gateway("edge", 80), service("store", 8080), route("store", "store"))


def routes(**statuses: str) -> tuple[Section, ...]:
    """A table of routes by what their status says."""
    rows = (Row(name, (Text(name), Text(status)), status) for name, status in statuses.items())
    return (Section(ROUTES, tuple(rows)),)


def marks(marked: tuple[Section, ...]) -> dict[str, str]:
    """The mark of each row."""
    return {row.key: row.mark for section in marked for row in section.rows}


def overview_of(text: str) -> Overview:
    """How things stand after these manifests were read."""
    return standing_of(text).overview()


def on_screen(overview: Overview, width: int) -> str:
    """Draw it as wide as this."""
    console = Console(width=width, record=True, file=None, force_terminal=False, no_color=True)
    with console.capture() as captured:
        console.print(drawn(overview, Sections(sections(overview))))
    return captured.get()


def test_what_is_seen_first_is_not_new() -> None:
    assert marks(Changes().mark(routes(a="good"), 0.0)) == {"a": ""}


def test_what_is_new_changed_or_gone_is_marked_for_a_while() -> None:
    changes = Changes()
    changes.mark(routes(a="good", b="good", c="good"), 0.0)
    now = routes(a="bad", c="good", d="good")
    assert marks(changes.mark(now, 1.0)) == {"a": "*", "b": "-", "c": "", "d": "+"}
    assert marks(changes.mark(now, NOTICED_FOR)) == {"a": "*", "b": "-", "c": "", "d": "+"}
    assert marks(changes.mark(now, 1.0 + NOTICED_FOR)) == {"a": "", "c": "", "d": ""}


def test_what_comes_back_is_new_again() -> None:
    changes = Changes()
    changes.mark(routes(a="good"), 0.0)
    assert marks(changes.mark(routes(), 1.0)) == {"a": "-"}
    assert marks(changes.mark(routes(a="good"), 2.0)) == {"a": "+"}


def test_what_waits_for_an_envoy_is_not_shown_as_done() -> None:
    [edge] = overview_of(SHOP).gateways
    pending = [
        replace(each, status="False", reason="Pending", message="waiting for Envoy")
        if each.type == "Programmed"
        else each
        for each in edge.conditions
    ]
    waiting = replace(edge, conditions=tuple(pending))
    shown = on_screen(replace(overview_of(SHOP), gateways=(waiting,)), 120)
    assert "Programmed=False Pending: waiting for Envoy" in shown, shown
    assert "Accepted ResolvedRefs" in shown, shown


def test_an_envoy_that_keeps_ending_is_shown_as_no_process_and_with_how_it_ended() -> None:
    [edge] = overview_of(SHOP).gateways
    gone = replace(edge, envoys=(), process=Proxy(None, 3, "ended with code 1"))
    shown = on_screen(replace(overview_of(SHOP), gateways=(gone,)), 120)
    assert re.search(r"infra/edge +no process +no +ended with code 1", shown), shown
    there = replace(gone, process=Proxy(4711, 1, ""))
    assert re.search(
        r"infra/edge +process 4711 +no", on_screen(replace(overview_of(SHOP), gateways=(there,)), 120)
    )


def test_the_last_row_of_a_table_is_seen_to_go() -> None:
    changes = Changes()
    changes.mark(sections(overview_of(SHOP)), 0.0)
    without = overview_of(together(LEGATION_CLASS, gateway("edge", 80)))
    assert marks(changes.mark(sections(without), 1.0)) == {
        "infra/edge": "*",  # no route is attached any more
        "HTTPRoute shop/store Gateway infra/edge": "-",
    }


def test_the_same_state_has_the_same_signs() -> None:
    one, other = overview_of(SHOP), overview_of(SHOP)
    assert signs(sections(one)) == signs(sections(other))
    assert signs(sections(one)) != signs(sections(overview_of(SHOP.replace("port: 80}]", "port: 81}]"))))


def test_a_narrow_terminal_gets_lines_that_fit_and_lose_nothing() -> None:
    overview = overview_of(SHOP)
    wide, narrow = on_screen(overview, 120), on_screen(overview, 40)
    assert max(map(len, narrow.splitlines())) <= 40
    for word in ("infra/edge", "p80", "HTTPRoute", "shop/store", "Accepted", "ResolvedRefs"):
        assert word in wide
        assert word in narrow
    assert "listeners p80 (1)" in narrow


def test_a_line_is_written_anew_for_a_finding_that_stands_in_no_table() -> None:
    fine, shown = Look("here", overview_of(SHOP), datetime.now(UTC)), list[Look]()
    finding = Finding("not read", "", "typo.yaml", "is no YAML")
    unread = replace(fine, overview=replace(fine.overview, findings=(finding,)))
    lines = Lines(shown.append)
    for look in (fine, fine, unread, unread, fine):
        lines.show(look)
    assert shown == [fine, unread, fine]
