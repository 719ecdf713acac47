"""The objects that run a Gateway's proxies in a cluster, as manifests for server-side apply.

Everything belongs to the Gateway and goes with it. The proxies run as nobody in particular, on a root that
cannot be written, without a token of the API server; a parameter of their own network lets them bind ports
below 1024.
"""

import json
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from legation.addresses import ClientFiles, HostPort, WatchedFiles
from legation.bootstrap import Start, as_fields, bootstrap
from legation.overload import memory
from legation.proxies.belonging import belonging, selecting
from legation.proxies.drain import drain
from legation.proxies.probed import READY, probed
from legation.proxies.wanted import Wanted
from legation.settings import EVERYWHERE
from legation.watched_secrets import watched_secrets
from translator.objects.kinds import name_of
from translator.rules.addresses import CLUSTER
from translator.rules.gateways import IP
from translator.rules.managed import ADMIN_PORT, PROBES_PORT, Wishes

ADMIN = HostPort("127.0.0.1", ADMIN_PORT)
PROBES = PROBES_PORT
CONFIGURATION, IDENTITY = Path("/etc/legation/configuration"), Path("/etc/legation/identity")
NOBODY = 65532
BOOTSTRAP = "bootstrap.json"
REPLICATED = 2
WEAKENS_PODS = "container.apparmor.security.beta.kubernetes.io/"  # which no owner of a Gateway has a say in
APART = ("kubernetes.io/hostname", "topology.kubernetes.io/zone")
LEFT_TO_END = 10  # seconds between the end of a drain and being killed

Manifest = dict[str, object]


class Environment(Struct, frozen=True):
    """What all managed proxies have in common."""

    xds: HostPort
    server_name: str  # which the control plane's certificate proves
    image: str
    listen_at: str = EVERYWHERE
    system_roots: Path = Path("/etc/ssl/certs/ca-certificates.crt")  # in the image
    withdrawal: int = 20  # seconds; longer than others take to hear that a pod has gone


def manifests(wanted: Wanted, environment: Environment) -> tuple[Manifest, ...]:
    """Write all that a Gateway's proxies need but their identity; nothing for those that others run."""
    if not wanted.wishes.managed:
        return ()
    configuration = _configuration(wanted, environment)
    made = [
        _object(wanted, "v1", "ServiceAccount", {"automountServiceAccountToken": False}),
        _object(wanted, "v1", "ConfigMap", {"data": configuration}),
        _object(wanted, "apps/v1", "Deployment", {"spec": _deployment(wanted, environment, configuration)}),
    ]
    if wanted.ports:  # the API knows no Service without any
        made.append(_object(wanted, "v1", "Service", {"spec": _service(wanted)}))
    if _at_least(wanted.wishes) >= REPLICATED:  # for a single one, it would hold up every drained node
        budget = {
            "maxUnavailable": 1,
            "selector": _selector(wanted),
            "unhealthyPodEvictionPolicy": "AlwaysAllow",  # what serves nobody holds up no drained node
        }
        made.append(_object(wanted, "policy/v1", "PodDisruptionBudget", {"spec": budget}))
    if (scaler := _scaler(wanted)) is not None:
        made.append(_object(wanted, "autoscaling/v2", "HorizontalPodAutoscaler", {"spec": scaler}))
    return tuple(made)


def _object(wanted: Wanted, version: str, kind: str, body: Manifest) -> Manifest:
    metadata = belonging(wanted.gateway, wanted.name.name)
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def _configuration(wanted: Wanted, environment: Environment) -> dict[str, str]:
    """Write Envoy's bootstrap, and the files that tell it of its identity."""
    certificate, key, ca = (IDENTITY / name for name in ("tls.crt", "tls.key", "ca.crt"))
    files = ClientFiles(certificate, key, ca, environment.server_name)
    start = Start(
        gateway=name_of(wanted.gateway),
        node_id=str(wanted.name),  # which a flag replaces by the pod's name
        xds=environment.xds,
        admin=ADMIN,
        tls=WatchedFiles(files, CONFIGURATION),
        system_roots=environment.system_roots,
    )
    written = {
        BOOTSTRAP: as_fields(probed(bootstrap(start), ADMIN, HostPort(environment.listen_at, PROBES))),
        **watched_secrets(files),
    }
    return {name: json.dumps(fields, sort_keys=True) for name, fields in written.items()}


def _deployment(wanted: Wanted, environment: Environment, configuration: dict[str, str]) -> Manifest:
    labels = belonging(wanted.gateway, wanted.name.name)["labels"]
    asked = wanted.gateway.spec.infrastructure
    written = sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    given = asked.annotations if asked else {}
    annotations = {name: text for name, text in given.items() if not name.startswith(WEAKENS_PODS)}
    annotations["legation.dev/bootstrap"] = written[:16]
    deployment: Manifest = {
        "selector": _selector(wanted),
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}},
        "template": {
            "metadata": {"labels": labels, "annotations": annotations},
            "spec": _pod(wanted, environment),
        },
    }
    if wanted.wishes.autoscaling is None:  # else the number is the autoscaler's
        deployment["replicas"] = wanted.wishes.replicas
    return deployment


def _pod(wanted: Wanted, environment: Environment) -> Manifest:
    name = wanted.name.name
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": wanted.wishes.drain_seconds + LEFT_TO_END,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "fsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
            "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
        },
        "topologySpreadConstraints": [_apart(wanted, each) for each in APART],
        "containers": [_container(wanted, environment)],
        "volumes": [
            {"name": "configuration", "configMap": {"name": name}},
            {"name": "identity", "secret": {"secretName": name, "defaultMode": 0o440}},
        ],
    }


def _apart(wanted: Wanted, topology: str) -> Manifest:
    """Keep proxies apart where that is possible, those of a rollout by themselves."""
    return {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": _selector(wanted),
        "matchLabelKeys": ["pod-template-hash"],
    }


def _container(wanted: Wanted, environment: Environment) -> Manifest:
    wishes = wanted.wishes
    probe = {"httpGet": {"path": READY, "port": PROBES}}
    farewell = drain(ADMIN, environment.withdrawal, wishes.drain_seconds)
    resources = {"requests": wishes.resources.requests, "limits": wishes.resources.limits}
    return {
        "name": "envoy",
        "image": wishes.image or environment.image,
        "command": ["envoy"],
        "args": _arguments(wishes),
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ],
        "ports": [{"name": "probes", "containerPort": PROBES}],
        "resources": {bound: amounts for bound, amounts in resources.items() if amounts},
        "startupProbe": {**probe, "periodSeconds": 1, "failureThreshold": 600},
        "readinessProbe": {**probe, "periodSeconds": 1, "failureThreshold": 3},
        "lifecycle": {"preStop": {"exec": {"command": farewell}}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "configuration", "mountPath": str(CONFIGURATION), "readOnly": True},
            {"name": "identity", "mountPath": str(IDENTITY), "readOnly": True},
        ],
    }


def _arguments(wishes: Wishes) -> list[str]:
    given = {
        "--config-path": str(CONFIGURATION / BOOTSTRAP),
        "--config-yaml": memory("$(MEMORY)"),  # that of the node, where nobody limits it
        "--service-node": "$(POD_NAME)",
        "--concurrency": str(wishes.concurrency),
        "--log-level": wishes.log_level,
        "--drain-time-s": str(wishes.drain_seconds),
        "--drain-strategy": "immediate",  # a connection is told to close with its next answer
    }
    return ["--disable-hot-restart", *(word for pair in given.items() for word in pair)]


def _service(wanted: Wanted) -> Manifest:
    """Write the Service; the first address asked for is the load balancer's, nodes take in the others.

    What is wished for within the cluster is the Service's own address; if that is all, nothing is outside.
    """
    wishes = wanted.gateway.spec.addresses
    inside = [each for each in wishes if each.routability == CLUSTER]
    kind = "ClusterIP" if inside and len(inside) == len(wishes) else wanted.wishes.service_type
    asked = [each.value for each in wishes if each.value and each not in inside and each.type == IP]
    own = [each.value for each in inside if each.value]
    balanced, others = (asked[:1], asked[1:]) if kind == "LoadBalancer" else ([], asked)
    service: Manifest = {
        "type": kind,
        "selector": selecting(wanted.gateway),
        "ports": [
            {
                "name": f"{bound.transport.lower()}-{bound.port}",
                "port": bound.port,
                "targetPort": bound.port,
                "protocol": bound.transport,
            }
            for bound in wanted.ports
        ],
    }
    if own:
        service["clusterIP"] = own[0]
    if balanced:
        service["loadBalancerIP"] = balanced[0]
    if others:
        service["externalIPs"] = others
    return service


def _scaler(wanted: Wanted) -> Manifest | None:
    asked = wanted.wishes.autoscaling
    if asked is None:
        return None
    target = {"type": "Utilization", "averageUtilization": asked.cpu_utilization}
    return {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": wanted.name.name},
        "minReplicas": asked.min_replicas,
        "maxReplicas": asked.max_replicas,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }


def _at_least(wishes: Wishes) -> int:
    return wishes.replicas if wishes.autoscaling is None else wishes.autoscaling.min_replicas


def _selector(wanted: Wanted) -> Manifest:
    return {"matchLabels": selecting(wanted.gateway)}
