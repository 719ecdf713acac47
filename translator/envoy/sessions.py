"""Sessions in Envoy's terms: the address of an endpoint, in a cookie or a header."""

from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2
from envoy.extensions.http.stateful_session.header.v3 import header_pb2
from google.protobuf import any_pb2

from translator.envoy.encode import packed
from translator.rules.sessions import Cookie, Header

SESSION = "envoy.filters.http.stateful_session"


def kept(session: Cookie | Header, *, is_tls: bool) -> any_pb2.Any:
    """Build what keeps sessions with one backend."""
    match session:
        case Cookie() as cookie:
            return _by("cookie", packed(_cookie(cookie, is_tls=is_tls)))
        case Header(name):
            return _by("header", packed(header_pb2.HeaderBasedSessionState(name=name)))


def _by(means: str, state: any_pb2.Any) -> any_pb2.Any:
    extension = {"name": f"envoy.http.stateful_session.{means}", "typed_config": state}
    return packed(stateful_session_pb2.StatefulSessionPerRoute(stateful_session={"session_state": extension}))


def _cookie(session: Cookie, *, is_tls: bool) -> cookie_pb2.CookieBasedSessionState:
    """Build a cookie that no script reads and no other site sends; without TLS none is taken as secure."""
    built = cookie_pb2.CookieBasedSessionState()
    built.cookie.name = session.name
    built.cookie.path = session.path
    if session.lifetime is not None:
        built.cookie.ttl.seconds = session.lifetime
    for name, value in (("SameSite", "Strict"), *([("Secure", "")] if is_tls else [])):
        built.cookie.attributes.add(name=name, value=value)
    return built
