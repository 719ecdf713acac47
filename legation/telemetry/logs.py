"""How the log looks: for people on a terminal, one JSON object a line for everyone else; always on stderr."""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from time import monotonic
from types import TracebackType

import structlog
from structlog.typing import EventDict, Processor

from legation.settings import LogFormat
from legation.telemetry.rations import Ration, Rations

EACH_EVENT = Ration(at_once=200, every=0.1)  # lines that say the same of different things
OF_A_NAMESPACE = Ration(at_once=100, every=0.2)  # of them
RELAYED = frozenset({"access", "envoy"})  # Envoys' own lines, of which none may be missing


def set_up_logs(form: LogFormat = LogFormat.AUTO, *, verbose: bool = False) -> None:
    """Choose once, at the start of the process; what libraries have to say looks the same."""
    terminal = sys.stderr.isatty()
    as_text = form is LogFormat.TEXT or (form is LogFormat.AUTO and terminal)
    marked: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal, key="time"),
    ]
    written = _text(colors=terminal) if as_text else _json()
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, Rationed(), *marked, *written],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=Unfailing,
    )
    libraries = logging.StreamHandler(sys.stderr)
    alone = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    foreign: list[Processor] = [structlog.stdlib.add_logger_name, *marked]
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=foreign, processors=[alone, *written])
    libraries.setFormatter(formatter)
    logging.basicConfig(level=logging.WARNING, handlers=[libraries])
    sys.excepthook = _say_what_ended_us


class Rationed:
    """Drops lines beyond the rations of their event, and says with the next one how many were dropped."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nothing said."""
        self._clock = clock
        self._rations: dict[str, Rations] = {}
        self._dropped: dict[str, int] = {}
        self._one_by_one = Lock()  # threads have something to say, too

    def __call__(self, _logger: object, _method: str, entry: EventDict) -> EventDict:
        """Let a line pass, or not."""
        if (event := entry["event"]) in RELAYED:
            return entry
        with self._one_by_one:
            now = self._clock()
            rations = self._rations.setdefault(event, Rations(OF_A_NAMESPACE, EACH_EVENT, now))
            if not rations.allow(_namespace(entry), now):
                self._dropped[event] = self._dropped.get(event, 0) + 1
                raise structlog.DropEvent
            if dropped := self._dropped.pop(event, 0):
                entry["dropped"] = dropped
            return entry


def _namespace(entry: EventDict) -> str:
    """Name the namespace of whom a line is about: `HTTPRoute shop/pay`, or a Gateway's own name alone."""
    about = str(entry.get("object") or entry.get("gateway") or "")
    return about.rpartition(" ")[2].partition("/")[0]


class Unfailing:
    """Writes lines for as long as they are taken: a full disk, or a reader who has gone, ends nobody."""

    def __init__(self, *_: object) -> None:
        """Write to stderr."""
        self._lines = structlog.PrintLogger(sys.stderr)

    def msg(self, line: str) -> None:
        """Write one, or lose it."""
        with suppress(OSError):
            self._lines.msg(line)

    debug = info = warning = error = critical = msg


def harmless(text: str) -> str:
    """Write what a terminal would obey, or hide, as people write it in source code; lines stay lines."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )


def _text(*, colors: bool) -> list[Processor]:
    # Any other way to write a traceback would show the values of variables, and those may be keys.
    plain = structlog.dev.plain_traceback
    shown = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, timestamp_key="time")
    return [_shown, shown]


def _json() -> list[Processor]:
    return [_named, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]


def _shown(_logger: object, _method: str, entry: EventDict) -> EventDict:
    return {name: harmless(value) if isinstance(value, str) else value for name, value in entry.items()}


def _named(_logger: object, _method: str, entry: EventDict) -> EventDict:
    """Say the parts of an object, too, which people read as `Gateway infra/edge`: machines search by them."""
    kind, space, name = str(entry.get("object", "")).partition(" ")
    if not space or not kind[0].isupper():
        return entry
    namespace, slash, own = name.partition("/")
    return {**entry, "kind": kind, "namespace": namespace if slash else "", "name": own if slash else name}


def _say_what_ended_us(kind: type[BaseException], bug: BaseException, where: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, bug, where)
        return
    structlog.get_logger().critical("a mistake of ours ended the process", exc_info=(kind, bug, where))
