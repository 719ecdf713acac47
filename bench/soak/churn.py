"""What changes in a round: names, hosts, addresses, trust, certificates, Gateways; hardly any of it twice."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from legation.manifests import read_manifests
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, together
from tests.pki import Authority
from translator.names import Ref
from translator.objects.kinds import Object, kind_of, name_of

SERVICES, ROUTES = 12, 48
LIVES = 6  # rounds, until a route or a policy is replaced by one of another name
PORTS = 10_000

Json = dict[str, object]
Changes = Counter[tuple[str, str]]  # by what became of an object, and its kind
MADE, CHANGED, DELETED = "made", "changed", "deleted"

GATEWAY_API = "gateway.networking.k8s.io/v1"


def marker(number: int) -> bytes:
    """Return what a cluster says once a round has come."""
    return f"round-{number}.internal".encode()


def passing(number: int) -> str:
    """Name the Gateway that is there in one round only."""
    return f"passing-{number}"


def save(folder: Path, number: int) -> Changes:
    """Write all files of a round, each at once, and count what differs; who has the marker has everything."""
    folder.mkdir(exist_ok=True)
    changes = Changes()
    trust = (*_trust(number), _policy("marked", "s0", marker(number).decode()))
    written = {
        "gateways": (LEGATION_CLASS, _lasting(), gateway(passing(number), PORTS + number)),
        "services": _services(number),
        "routes": _routes(number),
        "trust": trust,
    }
    for name, manifests in written.items():
        new, known = folder / f"{name}.new", folder / f"{name}.yaml"
        new.write_text(text := together(*manifests))
        changes += differences(known.read_text() if known.exists() else "", text)
        new.rename(known)
    return changes


def differences(before: str, after: str) -> Changes:
    """Count objects that are there before or after only, or are not the same."""
    old, new = _read(before), _read(after)
    made, deleted = new.keys() - old.keys(), old.keys() - new.keys()
    changed = {ref for ref in old.keys() & new.keys() if old[ref] != new[ref]}
    sorts = ((MADE, made), (CHANGED, changed), (DELETED, deleted))
    return Changes((what, ref.kind) for what, refs in sorts for ref in refs)


def _read(text: str) -> dict[Ref, Object]:
    loaded, problems = read_manifests(text, "")
    assert not problems
    things = (each.thing for each in loaded)
    return {Ref(kind_of(each).kind, name_of(each)): each for each in things}


def _object(kind: str, name: str, version: str = GATEWAY_API, **fields: object) -> str:
    metadata = {"name": name, "namespace": "shop"} | dict(fields.pop("metadata", {}))  # type: ignore[call-overload]  # a mapping
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, **fields}) + "\n"


def _lasting() -> str:
    secure = """\
  - name: secure
    port: 8443
    protocol: HTTPS
    tls: {certificateRefs: [{name: shown, namespace: shop}]}
    allowedRoutes: {namespaces: {from: All}}
"""
    grant = {
        "from": [{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "infra"}],
        "to": [{"group": "", "kind": "Secret"}],
    }
    granted = _object("ReferenceGrant", "shown", "gateway.networking.k8s.io/v1beta1", spec=grant)
    return together(gateway("lasting", 8080) + secure, granted)


def _services(number: int) -> Iterator[str]:
    for n in range(SERVICES):
        yield _object("Service", f"s{n}", "v1", spec={"ports": [{"name": "main", "port": 443}]})
        labels = {"labels": {"kubernetes.io/service-name": f"s{n}"}}
        ready = [{"addresses": [f"198.18.{number % 250}.{n}"]}, {"addresses": [f"198.19.0.{n}"]}]
        ports = [{"name": "main", "port": 443}]
        slices = {"metadata": labels, "addressType": "IPv4", "endpoints": ready, "ports": ports}
        yield _object("EndpointSlice", f"s{n}", "discovery.k8s.io/v1", **slices)


def _routes(number: int) -> Iterator[str]:
    """Return routes, of which some lead nowhere."""
    for n in range(ROUTES):
        life = (number + n) // LIVES
        parents = [{"name": "lasting", "namespace": "infra"}, {"name": passing(number), "namespace": "infra"}]
        refs = [{"name": f"s{n % (SERVICES + 1)}", "port": 443}]
        spec = {"parentRefs": parents, "hostnames": [f"h{n}-{life}.test"], "rules": [{"backendRefs": refs}]}
        yield _object("HTTPRoute", f"r{n}-{life}", spec=spec)


def _trust(number: int) -> Iterator[str]:
    """Return policies, the roots that they believe, and a certificate that clients are shown."""
    public = Authority(f"public {number}").issue(dns=["*.test"])
    shown = {"tls.crt": public.chain_pem, "tls.key": public.key_pem}
    yield _object("Secret", "shown", "v1", type="kubernetes.io/tls", stringData=shown)
    for n in range(3):
        roots = Authority(f"roots {n} of {(number + n) // 3}")
        yield _object("ConfigMap", f"c{n}", "v1", data={"ca.crt": roots.pem})
    for n in range(1, SERVICES, 2):
        yield _policy(f"p{n}-{(number + n) // LIVES}", f"s{n}", "shop.internal", f"c{n % 4}")


def _policy(name: str, service: str, hostname: str, roots: str = "") -> str:
    trusted: Json = {"wellKnownCACertificates": "System"}
    if roots:
        trusted = {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": roots}]}
    spec = {
        "targetRefs": [{"group": "", "kind": "Service", "name": service}],
        "validation": {"hostname": hostname, **trusted},
    }
    return _object("BackendTLSPolicy", name, spec=spec)
