"""Where something leads, whatever it does with its shares: all destinations, and what fails there."""

from collections.abc import Iterator

from legation.atlas.landscape import Action, Answers, Destination, Forwards, Leads, Redirects, Shares, Way


def ways(leads: Leads) -> Iterator[Way]:
    """Return every way that requests, copies of them and questions about them go."""
    yield from leads.asks
    yield from _of(leads.action)


def destinations(leads: Leads) -> Iterator[Destination]:
    """Return every backend that is reached."""
    yield from (way.to for way in ways(leads) if way.to is not None)


def failures(leads: Leads) -> Iterator[str]:
    """Say what fails, and why: a refused share, a backend that is never reached, an answer of our own."""
    if isinstance(leads.action, Answers):
        yield f"answers {leads.action.status}: {leads.action.message}"
    if isinstance(leads.action, Forwards) and not leads.action.ways:
        yield f"leads nowhere: {leads.action.failure}"
    for way in ways(leads):
        refusal = way.refusal or (way.to.proving.refusal if way.to else None)
        if refusal is not None:
            yield f"{refusal.reason}: {refusal.message}"
        elif way.to is not None and way.to.endpoints == 0:
            yield f"{way.to.port} has no endpoint that is ready"


def _of(action: Action) -> Iterator[Way]:
    match action:
        case Forwards():
            yield from (*action.ways, *action.copies)
        case Shares(parts):
            for part in parts:
                yield from (*part.asks, *_of(part.action))
        case Redirects() | Answers():
            pass


def in_short(action: Action) -> str:
    """Say in a line what an action does."""
    match action:
        case Forwards(all_of_it):
            return f"goes to {', '.join(_share(each) for each in all_of_it)}"
        case Shares(parts):
            return "; ".join(f"{each.percent:.0f} %: {in_short(each.action)}" for each in parts)
        case Redirects(status):
            return f"is redirected with {status}"
        case Answers(status, message):
            return f"is answered {status}: {message}"


def _share(way: Way) -> str:
    to = way.to.port if way.to else "nobody"
    return to if way.percent > 99.9 else f"{to} ({way.percent:.0f} %)"  # noqa: PLR2004  # all of it
