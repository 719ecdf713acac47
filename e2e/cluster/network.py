"""The network of the cluster: a namespace for node and tests, one per pod, and no way out of any of them.

Addresses are those set aside for benchmarks (RFC 2544): EndpointSlices refuse loopback addresses, so each pod
needs one of its own. All are inside namespaces, so that clusters beside each other may use the same ones.
"""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

NODE_NAME = "node"
NODE_ADDRESS = "198.18.0.1"
DNS_ADDRESS = "198.18.0.2"
PODS = "198.18.16.0/20"
SERVICES = "198.19.0.0/20"
API_SERVICE_ADDRESS = "198.19.0.1"  # the first of them, which the API server gives to itself
LOAD_BALANCERS = "198.19.128.0/20"
USABLE_ADDRESS, UNUSABLE_ADDRESS = "198.19.128.1", "203.0.113.7"  # for Services that name the one they want
VIRTUAL = "198.19.0.0/16"  # addresses of Services: no interface has them, kube-proxy's rules know them
API_SERVER = f"https://{NODE_ADDRESS}:6443"

_NAMESPACES = Path("/run/netns")
_NODE = f"""
link set lo up
link add node type bridge
addr add {NODE_ADDRESS}/32 dev node
addr add {DNS_ADDRESS}/32 dev node
link set node up
route add {VIRTUAL} dev node src {NODE_ADDRESS}
"""  # a bridge without ports carries the addresses: not every kernel has a dummy device
# While kube-proxy writes its rules, the kernel lets a few of many thousand new connections pass between old
# and new. What still goes to the address of a Service then is dropped: it is sent again a second later and
# finds the rules, instead of being remembered as a connection that no rule has changed.
_ASTRAY = "add table ip astray\n" + "".join(
    f"add chain ip astray {hook} {{ type filter hook {hook} priority 0 ; }}\n"
    f"add rule ip astray {hook} ip daddr {VIRTUAL} meta l4proto tcp drop\n"
    for hook in ("output", "forward")
)
# By then what is sent to a Service has the address of one of its pods.
_PARTED = "add table ip parted\nadd chain ip parted forward { type filter hook forward priority 0 ; }\n"
_NODE_PARAMETERS = (
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.rp_filter=0",
    "net.ipv4.conf.default.rp_filter=0",
    "net.ipv6.conf.all.disable_ipv6=1",  # where there is IPv6
)
_POD_PARAMETERS = ("net.ipv4.ip_unprivileged_port_start=0", "net.ipv4.ping_group_range=0 2147483647")


def exists(namespace: str) -> bool:
    """Say whether there is such a network namespace."""
    return (_NAMESPACES / namespace).exists()


def inside(namespace: str) -> tuple[str, ...]:
    """Give the beginning of a command that runs inside a namespace."""
    return ("nsenter", f"--net={_NAMESPACES / namespace}")


def make(namespace: str, environment: Mapping[str, str]) -> None:
    """Make the network of the node; nft is found in the environment."""
    _run("ip", "netns", "add", namespace)
    _run("ip", "-netns", namespace, "-batch", "-", lines=_NODE)
    _run(*inside(namespace), "sysctl", "--quiet", "--ignore", "--write", *_NODE_PARAMETERS)
    _run(
        *inside(namespace),
        "nft",
        "--file",
        "-",
        lines=_ASTRAY,
        environment=environment,
    )


def join(node: str, address: str, parameters: Iterable[str]) -> str:
    """Make the network of one pod and return its namespace.

    Pods are routed and not bridged: all that leaves one passes the node's routing, hence kube-proxy's rules,
    and so do the replies.
    """
    third, fourth = address.split(".")[2:]
    outside = f"p{third}-{fourth}"
    namespace = f"{node}-{outside}"
    leave(namespace)
    _run("ip", "netns", "add", namespace)
    link = f"link add {outside} type veth peer name eth0 netns {namespace}\nlink set {outside} up\n"
    _run("ip", "-netns", node, "-batch", "-", lines=f"{link}route replace {address}/32 dev {outside}\n")
    own = f"link set lo up\naddr add {address}/32 dev eth0\nlink set eth0 up\n"
    routes = f"route add {NODE_ADDRESS} dev eth0 scope link\nroute add default via {NODE_ADDRESS}\n"
    _run("ip", "-netns", namespace, "-batch", "-", lines=own + routes)
    _run(*inside(namespace), "sysctl", "--quiet", "--write", *_POD_PARAMETERS, *parameters)
    return namespace


def part(node: str, one: Iterable[str], other: Iterable[str], environment: Mapping[str, str]) -> None:
    """Carry nothing more between some pods and some others, and say so to nobody."""
    these, those = (f"{{ {', '.join(each)} }}" for each in (one, other))
    lines = _PARTED + "".join(
        f"add rule ip parted forward ip saddr {source} ip daddr {target} drop\n"
        for source, target in ((these, those), (those, these))
    )
    _run(*inside(node), "nft", "--file", "-", lines=lines, environment=environment)


def rejoin(node: str, environment: Mapping[str, str]) -> None:
    """Carry everything again."""
    _run(*inside(node), "nft", "delete", "table", "ip", "parted", environment=environment)


def leave(namespace: str) -> None:
    """Remove a namespace, and with it the interfaces in it, if there is such a one."""
    if exists(namespace):
        _run("ip", "netns", "delete", namespace)


def remove(node: str) -> None:
    """Remove the network of the node and of its pods."""
    of_a_pod = re.compile(rf"{re.escape(node)}-p\d+-\d+")  # and not those of a cluster with a longer name
    for path in _NAMESPACES.glob("*"):
        if of_a_pod.fullmatch(path.name):
            leave(path.name)
    leave(node)


def _run(*command: str, lines: str = "", environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(  # noqa: S603  as written above
        command, input=lines, text=True, capture_output=True, check=False, env=environment
    )
    if done.returncode:
        message = f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}"
        raise RuntimeError(message)
