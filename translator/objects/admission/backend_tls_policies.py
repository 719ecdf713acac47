"""What is asked of BackendTLSPolicies."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, fits, rules_of
from translator.objects.backend_tls_policy import (
    BackendTLSPolicySpec,
    BackendTLSPolicyValidation,
    SubjectAltName,
)


def trust_comes_from_one_place(validation: BackendTLSPolicyValidation) -> Iterator[Finding]:
    """Either references say who is trusted, or a well-known name does."""
    if bool(validation.ca_certificate_refs) == (validation.well_known_ca_certificates is not None):
        yield Finding("", "must have exactly one of caCertificateRefs and wellKnownCACertificates")


def the_name_fits_the_type(name: SubjectAltName) -> Iterator[Finding]:
    """Exactly the name that the type asks for is there."""
    fields = {"Hostname": ("hostname", name.hostname or None), "URI": ("uri", name.uri or None)}
    return fits(name.type, fields)


def one_target_is_told_apart_alike(spec: BackendTLSPolicySpec) -> Iterator[Finding]:
    """Where a target is named twice, either all of the references name a section, or none."""
    first: dict[tuple[str, ...], bool] = {}
    for index, ref in enumerate(spec.target_refs):
        says = bool(ref.section_name)
        if first.setdefault((ref.group, ref.kind, ref.name), says) != says:
            yield Finding(
                f"targetRefs[{index}]",
                "names a target again: give sectionName in each reference to that target",
            )


def one_section_is_named_once(spec: BackendTLSPolicySpec) -> Iterator[Finding]:
    """The same section of the same target is named by one reference only."""
    seen: set[tuple[str, ...]] = set()
    for index, ref in enumerate(spec.target_refs):
        section = (ref.group, ref.kind, ref.name, ref.section_name or "")
        if section in seen:
            yield Finding(
                f"targetRefs[{index}]", "repeats an earlier reference: remove it, or name another section"
            )
        seen.add(section)


CHECKS = (
    rules_of(BackendTLSPolicyValidation, trust_comes_from_one_place),
    rules_of(SubjectAltName, the_name_fits_the_type),
    rules_of(BackendTLSPolicySpec, one_target_is_told_apart_alike, one_section_is_named_once),
)
