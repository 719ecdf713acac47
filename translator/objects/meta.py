"""What every Kubernetes object carries, and how labels select it."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar

from msgspec import Struct, field

from translator.objects.scalars import LABEL_VALUE, QUALIFIED_NAME


class Part(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A piece of a Kubernetes object: immutable, compared by value, written in camel case in JSON."""

    #: Fields that Kubernetes knows and no gateway reads; a manifest may have them.
    also: ClassVar[frozenset[str]] = frozenset()


class ObjectMeta(Part, frozen=True):
    """Who an object is, and since when."""

    also: ClassVar[frozenset[str]] = frozenset({
        "deletionGracePeriodSeconds",
        "finalizers",
        "generateName",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
    })  # fmt: skip

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class LabelSelectorRequirement(Part, frozen=True):
    """One demand on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether these labels meet the demand; one that Kubernetes would not take is met by none."""
        if not self._is_taken():
            return False
        value = labels.get(self.key)
        answers = {
            "In": value is not None and value in self.values,
            "NotIn": value is None or value not in self.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        return answers.get(self.operator, False)

    def _is_taken(self) -> bool:
        """Say whether it is a demand: `NotIn` without values, or of no label, would be met by everything."""
        is_complete = bool(self.values) is (self.operator in ("In", "NotIn"))
        is_a_label = QUALIFIED_NAME.fullmatch(self.key) is not None
        return is_complete and is_a_label and all(map(LABEL_VALUE.fullmatch, self.values))


class LabelSelector(Part, frozen=True):
    """Demands on labels that must all be met; without any, every object is selected."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether an object with these labels is selected."""
        equal = all(labels.get(key) == value for key, value in self.match_labels.items())
        return equal and all(demand.matches(labels) for demand in self.match_expressions)
