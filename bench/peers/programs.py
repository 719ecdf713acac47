"""Whom to measure: ourselves, and peers.

Their programs are built from the Go modules beside this one, and kept where those of a cluster are.
"""

import shutil
import sys
from pathlib import Path

from bench.peers.side import Peer
from e2e.cluster.build import Module, Programs
from e2e.cluster.place import here
from translator.rules.gateways import CONTROLLER

HERE = Path(__file__).parent
CONVERSATION = HERE / "conversation"
ENVOY_GATEWAY = "envoy-gateway-translation"
CONTOUR = "contour-translation"
MODULES = (
    Module(HERE / "envoy_gateway", {ENVOY_GATEWAY: "."}, (CONVERSATION,)),
    Module(HERE / "contour", {CONTOUR: "."}, (CONVERSATION,)),
)


def need_go() -> None:
    """End here unless there is what peers are built with."""
    if not shutil.which("go"):
        sys.exit("the peers are built with Go, and there is no `go` on PATH")


def programs() -> Programs:
    """Give the programs; each is built when somebody first asks for it."""
    return Programs(here().programs, MODULES)


def ourselves() -> Peer:
    """Legation, measured as its peers are."""
    return Peer("Legation", CONTROLLER, (sys.executable, "-m", "bench.peers.ourselves"))


def envoy_gateway() -> Peer:
    """Envoy Gateway, between its informers and its xDS port."""
    command = str(programs().path(ENVOY_GATEWAY))
    return Peer("Envoy Gateway", "gateway.envoyproxy.io/gatewayclass-controller", (command,))


def contour() -> Peer:
    """Contour, between its informers and its xDS port."""
    command = str(programs().path(CONTOUR))
    controller = "projectcontour.io/gateway-controller"
    return Peer("Contour", controller, (command,), most_gateways=1, sends_sni=False)
