"""Takes an object as JSON, or says what an API server would have against it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType

import msgspec
from msgspec import Raw

from translator.objects.admission import (
    backend_tls_policies,
    connection_routes,
    endpoint_slices,
    filters,
    gateway_parameters,
    gateways,
    grpc_routes,
    http_routes,
    listeners,
    metadata,
    references,
    services,
    sessions,
    stored_data,
    x_backends,
)
from translator.objects.admission.compare import differences
from translator.objects.admission.finding import Check, Finding, join, rules_of
from translator.objects.admission.metadata import LONGEST_DOMAIN, is_domain, is_label, is_service_name, named
from translator.objects.admission.shape import shape_of
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.kinds import KINDS, KindInfo, Object
from translator.objects.meta import Part
from translator.objects.namespace import Namespace
from translator.objects.service import Service

MOST_FINDINGS = 100  # who is told of so many mends something else first

_SPECIAL_NAMES = (Service, Namespace, ClusterTrustBundle)

_NAME_CHECKS = (
    rules_of(Service, named(is_service_name, "a DNS label that begins with a letter")),
    rules_of(Namespace, named(is_label, "a DNS label: lower-case letters, digits and inner hyphens")),
    *(
        rules_of(
            info.type,
            named(is_domain, "a DNS name in lower case, such as shop or shop.example", LONGEST_DOMAIN),
        )
        for info in KINDS
        if info.type not in _SPECIAL_NAMES
    ),
)


def _by_type(
    checks: tuple[Check, ...],
) -> Mapping[type[Part], tuple[Callable[[Part], Iterator[Finding]], ...]]:
    parts = {part for part, _ in checks}
    return MappingProxyType(
        {part: tuple(check for owner, check in checks if owner is part) for part in parts}
    )


_RULES = _by_type(
    (
        *_NAME_CHECKS,
        *metadata.CHECKS,
        *references.CHECKS,
        *filters.CHECKS,
        *sessions.CHECKS,
        *http_routes.CHECKS,
        *grpc_routes.CHECKS,
        *connection_routes.CHECKS,
        *gateways.CHECKS,
        *gateway_parameters.CHECKS,
        *listeners.CHECKS,
        *backend_tls_policies.CHECKS,
        *x_backends.CHECKS,
        *services.CHECKS,
        *endpoint_slices.CHECKS,
        *stored_data.CHECKS,
    )
)


def admit(manifest: Mapping[str, object], info: KindInfo) -> Object | tuple[Finding, ...]:
    """Give the object that a manifest describes, or else the first findings against it."""
    fields = {key: value if key == "status" else without_nulls(value) for key, value in manifest.items()}
    if isinstance(about := fields.get("metadata"), dict):  # who wrote it elsewhere did not write it here
        about.pop("managedFields", None)
    shaped = {key: value for key, value in fields.items() if key != "kind" and value is not None}
    findings = [*islice(differences(shaped, shape_of(info.type), ""), MOST_FINDINGS)]
    if "status" in shaped:
        shaped["status"] = Raw(msgspec.json.encode(shaped["status"]))
    try:
        thing = msgspec.convert(shaped, info.type)
    except msgspec.ValidationError as error:  # the findings say the same in better words
        return tuple(findings) or (Finding("", str(error)),)
    findings += islice(refusals(thing, ""), MOST_FINDINGS)
    return tuple(findings) or thing


def without_nulls(value: object) -> object:
    """Take away fields without a value, as the API server does; an empty item of a list stays."""
    if isinstance(value, dict):
        return {key: without_nulls(below) for key, below in value.items() if below is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def refusals(part: Part, path: str) -> Iterator[Finding]:
    """Ask the rules about a part of an object and all that is below it."""
    for check in _RULES.get(type(part), ()):
        for finding in check(part):
            yield Finding(join(path, finding.path), finding.message)
    for field, name in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
        below = getattr(part, field)
        if isinstance(below, Part):
            yield from refusals(below, join(path, name))
        elif isinstance(below, tuple):
            parts = ((index, item) for index, item in enumerate(below) if isinstance(item, Part))
            for index, item in parts:
                yield from refusals(item, f"{join(path, name)}[{index}]")
