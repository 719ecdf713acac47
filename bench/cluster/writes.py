"""How often statuses were written, as the API server itself counts the requests."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

COUNTED = "apiserver_request_total"
WRITING = frozenset({"APPLY", "PATCH", "PUT"})
GATEWAYS, ROUTES, POLICIES = "gateways", "httproutes", "backendtlspolicies"


def status_writes(metrics: str) -> Mapping[str, int]:
    """Read from its metrics how often statuses were written, or tried to be, of what a run makes."""
    lines = "".join(f"{line}\n" for line in metrics.splitlines() if line.startswith(f"{COUNTED}{{"))
    counted = dict.fromkeys((ROUTES, GATEWAYS, POLICIES), 0)
    for family in text_string_to_metric_families(lines):
        for each in family.samples:
            resource = each.labels["resource"]
            if resource in counted and each.labels["subresource"] == "status":
                counted[resource] += int(each.value) * (each.labels["verb"] in WRITING)
    return counted


def since(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, int]:
    """Count what was written meanwhile."""
    return {resource: count - before[resource] for resource, count in after.items()}
