"""What routes of several kinds have in common."""

from typing import Annotated

from translator.objects.constraints import Items, OneOf
from translator.objects.meta import Part
from translator.objects.references import BackendRef, ParentReference
from translator.objects.scalars import Duration, HeaderName, PathValue

ParentRefs = Annotated[tuple[ParentReference, ...], Items(most=32)]
DefaultScope = Annotated[str, OneOf(("All", "None"))]
BackendRefs = Annotated[tuple[BackendRef, ...], Items(1, 16)]


class CookieConfig(Part, frozen=True):
    """The cookie that keeps a session."""

    name: HeaderName | None = None
    lifetime_type: Annotated[str, OneOf(("Permanent", "Session"))] = "Session"
    path: PathValue = "/"


class HeaderConfig(Part, frozen=True):
    """The header that keeps a session."""

    name: HeaderName


class SessionPersistence(Part, frozen=True):
    """How requests of one session find the same endpoint again."""

    type: Annotated[str, OneOf(("Cookie", "Header"))] = "Cookie"
    absolute_timeout: Duration | None = None
    cookie: CookieConfig | None = None
    header: HeaderConfig | None = None
