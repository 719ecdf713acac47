"""Reads manifests into objects as strictly as an API server; says where a mistake is, and what to do."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Literal

import msgspec
from msgspec import Struct

from legation.stand_ins import stand_in
from legation.yaml_documents import Broken, Document, read_documents
from translator.names import Name, Ref
from translator.objects.admission.admit import MOST_FINDINGS, admit
from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import join
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.kinds import KINDS, LEGATION_GROUP, KindInfo, Object, find_kind, ref_of
from translator.objects.references import GATEWAY_GROUP
from translator.objects.secret import Secret
from translator.objects.x_backend import X_GROUP, X_UNHONOURED

_OUR_GROUPS = (GATEWAY_GROUP, LEGATION_GROUP)
_DEFAULT_NAMESPACE = "default"
_POLICY = BackendTLSPolicy.__name__
_OF_KUSTOMIZE = ("kustomization.yaml", "kustomization.yml")

MOST_PROBLEMS = 1_000  # of a file and of each severity that are told: nobody reads more


class Place(Struct, frozen=True):
    """Where something was written: a file and a document in it, counted from 1."""

    source: str
    document: int

    def __str__(self) -> str:
        """As people say it: `shop.yaml, document 2`."""
        return f"{self.source}, document {self.document}"


class Loaded(Struct, frozen=True):
    """An object, and where it was written."""

    thing: Object
    place: Place


class Problem(Struct, frozen=True):
    """Something wrong with a manifest, what it is about as far as that is known, and the remedy.

    A note is no mistake: it names what was passed over. What is idle was read, and nothing comes of it.
    """

    place: Place
    message: str
    about: Ref | None = None
    path: str = ""
    severity: Literal["error", "idle", "note"] = "error"

    def __str__(self) -> str:
        """As a terminal shows it: the place, the object, the field, the sentence."""
        about = f"{self.about}: " if self.about else ""
        path = f"{self.path} " if self.path else ""
        return f"{self.place}: {about}{path}{self.message}"


class _Manifest(Struct, frozen=True):
    """One object as it was written, in a document of its own or in a List."""

    fields: Mapping[str, object]
    place: Place
    path: str = ""

    @property
    def about(self) -> Ref | None:
        """Say which object this is, as far as it says so itself."""
        kind, metadata = self.fields.get("kind"), self.fields.get("metadata")
        if not isinstance(kind, str) or not isinstance(metadata, dict):
            return None
        name, namespace = metadata.get("name"), metadata.get("namespace")
        known = isinstance(name, str)
        return Ref(shortened(kind), Name(_text(namespace), shortened(str(name)))) if known else None

    def problem(self, message: str, path: str = "") -> Problem:
        """Find fault with a field of it, or with the whole."""
        return Problem(self.place, message, self.about, path or self.path)


def read_manifests(text: str, source: str) -> tuple[tuple[Loaded, ...], tuple[Problem, ...]]:
    """Read every object of a file, and all that is wrong with it; what is wrong harms nothing else."""
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    for document in read_documents(text):
        for outcome in _outcomes(document, source):
            if isinstance(outcome, Loaded):
                loaded.append(outcome)
            else:
                problems.append(outcome)
    unique, repeated = without_duplicates(loaded)
    return unique, _bounded((*problems, *repeated))


def _bounded(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Leave out what nobody would read; of mistakes that are left out, nobody knows what they hide."""
    if len(problems) <= MOST_PROBLEMS:
        return problems
    kept = list[Problem]()
    for severity in ("error", "idle", "note"):
        alike = [each for each in problems if each.severity == severity]
        kept += alike[:MOST_PROBLEMS]
        if more := alike[MOST_PROBLEMS:]:  # the last may be about the end of the file
            message = f"{len(more)} more like these are in this file: mend these first"
            kept += (msgspec.structs.replace(more[0], message=message, about=None, path=""), more[-1])
    return tuple(kept)


def without_duplicates(loaded: Iterable[Loaded]) -> tuple[tuple[Loaded, ...], tuple[Problem, ...]]:
    """Keep the first of the objects with the same kind, namespace and name; name the places of the others."""
    first: dict[Ref, Loaded] = {}
    problems = []
    for one in loaded:
        about = ref_of(one.thing)
        earlier = first.setdefault(about, one)
        if earlier is not one:
            problems.append(Problem(one.place, f"is there already, in {earlier.place}: remove one", about))
    return tuple(first.values()), tuple(problems)


def _outcomes(document: Document | Broken, source: str) -> Iterator[Loaded | Problem]:
    place = Place(source, document.number)
    if isinstance(document, Broken):
        yield Problem(place, document.message)
        return
    if not isinstance(document.value, dict):
        yield Problem(place, "is no manifest: it needs apiVersion, kind and metadata")
        return
    manifest = _Manifest(document.value, place)
    for path, line in document.repeated:
        yield manifest.problem(f"is there twice, again in line {line}: remove one", path)
    if not document.repeated:
        yield from _of_manifest(manifest)


def _of_manifest(manifest: _Manifest) -> Iterator[Loaded | Problem]:
    """Read one object, or all of a List."""
    items = manifest.fields.get("items")
    if manifest.fields.get("kind") != "List" or manifest.fields.get("apiVersion") != "v1":
        yield from _of_object(manifest)
    elif not isinstance(items, list):
        yield manifest.problem("must be a list of objects", "items")
    else:
        for index, item in enumerate(items):
            path = f"items[{index}]"
            if isinstance(item, dict):
                yield from _of_object(_Manifest(item, manifest.place, path))
            else:
                yield manifest.problem("must be an object, with apiVersion, kind and metadata", path)


def _of_object(manifest: _Manifest) -> Iterator[Loaded | Problem]:
    api_version, kind = manifest.fields.get("apiVersion"), manifest.fields.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        yield _of_no_kind(manifest)
        return
    info = find_kind(api_version, kind)
    if info is None:
        yield _of_unknown(manifest, api_version, kind)
        return
    answer = admit(manifest.fields, info)
    if isinstance(answer, tuple):
        for finding in answer:
            yield manifest.problem(finding.message, join(manifest.path, finding.path))
        if len(answer) >= MOST_FINDINGS:
            yield manifest.problem("may have more mistakes: mend these first")
        if info.type is BackendTLSPolicy and (substitute := stand_in(manifest.fields)) is not None:
            yield Loaded(settled(substitute, info), manifest.place)
    else:
        yield Loaded(settled(answer, info), manifest.place)


def _of_no_kind(manifest: _Manifest) -> Problem:
    """Pass over what kustomize knows by its file's name; from everybody else it is a mistake."""
    file = manifest.place.source.rpartition("/")[2]
    if file in _OF_KUSTOMIZE and not {"apiVersion", "kind"} & manifest.fields.keys():
        message = "is passed over: it is for kustomize; `kustomize build` prints what it makes of these files"
        return msgspec.structs.replace(manifest.problem(message), severity="note")
    return manifest.problem("is no manifest: it needs apiVersion and kind, both as text")


def _of_unknown(manifest: _Manifest, api_version: str, kind: str) -> Problem:
    """Pass over what belongs to others; in our groups, and of our kinds, say what was probably meant."""
    group, _, version = api_version.rpartition("/")
    versions = [v for info in KINDS if (info.group, info.kind) == (group, kind) for v in info.versions]
    if versions:
        served = " and ".join(versions)
        return manifest.problem(
            f"has no version {shortened(version)}: {kind} is read in {served}", "apiVersion"
        )
    if group in _OUR_GROUPS:
        kinds = [info.kind for info in KINDS if info.group == group]
        near = get_close_matches(shortened(kind), kinds, n=1)
        meant = f"did you mean {near[0]}?" if near else f"it has {', '.join(kinds)}"
        return manifest.problem(f"is no kind of {group}; {meant}", "kind")
    if kind.lower() == _POLICY.lower():  # which nobody else has, and without it there would be no TLS
        return manifest.problem(f"is of no group that is read: {_POLICY} is of {GATEWAY_GROUP}", "apiVersion")
    if group == X_GROUP and kind in X_UNHONOURED:
        idle = manifest.problem(f"nothing comes of it: {kind} is not honoured")
        return msgspec.structs.replace(idle, severity="idle")
    message = f"is passed over: {shortened(kind)} of {shortened(api_version)} is not read by gateways"
    return msgspec.structs.replace(manifest.problem(message), severity="note")


def settled(thing: Object, info: KindInfo) -> Object:
    """Give an object the namespace it has in effect, and a Secret its plain values among the others."""
    namespace = (thing.metadata.namespace or _DEFAULT_NAMESPACE) if info.namespaced else ""
    metadata = msgspec.structs.replace(thing.metadata, namespace=namespace)
    if isinstance(thing, Secret):
        plain = {key: base64.b64encode(text.encode()).decode() for key, text in thing.string_data.items()}
        return msgspec.structs.replace(thing, metadata=metadata, data={**thing.data, **plain}, string_data={})
    return msgspec.structs.replace(thing, metadata=metadata)


def _text(value: object) -> str:
    return shortened(value) if isinstance(value, str) else ""
