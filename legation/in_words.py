"""What rules mean, in a few words: what a match takes, and what a certificate must prove."""

from translator.rules.backend_tls import (
    Anybody,
    DnsName,
    PinsAlone,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    UriName,
)
from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix


def matched(match: HttpMatch) -> str:
    """Write a match in one line."""
    method = f"{match.method} " if match.method else "gRPC " if match.grpc else ""
    query = "&".join(_said(each, "=") for each in match.query)
    headers = "".join(f" {_said(each, ': ')}" for each in match.headers)
    return f"{method}{_path(match.path)}{'?' if query else ''}{query}{headers}"


def proved(tls: UpstreamTls) -> str:
    """Say what proves the backend, pins last."""
    names = " or ".join(name_proved(name) for name in tls.names) or "any name"
    by = _trust(tls.trust)
    parts = [*([f"{names} by {by}"] if by else []), *(["one of its pins"] if tls.pins else [])]
    return " and ".join(parts) or "nothing"


def name_proved(name: DnsName | UriName) -> str:
    """Write a name as it stands in a certificate."""
    match name:
        case DnsName(dns):
            return dns
        case UriName(uri):
            return uri


def _trust(trust: TrustBundle | SystemRoots | PinsAlone | Anybody) -> str:
    match trust:
        case TrustBundle():
            return "the policy's own roots"
        case SystemRoots():
            return "the machine's roots"
        case PinsAlone() | Anybody():
            return ""


def _said(wanted: Named, sign: str) -> str:
    return f"{wanted.name}{sign}{'~ ' if wanted.is_pattern else ''}{wanted.value}"


def _path(path: PathExact | PathPrefix | PathPattern) -> str:
    match path:
        case PathExact(exact):
            return exact
        case PathPrefix(prefix):
            return f"{prefix.rstrip('/')}/*"
        case PathPattern(regex):
            return f"~ {regex}"
