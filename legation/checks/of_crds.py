"""Which kinds a cluster does not serve as Gateways need them: missing, of another release, or too old."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct, field

from k8s_watch.answers import Failed, Item
from k8s_watch.api_server import ApiServer
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import NOT_FOUND
from k8s_watch.reader import Reader, Where
from legation import crds
from legation.checks.findings import Finding, of_check
from legation.checks.table import CLUSTER
from legation.unasked import NOT_ASKED, UnaskedError
from translator.advice.checks import REMARK, Check
from translator.objects.admission.shape import ListShape, RecordShape, Shape, shape_of
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.kinds import KINDS, LEGATION_GROUP, KindInfo
from translator.objects.references import GATEWAY_GROUP
from translator.rules.bundles import KNOWN, SUPPORTED, UNMARKED
from translator.verdict import listed

UNSERVED = Check(
    "crd-missing",
    CLUSTER,
    "a kind that Gateways need, and that the cluster does not serve",
    f"install the CRDs of Gateway API {SUPPORTED} and, for GatewayParameters, those of the chart",
)
OLD = Check(
    "crd-old",
    CLUSTER,
    "CRDs of another release than the supported one, or ours without fields that it has now",
    f"install the CRDs of Gateway API {SUPPORTED}, and renew ours with the command of docs/install.md",
)
MIXED = Check(
    "crd-channels-mixed",
    REMARK,
    "CRDs of Gateway API of which some are of one channel and some of another",
    "install all of them from one channel: the one file of a release",
)
CHECKS = (UNSERVED, OLD, MIXED)

OWN_CRD = f"gatewayparameters.{LEGATION_GROUP}"
_CRDS = Where(Kind(crds.GROUP, ("v1",), crds.PLURAL, object, namespaced=False), f"{crds.GROUP}/v1")
# Of the groups that everything is served by; those that a cluster may lack have no finding.
NEEDED = tuple(info for info in KINDS if info.group in (GATEWAY_GROUP, LEGATION_GROUP))


class _Metadata(Struct, frozen=True):
    name: str
    annotations: Mapping[str, str] = field(default_factory=dict)


class _Schema(Struct, frozen=True):
    properties: "Mapping[str, _Schema]" = field(default_factory=dict)
    items: "_Schema | None" = None


class _Holder(Struct, frozen=True, rename={"schema": "openAPIV3Schema"}):
    schema: _Schema = _Schema()


class _Version(Struct, frozen=True):
    schema: _Holder = _Holder()


class _CrdSpec(Struct, frozen=True):
    versions: tuple[_Version, ...] = ()


class _Crd(Struct, frozen=True):
    metadata: _Metadata
    spec: _CrdSpec


async def of_crds(server: ApiServer) -> AsyncIterator[Finding]:
    """Tell of kinds that are not served, or not as they should be."""
    reader = Reader(server)
    try:
        for info in NEEDED:
            versions = await _served(reader, info)
            if versions is None:
                name = f"CustomResourceDefinition {info.plural}.{info.group}"
                message = f"{info.kind} is served in none of {', '.join(info.versions)}"
                yield of_check(UNSERVED, name, "", message)
        there = [each for name in (*crds.NAMES, OWN_CRD) if (each := await _definition(reader, name))]
    except UnaskedError as error:
        yield of_check(NOT_ASKED, "", "", str(error))
        return
    for finding in (*_releases(there), *_channels(there), *_own(there)):
        yield finding


async def _served(reader: Reader, info: KindInfo) -> str | None:
    found = await reader.find(Kind(info.group, info.versions, info.plural, object))
    if isinstance(found, Failed):
        raise UnaskedError(found, f"which kinds {info.group} has")
    return found.api_version


async def _definition(reader: Reader, name: str) -> _Crd | None:
    match await reader.get(_CRDS, ObjectName("", name)):
        case Item(body=body):
            return msgspec.json.decode(body, type=_Crd)
        case Failed(code=code) if code == NOT_FOUND:
            return None
        case Failed() as failed:
            raise UnaskedError(failed, "CustomResourceDefinitions")


def _releases(there: Iterable[_Crd]) -> Iterator[Finding]:
    """Tell of releases of Gateway API that are not the supported one, each once."""
    others: dict[str, list[str]] = {}
    for each in there:
        version = each.metadata.annotations.get(crds.VERSION, "")
        if each.metadata.name != OWN_CRD and not KNOWN.fullmatch(version):
            others.setdefault(version or UNMARKED, []).append(each.metadata.name)
    for version, names in sorted(others.items()):
        message = f"{listed(names)}: of {version}, where {SUPPORTED} is supported"
        yield of_check(OLD, f"CustomResourceDefinition {names[0]}", _annotation(crds.VERSION), message)


def _channels(there: Iterable[_Crd]) -> Iterator[Finding]:
    channels: dict[str, list[str]] = {}
    for each in there:
        if (channel := each.metadata.annotations.get(crds.CHANNEL)) is not None:
            channels.setdefault(channel, []).append(each.metadata.name)
    if len(channels) > 1:
        message = "; ".join(f"{channel}: {listed(names)}" for channel, names in sorted(channels.items()))
        first = min(names[0] for names in channels.values())
        yield of_check(MIXED, f"CustomResourceDefinition {first}", _annotation(crds.CHANNEL), message)


def _own(there: Iterable[_Crd]) -> Iterator[Finding]:
    """Tell of fields of GatewayParameters that the cluster's definition does not have."""
    for each in there:
        if each.metadata.name == OWN_CRD:
            specs = [
                version.schema.schema.properties.get("spec", _Schema()) for version in each.spec.versions
            ]
            lacked = [
                path for spec in specs for path in _lacked("spec", shape_of(GatewayParametersSpec), spec)
            ]
            if lacked:
                message = f"it has no {listed(lacked)}: whoever sets them is refused, or not heard"
                yield of_check(OLD, f"CustomResourceDefinition {OWN_CRD}", lacked[0], message)


def _lacked(path: str, shape: Shape, schema: _Schema) -> Iterator[str]:
    """Name the fields that we read and a schema does not have, without those below them."""
    inner = shape.item if isinstance(shape, ListShape) else shape
    known = (schema.items or _Schema()) if isinstance(shape, ListShape) else schema
    if isinstance(inner, RecordShape):
        for name, each in inner.fields.items():
            if name in known.properties:
                yield from _lacked(f"{path}.{name}", each.shape, known.properties[name])
            else:
                yield f"{path}.{name}"


def _annotation(key: str) -> str:
    return f"metadata.annotations[{key}]"
