"""The page: its files, as they lie in the package. What it shows it asks for, by docs/page.md."""

from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from types import MappingProxyType

import xxhash
from aiohttp import web

from legation.admin.kept import Answer

KINDS = MappingProxyType({
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
})  # fmt: skip
# Nothing but this page's own files and answers; no text can become markup or a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def assets() -> Mapping[str, Answer]:
    """Read every file of the page, by name."""
    folder = files("legation.admin") / "assets"
    found = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
    return MappingProxyType({
        name: Answer(body, f'"{xxhash.xxh3_64_hexdigest(body)}"') for name, body in found.items()
    })  # fmt: skip


class Page:
    """Answers with the page's files."""

    def __init__(self) -> None:
        """Have every file at hand."""
        self._assets = assets()

    async def front(self, request: web.Request) -> web.Response:
        """Answer with the page itself."""
        return self._answered(request, "page.html")

    async def asset(self, request: web.Request) -> web.Response:
        """Answer with a file that the page is made of."""
        return self._answered(request, request.match_info["name"])

    def _answered(self, request: web.Request, name: str) -> web.Response:
        if (found := self._assets.get(name)) is None:
            raise web.HTTPNotFound(text="the page has no such file\n")
        headers = {"ETag": found.tag, "Cache-Control": "no-cache"}
        if request.headers.get("If-None-Match") == found.tag:
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        kind = KINDS[name.rpartition(".")[2]]
        return web.Response(body=found.body, content_type=kind, charset="utf-8", headers=headers)
