"""Gives Services of type LoadBalancer an address; kube-proxy's rules make it lead to their pods."""

from e2e.cluster.kubelet.api import MERGE, Api, Gone, Listed, Put, unless_gone
from e2e.cluster.kubelet.objects.services import Service
from e2e.cluster.kubelet.pool import Pool

ALL = "/api/v1/services"


class LoadBalancers:
    """The addresses of all Services that want one."""

    def __init__(self, api: Api, pool: Pool) -> None:
        self._api = api
        self._pool = pool
        self._given: dict[str, str] = {}  # by the Service's uid

    async def run(self) -> None:
        """Follow the API server's Services."""
        async for change in self._api.watch(ALL, Service):
            match change:
                case Put(service):
                    await self._put(service)
                case Gone(service):
                    self._take_back(service.metadata.uid)
                case Listed(uids):
                    for uid in self._given.keys() - uids:
                        self._take_back(uid)

    async def _put(self, service: Service) -> None:
        uid, ingress = service.metadata.uid, service.status.load_balancer.ingress
        if service.spec.type != "LoadBalancer":
            self._take_back(uid)
            if ingress:
                await self._tell(service, "")
        elif not service.metadata.deletion_timestamp and not service.spec.load_balancer_class:
            address = self._given.get(uid) or self._give(service)
            if address and [each.ip for each in ingress] != [address]:
                await self._tell(service, address)

    def _give(self, service: Service) -> str:
        """Give the address it has already or asks for; none if that belongs to another."""
        held = [each.ip for each in service.status.load_balancer.ingress]
        wanted = held[0] if held else service.spec.load_balancer_ip
        if wanted and not self._pool.claim(wanted):
            return ""
        self._given[service.metadata.uid] = address = wanted or self._pool.take()
        return address

    def _take_back(self, uid: str) -> None:
        if address := self._given.pop(uid, ""):
            self._pool.give_back(address)

    async def _tell(self, service: Service, address: str) -> None:
        meta = service.metadata
        ingress = [{"ip": address, "ipMode": "VIP"}] if address else None
        with unless_gone():
            await self._api.patch(
                f"/api/v1/namespaces/{meta.namespace}/services/{meta.name}/status",
                {"status": {"loadBalancer": {"ingress": ingress}}},
                MERGE,
            )
