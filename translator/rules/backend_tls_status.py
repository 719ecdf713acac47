"""What a BackendTLSPolicy's status says: its verdict, and how it stands on each of its targets.

One entry for each Gateway of ours that leads to a targeted port, or else one for the Service. A target that
is lost, or cannot be attached to, makes the policy not accepted; the message says what is enforced still.
What weakens verification may be accepted through one Gateway and not through another.
"""

import msgspec
from msgspec import Raw, Struct, field

from translator.memo import keyed, query, steady
from translator.names import Name, Ref, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.references import PolicyTargetReference
from translator.objects.service import ServicePort as OpenPort
from translator.rules.backend_tls import Target, holder, judge, target_of, winner
from translator.rules.degraded import degraded_by, told_of
from translator.rules.expiry import expiring
from translator.rules.gateways import CONTROLLER, GATEWAY
from translator.rules.insecure_verification import forbidden, weakness
from translator.rules.open_ports import called, open_ports
from translator.rules.reach import gateways_to
from translator.rules.status import MOST_ANCESTORS, ParentRef, ParentStatus, PolicyStatus
from translator.verdict import Condition, Refused, fails, legible, listed
from translator.world import World

#: Which trouble gives its reason to a policy that has several.
_GRAVEST_FIRST = ("Conflicted", "Invalid", "TargetNotFound")


class _Standing(Struct, frozen=True):
    """How a policy stands on one target: enforced, perhaps with something to know, or not."""

    target: str
    trouble: Refused | None = None
    notes: tuple[str, ...] = ()


class _Entry(Struct, frozen=True, rename="camel"):
    """Whose a status entry is: all that is read of other controllers' ones."""

    controller_name: str = ""


class _Written(Struct, frozen=True):
    """The status that a policy has now."""

    ancestors: tuple[_Entry, ...] = field(default=())


@query
def backend_tls_status(world: World, policy: Name) -> PolicyStatus:
    """Return our entries of a policy's status."""
    through = [
        ParentStatus(ParentRef(*GATEWAY, gateway.name, gateway.namespace), _through(world, policy, gateway))
        for gateway in _gateways(world, policy)
    ]
    entries = through or [ParentStatus(_service(world, policy), _conditions(world, policy, None))]
    return PolicyStatus(tuple(entries[: _room(world, policy)]))


def _through(world: World, policy: Name, gateway: Name) -> tuple[Condition, ...]:
    """Return what one Gateway has to say; they differ only where verification is weakened."""
    if weakness(world, policy) is None:
        return _conditions(world, policy, None)
    conditions = _conditions(world, policy, forbidden(world, gateway, policy.namespace))
    return (*conditions, *told_of(degraded_by(world, gateway, Ref("BackendTLSPolicy", policy))))


@query
def _conditions(world: World, policy: Name, refusal: Refused | None) -> tuple[Condition, ...]:
    """Return what holds wherever this, if anything, forbids what the policy asks for."""
    verdict = judge(world, policy)
    accepted, *others = verdict.conditions
    ending = () if isinstance(verdict.value, Refused) else expiring(world, Ref("BackendTLSPolicy", policy))
    standings = _standings(world, policy)
    if refusal is not None and accepted.status and any(each.trouble is None for each in standings):
        accepted = fails("Accepted", refusal.reason, refusal.message)
    return (_accepted(accepted, standings), *others, *ending)


def crowded_out(world: World, gateway: Name) -> tuple[Name, ...]:
    """Return the policies, by name, that are enforced at a Gateway and have no room to say so."""
    return _crowded.at(world, gateway) or ()


@keyed(rank=3)
def _crowded(world: World) -> dict[Name, tuple[Name, ...]]:
    """Return every Gateway without room, with the policies; almost always none."""
    found: dict[Name, list[Name]] = {}
    for policy in sorted(world.names(BackendTLSPolicy)):
        for gateway in _roomless(world, policy):
            found.setdefault(gateway, []).append(policy)
    return {gateway: tuple(policies) for gateway, policies in found.items()}


@steady(lambda _policy: ())
def _roomless(world: World, policy: Name) -> tuple[Name, ...]:
    return _gateways(world, policy)[_room(world, policy) :]


@query
def _room(world: World, policy: Name) -> int:
    """Return how many entries other controllers leave to us."""
    return max(0, MOST_ANCESTORS - foreign_entries(world.must(BackendTLSPolicy, policy).status))


def foreign_entries(status: Raw) -> int:
    """Count the ancestors that other controllers wrote into a status."""
    try:
        entries = msgspec.json.decode(status, type=_Written).ancestors
    except msgspec.MsgspecError:  # there is none yet, or none that the API server would have taken
        return 0
    return sum(entry.controller_name != CONTROLLER for entry in entries)


@query
def _gateways(world: World, policy: Name) -> tuple[Name, ...]:
    """Return the Gateways that lead to a port the policy targets, won or lost."""
    refs = world.must(BackendTLSPolicy, policy).spec.target_refs
    targets = [target for ref in refs if (target := target_of(policy.namespace, ref)) is not None]
    return tuple(sorted({gateway for target in targets for gateway in _leading(world, target)}))


@query
def _leading(world: World, target: Target) -> frozenset[Name]:
    """Return the Gateways that lead to what is targeted: found once for all policies that do."""
    ports = (
        ServicePort(target.service, each.port, each.protocol, target.kind) for each in _ports(world, target)
    )
    return frozenset(gateway for port in ports for gateway in gateways_to(world, port))


def _service(world: World, policy: Name) -> ParentRef:
    """Return what stands in for a Gateway: the first Service, or what is targeted in its place."""
    refs = world.must(BackendTLSPolicy, policy).spec.target_refs
    ref = next((each for each in refs if target_of(policy.namespace, each) is not None), refs[0])
    return ParentRef(ref.group, ref.kind, ref.name, policy.namespace)


def _accepted(judged: Condition, standings: tuple[_Standing, ...]) -> Condition:
    """Join what is said about the policy itself with what is said about its targets."""
    troubles = [each.trouble for each in standings if each.trouble is not None]
    enforced = [each.target for each in standings if each.trouble is None]
    messages = [
        *([judged.message] if judged.message else []),
        *(trouble.message for trouble in troubles),
        *(note for each in standings for note in each.notes),
    ]
    if not troubles:
        return Condition(judged.type, judged.status, judged.reason, legible("; ".join(messages)))
    if enforced:
        messages.append(f"{'still enforced' if judged.status else 'fails closed'} for {', '.join(enforced)}")
    reason = min((trouble.reason for trouble in troubles), key=_GRAVEST_FIRST.index)
    if enforced and not judged.status:
        reason = judged.reason
    return Condition(judged.type, status=False, reason=reason, message=legible("; ".join(messages)))


def _standings(world: World, policy: Name) -> tuple[_Standing, ...]:
    refs = world.must(BackendTLSPolicy, policy).spec.target_refs
    return tuple(_standing(world, policy, ref) for ref in refs)


def _standing(world: World, policy: Name, ref: PolicyTargetReference) -> _Standing:
    target = target_of(policy.namespace, ref)
    if target is None:
        other = f"{ref.kind} {ref.name}"
        message = f"{other} of group {ref.group!r} cannot be targeted: name a Service of group ''"
        return _Standing(other, Refused("TargetNotFound", message))
    trouble = _trouble(world, policy, target)
    return _Standing(str(target), trouble, () if trouble else _notes(world, policy, target))


def _trouble(world: World, policy: Name, target: Target) -> Refused | None:
    """Say why a policy is not enforced on a Service it targets, if so."""
    if open_ports(world, target.owner) is None:
        return Refused("TargetNotFound", f"{target.owner} does not exist: create it, or correct the name")
    ports = _ports(world, target)
    if target.section and not ports:
        return Refused("TargetNotFound", f"{target} does not exist: name one of the {target.kind}'s ports")
    if ports and all(each.protocol != "TCP" for each in ports):
        return Refused("Invalid", f"{target} is open for {ports[0].protocol} only: TLS needs TCP")
    if (older := holder(world, target)) != policy:
        return Refused("Conflicted", f"{target} is lost to {older}, which came first: delete one of the two")
    return None


def _notes(world: World, policy: Name, target: Target) -> tuple[str, ...]:
    """Say which ports of an enforced target are not covered by the policy."""
    ports = _ports(world, target)
    others = [f"{each.protocol} port {each.port}" for each in ports if each.protocol != "TCP"]
    covered = [each for each in ports if each.protocol == "TCP"]
    winners = [
        (each, winner(world, ServicePort(target.service, each.port, kind=target.kind))) for each in covered
    ]
    ceded = [f"port {each.name} to {other}" for each, other in winners if other != policy]
    return (
        *([f"{target}: {listed(others)} not covered, as TLS needs TCP"] if others else []),
        *([f"{target}: {listed(ceded)}, which goes before as it names the port"] if ceded else []),
    )


def _ports(world: World, target: Target) -> tuple[OpenPort, ...]:
    if target.section:
        return called(world, target.owner, target.section)
    return open_ports(world, target.owner) or ()
