"""Regular expressions that Envoy takes: it refuses a whole route table for one that it cannot read."""

import re2

LONGEST_PROGRAM = 100  # of RE2 instructions: Envoy takes no longer one, and a request pays for each


def fault(pattern: str) -> str | None:
    """Say what is wrong with a regular expression, if anything is."""
    if not pattern:
        return "is empty: write `.*` for anything"
    options = re2.Options()
    options.log_errors = False
    try:
        size = re2.compile(pattern, options).programsize
    except re2.error as error:
        return f"is none that RE2 reads: {error.args[0].decode(errors='replace')}"
    return None if size <= LONGEST_PROGRAM else f"is too costly: {size} steps, where {LONGEST_PROGRAM} may be"
