"""Sessions: requests that show what an answer gave them come to the same endpoint again.  GEP-1619.

Which backend a request goes to is settled before, by weight; of each backend a session has one endpoint.
"""

import re
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct

from translator.names import Ref
from translator.objects.durations import milliseconds
from translator.objects.routes import CookieConfig, HeaderConfig, SessionPersistence
from translator.verdict import Refused

PATH = re.compile(r"/[!-:<-~]*")  # what a cookie's attribute holds: no blanks, no semicolons


class Cookie(Struct, frozen=True):
    """A cookie; one that nobody named is another one for each backend, by this beginning of its name."""

    name: str
    path: str
    is_named: bool
    lifetime: int | None = None  # seconds; None ends with the browser's own session


class Header(Struct, frozen=True):
    """A header of answers, which clients send again."""

    name: str


class Rule(NamedTuple):
    """One rule of a route, by its name or its number."""

    route: Ref
    name: str


def session(rule: Rule, written: SessionPersistence | None) -> Cookie | Header | Refused | None:
    """Read how a rule keeps its sessions; Envoy forgets them by the age of a cookie, and in no other way."""
    match written:
        case None:
            return None
        case SessionPersistence(type="Cookie", cookie=cookie, absolute_timeout=ends):
            return _cookie(rule, cookie or CookieConfig(), ends)
        case SessionPersistence(header=HeaderConfig(name), absolute_timeout=None):
            return Header(name)
        case SessionPersistence(header=None):
            return Refused("UnsupportedValue", "sessionPersistence: type Header needs the name of a header")
        case SessionPersistence():
            return Refused(
                "UnsupportedValue", "sessionPersistence: absoluteTimeout cannot be kept by a header"
            )


def _cookie(rule: Rule, written: CookieConfig, ends: str | None) -> Cookie | Refused:
    path = written.path or "/"
    if not PATH.fullmatch(path):
        return Refused("UnsupportedValue", f"sessionPersistence: {path} is no path of a cookie")
    own = f"legation-{sha256(f'{rule.route} {rule.name}'.encode()).hexdigest()[:8]}"
    found = Cookie(written.name or own, path, is_named=written.name is not None)
    if ends is None:
        return found
    if written.lifetime_type != "Permanent":
        why = "absoluteTimeout can be kept only by a cookie of lifetimeType Permanent"
        return Refused("UnsupportedValue", f"sessionPersistence: {why}")
    seconds = -(-milliseconds(ends) // 1000) or 1
    return Cookie(found.name, path, found.is_named, seconds)
