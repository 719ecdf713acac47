"""Which field of an object a condition speaks of: the one its message begins with, or else by its reason."""

import re
from types import MappingProxyType

from legation.written_status import Condition
from translator.rules.attachment import ROUTES

_FIRST = re.compile(r"(?:Dropped Rule: )?([a-z]\w*(?:\.\w+|\[\d+\])*): ")
_OF_A_LISTENER = MappingProxyType({
    "HostnameConflict": "hostname",
    "InvalidCertificateRef": "tls.certificateRefs",
    "OverlappingHostnames": "hostname",
    "PortUnavailable": "port",
    "ProtocolConflict": "port",
    "UnsupportedProtocol": "protocol",
})  # fmt: skip
_CLIENTS = "spec.tls.frontend"
_AUTHORITIES = "spec.validation.caCertificateRefs"
_OWN_AUTHORITIES = "spec.tls.validation.caCertificateRefs"
_OF_CLIENTS = frozenset({
    "ExpiredCertificate",
    "InvalidCACertificateKind",
    "InvalidCACertificateRef",
    "NoValidCACertificate",
})  # fmt: skip
_ABOVE = MappingProxyType({  # what the words are fields of that a message begins with
    "BackendTLSPolicy": "spec.validation",
    "Gateway": "spec",
    "XBackend": "spec",
})  # fmt: skip
_BY_WORDS = MappingProxyType({  # an XBackend has no options: it says them by annotations
    ("", "annotation "): "metadata.annotations",
    ("BackendTLSPolicy", "option "): "spec.options",
    ("XBackend", "option "): "metadata.annotations",
})  # fmt: skip
_BY_REASON = MappingProxyType({
    ("", "Conflicted"): "spec.targetRefs",
    ("", "HostnameConflict"): "spec.hostnames",
    ("", "InvalidParameters"): "spec.infrastructure.parametersRef",
    ("", "ListenersNotResolved"): "spec.listeners",
    ("", "ListenersNotValid"): "spec.listeners",
    ("", "NoMatchingListenerHostname"): "spec.hostnames",
    ("", "NoMatchingParent"): "spec.parentRefs",
    ("", "NotAllowed"): "spec.parentRef",
    ("", "NotAllowedByListeners"): "spec.parentRefs",
    ("", "ParentNotAccepted"): "spec.parentRef",
    ("", "RefusedByEnvoy"): "spec.rules",
    ("", "TargetNotFound"): "spec.targetRefs",
    ("", "TooManyListeners"): "spec.parentRef",
    ("", "UnsupportedProtocol"): "spec.protocol",
    ("BackendTLSPolicy", "ExpiredCertificate"): _AUTHORITIES,
    ("BackendTLSPolicy", "InvalidCACertificateRef"): _AUTHORITIES,
    ("BackendTLSPolicy", "InvalidKind"): _AUTHORITIES,
    ("BackendTLSPolicy", "NoValidCACertificate"): _AUTHORITIES,
    ("GatewayClass", "InvalidParameters"): "spec.parametersRef",
    ("XBackend", "ExpiredCertificate"): _OWN_AUTHORITIES,
    ("XBackend", "InvalidCACertificateRef"): _OWN_AUTHORITIES,
    ("XBackend", "InvalidKind"): _OWN_AUTHORITIES,
    ("XBackend", "NoValidCACertificate"): _OWN_AUTHORITIES,
})  # fmt: skip


def field_of(kind: str, condition: Condition, listener: int | None = None) -> str:
    """Return the path of a field of an object of this kind, or of the listener that says it."""
    found = _FIRST.match(condition.message)
    first = found[1] if found else ""
    if listener is not None:
        return _of_listener(kind, condition, f"spec.listeners[{listener}]", first)
    if first and (below := _below(kind, first)):
        return below
    told = (
        path
        for (whose, words), path in _BY_WORDS.items()
        if whose in ("", kind) and condition.message.startswith(words)
    )
    return next(
        told, _BY_REASON.get((kind, condition.reason)) or _BY_REASON.get(("", condition.reason), "spec")
    )


def _below(kind: str, first: str) -> str:
    """Return the whole path of what a message begins with."""
    if kind in ROUTES:
        return f"spec.{first}" if first.startswith("rules[") else "spec.rules"
    return first if first.startswith("spec.") else f"{_ABOVE[kind]}.{first}" if kind in _ABOVE else ""


def _of_listener(kind: str, condition: Condition, place: str, first: str) -> str:
    """Return a listener's own field; how clients are proved, listeners say and their Gateway is asked."""
    if condition.reason in _OF_CLIENTS or first == "caCertificateRefs":
        return _CLIENTS if kind == "Gateway" else place
    below = first or _OF_A_LISTENER.get(condition.reason, "")
    return f"{place}.{below}" if below else place
