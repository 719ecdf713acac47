"""How the proxies of a Gateway are run: what its class says, then what it says itself, then defaults."""

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from translator.objects.gateway_parameters import (
    AutoscalingParameters,
    GatewayParametersSpec,
    ResourceParameters,
)

T = TypeVar("T")
MODEST = ResourceParameters(requests={"cpu": "100m", "memory": "128Mi"})


class Wishes(Struct, frozen=True):
    """Everything that parameters may set, settled."""

    managed: bool
    image: str
    replicas: int
    autoscaling: AutoscalingParameters | None
    resources: ResourceParameters
    concurrency: int
    log_level: str
    service_type: str


def settle(image: str, *said: GatewayParametersSpec | None) -> Wishes:
    """Merge field by field: whoever comes first in `said` decides, which is the class before the Gateway."""
    specs = [spec for spec in said if spec is not None]
    envoys = [spec.envoy for spec in specs]
    return Wishes(
        managed=_first((spec.proxies for spec in specs), "Managed") == "Managed",
        image=_first((envoy.image for envoy in envoys), image),
        replicas=_first((envoy.replicas for envoy in envoys), 1),
        autoscaling=_first((envoy.autoscaling for envoy in envoys), None),
        resources=_first((envoy.resources for envoy in envoys), MODEST),
        concurrency=_first((envoy.concurrency for envoy in envoys), 2),
        log_level=_first((envoy.log_level for envoy in envoys), "warning"),
        service_type=_first((spec.service.type for spec in specs), "LoadBalancer"),
    )


def _first(said: Iterable[T | None], otherwise: T) -> T:
    return next((value for value in said if value is not None), otherwise)
