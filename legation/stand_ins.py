"""What takes the place of a BackendTLSPolicy that nobody can read: a policy that fails what it targets.

An API server would refuse such a policy, and its author would see it. In a folder it is there, and says that
its targets want TLS: so they get no cleartext, and everything else goes on.
"""

from collections.abc import Mapping

import msgspec

from translator.objects.backend_tls_policy import (
    BackendTLSPolicy,
    BackendTLSPolicySpec,
    BackendTLSPolicyValidation,
)
from translator.objects.provenance import TracedMeta
from translator.objects.references import PolicyTargetReference
from translator.rules.backend_tls import UNREADABLE

FAILS = BackendTLSPolicyValidation(hostname="", well_known_ca_certificates=UNREADABLE)


def stand_in(fields: Mapping[str, object]) -> BackendTLSPolicy | None:
    """Return it, if at least the policy's name and every target can be read."""
    spec = fields.get("spec")
    refs = spec.get("targetRefs") if isinstance(spec, dict) else None
    try:
        metadata = msgspec.convert(fields.get("metadata"), TracedMeta)
        targets = msgspec.convert(refs, tuple[PolicyTargetReference, ...])
    except msgspec.ValidationError:
        return None
    return BackendTLSPolicy(metadata, BackendTLSPolicySpec(targets, FAILS)) if targets else None
