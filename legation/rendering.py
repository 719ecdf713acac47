"""What Envoys would be sent, Gateway by Gateway, for people."""

from collections.abc import Mapping
from types import MappingProxyType

from translator.envoy.plain import plain
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Snapshot

SECTIONS = MappingProxyType({
    "listeners": LDS,
    "routes": RDS,
    "clusters": CDS,
    "endpoints": EDS,
    "secrets": SDS,
})  # fmt: skip


def rendered(snapshots: Mapping[str, Snapshot]) -> dict[str, object]:
    """Write every Gateway's resources, by Envoy's names for the types, sorted."""
    return {"gateways": {group: _sections(snapshots[group]) for group in sorted(snapshots)}}


def _sections(snapshot: Snapshot) -> dict[str, object]:
    return {
        title: [plain(type_url, entry.resource.body) for _, entry in sorted(named.items())]
        for title, type_url in SECTIONS.items()
        if (named := snapshot.entries[type_url])
    }
