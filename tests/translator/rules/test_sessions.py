"""Sessions that no API server admits."""

from translator.objects.routes import SessionPersistence
from translator.rules.sessions import Cookie, Wish, session
from translator.verdict import Refused

RULE = "HTTPRoute shop/pay 0"


def test_a_header_without_a_name_keeps_no_session() -> None:
    why = "sessionPersistence: type Header needs the name of a header"
    assert session(RULE, SessionPersistence("Header")) == Refused("UnsupportedValue", why)


def test_a_cookie_without_settings_is_one_that_nobody_names() -> None:
    found = session(RULE, SessionPersistence())
    assert isinstance(found, Wish)
    assert isinstance(found.by, Cookie)
    assert not found.is_named
    assert found != session("HTTPRoute shop/pay 1", SessionPersistence())
