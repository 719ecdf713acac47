"""Sessions: requests that show what an answer gave them come to the same endpoint again.  GEP-1619.

Which backend a request goes to is settled before, by weight; of each backend a session has one endpoint.
"""

import re
from hashlib import sha256

from msgspec import Struct

from translator.objects.durations import milliseconds
from translator.objects.routes import CookieConfig, HeaderConfig, SessionPersistence
from translator.verdict import Refused, listed

PATH = re.compile(r"/[!-:<-~]*")  # what a cookie's attribute holds: no blanks, no semicolons


class Cookie(Struct, frozen=True):
    """A cookie."""

    name: str
    path: str
    lifetime: int | None = None  # seconds; None ends with the browser's own session
    is_permanent: bool = False  # the browser is told of its end, and not only the Gateway knows it


class Header(Struct, frozen=True):
    """A header of answers, which clients send again."""

    name: str


class Wish(Struct, frozen=True):
    """How sessions are to be kept; a cookie that nobody named is another one for each backend."""

    by: Cookie | Header
    is_named: bool = True


def session(author: str, written: SessionPersistence | None) -> Wish | Refused | None:
    """Read how somebody keeps sessions; Envoy forgets them by what a cookie says, and in no other way."""
    match written:
        case None:
            return None
        case SessionPersistence(type="Cookie", cookie=cookie, absolute_timeout=ends):
            return _cookie(author, cookie or CookieConfig(), ends)
        case SessionPersistence(type="Header", header=HeaderConfig(name), absolute_timeout=None):
            return Wish(Header(name))
        case SessionPersistence(type="Header", header=None):
            return Refused("UnsupportedValue", "sessionPersistence: type Header needs the name of a header")
        case SessionPersistence(type="Header"):
            return Refused(
                "UnsupportedValue", "sessionPersistence: absoluteTimeout cannot be kept by a header"
            )
        case SessionPersistence(type=unknown):
            return Refused("UnsupportedValue", f"sessionPersistence: type {listed([unknown])} is not known")


def own_name(cookie: str, backend: str) -> str:
    """Name the cookie of one backend, where several would have the same."""
    return f"{cookie}-{_short(backend)}"


def _cookie(author: str, written: CookieConfig, ends: str | None) -> Wish | Refused:
    path = written.path or "/"
    if not PATH.fullmatch(path):
        return Refused("UnsupportedValue", f"sessionPersistence: {path} is no path of a cookie")
    seconds = None if ends is None else -(-milliseconds(ends) // 1000) or 1
    name = written.name or f"legation-{_short(author)}"
    cookie = Cookie(name, path, seconds, is_permanent=written.lifetime_type == "Permanent")
    return Wish(cookie, is_named=written.name is not None)


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]
