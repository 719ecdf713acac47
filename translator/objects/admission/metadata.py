"""Names, labels and annotations, which Kubernetes judges alike for every kind."""

from collections.abc import Callable, Iterator
from typing import Protocol

from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import Finding, rules_of
from translator.objects.meta import ObjectMeta
from translator.objects.provenance import AnnotatedMeta, LabelledMeta, TracedMeta
from translator.objects.scalars import DNS_DOMAIN, DNS_LABEL, LABEL_VALUE, QUALIFIED_NAME

_LONGEST_LABEL = 63
LONGEST_DOMAIN = 253
_MOST_ANNOTATIONS = 256 * 1024


def is_label(text: str) -> bool:
    """Say whether a text is one label of a DNS name."""
    return len(text) <= _LONGEST_LABEL and DNS_LABEL.fullmatch(text) is not None


def is_service_name(text: str) -> bool:
    """Say whether a text can name a Service: a DNS label that begins with a letter."""
    return is_label(text) and not text[0].isdigit()


def is_domain(text: str) -> bool:
    """Say whether a text is a DNS name."""
    return len(text) <= LONGEST_DOMAIN and DNS_DOMAIN.fullmatch(text) is not None


def is_qualified(text: str) -> bool:
    """Say whether a text can be the key of a label: a name, perhaps with a domain in front."""
    prefix, slash, _ = text.rpartition("/")
    short = len(text) <= LONGEST_DOMAIN + 1 + _LONGEST_LABEL and (not slash or len(prefix) <= LONGEST_DOMAIN)
    return short and QUALIFIED_NAME.fullmatch(text) is not None


class Named(Protocol):
    """An object of any kind."""

    @property
    def metadata(self) -> ObjectMeta:
        """Who the object is."""


def named(
    allows: Callable[[str], bool], means: str, longest: int = _LONGEST_LABEL
) -> Callable[[Named], Iterator[Finding]]:
    """Make the rule for the names of a kind."""

    def rule(thing: Named) -> Iterator[Finding]:
        if not allows(thing.metadata.name):
            yield Finding("metadata.name", _refused(thing.metadata.name, means, longest))

    return rule


def _refused(text: str, means: str, longest: int) -> str:
    """Say what a name must be; of one that is too long the length, for its end is not shown."""
    if len(text) > longest:
        return f'must have at most {longest} characters, and has {len(text)}: "{shortened(text)}"'
    return f'must be {means}, and is "{shortened(text)}"'


def namespace_is_a_label(meta: ObjectMeta) -> Iterator[Finding]:
    """Refuse a namespace that no Namespace can have as its name."""
    if meta.namespace and not is_label(meta.namespace):
        means = "lower-case letters, digits and inner hyphens"
        yield Finding("namespace", _refused(meta.namespace, means, _LONGEST_LABEL))


def labels_are_well_formed(meta: ObjectMeta) -> Iterator[Finding]:
    """Refuse keys and values that no selector could ask for."""
    for key, value in meta.labels.items():
        at = f"labels[{shortened(key)}]"
        if not is_qualified(key):
            yield Finding(at, "must have a key such as app or example.com/app")
        if len(value) > _LONGEST_LABEL or not LABEL_VALUE.fullmatch(value):
            yield Finding(
                at, "must be at most 63 letters, digits and inner -, _ and .; else use an annotation"
            )


def annotations_are_well_formed(meta: ObjectMeta) -> Iterator[Finding]:
    """Refuse keys of the wrong form, and more text than Kubernetes keeps."""
    for key in meta.annotations:
        if not is_qualified(key.lower()):
            yield Finding(
                f"annotations[{shortened(key)}]", "must have a key such as note or example.com/note"
            )
    size = sum(len(key.encode()) + len(value.encode()) for key, value in meta.annotations.items())
    if size > _MOST_ANNOTATIONS:
        yield Finding("annotations", f"must have at most {_MOST_ANNOTATIONS} bytes, and have {size}")


def generation_is_not_negative(meta: ObjectMeta) -> Iterator[Finding]:
    """Refuse a generation that nothing can count to."""
    if meta.generation < 0:
        yield Finding("generation", "must not be negative: leave it out, the API server counts it")


CHECKS = tuple(
    rules_of(
        kind,
        namespace_is_a_label,
        labels_are_well_formed,
        annotations_are_well_formed,
        generation_is_not_negative,
    )
    for kind in (ObjectMeta, TracedMeta, LabelledMeta, AnnotatedMeta)
)
