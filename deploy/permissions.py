"""Writes the rules of the chart's roles out of the control plane's own table of what it may do."""

from collections.abc import Iterable
from pathlib import Path

from legation.permissions import (
    Permission,
    of_cluster,
    of_default_namespace,
    of_namespaces,
    of_own_namespace,
)
from legation.yaml_text import yaml_text

CHART = Path(__file__).parent / "helm" / "legation"
FILE = CHART / "files" / "permissions.yaml"
PREFACE = """# Made by `make chart` from legation/permissions.py, not by hand.
# cluster: of objects without a namespace; default: in the namespace where Events about them lie; managed and
# external: wherever Gateways and backends may be, with proxies that are run for them or without; ownManaged
# and ownExternal: where the control plane runs.
"""


def text() -> str:
    """Write the file that the chart's templates read."""
    scopes = {
        "cluster": of_cluster(),
        "default": of_default_namespace(),
        "managed": of_namespaces(managed=True),
        "external": of_namespaces(managed=False),
        "ownManaged": of_own_namespace(managed=True),
        "ownExternal": of_own_namespace(managed=False),
    }
    return PREFACE + yaml_text({scope: _rules(permissions) for scope, permissions in scopes.items()})


def _rules(permissions: Iterable[Permission]) -> list[dict[str, object]]:
    return [permission.rule() for permission in permissions]


if __name__ == "__main__":
    FILE.write_text(text())
