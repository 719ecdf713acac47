"""Resources straight from plans: what a Gateway's Envoy would be sent for them."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from tests.envoy_validate import Resources, validate
from tests.second_reader import assert_reads_equal
from translator.envoy import clusters, endpoints, listeners, routes, secrets
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET, Resource
from translator.names import Name, ServicePort
from translator.rules.backend_tls import TrustBundle, UpstreamTls
from translator.rules.backends import Backend, Protocol
from translator.rules.certificates import KeyPair
from translator.rules.endpoints import Endpoint
from translator.rules.ports import Bound, Site
from translator.rules.tables import Entry, Table
from translator.verdict import Refused

EDGE = Name("infra", "edge")
BOUND = Bound(EDGE, 80)
TABLE = Table(EDGE, 80)


class Hop(Struct, frozen=True):
    """A backend, what TLS is due to it, and where it is."""

    backend: Backend
    at: tuple[Endpoint, ...] = ()
    tls: UpstreamTls | Refused | None = None
    roots: str = ""


class Plans(Struct, frozen=True):
    """What the rules would have found about a Gateway."""

    sites: Mapping[Bound, Site] = {}
    hosts: Mapping[Table, Mapping[str, Sequence[Entry]]] = {}
    hops: tuple[Hop, ...] = ()
    certificates: Mapping[Name, KeyPair] = {}


def backend(name: str, protocol: Protocol = Protocol.HTTP, policy: str = "") -> Backend:
    """Return the backend that is port 8080 of a Service of the shop."""
    transport = "UDP" if protocol is Protocol.UDP else "TCP"
    port = ServicePort(Name("shop", name), 8080, transport)
    return Backend(port, protocol, Name("shop", policy) if policy else None)


def build(plans: Plans) -> Mapping[str, Mapping[str, Resource]]:
    """Build everything, by type and name."""
    return {
        CLUSTER: {
            clusters.REFUSED: clusters.refused_cluster(),
            **{str(hop.backend): clusters.build(hop.backend, hop.tls) for hop in plans.hops},
        },
        ENDPOINTS: {str(hop.backend.port): endpoints.build(hop.backend.port, hop.at) for hop in plans.hops},
        SECRET: {
            secrets.certificate_name(name): secrets.build_certificate(name, pair)
            for name, pair in plans.certificates.items()
        }
        | {
            hop.tls.trust.name: secrets.build_trust(hop.tls.trust.name, hop.roots)
            for hop in plans.hops
            if isinstance(hop.tls, UpstreamTls) and isinstance(hop.tls.trust, TrustBundle)
        },
        ROUTES: {
            str(table): routes.join(table, [routes.build(table, *host) for host in hosts.items()])
            for table, hosts in plans.hosts.items()
        },
        LISTENER: {str(bound): listeners.build(bound, site) for bound, site in plans.sites.items()},
    }


def bodies(built: Mapping[str, Mapping[str, Resource]]) -> Resources:
    """Return what Envoy is sent of them."""
    return {kind: {name: each.body for name, each in named.items()} for kind, named in built.items()}


def judged(plans: Plans) -> Mapping[str, Mapping[str, Resource]]:
    """Build everything, and let Envoy and a second library judge it."""
    built = build(plans)
    sent = bodies(built)
    validate(sent)
    for kind, named in sent.items():
        for body in named.values():
            assert_reads_equal(kind, body)
    return built
