"""New paths: what a redirect or a rewrite makes of the path of a request."""

import re

from msgspec import Struct

from translator.objects.http_route import PATH_MODIFIERS, HTTPPathModifier
from translator.verdict import Refused, listed

PATH = re.compile(r"/[A-Za-z0-9/\-._~%!$&'()*+,;=:@]*")


class FullPath(Struct, frozen=True):
    """The whole path is this one; the query stays."""

    path: str


class NewPrefix(Struct, frozen=True):
    """The prefix that matched is this one, without a slash at its end: none at all is the empty one."""

    prefix: str


def new_path(written: HTTPPathModifier) -> FullPath | NewPrefix | Refused:
    """Read what becomes of a path."""
    if written.type not in PATH_MODIFIERS:
        return Refused("UnsupportedValue", f"filters: path of type {listed([written.type])} is not known")
    full = written.type == "ReplaceFullPath"
    path = (written.replace_full_path if full else written.replace_prefix_match) or ""
    if (full or path) and not PATH.fullmatch(path):
        wrong = f"filters: {listed([path]) or 'nothing'} is no path: it begins with / and has no query"
        return Refused("UnsupportedValue", wrong)
    return FullPath(path) if full else NewPrefix(path.rstrip("/"))
