"""What leads where, for people: Gateway, port, host, match, backend, and what TLS proves there."""

from collections.abc import Iterable

from rich.text import Text
from rich.tree import Tree

from translator.names import Name
from translator.rules import external_names
from translator.rules.addresses import binding
from translator.rules.backend_certificate import shown
from translator.rules.backend_tls import (
    Anybody,
    DnsName,
    PinsAlone,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    UriName,
)
from translator.rules.backends import Backend, Share
from translator.rules.endpoints import endpoints
from translator.rules.filters import Redirect
from translator.rules.gateways import ours
from translator.rules.hops import due
from translator.rules.http_routes import Fail, Forward, HttpRule, Split
from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix
from translator.rules.mirrors import ALL, Mirror
from translator.rules.ports import Bound, HttpPort, QuicPort, TcpPort, TlsPort, UdpPort, site, sites
from translator.rules.streams import Streams
from translator.rules.tables import Entry, Table, hostnames, virtual_host
from translator.verdict import Refused
from translator.world import World


def trees(world: World) -> Iterable[Tree]:
    """Draw one tree for each Gateway of ours."""
    for name in sorted(ours(world)):
        tree = Tree(Text(f"Gateway {name}  on {', '.join(binding(world, name))}", style="bold"))
        _add_own(tree, shown(world, name))
        for bound in sites(world, name):
            _add_port(tree, world, bound)
        yield tree


def _add_own(tree: Tree, own: Name | Refused | None) -> None:
    match own:
        case Refused(reason, message):
            tree.add(Text(f"TLS to every backend fails: {reason}: {message}", style="red"))
        case Name():
            tree.add(Text(f"shows backends the certificate of Secret {own}"))
        case None:
            pass


def _add_port(tree: Tree, world: World, bound: Bound) -> None:
    stands = site(world, bound)
    match stands.plan:
        case HttpPort(table):
            _add_hosts(tree.add(Text(f":{stands.port} HTTP")), world, table)
        case TcpPort(streams):
            _add_shares(tree.add(Text(f":{stands.port} TCP")), world, streams.shares)
        case UdpPort(streams):
            _add_shares(tree.add(Text(f":{stands.port} UDP")), world, streams.shares)
        case QuicPort(chains):
            names = ", ".join(chain.hostname or "any name" for chain in chains)
            tree.add(Text(f":{stands.port} HTTP/3 for {names}, as over TLS"))
        case TlsPort(chains):
            port = tree.add(Text(f":{stands.port} TLS"))
            for chain in chains:
                how = "ends here" if chain.tls else "passes through"
                _add_target(port.add(Text(f"{chain.hostname or 'any name'}, {how}")), world, chain.then)


def _add_target(tree: Tree, world: World, target: Table | Streams) -> None:
    match target:
        case Streams(shares):
            _add_shares(tree, world, shares)
        case Table():
            _add_hosts(tree, world, target)


def _add_hosts(tree: Tree, world: World, table: Table) -> None:
    for hostname in hostnames(world, table):
        host = tree.add(Text(hostname))
        for entry in virtual_host(world, table, hostname):
            _add_entry(host, world, entry)


def _add_entry(tree: Tree, world: World, entry: Entry) -> None:
    _add_rule(tree, world, Text(_matched(entry.match)).append(f"  ({entry.name})", style="dim"), entry.rule)


def _add_rule(tree: Tree, world: World, line: Text, rule: HttpRule) -> None:
    for question in rule.asks:
        if isinstance(question.whom, Backend):
            line.append("  asks ").append_text(_backend(world, question.whom))
    match rule.action:
        case Forward() as forward:
            leads = tree.add(line)
            _add_shares(leads, world, forward.shares, f"answers {forward.failure}")
            _add_mirrors(leads, world, forward.mirrors)
        case Split(parts):
            leads, total = tree.add(line), sum(part.weight for part in parts)
            for part in parts:
                _add_rule(leads, world, Text(f"{100 * part.weight / total:.0f} %"), part.rule)
        case Redirect(status):
            tree.add(line.append(f"  redirects with {status}"))
        case Fail(status, message):
            tree.add(line.append(f"  answers {status}: {message}", style="red"))


def _add_mirrors(tree: Tree, world: World, mirrors: tuple[Mirror, ...]) -> None:
    """Draw who gets copies; a mirror that is refused gets none, and its route says why."""
    for mirror in mirrors:
        if isinstance(mirror.target, Backend):
            part = "copies" if mirror.millionths == ALL else f"{mirror.millionths / ALL:.2%} copied"
            tree.add(Text(f"{part} to ").append_text(_backend(world, mirror.target)))


def _add_shares(
    tree: Tree, world: World, shares: tuple[Share, ...], failure: str = "closes the connection"
) -> None:
    total = sum(share.weight for share in shares)
    for share in shares:
        part = f"{100 * share.weight / total:.0f} % " if total and len(shares) > 1 else ""
        match share.target:
            case Refused(reason, message):
                tree.add(Text(f"{part}{failure}: {reason}: {message}", style="red"))
            case Backend() as backend:
                tree.add(Text(part).append_text(_backend(world, backend)))


def _backend(world: World, backend: Backend) -> Text:
    where = (
        f"at {external_names.hostname(world, backend.port)}" if backend.by_name else _counted(world, backend)
    )
    line = Text(f"{backend.port} {backend.protocol.value}, {where}, ")
    return line.append_text(_tls(world, backend))


def _counted(world: World, backend: Backend) -> str:
    number = len(endpoints(world, backend.port))
    return f"{number} endpoint{'' if number == 1 else 's'}"


def _tls(world: World, backend: Backend) -> Text:
    """Say what the handshake must prove, or why it never will."""
    who = backend.policy or backend.port.service
    match due(world, backend):
        case None:
            return Text("plaintext")
        case Refused(reason, message):
            return Text(f"always fails: {who}: {reason}: {message}", style="red")
        case UpstreamTls() as tls:
            permitted = ", where it is permitted" if tls.weakness else ""
            style = "red" if tls.weakness else "green"
            return Text(f"TLS to {tls.sni}, {_proved(tls)} ({who}{permitted})", style=style)


def _proved(tls: UpstreamTls) -> str:
    """Say what proves the backend, pins last."""
    names = " or ".join(_proof(name) for name in tls.names) or "any name"
    by = _trust(tls.trust)
    parts = [*([f"{names} by {by}"] if by else []), *(["one of its pins"] if tls.pins else [])]
    return f"proving {' and '.join(parts) or 'nothing'}"


def _proof(name: DnsName | UriName) -> str:
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


def _matched(match: HttpMatch) -> str:
    """Write a match in one line."""
    method = f"{match.method} " if match.method else "gRPC " if match.grpc else ""
    query = "&".join(_said(each, "=") for each in match.query)
    headers = "".join(f" {_said(each, ': ')}" for each in match.headers)
    return f"{method}{_path(match.path)}{'?' if query else ''}{query}{headers}"


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
