"""What is asked of the rules and matches of a GRPCRoute."""

import re
from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.rule_names import matches_are_not_too_many, rule_names_are_unique
from translator.objects.grpc_route import GRPCMethodMatch, GRPCRouteSpec

_WORD = r"[A-Za-z_][A-Za-z_0-9]*+"
_SERVICE = re.compile(rf"\.?{_WORD}(?:\.{_WORD})*+")
_METHOD = re.compile(_WORD)


def something_is_called(match: GRPCMethodMatch) -> Iterator[Finding]:
    """A match names a service, a method or both."""
    if match.service is None and match.method is None:
        yield Finding(
            "", "must have service, method or both; to match every call, leave method out of the match"
        )


def a_service_is_spelled_as_in_protobuf(match: GRPCMethodMatch) -> Iterator[Finding]:
    """A service to match exactly is a name that protobuf knows."""
    if match.type == "Exact" and match.service is not None and not _SERVICE.fullmatch(match.service):
        yield Finding(
            "service", "must be a protobuf name, such as shop.v1.Orders, unless type is RegularExpression"
        )


def a_method_is_spelled_as_in_protobuf(match: GRPCMethodMatch) -> Iterator[Finding]:
    """A method to match exactly is a name that protobuf knows."""
    if match.type == "Exact" and match.method is not None and not _METHOD.fullmatch(match.method):
        yield Finding(
            "method", "must be a protobuf name, such as ListOrders, unless type is RegularExpression"
        )


CHECKS = (
    rules_of(
        GRPCMethodMatch,
        something_is_called,
        a_service_is_spelled_as_in_protobuf,
        a_method_is_spelled_as_in_protobuf,
    ),
    rules_of(GRPCRouteSpec, rule_names_are_unique, matches_are_not_too_many),
)
