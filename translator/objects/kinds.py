"""Every kind of object that is read: its struct, and what the API calls it."""

from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.objects.listener_set import ListenerSet
from translator.objects.namespace import Namespace
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.references import GATEWAY_GROUP
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.objects.service_import import MULTICLUSTER_GROUP, ServiceImport
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.objects.x_backend import X_GROUP, XBackend

Object = (
    GatewayClass
    | Gateway
    | ListenerSet
    | HTTPRoute
    | GRPCRoute
    | TLSRoute
    | TCPRoute
    | UDPRoute
    | BackendTLSPolicy
    | XBackend
    | ReferenceGrant
    | GatewayParameters
    | Service
    | ServiceImport
    | EndpointSlice
    | Secret
    | ConfigMap
    | ClusterTrustBundle
    | Namespace
)
"""An object of any kind that is read."""


class KindInfo(NamedTuple):
    """What the API calls a kind, with the versions that are read, the preferred one first."""

    type: type[Object]
    group: str
    versions: tuple[str, ...]
    plural: str
    namespaced: bool = True

    @property
    def kind(self) -> str:
        """The kind as manifests write it."""
        return self.type.__name__

    def api_version(self, version: str) -> str:
        """Join group and version as manifests write them."""
        return f"{self.group}/{version}" if self.group else version

    @property
    def newest(self) -> str:
        """The same with the version that is preferred."""
        return self.api_version(self.versions[0])


LEGATION_GROUP = "legation.dev"

KINDS = (
    KindInfo(GatewayClass, GATEWAY_GROUP, ("v1", "v1beta1"), "gatewayclasses", namespaced=False),
    KindInfo(Gateway, GATEWAY_GROUP, ("v1", "v1beta1"), "gateways"),
    KindInfo(ListenerSet, GATEWAY_GROUP, ("v1",), "listenersets"),
    KindInfo(HTTPRoute, GATEWAY_GROUP, ("v1", "v1beta1"), "httproutes"),
    KindInfo(GRPCRoute, GATEWAY_GROUP, ("v1",), "grpcroutes"),
    KindInfo(TLSRoute, GATEWAY_GROUP, ("v1", "v1alpha3", "v1alpha2"), "tlsroutes"),
    KindInfo(TCPRoute, GATEWAY_GROUP, ("v1", "v1alpha2"), "tcproutes"),
    KindInfo(UDPRoute, GATEWAY_GROUP, ("v1", "v1alpha2"), "udproutes"),
    KindInfo(BackendTLSPolicy, GATEWAY_GROUP, ("v1", "v1alpha3"), "backendtlspolicies"),
    KindInfo(XBackend, X_GROUP, ("v1alpha1",), "xbackends"),
    KindInfo(ReferenceGrant, GATEWAY_GROUP, ("v1", "v1beta1"), "referencegrants"),
    KindInfo(GatewayParameters, LEGATION_GROUP, ("v1alpha1",), "gatewayparameters"),
    KindInfo(Service, "", ("v1",), "services"),
    KindInfo(ServiceImport, MULTICLUSTER_GROUP, ("v1beta1", "v1alpha1"), "serviceimports"),
    KindInfo(EndpointSlice, "discovery.k8s.io", ("v1",), "endpointslices"),
    KindInfo(Secret, "", ("v1",), "secrets"),
    KindInfo(ConfigMap, "", ("v1",), "configmaps"),
    KindInfo(
        ClusterTrustBundle,
        "certificates.k8s.io",
        ("v1", "v1beta1", "v1alpha1"),
        "clustertrustbundles",
        namespaced=False,
    ),
    KindInfo(Namespace, "", ("v1",), "namespaces", namespaced=False),
)

BY_KIND = MappingProxyType({info.kind: info for info in KINDS})
_BY_NAME = MappingProxyType(
    {(info.api_version(version), info.kind): info for info in KINDS for version in info.versions}
)


def kind_of(thing: Object) -> KindInfo:
    """Say what the API calls the kind of an object."""
    return BY_KIND[type(thing).__name__]


def find_kind(api_version: str, kind: str) -> KindInfo | None:
    """Find the kind that a manifest names, if it is one that is read."""
    return _BY_NAME.get((api_version, kind))


def name_of(thing: Object) -> Name:
    """Name an object by its namespace and name."""
    return Name(thing.metadata.namespace, thing.metadata.name)


def ref_of(thing: Object) -> Ref:
    """Name an object with its kind."""
    return Ref(type(thing).__name__, name_of(thing))


def as_manifest(thing: Object) -> dict[str, object]:
    """Write an object as a manifest has it: version and kind first, unset fields and its writers left out."""
    heading = {"apiVersion": thing.api_version, "kind": kind_of(thing).kind}
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(thing))
    body["metadata"].pop("managedFields", None)
    return {**heading, **{key: value for key, value in body.items() if key not in heading}}
