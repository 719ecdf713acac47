"""What is asked of filters, wherever they stand."""

from collections import Counter
from collections.abc import Iterator

from translator.objects.admission.finding import Finding, fits, rules_of
from translator.objects.filters import Fraction, HTTPExternalAuthFilter, HTTPRequestMirrorFilter
from translator.objects.grpc_route import GRPCBackendRef, GRPCRouteFilter, GRPCRouteRule
from translator.objects.http_route import (
    HTTPBackendRef,
    HTTPCORSFilter,
    HTTPPathModifier,
    HTTPRouteFilter,
    HTTPRouteRule,
)
from translator.objects.listeners import ListenerFilter

_ONCE_IN_HTTP = ("CORS", "RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite")
_ONCE_IN_GRPC = ("RequestHeaderModifier", "ResponseHeaderModifier")


def the_field_fits_the_type(filter_: HTTPRouteFilter) -> Iterator[Finding]:
    """Of the fields that tell how, exactly the one of the filter's type is there."""
    fields = {
        "RequestHeaderModifier": ("requestHeaderModifier", filter_.request_header_modifier),
        "ResponseHeaderModifier": ("responseHeaderModifier", filter_.response_header_modifier),
        "RequestMirror": ("requestMirror", filter_.request_mirror),
        "RequestRedirect": ("requestRedirect", filter_.request_redirect),
        "URLRewrite": ("urlRewrite", filter_.url_rewrite),
        "CORS": ("cors", filter_.cors),
        "ExternalAuth": ("externalAuth", filter_.external_auth),
        "ExtensionRef": ("extensionRef", filter_.extension_ref),
    }
    return fits(filter_.type, fields)


def the_field_fits_the_type_in_grpc(filter_: GRPCRouteFilter) -> Iterator[Finding]:
    """The same for the filters of a GRPCRoute."""
    fields = {
        "RequestHeaderModifier": ("requestHeaderModifier", filter_.request_header_modifier),
        "ResponseHeaderModifier": ("responseHeaderModifier", filter_.response_header_modifier),
        "RequestMirror": ("requestMirror", filter_.request_mirror),
        "ExtensionRef": ("extensionRef", filter_.extension_ref),
    }
    return fits(filter_.type, fields)


def the_field_fits_the_type_in_a_listener(filter_: ListenerFilter) -> Iterator[Finding]:
    """The same for the filters of a listener."""
    fields = {
        "ExternalAuth": ("externalAuth", filter_.external_auth),
        "ExtensionRef": ("extensionRef", filter_.extension_ref),
    }
    return fits(filter_.type, fields)


def none_is_repeated(owner: HTTPRouteRule | HTTPBackendRef) -> Iterator[Finding]:
    """Filters whose order among themselves would matter are there once at most."""
    return _repeated([filter_.type for filter_ in owner.filters], _ONCE_IN_HTTP)


def none_is_repeated_in_grpc(owner: GRPCRouteRule | GRPCBackendRef) -> Iterator[Finding]:
    """The same for the filters of a GRPCRoute."""
    return _repeated([filter_.type for filter_ in owner.filters], _ONCE_IN_GRPC)


def _repeated(types: list[str], once: tuple[str, ...]) -> Iterator[Finding]:
    count = Counter(types)
    for type_ in once:
        if count[type_] > 1:
            yield Finding(
                "filters", f"must have {type_} only once, and have it {count[type_]} times: join them"
            )


def no_redirect_beside_a_rewrite(owner: HTTPRouteRule | HTTPBackendRef) -> Iterator[Finding]:
    """A redirected request reaches no backend, so there is nothing to rewrite."""
    if {"RequestRedirect", "URLRewrite"} <= {filter_.type for filter_ in owner.filters}:
        yield Finding("filters", "must not have both RequestRedirect and URLRewrite: remove one")


def the_path_fits_the_type(modifier: HTTPPathModifier) -> Iterator[Finding]:
    """Exactly the new path that the type asks for is there."""
    fields = {
        "ReplaceFullPath": ("replaceFullPath", modifier.replace_full_path),
        "ReplacePrefixMatch": ("replacePrefixMatch", modifier.replace_prefix_match),
    }
    return fits(modifier.type, fields)


def the_protocol_has_its_settings(filter_: HTTPExternalAuthFilter) -> Iterator[Finding]:
    """An authorization service has the settings of the protocol it is asked in, and no other."""
    fields = {"GRPC": ("grpc", filter_.grpc), "HTTP": ("http", filter_.http)}
    return fits(filter_.protocol, fields, by="protocol")


def a_share_is_said_once(mirror: HTTPRequestMirrorFilter) -> Iterator[Finding]:
    """A share is a percentage or a fraction."""
    if mirror.percent is not None and mirror.fraction is not None:
        yield Finding("fraction", "must be left out where percent is given")


def a_fraction_is_no_more_than_all(fraction: Fraction) -> Iterator[Finding]:
    """More than every request cannot be mirrored."""
    if fraction.numerator > fraction.denominator:
        yield Finding("numerator", f"must be at most the denominator, which is {fraction.denominator}")


def a_star_stands_alone(cors: HTTPCORSFilter) -> Iterator[Finding]:
    """`*` means all, so nothing beside it means anything."""
    lists = {
        "allowOrigins": cors.allow_origins,
        "allowMethods": cors.allow_methods,
        "allowHeaders": cors.allow_headers,
    }
    for field, values in lists.items():
        if "*" in values and len(values) > 1:
            yield Finding(field, "must have nothing beside *: remove * or all the others")


CHECKS = (
    rules_of(HTTPRouteFilter, the_field_fits_the_type),
    rules_of(GRPCRouteFilter, the_field_fits_the_type_in_grpc),
    rules_of(ListenerFilter, the_field_fits_the_type_in_a_listener),
    rules_of(HTTPPathModifier, the_path_fits_the_type),
    rules_of(HTTPExternalAuthFilter, the_protocol_has_its_settings),
    rules_of(HTTPRequestMirrorFilter, a_share_is_said_once),
    rules_of(Fraction, a_fraction_is_no_more_than_all),
    rules_of(HTTPCORSFilter, a_star_stands_alone),
    rules_of(HTTPRouteRule, none_is_repeated, no_redirect_beside_a_rewrite),
    rules_of(HTTPBackendRef, none_is_repeated, no_redirect_beside_a_rewrite),
    rules_of(GRPCRouteRule, none_is_repeated_in_grpc),
    rules_of(GRPCBackendRef, none_is_repeated_in_grpc),
)
