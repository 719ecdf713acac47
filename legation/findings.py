"""What is wrong: in what was read, and in what objects say about themselves, with known remedies."""

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType

from msgspec import Struct

from legation.folder import WHOLE_FILE
from legation.manifests import Problem
from legation.written_status import Condition, WrittenStatus, read_status
from translator.names import Ref
from translator.rules.bundles import SUPPORTED
from translator.rules.certificates import NOTICES
from translator.rules.expiry import REASONS
from translator.rules.gateways import CONTROLLER
from translator.translate import Mistake

READING, PASSED_OVER = "not read", "passed over"
REFUSED, DEGRADED, OURS = "refused", "served with a remark", "our mistake"
CONSEQUENCES = frozenset({"Programmed"})  # says again what another condition of the same object said
REMEDIES = MappingProxyType({
    "NoMatchingParent": "name a listener and a port that the Gateway has, or leave both out",
    "NoMatchingListenerHostname": "give route and listener a hostname in common",
    "NotAllowedByListeners": "let the listener's allowedRoutes admit this kind and this namespace",
    "RefNotPermitted": "create a ReferenceGrant in the namespace that is pointed at",
    "BackendNotFound": "create the Service, or correct the backendRef",
    "InvalidKind": "point at a Service, a ServiceImport or an XBackend",
    "ExternalNamesForbidden": "refer to a Service of the cluster, or have the operator permit external names",
    "UnsafeExternalName": "give the whole name of a host outside the cluster",
    "UnsupportedProtocol": "add a BackendTLSPolicy for a port that speaks TLS, or correct its appProtocol",
    "InvalidCertificateRef": "create the kubernetes.io/tls Secret with a certificate and its key",
    "InvalidCACertificateRef": "put PEM certificates under the key ca.crt of the referenced object",
    "NoValidCACertificate": "repair at least one reference; until then connections to this backend fail",
    "TargetNotFound": "name a Service that exists, and a port by its name",
    "Conflicted": "remove one of the two, or change what they both claim",
    "HostnameConflict": "give each listener of the port a hostname of its own",
    "ProtocolConflict": "give listeners of different protocols different ports",
    "PortUnavailable": "choose another port",
    "InsecureVerificationForbidden": "pin the backend instead: `legation pin HOST:PORT` prints how",
    "Expired": "renew it",
    **dict.fromkeys(
        [REASONS[days] for days in NOTICES],
        "renew it; where it proves others, keep both until all of them show what the new one proves",
    ),
    "UnsupportedVersion": f"install the CRDs of Gateway API {SUPPORTED}",
})  # fmt: skip


class Finding(Struct, frozen=True):
    """One thing that somebody should look at."""

    group: str
    object: str
    where: str
    message: str
    remedy: str = ""

    @property
    def is_problem(self) -> bool:
        """Tell what is not done from what is done with a remark."""
        return self.group not in (DEGRADED, PASSED_OVER)


def findings(
    problems: Iterable[Problem], statuses: Mapping[Ref, bytes], broken: Mapping[str, Mistake]
) -> tuple[Finding, ...]:
    """Gather everything, reading problems first."""
    told = Told().take(statuses, statuses)
    return together(problems, told, broken)


def together(
    problems: Iterable[Problem], told: Iterable[Finding], broken: Mapping[str, Mistake]
) -> tuple[Finding, ...]:
    """Put what objects say of themselves between what was not read and what is our own mistake."""
    read = [_unread(problem) for problem in problems]
    bugs = [Finding(OURS, what, "", in_words(mistake), REPORT_IT) for what, mistake in broken.items()]
    return (*read, *told, *bugs)


class Told:
    """What is wrong by what objects say of themselves; only those of which there is news are read."""

    def __init__(self) -> None:
        """Begin without having read anything."""
        self._wrong: dict[Ref, tuple[Finding, ...]] = {}
        self._all: tuple[Finding, ...] = ()

    def take(self, statuses: Mapping[Ref, bytes], news: Iterable[Ref]) -> tuple[Finding, ...]:
        """Return what is wrong now, by object; the same as before where it is."""
        found = {ref: _told(ref, statuses[ref]) if ref in statuses else () for ref in news}
        if any(each != self._wrong.get(ref, ()) for ref, each in found.items()):
            wrong = self._wrong | found
            self._wrong = {ref: wrong[ref] for ref in sorted(wrong) if wrong[ref]}
            self._all = tuple(chain.from_iterable(self._wrong.values()))
        return self._all


def in_words(mistake: Mistake) -> str:
    """Say what kind of mistake of ours it is, in a line."""
    return f"{type(mistake.bug).__name__}: {mistake.bug}"


REPORT_IT = "it stays as it was; please report this with the manifest"


def _unread(problem: Problem) -> Finding:
    place = str(problem.place) if problem.place.document != WHOLE_FILE else problem.place.source
    where = f"{place}: {problem.path}" if problem.path else place
    group = READING if problem.severity == "error" else PASSED_OVER
    return Finding(group, str(problem.about or ""), where, problem.message)


class Fault(Struct, frozen=True):
    """A condition that somebody should look at, and which part of the object it speaks of."""

    where: str
    condition: Condition

    @property
    def remedy(self) -> str:
        """What helps, where that is known."""
        return REMEDIES.get(self.condition.reason, "")


def faults(namespace: str, status: WrittenStatus) -> Iterable[Fault]:
    """Name what an object in some namespace says is wrong with it, causes only, each once; then remarks."""
    yield from _among("", status.conditions)
    for listener in status.listeners:
        yield from _among(f"listener {listener.name}", listener.conditions)
    for entry in (*status.parents, *status.ancestors):
        if entry.controller_name == CONTROLLER:
            yield from _among(f"by {entry.about(namespace)}", entry.conditions)


def _among(where: str, conditions: Iterable[Condition]) -> Iterable[Fault]:
    bad: dict[str, Condition] = {}
    for each in conditions:
        if each.is_bad:
            bad.setdefault(each.reason, each)  # one reason is told once, whatever conditions it made bad
    causes = [each for each in bad.values() if each.type not in CONSEQUENCES] or [*bad.values()]
    yield from (Fault(where, each) for each in (*causes, *(each for each in conditions if each.is_warning)))


def _told(ref: Ref, written: bytes) -> tuple[Finding, ...]:
    return tuple(_finding(ref, fault) for fault in faults(ref.name.namespace, read_status(written)))


def _finding(ref: Ref, fault: Fault) -> Finding:
    condition = fault.condition
    said = f"{condition.type}={condition.status}, {condition.reason}: {condition.message}"
    group = REFUSED if condition.is_bad else DEGRADED
    return Finding(group, str(ref), fault.where, said, fault.remedy)
