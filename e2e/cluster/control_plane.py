"""The processes that make a node out of a network namespace, in the order in which they start."""

import json
import sys
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from e2e.cluster import identity
from e2e.cluster.build import Programs
from e2e.cluster.network import DNS_ADDRESS, NODE_ADDRESS, NODE_NAME, PODS, SERVICES
from e2e.cluster.place import Place

ETCD, ETCD_PEERS = "http://127.0.0.1:2379", "http://127.0.0.1:2380"
AT_ONCE = ("true",)  # nobody after it needs it; that it works is seen when the cluster is up
HEALTH = "127.0.0.1:10256"
API_SERVER = "kube-apiserver"
KUBELET = "kubelet"
# ClusterTrustBundle is beta, and off as all beta APIs are; BackendTLSPolicy may refer to one.
TRUST_BUNDLES = MappingProxyType(
    {
        "runtime-config": "certificates.k8s.io/v1beta1/clustertrustbundles=true",
        "feature-gates": "ClusterTrustBundle=true",
    }
)


Flags = dict[str, str | Path]


class Daemon(NamedTuple):
    """A process, and the command that succeeds when it is ready."""

    name: str
    command: tuple[str | Path, ...]
    ready: tuple[str | Path, ...]


def daemons(place: Place, programs: Programs) -> tuple[Daemon, ...]:
    """Give the whole control plane; it needs the files that `configure` has written."""
    kubectl = (programs.path("kubectl"), "--kubeconfig", place.kubeconfig)
    return (
        Daemon("etcd", _etcd(place, programs), _answers(f"{ETCD}/health")),
        Daemon(API_SERVER, _api_server(place, programs), (*kubectl, "get", "--raw", "/readyz")),
        Daemon("kube-controller-manager", _controllers(place, programs), AT_ONCE),
        Daemon(
            KUBELET,
            (sys.executable, "-m", "e2e.cluster.kubelet", place.state / "kubelet.json"),
            (*kubectl, "wait", "--for=condition=Ready", f"node/{NODE_NAME}", "--timeout=1s"),
        ),
        Daemon(
            "kube-proxy",
            (programs.path("kube-proxy"), *_flags({"config": place.state / "kube-proxy.json"})),
            _answers(f"http://{HEALTH}/healthz"),
        ),
        Daemon(
            "coredns",
            (programs.path("coredns"), "-conf", place.state / "Corefile"),
            _connects(DNS_ADDRESS, 53),
        ),
    )


def configure(place: Place) -> None:
    """Write what the processes read."""
    place.kubeconfig.touch(mode=0o600)
    place.kubeconfig.write_text(identity.kubeconfig(place.keys, "admin"))
    proxy = place.keys / "kube-proxy.kubeconfig"
    proxy.write_text(identity.kubeconfig(place.keys, "system:kube-proxy"))
    (place.state / "kube-proxy.json").write_text(json.dumps(_proxy(proxy)))
    (place.state / "Corefile").write_text(_corefile(place))
    search = "default.svc.cluster.local svc.cluster.local cluster.local"
    place.resolv_conf.write_text(f"search {search}\nnameserver {DNS_ADDRESS}\noptions ndots:5\n")


def _etcd(place: Place, programs: Programs) -> tuple[str | Path, ...]:
    flags: Flags = {
        "name": "etcd",
        "data-dir": place.state / "etcd",
        "unsafe-no-fsync": "true",  # nobody needs it after a crash of the machine
        "listen-client-urls": ETCD,
        "advertise-client-urls": ETCD,
        "listen-peer-urls": ETCD_PEERS,
        "initial-advertise-peer-urls": ETCD_PEERS,
        "initial-cluster": f"etcd={ETCD_PEERS}",
        "log-level": "warn",
    }
    return programs.path("etcd"), *_flags(flags)


def _api_server(place: Place, programs: Programs) -> tuple[str | Path, ...]:
    keys = place.keys
    flags: Flags = {
        "etcd-servers": ETCD,
        "service-cluster-ip-range": SERVICES,
        "advertise-address": NODE_ADDRESS,
        "secure-port": "6443",
        "tls-cert-file": keys / "server.crt",
        "tls-private-key-file": keys / "server.key",
        "client-ca-file": keys / "ca.crt",
        "token-auth-file": keys / "tokens.csv",
        "authorization-mode": "RBAC",
        "service-account-key-file": keys / "accounts.key",
        "service-account-signing-key-file": keys / "accounts.key",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "allow-privileged": "true",
        "kubelet-preferred-address-types": "InternalIP",
        **TRUST_BUNDLES,
    }
    return programs.path("kube-apiserver"), *_flags(flags)


def _controllers(place: Place, programs: Programs) -> tuple[str | Path, ...]:
    keys = place.keys
    flags: Flags = {
        **dict.fromkeys(
            ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"), place.kubeconfig
        ),
        "service-account-private-key-file": keys / "accounts.key",
        "root-ca-file": keys / "ca.crt",
        "cluster-signing-cert-file": keys / "ca.crt",
        "cluster-signing-key-file": keys / "ca.key",
        "cert-dir": place.state / "kube-controller-manager",
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        "use-service-account-credentials": "true",
    }
    return programs.path("kube-controller-manager"), *_flags(flags)


def _proxy(kubeconfig: Path) -> dict[str, object]:
    """Configure kube-proxy; it ends itself when the file is written again, so `up` writes it once."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "hostnameOverride": NODE_NAME,
        "clusterCIDR": PODS,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "bindAddress": NODE_ADDRESS,
        "healthzBindAddress": HEALTH,
        "metricsBindAddress": "127.0.0.1:10249",
        "nodePortAddresses": [f"{NODE_ADDRESS}/32"],
        # The limits belong to the machine, and cannot be set from a namespace.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def _corefile(place: Place) -> str:
    return f""".:53 {{
    bind {DNS_ADDRESS}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {place.kubeconfig} cluster
        ttl 1
    }}
    cache 1
}}
"""


def _flags(flags: Flags) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


def _answers(url: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import urllib.request as r; r.urlopen({url!r}, timeout=1)")


def _connects(host: str, port: int) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import socket; socket.create_connection(({host!r}, {port}), 1)")
