"""What is asked of the rules and matches of an HTTPRoute."""

import re
from collections.abc import Iterable, Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.rule_names import matches_are_not_too_many, rule_names_are_unique
from translator.objects.durations import milliseconds
from translator.objects.http_route import (
    HTTPPathMatch,
    HTTPRouteFilter,
    HTTPRouteRule,
    HTTPRouteSpec,
    HTTPRouteTimeouts,
)

_PATH = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})++")
_NEVER_INSIDE = ("//", "/./", "/../", "%2f", "%2F", "#")
_NEVER_LAST = ("/..", "/.")


def a_path_is_absolute(match: HTTPPathMatch) -> Iterator[Finding]:
    """A path begins at the root."""
    if match.type != "RegularExpression" and not match.value.startswith("/"):
        yield Finding("value", "must begin with / unless type is RegularExpression")


def a_path_is_normalized(match: HTTPPathMatch) -> Iterator[Finding]:
    """A path has nothing that a proxy would change before it compares."""
    if match.type == "RegularExpression":
        return
    for piece in _NEVER_INSIDE:
        if piece in match.value:
            yield Finding("value", f"must not contain {piece} unless type is RegularExpression")
    for piece in _NEVER_LAST:
        if match.value.endswith(piece):
            yield Finding("value", f"must not end with {piece} unless type is RegularExpression")


def a_path_is_spelled_as_in_a_request(match: HTTPPathMatch) -> Iterator[Finding]:
    """A path has the characters of RFC 3986, others as %XX."""
    if match.type != "RegularExpression" and not _PATH.fullmatch(match.value):
        yield Finding("value", "must have only the characters of a URL's path; write others as %XX")


def no_redirect_beside_backends(rule: HTTPRouteRule) -> Iterator[Finding]:
    """A redirected request reaches no backend."""
    if rule.backend_refs and any(filter_.request_redirect for filter_ in rule.filters):
        yield Finding("backendRefs", "must be left out beside a RequestRedirect filter: remove one of them")


def a_prefix_is_replaced_where_one_matched(rule: HTTPRouteRule) -> Iterator[Finding]:
    """The matched prefix can be replaced only where exactly one prefix can have matched."""
    if [match.path.type for match in rule.matches] == ["PathPrefix"]:
        return
    message = "has replacePrefixMatch: give exactly one match, of type PathPrefix"
    if _redirects(rule.filters) == 1 or _rewrites(rule.filters) == 1:
        yield Finding("filters", message)
    # The published rule looks at a backend only if it is the only one that replaces a prefix.
    for count in (_redirects, _rewrites):
        replacing = [index for index, ref in enumerate(rule.backend_refs) if count(ref.filters) == 1]
        if len(replacing) == 1:
            yield Finding(f"backendRefs[{replacing[0]}].filters", message)


def _redirects(filters: Iterable[HTTPRouteFilter]) -> int:
    paths = [filter_.request_redirect.path for filter_ in filters if filter_.request_redirect]
    return sum(path is not None and _replaces_prefix(path.type, path.replace_prefix_match) for path in paths)


def _rewrites(filters: Iterable[HTTPRouteFilter]) -> int:
    paths = [filter_.url_rewrite.path for filter_ in filters if filter_.url_rewrite]
    return sum(path is not None and _replaces_prefix(path.type, path.replace_prefix_match) for path in paths)


def _replaces_prefix(type_: str, replacement: str | None) -> bool:
    return type_ == "ReplacePrefixMatch" and replacement is not None


def a_try_is_no_longer_than_the_request(timeouts: HTTPRouteTimeouts) -> Iterator[Finding]:
    """One try cannot outlive the request it belongs to, unless that has no end."""
    if timeouts.request is None or timeouts.backend_request is None:
        return
    request, one_try = milliseconds(timeouts.request), milliseconds(timeouts.backend_request)
    if request and one_try > request:
        yield Finding("backendRequest", f"must be at most request, which is {timeouts.request}")


CHECKS = (
    rules_of(HTTPPathMatch, a_path_is_absolute, a_path_is_normalized, a_path_is_spelled_as_in_a_request),
    rules_of(HTTPRouteRule, no_redirect_beside_backends, a_prefix_is_replaced_where_one_matched),
    rules_of(HTTPRouteTimeouts, a_try_is_no_longer_than_the_request),
    rules_of(HTTPRouteSpec, rule_names_are_unique, matches_are_not_too_many),
)
