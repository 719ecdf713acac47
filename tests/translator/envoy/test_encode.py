"""Bytes joined from parts are the bytes of the whole."""

from envoy.config.route.v3 import route_components_pb2, route_pb2
from hypothesis import given
from hypothesis import strategies as st

from tests.translator.envoy.plans import TABLE, backend
from translator.envoy import routes
from translator.envoy.encode import element, encode
from translator.rules.backends import Share
from translator.rules.filters import Redirect
from translator.rules.http_routes import Fail, Forward, HttpRule
from translator.rules.matches import HttpMatch, PathExact, PathPrefix
from translator.rules.tables import Entry

LABEL = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
ACTION = st.one_of(
    st.builds(lambda name: Forward((Share(backend(name), 1),)), LABEL),
    st.builds(Redirect, st.just(301), hostname=st.none() | LABEL),
    st.builds(Fail, st.just(500), st.text()),
)
ENTRY = st.builds(
    Entry,
    st.builds(HttpMatch, st.builds(PathExact, LABEL) | st.builds(PathPrefix, LABEL)),
    st.builds(HttpRule, ACTION),
    st.text(max_size=200),
)


@given(number=st.integers(1, 2**29 - 1), body=st.binary(max_size=300), again=st.integers(0, 200))
def test_an_element_is_framed_as_any_message_frames_it(number: int, body: bytes, again: int) -> None:
    """A field that a message does not know is kept as it came, so that writing it back proves the frame."""
    framed = element(number, body * again)
    if number > 100:  # far above any field of a route table
        assert route_pb2.RouteConfiguration.FromString(framed).SerializeToString() == framed
    virtual_host = route_components_pb2.VirtualHost(name="x" * len(body) * again)
    whole = route_pb2.RouteConfiguration(virtual_hosts=[virtual_host])
    assert element(2, encode(virtual_host)) == encode(whole)


@given(hosts=st.dictionaries(LABEL, st.lists(ENTRY, max_size=4), max_size=5))
def test_a_joined_route_table_is_the_deterministic_serialization_of_the_whole(
    hosts: dict[str, list[Entry]],
) -> None:
    joined = routes.join(TABLE, [routes.build(TABLE, *host) for host in hosts.items()])
    whole = route_pb2.RouteConfiguration.FromString(joined.body)
    assert encode(whole) == joined.body
    assert [host.name for host in whole.virtual_hosts] == list(hosts)
    assert whole.name == str(TABLE)
