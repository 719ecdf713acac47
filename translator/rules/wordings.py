"""Wordings: what TLS to a backend must prove, as somebody wrote it.  GEP-1897, GEP-4152, GEP-4894.

A BackendTLSPolicy says it by validation and options. An XBackend says it by the same validation and, having
no options, by annotations with their keys. Nothing else reads those fields.
"""

from collections.abc import Mapping
from typing import NamedTuple

from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy, BackendTLSPolicyValidation
from translator.objects.x_backend import XBackend
from translator.rules.ca_references import CaReference, ca_reference
from translator.rules.tls_options import PREFIX


class Wording(NamedTuple):
    """TLS to a backend as somebody wrote it, in the words that rules read."""

    namespace: str  # that references are looked up in
    validation: BackendTLSPolicyValidation
    options: Mapping[str, str]

    @property
    def references(self) -> tuple[CaReference, ...]:
        """The objects that CA certificates are expected in."""
        refs = self.validation.ca_certificate_refs
        return tuple(ca_reference(ref.group, ref.kind, Name(self.namespace, ref.name)) for ref in refs)


def of_policy(policy: BackendTLSPolicy) -> Wording:
    """Return what a policy asks for."""
    return _wording(policy.metadata.namespace, policy.spec.validation, policy.spec.options)


def of_x_backend(x_backend: XBackend) -> Wording | None:
    """Return what an XBackend asks for; nothing where it does not say what is to be proved."""
    validation = x_backend.spec.tls.validation
    if validation is None:
        return None
    return _wording(x_backend.metadata.namespace, validation, annotated(x_backend))


def annotated(x_backend: XBackend) -> Mapping[str, str]:
    """Return what a policy would say by options of ours."""
    annotations = x_backend.metadata.annotations
    return {key: value for key, value in annotations.items() if key.startswith(PREFIX)}


def _wording(namespace: str, validation: BackendTLSPolicyValidation, options: Mapping[str, str]) -> Wording:
    """Return it in the words that rules read.

    Here is where fields of GEP-4152 will be read once the API has any, such as a mode and trusted hashes:
    they become the words and options that mean the same, and no other rule has to know of them.
    """
    return Wording(namespace, validation, options)
