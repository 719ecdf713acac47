"""An explanation, drawn for a terminal: what it comes to first, then how."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.text import Text

from legation.atlas.portraits import Said
from legation.atlas.ways import in_short, ways
from legation.explain.explanation import About, Absent, Contest, Door, Held, OfObject, OfRequest, Place

MOST = 12  # of one sort; machines get all
COLOURS = {"good": "green", "bad": "red", "alarm": "red"}


def outline(explanation: OfObject | OfRequest) -> Text:
    """Write all of it, indented."""
    match explanation:
        case OfObject():
            return Text("\n").join(_of_object(explanation))
        case OfRequest():
            return Text("\n").join(_of_request(explanation))


def _of_object(found: OfObject) -> Iterator[Text]:
    yield _verdict(f"{found.object} {found.words}", served=found.served)
    yield from _about(found.about)
    yield from _titled("where traffic meets it", (_place(each) for each in found.places))
    yield from _titled("policies", (_contest(each) for each in found.contests if each.winner))
    yield from _titled("routes attached", ([Text(str(each))] for each in found.attached))
    yield from _titled("referred to by", ([Text(str(each))] for each in found.users))
    yield from _envoys(found.envoys)


def _of_request(found: OfRequest) -> Iterator[Text]:
    yield Text(found.request, style="bold")
    yield _verdict(found.words, served=found.served)
    for door in found.doors:
        yield from _door(door)
    yield from _titled("policies", (_contest(each) for each in found.contests if each.winner))
    yield from _titled("routes for this host that take no part", map(_absent, found.absent))
    yield from _envoys(found.envoys)


def _verdict(words: str, *, served: bool) -> Text:
    return Text(words, style="green" if served else "red")


def _titled(title: str, entries: Iterable[Sequence[Text]]) -> Iterator[Text]:
    """Write entries below a title, if there are any: as many as people read."""
    every = list(entries)
    if every:
        yield Text(title, style="bold")
    for entry in every[:MOST]:
        yield from _indented(entry)
    if len(every) > MOST:
        yield Text(f"  and {len(every) - MOST} more: -o json has all of them")


def _indented(lines: Iterable[Text]) -> Iterator[Text]:
    yield from (Text("  ").append_text(line) for line in lines)


def _about(told: Iterable[About]) -> Iterator[Text]:
    for each in told:
        routes = "" if each.attached_routes is None else f" (routes: {each.attached_routes})"
        heading = Text(f"{each.where or 'of itself'}{routes}: ")
        good = [said for said in each.said if said.verdict == "good" and not said.message]
        heading.append(", ".join(f"{said.type}={said.status}" for said in good), style="green")
        yield heading
        for said in each.said:
            if said not in good:
                yield from _indented(_said(said))


def _said(said: Said) -> Iterator[Text]:
    words = f"{said.type}={said.status} {said.reason}: {said.message}"
    yield Text(words, style=COLOURS.get(said.verdict, "yellow"))
    if said.remedy:
        yield Text(f"-> {said.remedy}", style="cyan")


def _place(place: Place) -> list[Text]:
    name = f", {place.hostname}" if place.hostname else ""
    listener = f", listener {place.listener}" if place.listener else ""
    number = place.port.rpartition(":")[2]
    head = Text(f"{place.gateway}, {place.speaks} at port {number}{listener}{name}")
    line = Text(f"  {place.leads.match}  ").append(f"({place.leads.author})  ", style="dim")
    line.append(in_short(place.leads.action))
    return [head, line, *_destinations(place)]


def _destinations(place: Place) -> Iterator[Text]:
    for way in ways(place.leads):
        if way.refusal is not None:
            yield Text(f"    fails: {way.refusal.reason}: {way.refusal.message}", style="red")
        if (to := way.to) is not None:
            found = f"at {to.dns_name}" if to.endpoints is None else f"endpoints: {to.endpoints}"
            by = f", by {to.proving.decided_by}" if to.proving.decided_by else ""
            proving = Text(f"{to.proving.words}{by}", style="red" if to.proving.refusal else "")
            yield Text(f"    {to.port} {to.protocol}, {found}, ").append_text(proving)


def _contest(contest: Contest) -> list[Text]:
    lost = (Text(f"  not by {each.policy}: {each.why}", style="yellow") for each in contest.lost)
    return [Text(f"{contest.port}  governed by {contest.winner}"), *lost]


def _door(door: Door) -> Iterator[Text]:
    if door.place is None:
        yield Text(f"{door.gateway}: {door.words}")
    else:
        yield from _place(door.place)
        wrong = (said for each in door.about for said in each.said if said.verdict == "bad")
        yield from (Text("    ").append_text(line) for said in wrong for line in _said(said))
    if door.passed_over:
        yield Text("  matches before it" if door.place else "  matches", style="bold")
        yield from (Text(f"    {each}") for each in door.passed_over[:MOST])
        if len(door.passed_over) > MOST:
            yield Text(f"    and {len(door.passed_over) - MOST} more: -o json has all of them")


def _absent(absent: Absent) -> list[Text]:
    told = list(_about(absent.about)) or [Text("no parentRef leads to a Gateway of ours")]
    return [Text(str(absent.route)), *_indented(told)]


def _envoys(envoys: Iterable[Held]) -> Iterator[Text]:
    """Sum up for each Envoy what is as it should be, and name what is not."""
    by_node = groupby(envoys, key=lambda each: (each.gateway, each.node, each.replica))
    yield from _titled("envoys", (_envoy(key, list(each)) for key, each in by_node))


def _envoy(key: tuple[str, str, str], held: list[Held]) -> list[Text]:
    gateway, node, replica = key
    new = sum(each.state == "newest" for each in held)
    line = Text(f"{node} of {gateway}{f', at {replica}' if replica else ''}: ")
    line.append(f"holds the newest of {new} of {len(held)}", style="green" if new == len(held) else "yellow")
    return [line, *(_late(each) for each in held if each.state != "newest")]


def _late(held: Held) -> Text:
    name = f"  {held.type} {held.resource}: "
    match held.state:
        case "refused":
            return Text(f"{name}refused: {held.error}", style="red")
        case "behind":
            return Text(f"{name}holds {held.version}, and {held.offered} is offered", style="yellow")
        case "absent" | "newest":
            return Text(f"{name}not held yet", style="yellow")
