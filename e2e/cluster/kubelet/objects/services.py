"""Services, as far as they have addresses of load balancers."""

from msgspec import Struct, field

from e2e.cluster.kubelet.objects.meta import ObjectMeta


class Ingress(Struct, frozen=True):
    """An address of a load balancer."""

    ip: str = ""


class LoadBalancer(Struct, frozen=True):
    """The addresses of a load balancer."""

    ingress: tuple[Ingress, ...] = ()


class ServiceStatus(Struct, frozen=True, rename="camel"):
    """What a Service is."""

    load_balancer: LoadBalancer = LoadBalancer()


class ServiceSpec(Struct, frozen=True, rename="camel"):
    """What a Service shall be."""

    type: str = "ClusterIP"
    load_balancer_class: str = ""
    load_balancer_ip: str = field(name="loadBalancerIP", default="")


class Service(Struct, frozen=True):
    """A Service as the API server has it."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()
