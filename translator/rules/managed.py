"""Which Gateways have their proxies run for them, how, under which name, and where these are reached."""

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

import msgspec
from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.objects.gateway_parameters import (
    AutoscalingParameters,
    EnvoyParameters,
    GatewayParametersSpec,
    Quantity,
    ResourceParameters,
)
from translator.objects.service import Service
from translator.rules.parameters import first, said
from translator.rules.status import Address
from translator.world import Fact, World

RUNS_PROXIES = Fact("whether proxies are run for Gateways that do not say otherwise", otherwise=False)
# Requested where nothing is said of a name.
MODEST: Mapping[str, Quantity] = MappingProxyType({"cpu": "100m", "memory": "128Mi"})
LONGEST = 63  # of a Service's name and of a label's value
PREFIX = "legation-"  # a Service's name begins with a letter, and a Gateway's need not
DIGEST = 10
LOOKS_SHORTENED = re.compile(rf".*-[0-9a-f]{{{DIGEST}}}")
ADMIN_PORT, PROBES_PORT = 19000, 19001  # of every proxy that is run for a Gateway
NO_CLUSTER_IP = ("", "None")


class Upkeep(Struct, frozen=True):
    """What stands in the way of a Gateway's proxies: an input, put by whoever runs them."""

    trouble: str = ""


class Wishes(Struct, frozen=True):
    """Everything that parameters may set, settled."""

    managed: bool
    image: str | None  # None is whatever the control plane was told to use
    replicas: int
    autoscaling: AutoscalingParameters | None
    resources: ResourceParameters
    concurrency: int
    log_level: str
    drain_seconds: int  # at the most, for what is in flight
    service_type: str


def settle(*specs: GatewayParametersSpec) -> Wishes:
    """Merge field by field: whoever comes first decides, which is the Gateway before its class."""
    envoys = [spec.envoy for spec in specs]
    number = next((each for each in envoys if each.replicas or each.autoscaling), EnvoyParameters())
    return Wishes(
        managed=first((spec.proxies for spec in specs), "Managed") == "Managed",
        image=first((envoy.image for envoy in envoys), None),
        replicas=number.replicas or 1,
        autoscaling=number.autoscaling,
        resources=_resources([envoy.resources for envoy in envoys if envoy.resources]),
        concurrency=first((envoy.concurrency for envoy in envoys), 2),
        log_level=first((envoy.log_level for envoy in envoys), "warning"),
        drain_seconds=first((envoy.drain_seconds for envoy in envoys), 60),
        service_type=first((spec.service.type for spec in specs), "LoadBalancer"),
    )


@query
def wishes(world: World, gateway: Name) -> Wishes:
    """Return how a Gateway's proxies are run: what it says itself, what its class says, then defaults."""
    return settle(*(each.spec for each in said(world, gateway)))


@query
def is_managed(world: World, gateway: Name) -> bool:
    """Say whether a Gateway's proxies are run for it."""
    return world.fact(RUNS_PROXIES) and wishes(world, gateway).managed


@query
def reached_at(world: World, gateway: Name) -> tuple[Address, ...]:
    """Return where the Service in front of a Gateway's proxies is reached; nothing until that is known."""
    service = world.get(Service, proxy_name(gateway))
    if service is None:
        return ()
    given = _given(service)
    if service.spec.type != "LoadBalancer":
        given = (*in_cluster(world, gateway), *given)
    taken_in = (Address("IPAddress", ip) for ip in service.spec.external_ips)
    return tuple(dict.fromkeys((*given, *taken_in)))


@query
def in_cluster(world: World, gateway: Name) -> tuple[Address, ...]:
    """Return the Service's own addresses, which are of use within the cluster."""
    service = world.get(Service, proxy_name(gateway))
    if service is None:
        return ()
    ips = service.spec.cluster_ips or (service.spec.cluster_ip,)
    return tuple(Address("IPAddress", ip) for ip in ips if ip not in NO_CLUSTER_IP)


def proxy_name(gateway: Name) -> Name:
    """Name whatever is made for a Gateway: the same always, and no other Gateway's."""
    return Name(gateway.namespace, PREFIX + short(gateway.name, LONGEST - len(PREFIX)))


def short(name: str, longest: int = LONGEST) -> str:
    """Write a name without dots; one that must change for that, or looks as if it had, gets a digest."""
    if "." not in name and _is_kept(name, longest):
        return name
    digest = sha256(name.encode()).hexdigest()[:DIGEST]
    return f"{name.replace('.', '-')[: longest - DIGEST - 1].rstrip('-')}-{digest}"


def label(name: str) -> str:
    """Write a name as the value of a label, which may have dots: people select by the name itself."""
    return name if _is_kept(name, LONGEST) else short(name)


def _is_kept(name: str, longest: int) -> bool:
    return len(name) <= longest and not LOOKS_SHORTENED.fullmatch(name)


class _Ingress(Struct, frozen=True):
    ip: str = ""
    hostname: str = ""


class _LoadBalancer(Struct, frozen=True):
    ingress: tuple[_Ingress, ...] = ()


class _ServiceStatus(Struct, frozen=True, rename="camel"):
    load_balancer: _LoadBalancer = _LoadBalancer()


def _resources(said: Sequence[ResourceParameters]) -> ResourceParameters:
    """Merge name by name: an autoscaler computes nothing where no CPU time is requested.

    Of what has a limit and no request Kubernetes requests as much; something modest might be above it.
    """
    requests = dict(ChainMap(*(each.requests for each in said)))
    limits = dict(ChainMap(*(each.limits for each in said)))
    modest = {name: amount for name, amount in MODEST.items() if name not in limits}
    return ResourceParameters(requests={**modest, **requests}, limits=limits)


def _given(service: Service) -> tuple[Address, ...]:
    """Read what a load balancer's controller gave."""
    status = msgspec.json.decode(bytes(service.status) or b"{}", type=_ServiceStatus)
    found = status.load_balancer.ingress
    return tuple(
        Address("IPAddress", each.ip) if each.ip else Address("Hostname", each.hostname)
        for each in found
        if each.ip or each.hostname
    )
