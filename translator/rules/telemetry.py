"""What a Gateway's proxies tell of the requests they serve: access logs, and traces.

Nothing, unless parameters say so; each field is settled as all of theirs are, the Gateway before its class. A
collector is a Service's port and reached as any backend: by a grant from another namespace, with the TLS that
its BackendTLSPolicy asks for. One that cannot be reached so is told nothing, and the Gateway says why.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from translator.memo import query
from translator.names import Name, ServicePort
from translator.objects.gateway_parameters import CollectorParameters, GatewayParameters
from translator.objects.kinds import LEGATION_GROUP
from translator.rules.backends import Backend, Traffic, resolve
from translator.rules.gateways import ours
from translator.rules.grants import Pointee, Pointer
from translator.rules.hops import due, hop
from translator.rules.parameters import first, said
from translator.verdict import Condition, Refused, fails, holds
from translator.world import Index, World


class Telemetry(Struct, frozen=True):
    """Settled: what is written to standard output, and who is told over OTLP."""

    stdout: str = "Off"
    logs_to: Backend | Refused | None = None
    traces_to: Backend | Refused | None = None
    sampled: int = 100  # percent of the requests, whatever their clients wish
    service_name: str = ""

    @property
    def collectors(self) -> tuple[Backend | Refused, ...]:
        """Whoever is told something, or should have been."""
        return tuple(each for each in (self.logs_to, self.traces_to) if each is not None)


SILENT = Telemetry()


def _services(parameters: GatewayParameters) -> list[Name]:
    spec = parameters.spec
    found = (spec.access_logs.collector, spec.tracing.collector)
    return [_service(parameters.metadata.namespace, each) for each in found if each]


PARAMETERS_BY_COLLECTOR = Index(GatewayParameters, _services)


@query
def telemetry(world: World, gateway: Name) -> Telemetry:
    """Return what a Gateway's proxies tell, and whom."""
    who = said(world, gateway)
    logs = [each.spec.access_logs for each in who]
    traces = [each.spec.tracing for each in who]
    return Telemetry(
        stdout=first((each.stdout for each in logs), SILENT.stdout),
        logs_to=_told(world, ((each.where, each.spec.access_logs.collector) for each in who)),
        traces_to=_told(world, ((each.where, each.spec.tracing.collector) for each in who)),
        sampled=first((each.sampling_percentage for each in traces), SILENT.sampled),
        service_name=first((each.service_name for each in traces), str(gateway)),
    )


@query
def telling(world: World, port: ServicePort) -> frozenset[Name]:
    """Return the Gateways whose proxies tell a Service port something."""
    index = PARAMETERS_BY_COLLECTOR
    if not world.has_seen(index.kind) or not world.names_where(index, port.service):
        return frozenset()
    return frozenset(gateway for gateway in ours(world) if port in _ports(telemetry(world, gateway)))


@query
def collectors_condition(world: World, gateway: Name) -> Condition | None:
    """Say whether those who are to be told can be; nothing where nobody is."""
    found = telemetry(world, gateway).collectors
    bad = [wrong for each in found if (wrong := _unreached(world, gateway, each)) is not None]
    if bad:
        message = "; ".join(dict.fromkeys(each.message for each in bad))
        return fails("legation.dev/CollectorsResolved", bad[0].reason, f"{message}: nothing is sent there")
    return holds("legation.dev/CollectorsResolved") if found else None


def _unreached(world: World, gateway: Name, collector: Backend | Refused) -> Refused | None:
    """Say why nothing comes to a collector, if so: it is refused, or every connection to it."""
    if isinstance(collector, Refused):
        return collector
    _, shown, forbidden = hop(world, gateway, collector)
    reasons = [each for each in (forbidden, due(world, collector), shown) if isinstance(each, Refused)]
    by = f" by BackendTLSPolicy {collector.policy}" if collector.policy else ""
    return Refused(reasons[0].reason, f"{collector.port}{by}: {reasons[0].message}") if reasons else None


def _told(world: World, named: Iterable[tuple[Name, CollectorParameters | None]]) -> Backend | Refused | None:
    """Follow the first reference to a collector; who wrote it is who needs the grant."""
    for where, collector in named:
        if collector is not None:
            pointer = Pointer(LEGATION_GROUP, "GatewayParameters", where.namespace)
            pointee = Pointee("", "Service", _service(where.namespace, collector))
            return resolve(world, pointer, pointee, collector.port, Traffic.GRPC)
    return None


def _service(namespace: str, collector: CollectorParameters) -> Name:
    return Name(collector.namespace or namespace, collector.name)


def _ports(told: Telemetry) -> Iterator[ServicePort]:
    yield from (each.port for each in told.collectors if isinstance(each, Backend))
