"""Which XBackends select pods, and the Service that has the cluster say where these are.  GEP-4894.

The Service is headless: nobody but the cluster's own controller of EndpointSlices has to do with it. Its name
ends in something that nobody knew before the XBackend was there, so that no other comes to rely on it.
"""

from hashlib import sha256

from msgspec import Struct, structs

from legation.proxies.belonging import MANAGED_BY
from translator.memo import query
from translator.names import Name, Ref
from translator.objects.x_backend import XBackend
from translator.rules.managed import DIGEST, LONGEST, PREFIX, short
from translator.rules.reach import gateways_naming
from translator.rules.x_backends import KIND, port_of
from translator.world import World

LABEL = "legation.dev/x-backend"  # by which such a Service is known

Manifest = dict[str, object]


class Pods(Struct, frozen=True):
    """The pods of an XBackend, by their labels; without any it selects none."""

    x_backend: Name
    uid: str
    api_version: str
    labels: tuple[tuple[str, str], ...] = ()
    port: int = 0

    @property
    def owner(self) -> Ref:
        """Whose they are."""
        return Ref(KIND, self.x_backend)

    @property
    def service(self) -> Name:
        """Name the Service; one that is made anew for another XBackend of the same name has another name."""
        end = f"-{sha256(self.uid.encode()).hexdigest()[:DIGEST]}"
        begin = PREFIX + short(self.x_backend.name, LONGEST - len(PREFIX) - len(end))
        return Name(self.x_backend.namespace, begin + end)


@query
def wanted(world: World, x_backend: Name) -> Pods | None:
    """Return which pods are to be found; None leaves everything as it is, as where no Gateway leads to them.

    Routes may be waited for, and what was made before serves them when they come.
    """
    its = world.must(XBackend, x_backend)
    nothing, selector = Pods(x_backend, its.metadata.uid, its.api_version), its.spec.endpoint_selector
    if selector is None:
        return nothing
    port = port_of(x_backend, its.spec)
    if its.metadata.deletion_timestamp is not None or not port.port or not gateways_naming(world, port):
        return None
    labels = tuple(sorted(selector.match_labels.items()))
    return structs.replace(nothing, labels=labels, port=port.port)


def manifest(pods: Pods) -> Manifest:
    """Write the Service, which belongs to the XBackend and goes with it."""
    owner = {
        "apiVersion": pods.api_version,
        "kind": KIND,
        "name": pods.x_backend.name,
        "uid": pods.uid,
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": pods.service.name,
            "namespace": pods.service.namespace,
            "labels": {MANAGED_BY: "legation", LABEL: short(pods.x_backend.name)},
            "ownerReferences": [owner],
        },
        "spec": {
            "clusterIP": "None",
            "selector": dict(pods.labels),
            "ports": [{"name": "backend", "port": pods.port, "targetPort": pods.port}],
        },
    }
