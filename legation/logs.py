"""How the log looks: for people on a terminal, one JSON object a line for everyone else; always on stderr."""

import logging
import sys

import structlog


def set_up_logs(*, verbose: bool = False) -> None:
    """Choose once, at the start of the process."""
    level = logging.DEBUG if verbose else logging.INFO
    terminal = sys.stderr.isatty()
    steps: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%H:%M:%S" if terminal else "iso", utc=not terminal),
    ]
    if terminal:
        steps.append(structlog.dev.ConsoleRenderer(colors=True))
    else:
        steps += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=steps,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)  # what libraries have to say
