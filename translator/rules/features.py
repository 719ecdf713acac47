"""Which features of the specification a class says that it has: only what is done, and shown by a test.

The names are those of the specification's own list; the suite for conformance reads them from the class.
"""

from translator.rules.bundles import is_experimental
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES
from translator.world import World

SUPPORTED = (
    "BackendTLSPolicy",
    "BackendTLSPolicySANValidation",
    "GRPCRoute",
    "GRPCRouteNamedRouteRule",
    "GRPCRouteRequestHeaderModifier",
    "Gateway",
    "GatewayAddressEmpty",
    "GatewayBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation",
    "GatewayFrontendClientCertificateValidationInsecureFallback",
    "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests",
    "GatewayInfrastructure",
    "GatewayPort8080",
    "GatewayRouteHostnameIntersectionPrecedence",
    "GatewayStaticAddresses",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteBackendURLRewrite",
    "HTTPRouteCORS",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteRetryCodes",
    "HTTPRouteRetryConnectionError",
    "HTTPRouteSchemeRedirect",
    "ListenerSet",
    "ReferenceGrant",
    "TCPRoute",
    "TLSRoute",
    "TLSRouteModeMixed",
    "TLSRouteModeTerminate",
    "UDPRoute",
)  # in the order of their letters, as the API wants them
EXPERIMENTAL = (
    "GatewayAddressRoutability",
    "GatewayAddressRoutabilityCluster",
    "HTTPRouteDestinationPortMatching",
    "GatewayListenerFilters",
)


def supported(world: World) -> tuple[str, ...]:
    """Name what is supported here: some of it the API has to have, too."""
    if not is_experimental(world):
        return SUPPORTED
    served = ("ClusterTrustBundle",) if world.fact(CLUSTER_TRUST_BUNDLES) else ()
    return tuple(sorted((*SUPPORTED, *EXPERIMENTAL, *served)))
