"""XBackend: a destination that says itself how it is reached, and with which TLS.  GEP-4894.

What it says of TLS is read as a BackendTLSPolicy is, and no policy can target it. A field that cannot be
honoured refuses the whole of it.
"""

from typing import NamedTuple

import msgspec

from translator.memo import query
from translator.names import Name, ServicePort
from translator.objects.x_backend import TLS_MODES, X_GROUP, BackendSpec, XBackend
from translator.rules.backend_tls import UpstreamTls, read, trusted
from translator.rules.certificates import own_certificate
from translator.rules.external_names import unsafe
from translator.rules.grants import Pointee, Pointer, permitted
from translator.rules.insecure_verification import Weakness, weakness_of
from translator.rules.sessions import session
from translator.rules.wordings import annotated, of_x_backend
from translator.verdict import Refused, Verdict, fails, holds, listed
from translator.world import World

KIND = "XBackend"
UNENCRYPTED, MUTUAL = "None", "ClientAndServer"
NEGOTIATED = ("h2", "http/1.1")  # what protocol HTTP leaves to the handshake


class Own(NamedTuple):
    """The TLS that a backend asks for, and the Secret whose certificate it is shown, if any."""

    tls: UpstreamTls
    shown: Name | None


def bundle_name(x_backend: Name) -> str:
    """Return the name under which an XBackend's own roots are served."""
    return f"trust/{KIND}/{x_backend}"


def port_of(x_backend: Name, spec: BackendSpec) -> ServicePort:
    """Return an XBackend's one port; one without a number, which no API server lets in, is refused."""
    return ServicePort(x_backend, spec.port.number or 0, kind=KIND)


@query
def refusal(world: World, x_backend: Name) -> Refused | None:
    """Say why nothing may be sent to an XBackend at all, if so."""
    spec = world.must(XBackend, x_backend).spec
    if spec.port.number is None:
        return Refused("UnsupportedValue", "port: a number is needed")
    if isinstance(held := session(str(x_backend), spec.session_persistence), Refused):
        return held
    clear = spec.tls.mode == UNENCRYPTED
    if (spec.protocol == "H2C" and not clear) or (spec.protocol in ("HTTP2", "WSS") and clear):
        return Refused(
            "UnsupportedProtocol", f"protocol {spec.protocol} and tls mode {spec.tls.mode} are at odds"
        )
    return _nowhere(spec)


def _nowhere(spec: BackendSpec) -> Refused | None:
    """Say that there is no destination, or one that is not supported."""
    if spec.type != "ExternalHostname" and spec.external_hostname is not None:
        wrong = f"externalHostname: it does not go with type {spec.type}: remove one of the two"
        return Refused("UnsupportedValue", wrong)
    match spec.type:
        case "EndpointSelector" if spec.endpoint_selector is not None and spec.endpoint_selector.match_labels:
            return None
        case "EndpointSelector":
            return Refused("UnsupportedValue", "endpointSelector: labels are needed")
        case "ExternalHostname" if spec.external_hostname is not None:
            return unsafe(spec.external_hostname.hostname)
        case other:
            return Refused("UnsupportedValue", f"type {other}: what it needs is not there")


def encrypts(x_backend: XBackend) -> bool:
    """Tell whether an XBackend asks for TLS, if only by asking for what nothing else can prove."""
    says = x_backend.spec.tls.mode != UNENCRYPTED
    return says or of_x_backend(x_backend) is not None or bool(annotated(x_backend))


@query
def weakness(world: World, x_backend: Name) -> Weakness | None:
    """Say how an XBackend weakens verification, whether or not it can be honoured otherwise."""
    wording = of_x_backend(world.must(XBackend, x_backend))
    return weakness_of(wording) if wording else None


@query
def judge(world: World, x_backend: Name) -> Verdict[Own | Refused | None]:
    """Read an XBackend once, for the cluster it shapes and the status it is given; None asks for no TLS."""
    written = world.must(XBackend, x_backend)
    if (refused := refusal(world, x_backend)) is not None:
        return Verdict(refused, (fails("Accepted", refused.reason, refused.message),))
    if not encrypts(written):
        return Verdict(None, (holds("Accepted"),))
    wording = of_x_backend(written)
    if wording is None or _at_odds(written):
        wrong = _at_odds(written) or f"tls: mode {written.spec.tls.mode} needs validation"
        return Verdict(Refused("Invalid", wrong), (fails("Accepted", "Invalid", wrong),))
    asked, conditions = msgspec.structs.astuple(read(world, wording, bundle_name(x_backend)))
    shown = _shown(world, x_backend)
    if isinstance(asked, Refused):
        return Verdict(asked, conditions)
    if isinstance(shown, Refused):
        told = tuple(
            fails(each.type, shown.reason, shown.message) if each.status else each for each in conditions
        )
        return Verdict(shown, told)
    return Verdict(Own(asked, shown), conditions)


def trust_bundle(world: World, x_backend: Name) -> str:
    """Return the PEM certificates that an XBackend trusts."""
    wording = of_x_backend(world.must(XBackend, x_backend))
    assert wording is not None, f"{x_backend} trusts nobody"
    return trusted(world, wording)


def _at_odds(x_backend: XBackend) -> str:
    """Say what is asked of TLS and does not go with its mode; nothing where all does."""
    tls = x_backend.spec.tls
    if tls.mode == UNENCRYPTED:
        return _unproved(x_backend)
    if tls.mode not in TLS_MODES:
        return f"tls: mode {listed([tls.mode])} is not known"
    if tls.mode != MUTUAL and tls.client_certificate_ref is not None:
        return (
            f"tls: clientCertificateRef goes with mode {MUTUAL}, not with {tls.mode}: change one of the two"
        )
    return ""


def _unproved(x_backend: XBackend) -> str:
    """Say what is to be proved where no TLS is opened."""
    asked = listed([f"annotation {key}" for key in sorted(annotated(x_backend))]) or "tls.validation"
    remedy = "say tls.mode ServerOnly or ClientAndServer, or remove it"
    return f"{asked} asks what TLS is to prove, and tls.mode {UNENCRYPTED} opens none: {remedy}"


@query
def _shown(world: World, x_backend: Name) -> Name | Refused | None:
    """Return the Secret whose certificate an XBackend is shown: its own word, and no Gateway's."""
    tls = world.must(XBackend, x_backend).spec.tls
    ref, field = tls.client_certificate_ref, "tls.clientCertificateRef"
    if ref is None:
        missing = Refused("Invalid", f"tls: mode {tls.mode} needs clientCertificateRef")
        return missing if tls.mode == MUTUAL else None
    name = Name(ref.namespace or x_backend.namespace, ref.name)
    if (ref.group, ref.kind) != ("", "Secret"):
        return Refused("InvalidKind", f"{field}: {ref.kind} {name} of group {ref.group!r} is no Secret")
    pointer = Pointer(X_GROUP, KIND, x_backend.namespace)
    if not permitted(world, pointer, Pointee("", "Secret", name)):
        return Refused("RefNotPermitted", f"{field}: no ReferenceGrant allows Secret {name}")
    pair = own_certificate(world, name)
    return (
        Refused("InvalidClientCertificateRef", f"{field}: {pair.message}")
        if isinstance(pair, Refused)
        else name
    )
