"""The peers' programs, built from the Go modules beside this one and kept where those of a cluster are."""

from pathlib import Path

from bench.peers.side import Peer
from e2e.cluster.build import Module, Programs
from e2e.cluster.place import here

HERE = Path(__file__).parent
CONVERSATION = HERE / "conversation"
ENVOY_GATEWAY = "envoy-gateway-translation"
CONTOUR = "contour-translation"
MODULES = (
    Module(HERE / "envoy_gateway", {ENVOY_GATEWAY: "."}, (CONVERSATION,)),
    Module(HERE / "contour", {CONTOUR: "."}, (CONVERSATION,)),
)


def programs() -> Programs:
    """Give the programs; each is built when somebody first asks for it."""
    return Programs(here().programs, MODULES)


def envoy_gateway() -> Peer:
    """Envoy Gateway, between its informers and its xDS port."""
    command = str(programs().path(ENVOY_GATEWAY))
    return Peer("Envoy Gateway", "gateway.envoyproxy.io/gatewayclass-controller", (command,))


def contour() -> Peer:
    """Contour, between its informers and its xDS port."""
    command = str(programs().path(CONTOUR))
    controller = "projectcontour.io/gateway-controller"
    return Peer("Contour", controller, (command,), most_gateways=1, sends_sni=False)
