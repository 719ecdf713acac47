"""Sessions in Envoy's terms: the address of an endpoint, in a cookie or a header."""

from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2
from envoy.extensions.http.stateful_session.header.v3 import header_pb2
from google.protobuf import any_pb2

from translator.envoy.encode import packed
from translator.rules.sessions import Cookie, Header

SESSION = "envoy.filters.http.stateful_session"
UNAGED = "envoy.filters.http.lua"
# Envoy writes the end of a session into the value of its cookie, and keeps to it. It also tells the browser,
# to which a cookie for its own session has no age.
SCRIPT = """
function envoy_on_response(answer)
  local begin = answer:filterContext():get("cookie") .. "="
  local headers, given = answer:headers(), {}
  for place = 0, headers:getNumValues("set-cookie") - 1 do
    given[#given + 1] = headers:getAtIndex("set-cookie", place)
  end
  headers:remove("set-cookie")
  for _, each in ipairs(given) do
    if each:sub(1, #begin) == begin then
      each = each:gsub("; Max%-Age=%d+", "")
    end
    headers:add("set-cookie", each)
  end
end
"""


def kept(session: Cookie | Header, *, is_tls: bool) -> any_pb2.Any:
    """Build what keeps sessions with one backend."""
    match session:
        case Cookie() as cookie:
            return _by("cookie", packed(_cookie(cookie, is_tls=is_tls)))
        case Header(name):
            return _by("header", packed(header_pb2.HeaderBasedSessionState(name=name)))


def unaged(session: Cookie | Header) -> any_pb2.Any | None:
    """Build what keeps the end of a session from browsers, if their own session is to end it first."""
    if not isinstance(session, Cookie) or session.lifetime is None or session.is_permanent:
        return None
    built = lua_pb2.LuaPerRoute(source_code={"inline_string": SCRIPT})
    built.filter_context["cookie"] = session.name
    return packed(built)


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
