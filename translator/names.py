"""How things are called: an object by namespace and name, a reference with its kind."""

from typing import NamedTuple


class Name(NamedTuple):
    """An object's namespace and name; the namespace is empty where the kind has none."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: `shop/pay`, or `pay` where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def read(cls, written: str) -> "Name":
        """Read a name that was written so, such as the one that a Gateway's Envoys give as their cluster."""
        namespace, _, name = written.rpartition("/")
        return cls(namespace, name)


class Ref(NamedTuple):
    """An object of any kind, as messages and owners name it."""

    kind: str
    name: Name

    def __str__(self) -> str:
        """As people write it: `Service shop/pay`."""
        return f"{self.kind} {self.name}"


class ServicePort(NamedTuple):
    """One port of one Service: what a backendRef leads to, a policy targets and a cluster is named by.

    Other kinds that stand in for a Service have ports, too; their names begin with the kind.
    """

    service: Name
    port: int
    transport: str = "TCP"  # one number may be open for TCP and for UDP, with different pods' ports behind
    kind: str = "Service"

    def __str__(self) -> str:
        """As people write it: `shop/pay:8443`, `infra/dns:53/udp`, `XBackend/shop/pay:8443`."""
        stands_in = "" if self.kind == "Service" else f"{self.kind}/"
        transport = "" if self.transport == "TCP" else f"/{self.transport.lower()}"
        return f"{stands_in}{self.service}:{self.port}{transport}"

    @property
    def owner(self) -> Ref:
        """The object that has the port."""
        return Ref(self.kind, self.service)
