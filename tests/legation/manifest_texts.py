"""Manifests that tests write into files."""

LEGATION_CLASS = """\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: legation}
spec: {controllerName: legation.dev/gateway-controller}
"""


def gateway(name: str, *ports: int, protocol: str = "HTTP") -> str:
    """A Gateway in namespace infra, with one listener for each port that admits every route."""
    listeners = "".join(
        f"  - {{name: p{port}, port: {port}, protocol: {protocol}, "
        "allowedRoutes: {namespaces: {from: All}}}\n"
        for port in ports
    )
    return f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: {name}, namespace: infra}}
spec:
  gatewayClassName: legation
  listeners:
{listeners}"""


def route(name: str, service: str, *, host: str = "shop.example", parent: str = "edge") -> str:
    """An HTTPRoute in namespace shop that sends everything for a host to one Service."""
    return f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {name}, namespace: shop}}
spec:
  parentRefs: [{{name: {parent}, namespace: infra}}]
  hostnames: [{host}]
  rules:
  - backendRefs: [{{name: {service}, port: 80}}]
"""


def service(name: str, port: int) -> str:
    """A Service in namespace shop, whose one endpoint is a port on loopback."""
    return f"""\
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: shop}}
spec:
  ports: [{{name: http, port: 80, targetPort: {port}}}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, namespace: shop, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{name: http, port: {port}}}]
endpoints: [{{addresses: [127.0.0.1]}}]
"""


def together(*manifests: str) -> str:
    """Several manifests in one file."""
    return "---\n".join(manifests)
