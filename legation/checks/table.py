"""All that is checked, by the names that findings have: `docs/checks.md` is the same table for people.

What objects say of themselves has the name of the condition's reason, or of the condition itself where that
is a remark; what is advised beyond that has a name of its own.
"""

from collections.abc import Iterable
from types import MappingProxyType

from translator.advice import everything
from translator.advice.checks import REMARK, WITHOUT_EFFECT, Check
from translator.rules.bundles import SUPPORTED
from translator.verdict import OUR_FAULT

READING, REFUSED, OURS = "not read", "refused", "our mistake"
CLUSTER = "not fit in the cluster"
WAITING, PASSED_OVER = "not there yet", "passed over"
# in the order of telling
GROUPS = (READING, REFUSED, OURS, CLUSTER, WAITING, REMARK, WITHOUT_EFFECT, PASSED_OVER)
PROBLEMS = frozenset({READING, REFUSED, OURS, CLUSTER})  # what fails a pipeline
STRICT = PROBLEMS | {WAITING, REMARK, WITHOUT_EFFECT}  # what fails one that asked for it

UNREAD = Check(
    "not-read",
    READING,
    "a file, a document or a field that cannot be read as an object",
    "correct it as the message says",
)
NOT_OURS = Check(
    "passed-over",
    PASSED_OVER,
    "an object that is none of those that Gateways have to do with",
    "nothing, unless its kind or its group was written wrong",
)
UNHONOURED = Check(
    "policy-not-honoured",
    WITHOUT_EFFECT,
    "a policy of Gateway API that Legation does not honour: XBackendTrafficPolicy, XTelemetryPolicy",
    "delete it, and say sessions in an XBackend, retries in a rule, telemetry in GatewayParameters",
)
MISTAKE = Check(
    "our-mistake",
    OURS,
    "a mistake of Legation's own, by which something stays as it was",
    "it stays as it was; please report this with the manifest",
)
EXPIRY = Check(
    "CertificateExpiring",
    REMARK,
    "a certificate that is believed or shown, and ends soon or has ended",
    "renew it; where it proves others, keep both until all of them show what the new one proves",
)


def _each(group: str, told: Iterable[tuple[str, str, str]]) -> tuple[Check, ...]:
    return tuple(Check(name, group, what, remedy) for name, what, remedy in told)


REFUSALS = _each(
    REFUSED,
    (
        (
            "AddressNotAssigned",
            "an address that the Gateway asks for, and that is not there",
            "ask for one that there is, or for none",
        ),
        (
            "BackendNotFound",
            "a reference to a backend or a port that does not exist",
            "create the Service, or correct the backendRef",
        ),
        (
            "Conflicted",
            "a policy that another one for the same target goes before",
            "remove one of the two, or change what they both claim",
        ),
        (
            "ExpiredCertificate",
            "a CA certificate that has expired, or is not valid yet",
            "renew it in the object that is named, or remove it there",
        ),
        (
            "ExternalNamesForbidden",
            "a backend that is found by its DNS name, where nobody permits that",
            "refer to a Service of the cluster, or have the operator permit external names",
        ),
        (
            "HostnameConflict",
            "a hostname that another listener of the port, or an older route of the other HTTP kind, has",
            "give each listener of the port, and routes of either kind, hostnames of their own",
        ),
        (
            "IncompatibleFilters",
            "filters of one rule that contradict each other",
            "keep one of those that the message names, or give each a rule of its own",
        ),
        (
            "InsecureVerificationForbidden",
            "a policy that skips verification, where nobody permits that",
            "pin the backend instead: `legation pin HOST:PORT` prints how",
        ),
        (
            "Invalid",
            "a field or an option that cannot be honoured, so that nothing is",
            "correct what the message names, as it says",
        ),
        (
            "InvalidCACertificateKind",
            "a reference to CA certificates in an object of another kind than can hold them",
            "refer to a ConfigMap, a Secret or a ClusterTrustBundle",
        ),
        (
            "InvalidCACertificateRef",
            "a reference to CA certificates that gives none that can be used",
            "put PEM certificates under the key ca.crt of the referenced object",
        ),
        (
            "InvalidCertificateRef",
            "a listener's certificate that cannot be shown",
            "create the kubernetes.io/tls Secret with a certificate and its key",
        ),
        (
            "InvalidClientCertificateRef",
            "the certificate that backends are shown, where it cannot be",
            "create the kubernetes.io/tls Secret with a certificate and its key",
        ),
        (
            "InvalidKind",
            "a reference to an object of a kind that cannot stand there",
            "point at a Service, a ServiceImport or an XBackend; for CA certificates see the message",
        ),
        (
            "InvalidListenerFilter",
            "a filter of a listener that cannot be honoured, so that nothing is served there",
            "correct what the message names",
        ),
        (
            "InvalidListenerFilterRef",
            "whom a listener asks about requests, where nobody can be asked",
            "create the Service, or correct the backendRef",
        ),
        (
            "InvalidParameters",
            "parameters of a class or a Gateway that do not exist, or are of another kind",
            "create the GatewayParameters, or drop the reference",
        ),
        (
            "InvalidRouteKinds",
            "a kind of route that a listener of this protocol cannot take",
            "remove it from allowedRoutes.kinds, or change the listener's protocol",
        ),
        (
            "ListenersNotResolved",
            "a Gateway some of whose listeners refer to what cannot be used",
            "look at the listeners that are named: each has a finding of its own",
        ),
        (
            "ListenersNotValid",
            "a Gateway or a ListenerSet none of whose listeners can be served",
            "look at the listeners that are named: each has a finding of its own",
        ),
        (
            "NoMatchingListenerHostname",
            "a route that has no hostname in common with the listeners it names",
            "give route and listener a hostname in common",
        ),
        (
            "NoMatchingParent",
            "a route that names a listener or a port that its Gateway does not have",
            "name a listener and a port that the Gateway has, or leave both out",
        ),
        (
            "NoResources",
            "proxies of a Gateway that cannot be run or reached",
            "do what the message says, with the rights that docs/install.md lists",
        ),
        (
            "NoValidCACertificate",
            "trust of which no reference is any good, so that connections fail",
            "repair at least one reference; until then connections fail",
        ),
        (
            "NotAllowed",
            "a ListenerSet that its Gateway does not let in",
            "let the Gateway's spec.allowedListeners admit this namespace",
        ),
        (
            "NotAllowedByListeners",
            "a route of a kind or a namespace that no listener admits",
            "let the listener's allowedRoutes admit this kind and this namespace",
        ),
        (
            "NotAssigned",
            "addresses that the Gateway asks for, none of which it can have",
            "ask for addresses that there are, or for none",
        ),
        (
            "ParentNotAccepted",
            "a ListenerSet of a Gateway that is refused itself",
            "repair the Gateway: it has a finding of its own",
        ),
        (
            "PartiallyAssigned",
            "addresses that the Gateway asks for, some of which it cannot have",
            "ask for addresses that there are, or for none",
        ),
        (
            "PortUnavailable",
            "a port that proxies, or another Gateway of this machine, have",
            "choose another port",
        ),
        (
            "ProtocolConflict",
            "listeners of one port that cannot be told apart",
            "give listeners of different protocols different ports",
        ),
        (
            "RefNotPermitted",
            "a reference into another namespace that nobody there permits",
            "create a ReferenceGrant in the namespace that is pointed at",
        ),
        (
            "RefusedByEnvoy",
            "a route that an Envoy refuses although we find nothing wrong: what it said before is served",
            "change what Envoy's words in the message name; please report it as well",
        ),
        (
            "TargetNotFound",
            "a policy for a Service or a port that does not exist",
            "name a Service that exists, and a port by its name",
        ),
        (
            "TooManyListeners",
            "a ListenerSet for which its Gateway has no room left",
            "give it a Gateway of its own, or remove listeners of older sets",
        ),
        (
            OUR_FAULT,
            "something that a mistake of Legation's own keeps from being served, and nothing else with it",
            "please report this with the manifest",
        ),
        (
            "UnsafeExternalName",
            "a backend that leads to Envoy's own machine, a cloud's metadata or another Service by its name",
            "give the whole name of a host outside the cluster",
        ),
        (
            "UnsupportedAddress",
            "an address of a type that is not supported",
            "use the type that the message names, or leave spec.addresses out",
        ),
        (
            "UnsupportedProtocol",
            "a protocol that is not spoken there, or is TLS without a policy that says what it must prove",
            "correct the protocol, or add a BackendTLSPolicy for a port of a backend that speaks TLS",
        ),
        (
            "UnsupportedValue",
            "a value that cannot be honoured, so that what needs it fails",
            "change the field that the message names, as it says",
        ),
        (
            "UnsupportedVersion",
            "CRDs of a release of Gateway API that is not the supported one",
            f"install the CRDs of Gateway API {SUPPORTED}",
        ),
    ),
)
REMARKS = _each(
    REMARK,
    (
        (
            "IdentitiesRevoked",
            "identities of Envoys that are refused, as the Gateway asks",
            "nothing; remove the annotation when all of them have expired",
        ),
        (
            "InsecureFrontendValidationMode",
            "clients that are served with any certificate, or with none",
            "ask for AllowValidOnly as soon as all clients have certificates",
        ),
        (
            "OverlappingTLSConfig",
            "TLS listeners of one port with names in common, for which clients may use one connection",
            "give each listener names and certificates of its own; else some clients are answered 421 first",
        ),
        (
            "PartiallyInvalid",
            "rules of a route that are refused while others are served",
            "correct or remove the rules that the message names",
        ),
        (
            "PolicyStatusFull",
            "policies that are enforced, and whose status has no room to say so",
            "have fewer Gateways lead to one Service, or give each Gateway a Service of its own",
        ),
        (
            "VerificationDegraded",
            "a backend that has to prove less than policies ask for by themselves",
            "pin the backend, or trust its authority by name: docs/pins.md says how",
        ),
    ),
)
REMEDIES = MappingProxyType({check.id: check.remedy for check in (*REFUSALS, EXPIRY, *REMARKS)})
CHECKS = (UNREAD, *REFUSALS, MISTAKE, EXPIRY, *REMARKS, *everything.CHECKS, UNHONOURED, NOT_OURS)
