"""Policies that govern nothing, what they trust too little or too much, and permissions that nobody needs."""

from collections.abc import Iterator

from translator.advice.checks import REMARK, WITHOUT_EFFECT, Advice, Check
from translator.names import Name, Ref, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters, GatewayParametersSpec
from translator.objects.x_backend import XBackend
from translator.rules import x_backends
from translator.rules.backend_tls import Target, UpstreamTls, holder, judge, target_of, winner
from translator.rules.backends import Backend, Traffic
from translator.rules.ca_references import anchors
from translator.rules.degraded import degraded
from translator.rules.gateways import ours
from translator.rules.needs import needs
from translator.rules.open_ports import open_ports
from translator.rules.parameters import referred, said
from translator.rules.pins import SINGLE
from translator.rules.reach import ROUTES_BY_TARGET, gateways_naming, gateways_to
from translator.rules.streams import streams
from translator.rules.wordings import Wording, of_policy, of_x_backend
from translator.world import World

UNREACHED = Check(
    "policy-unreached",
    WITHOUT_EFFECT,
    "a policy whose target no Gateway opens connections to",
    "attach a route that leads to the target, or remove the target from the policy",
)
OUTRANKED = Check(
    "policy-outranked",
    WITHOUT_EFFECT,
    "a policy for a whole Service each of whose ports has a policy of its own",
    "remove the target, or those policies that name its ports",
)
LONE_PIN = Check(
    "pin-alone",
    REMARK,
    "a single pin: the backend's next key fails every request",
    "give a second pin, of a key kept in reserve: `legation pin KEY-FILE` prints it",
)
LEAF_TRUSTED = Check(
    "anchor-no-authority",
    REMARK,
    "trust in a certificate that is no authority, so that only itself is proved by it",
    "trust the authority that issues the backend's certificates, or pin it: `legation pin HOST:PORT`",
)
PARAMETERS_UNUSED = Check(
    "parameters-unused",
    WITHOUT_EFFECT,
    "GatewayParameters that no class and no Gateway refers to",
    "refer to them by spec.parametersRef of a class or by spec.infrastructure.parametersRef, or delete them",
)
PERMISSION_UNUSED = Check(
    "permission-unused",
    REMARK,
    "a permission in GatewayParameters that nothing makes use of",
    "say Forbid until it is needed",
)
CHECKS = (UNREACHED, OUTRANKED, LONE_PIN, LEAF_TRUSTED, PARAMETERS_UNUSED, PERMISSION_UNUSED)


def unused_targets(world: World) -> Iterator[Advice]:
    """Tell of targets that a policy has won for nothing."""
    for policy in sorted(world.names(BackendTLSPolicy)):
        for number, ref in enumerate(world.must(BackendTLSPolicy, policy).spec.target_refs):
            target = target_of(policy.namespace, ref)
            if target is not None and holder(world, target) == policy and (ports := _ports(world, target)):
                yield from _unused(world, policy, f"spec.targetRefs[{number}]", ports)


def proofs(world: World) -> Iterator[Advice]:
    """Tell of trust that is more fragile than whoever wrote it may think."""
    for name in sorted(world.names(BackendTLSPolicy)):
        about, tls = Ref("BackendTLSPolicy", name), judge(world, name).value
        if isinstance(tls, UpstreamTls) and len(tls.pins) == 1:
            yield Advice(LONE_PIN, about, "spec.options", SINGLE)
        yield from _leaves(world, about, of_policy(world.must(BackendTLSPolicy, name)), "spec")
    for name in sorted(world.names(XBackend)):
        about, own = Ref("XBackend", name), x_backends.judge(world, name).value
        if isinstance(own, x_backends.Own) and len(own.tls.pins) == 1:
            yield Advice(LONE_PIN, about, "metadata.annotations", SINGLE)
        if (wording := of_x_backend(world.must(XBackend, name))) is not None:
            yield from _leaves(world, about, wording, "spec.tls")


def parameters(world: World) -> Iterator[Advice]:
    """Tell of parameters that hold for nobody, and of what they permit in vain."""
    asked_for = _referred(world)
    for name in sorted(world.names(GatewayParameters)):
        about = Ref("GatewayParameters", name)
        if name not in asked_for:
            yield Advice(PARAMETERS_UNUSED, about, "", "nobody refers to it")
            continue
        gateways = [each for each in sorted(ours(world)) if name in {one.where for one in said(world, each)}]
        spec = world.must(GatewayParameters, name).spec
        for field, value in _vain(world, spec, gateways):
            yield Advice(PERMISSION_UNUSED, about, field, f"{value} is said, and nothing asks for it")


def _leaves(world: World, about: Ref, wording: Wording, path: str) -> Iterator[Advice]:
    for number, reference in enumerate(wording.references):
        field = f"{path}.validation.caCertificateRefs[{number}]"
        warnings = anchors(world, reference).warnings
        yield from (Advice(LEAF_TRUSTED, about, field, warning) for warning in warnings)


def _unused(world: World, policy: Name, field: str, ports: list[ServicePort]) -> Iterator[Advice]:
    about = Ref("BackendTLSPolicy", policy)
    governed = [port for port in ports if winner(world, port) == policy]
    others = sorted({str(by) for port in ports if (by := winner(world, port)) not in (None, policy)})
    if not governed:
        message = f"each port of {ports[0].owner} has a policy that names it: {', '.join(others)}"
        yield Advice(OUTRANKED, about, field, message)
    elif not any(gateways_to(world, port) for port in governed):
        yield Advice(UNREACHED, about, field, _why_unreached(world, governed))


def _why_unreached(world: World, ports: list[ServicePort]) -> str:
    owner = ports[0].owner
    if not any(gateways_naming(world, port) for port in ports):
        return f"no attached route leads to {owner}"
    through = [Ref("TLSRoute", name) for name in world.names_where(ROUTES_BY_TARGET["TLSRoute"], owner)]
    shares = (share for each in through for share in streams(world, each, Traffic.PASSTHROUGH).shares)
    if any(isinstance(each.target, Backend) and each.target.port in ports for each in shares):
        return f"every route there passes the client's own TLS on to {owner}"
    numbers = ", ".join(str(port.port) for port in ports)
    return f"no attached route leads to port {numbers} of {owner}: those there are lead to another one"


def _ports(world: World, target: Target) -> list[ServicePort]:
    """Return the ports that a target means, as far as TLS can be spoken there."""
    return [
        ServicePort(target.service, each.port, kind=target.kind)
        for each in open_ports(world, target.owner) or ()
        if target.section in ("", each.name) and each.protocol == "TCP"
    ]


def _referred(world: World) -> set[Name]:
    classes = (world.must(GatewayClass, name) for name in world.names(GatewayClass))
    gateways = (world.must(Gateway, name) for name in world.names(Gateway))
    return set(referred(*classes, *gateways))


def _vain(world: World, spec: GatewayParametersSpec, gateways: list[Name]) -> Iterator[tuple[str, str]]:
    """Yield the permissions of which none of these Gateways makes use."""
    weak = any(degraded(world, each) for each in gateways)
    if spec.backend_tls.insecure_verification == "Permit" and not weak:
        yield "spec.backendTLS.insecureVerification", "Permit"
    hops = (hop for each in gateways for hop in needs(world, each).hops)
    if spec.external_names == "Permit" and not any(hop.backend.by_name for hop in hops):
        yield "spec.externalNames", "Permit"
