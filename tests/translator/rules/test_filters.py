"""Filters that no API server admits: they are refused here too, for Envoy would take none of their table."""

from collections.abc import Mapping

import pytest

from tests.worlds import after, thing
from translator.names import Name, Ref
from translator.rules.http_routes import Fail, rules
from translator.verdict import Refused

PREFIX = {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/b"}}
REWRITE = {"type": "URLRewrite", "urlRewrite": PREFIX}
MIRROR = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "b", "port": 80}}}
CORS = {"type": "CORS", "cors": {"allowOrigins": ["*"]}}
REDIRECT = {"type": "RequestRedirect", "requestRedirect": {}}


def refused(**rule: object) -> Refused | None:
    """Return why the one rule of a route is refused."""
    written = {"rules": [rule], "parentRefs": [{"name": "a"}]}
    world = after([thing("HTTPRoute", "shop", "a", spec=written)])
    [read] = rules(world, Ref("HTTPRoute", Name("shop", "a")))
    assert isinstance(read.rule.action, Fail) == (read.refusal is not None)
    return read.refusal


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ([REWRITE, REDIRECT], "a request that is redirected cannot be rewritten"),
        ([MIRROR, REDIRECT], "a request that is redirected cannot be mirrored"),
        ([CORS, REDIRECT], "CORS is for answers of backends, not for redirects"),
        ([REWRITE, REWRITE], "URLRewrite can stand only once"),
    ],
)
def test_filters_that_contradict_each_other_refuse_their_rule(
    filters: list[Mapping[str, object]], message: str
) -> None:
    assert refused(filters=filters) == Refused("IncompatibleFilters", f"filters: {message}")


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([], [REWRITE, REWRITE], "URLRewrite can stand only once"),
        ([MIRROR], [REDIRECT], "a request that is redirected cannot be mirrored"),
        ([REWRITE], [REDIRECT], "a request that is redirected cannot be rewritten"),
    ],
)
def test_filters_of_a_backend_contradict_neither_each_other_nor_their_rule(
    ours: list[Mapping[str, object]], theirs: list[Mapping[str, object]], message: str
) -> None:
    backends = [{"name": "a", "port": 80}, {"name": "b", "port": 80, "filters": theirs}]
    why = Refused("IncompatibleFilters", f"backendRefs[1].filters: {message}")
    assert refused(filters=ours, backendRefs=backends) == why


@pytest.mark.parametrize("filter_", [REWRITE, {"type": "RequestRedirect", "requestRedirect": PREFIX}])
@pytest.mark.parametrize("kind", ["Exact", "RegularExpression"])
def test_a_prefix_is_replaced_only_where_one_matched(filter_: Mapping[str, object], kind: str) -> None:
    matches = [{"path": {"value": "/a"}}, {"path": {"type": kind, "value": "/a"}}]
    wrong = Refused("UnsupportedValue", "filters: ReplacePrefixMatch needs matches by PathPrefix")
    assert refused(filters=[filter_], matches=matches) == wrong
    assert refused(backendRefs=[{"name": "b", "port": 80, "filters": [filter_]}], matches=matches) == wrong
    backend = {"name": "b", "port": 80}
    assert refused(filters=[filter_], matches=matches[:1], backendRefs=[backend]) is None


@pytest.mark.parametrize("kind", ["Request", "Response"])
def test_the_value_of_a_header_is_one_line(kind: str) -> None:
    changes = {"set": [{"name": "x", "value": "a\r\ny: b"}]}
    filter_ = {"type": f"{kind}HeaderModifier", f"{kind.lower()}HeaderModifier": changes}
    wrong = "filters: the value for header x has a line break in it"
    assert refused(filters=[filter_]) == Refused("UnsupportedValue", wrong)
