"""Verification that is weaker than BackendTLSPolicy's own: who asks for it, and who permits it.  GEP-4152.

A policy's author asks; the operator permits, in every GatewayParameters that holds for a Gateway, its class's
and its own. So a class that forbids is not overruled, and parameters that say nothing of it forbid.
"""

from enum import Enum

from translator.memo import query
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.rules.listener_sets import labels
from translator.rules.parameters import Said, said
from translator.rules.tls_options import MODE, PREFIX, SKIP_HOSTNAME
from translator.rules.wordings import Wording, of_policy
from translator.verdict import Refused
from translator.world import World

SKIP = f"{PREFIX}insecure-skip-verification"
FORBIDDEN = "InsecureVerificationForbidden"

_FIELD = "spec.backendTLS.insecureVerification"


class Weakness(Enum):
    """What is left out of the proof."""

    UNVERIFIED = "unverified"  # whoever answers is believed, or whoever shows a pin beside it
    ANY_NAME = "any-name"  # trusted roots vouch for the certificate, whatever its name


@query
def weakness(world: World, policy: Name) -> Weakness | None:
    """Say how a policy weakens verification, whether or not it can be honoured otherwise."""
    return weakness_of(of_policy(world.must(BackendTLSPolicy, policy)))


def weakness_of(wording: Wording) -> Weakness | None:
    """Say how what somebody wrote weakens verification."""
    if wording.validation.well_known_ca_certificates == SKIP:
        return Weakness.UNVERIFIED
    return Weakness.ANY_NAME if wording.options.get(f"{PREFIX}{MODE}") == SKIP_HOSTNAME else None


@query
def forbidden(world: World, gateway: Name, namespace: str) -> Refused | None:
    """Say who forbids a Gateway to weaken verification for the policies of a namespace, if anybody does."""
    spoken = said(world, gateway)
    if not spoken:
        why = f"no GatewayParameters that holds for Gateway {gateway} says {_FIELD}: Permit"
        return Refused(FORBIDDEN, f"{why}, so connections fail")
    objections = (_objection(world, each, namespace) for each in spoken)
    why = next(filter(None, objections), "")
    return Refused(FORBIDDEN, f"{why}, so connections fail through Gateway {gateway}") if why else None


def _objection(world: World, parameters: Said, namespace: str) -> str:
    permission = parameters.spec.backend_tls
    if permission.insecure_verification != "Permit":
        return f"GatewayParameters {parameters.where} does not say {_FIELD}: Permit"
    selector = permission.namespace_selector
    if selector is not None and not selector.matches(labels(world, namespace)):
        return f"GatewayParameters {parameters.where} does not select namespace {namespace} for {_FIELD}"
    return ""
