"""Services that are asked about requests: by a listener before routes are chosen, and by the chosen route.

What a listener asks is a filter of Envoy for each question. An answer may change what routes are matched by,
so they are chosen after the last one; but nobody may say that a request is for another host. What a route
asks stands in the route itself, whole: listeners have two empty places for it, and never change with it, so
no connection ends because of a route. An answer to a route's question chooses no other route.
Whoever cannot be asked has said no.
"""

from collections.abc import Iterable, Sequence

from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.common.matching.v3 import extension_matcher_pb2
from envoy.extensions.filters.common.matcher.action.v3 import skip_action_pb2
from envoy.extensions.filters.http.composite.v3 import composite_pb2
from envoy.extensions.filters.http.ext_authz.v3 import ext_authz_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.type.matcher.v3 import string_pb2

from translator.envoy.clusters import REFUSED
from translator.envoy.encode import encode, packed
from translator.rules.backends import Backend
from translator.rules.headers import FRAME
from translator.rules.questions import Question

ANY_HEADER = "[^:].*"  # no pseudo-header; the host's are kept from changes in any case
TIMEOUT = 10
PREPARED = encode(
    ext_authz_pb2.ExtAuthz(
        transport_api_version="V3",
        status_on_error={"code": "ServiceUnavailable"},
        validate_mutations=True,
        # Rules leave the host and Envoy's own headers alone anyway.  An answer has a length of its own, by
        # which a backend would take the rest of a request for another one, about which nobody was asked.
        decoder_header_mutation_rules={"disallow_expression": {"regex": "|".join(FRAME)}},
    )
)
ENABLED = encode(packed(ext_authz_pb2.ExtAuthzPerRoute(check_settings={})))
# A chain of filters in one place would end with the first that waits for an answer; so each has its own.
PLACES = ("legation/route/first", "legation/route/then")
EMPTY = encode(
    packed(
        extension_matcher_pb2.ExtensionWithMatcher(
            extension_config={
                "name": "envoy.filters.http.composite",
                "typed_config": packed(composite_pb2.Composite()),
            },
            xds_matcher={
                "on_no_match": {
                    "action": {"name": "nothing", "typed_config": packed(skip_action_pb2.SkipFilter())}
                }
            },
        )
    )
)


def places() -> Iterable[http_connection_manager_pb2.HttpFilter]:
    """Build the places for what a route asks, which ask nothing by themselves."""
    for name in PLACES:
        empty = http_connection_manager_pb2.HttpFilter(name=name, disabled=True)
        empty.typed_config.ParseFromString(EMPTY)
        yield empty


def filters(asked: Iterable[Question], *, by_host: bool) -> Iterable[http_connection_manager_pb2.HttpFilter]:
    """Build the filters that ask; where hosts of several listeners meet, each host says which are its own."""
    for question in asked:
        yield http_connection_manager_pb2.HttpFilter(
            name=_name(question), typed_config=packed(_asking(question, again=True)), disabled=by_host
        )


def enable(host: route_components_pb2.VirtualHost, asked: Iterable[Question]) -> None:
    """Have all requests for a host asked about."""
    for question in asked:
        host.typed_per_filter_config[_name(question)].ParseFromString(ENABLED)


def ask(route: route_components_pb2.Route, asked: Sequence[Question]) -> None:
    """Have requests that a route takes asked about, one question after the other."""
    for number, question in enumerate(asked):  # a rule's and its backend's: never more
        action = composite_pb2.ExecuteFilterAction(
            typed_config={
                "name": "envoy.filters.http.ext_authz",
                "typed_config": packed(_asking(question, again=False)),
            }
        )
        always = {"on_no_match": {"action": {"name": "ask", "typed_config": packed(action)}}}
        filled = extension_matcher_pb2.ExtensionWithMatcherPerRoute(xds_matcher=always)
        route.typed_per_filter_config[PLACES[number]].CopyFrom(packed(filled))


def whom(asked: Iterable[Question]) -> tuple[str, ...]:
    """Name the clusters that are asked."""
    return tuple(sorted({_cluster(question) for question in asked}))


def _name(question: Question) -> str:
    return f"legation/ask/{question.name}"


def _cluster(question: Question) -> str:
    return str(question.whom) if isinstance(question.whom, Backend) else REFUSED


def _asking(question: Question, *, again: bool) -> ext_authz_pb2.ExtAuthz:
    """Build a question, after which a route is chosen again or not."""
    built = ext_authz_pb2.ExtAuthz.FromString(PREPARED)
    built.clear_route_cache = again
    if question.by_grpc:
        built.grpc_service.envoy_grpc.cluster_name = _cluster(question)
        built.grpc_service.timeout.seconds = TIMEOUT
    else:
        _over_http(built.http_service, question)
    if question.shown:
        built.allowed_headers.patterns.extend(map(_exactly, question.shown))
    if question.body:
        built.with_request_body.max_request_bytes = question.body  # more is answered 413
        built.with_request_body.pack_as_bytes = question.by_grpc
    return built


def _over_http(service: ext_authz_pb2.HttpService, question: Question) -> None:
    service.server_uri.uri = f"http://{_cluster(question)}"
    service.server_uri.cluster = _cluster(question)
    service.server_uri.timeout.seconds = TIMEOUT
    service.path_prefix = question.path
    taken = service.authorization_response.allowed_upstream_headers.patterns
    if question.taken:
        taken.extend(map(_exactly, question.taken))
    else:
        taken.add(safe_regex={"regex": ANY_HEADER})


def _exactly(header: str) -> string_pb2.StringMatcher:
    return string_pb2.StringMatcher(exact=header, ignore_case=True)
