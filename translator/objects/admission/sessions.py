"""What is asked of session persistence."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, fits, rules_of
from translator.objects.routes import SessionPersistence


def a_permanent_cookie_ends(session: SessionPersistence) -> Iterator[Finding]:
    """A cookie that outlives the browser says when it ends."""
    permanent = session.cookie is not None and session.cookie.lifetime_type == "Permanent"
    if permanent and session.absolute_timeout is None:
        yield Finding("absoluteTimeout", "is required where cookie.lifetimeType is Permanent")


def the_settings_fit_the_type(session: SessionPersistence) -> Iterator[Finding]:
    """A session kept by a cookie has the settings of a cookie, one kept by a header those of a header."""
    fields = {"Cookie": ("cookie", session.cookie), "Header": ("header", session.header)}
    return fits(session.type, fields)


CHECKS = (rules_of(SessionPersistence, a_permanent_cookie_ends, the_settings_fit_the_type),)
