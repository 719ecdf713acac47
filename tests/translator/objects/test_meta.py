"""Labels, and what selects them."""

import pytest

from translator.objects.meta import LabelSelector, LabelSelectorRequirement

LABELS = {"app": "shop", "tier": "front"}


@pytest.mark.parametrize(
    ("demand", "met"),
    [
        (LabelSelectorRequirement("app", "In", ("shop", "pay")), True),
        (LabelSelectorRequirement("app", "In", ("pay",)), False),
        (LabelSelectorRequirement("zone", "In", ("a",)), False),
        (LabelSelectorRequirement("app", "NotIn", ("shop",)), False),
        (LabelSelectorRequirement("app", "NotIn", ("pay",)), True),
        (LabelSelectorRequirement("zone", "NotIn", ("a",)), True),
        (LabelSelectorRequirement("app", "Exists"), True),
        (LabelSelectorRequirement("zone", "Exists"), False),
        (LabelSelectorRequirement("app", "DoesNotExist"), False),
        (LabelSelectorRequirement("zone", "DoesNotExist"), True),
        (LabelSelectorRequirement("app", "Like", ("shop",)), False),
        (LabelSelectorRequirement("app", "Like"), False),
        (LabelSelectorRequirement("app", "In"), False),
        (LabelSelectorRequirement("zone", "NotIn"), False),
        (LabelSelectorRequirement("zone", "NotIn", ("a b",)), False),
        (LabelSelectorRequirement("no label", "NotIn", ("a",)), False),
        (LabelSelectorRequirement("app", "Exists", ("shop",)), False),
        (LabelSelectorRequirement("zone", "DoesNotExist", ("a",)), False),
        (LabelSelectorRequirement("no label", "DoesNotExist"), False),
    ],
)
def test_a_demand_is_met_as_its_operator_says(demand: LabelSelectorRequirement, *, met: bool) -> None:
    assert LabelSelector(match_expressions=(demand,)).matches(LABELS) is met


def test_all_demands_must_be_met() -> None:
    both = (LabelSelectorRequirement("app", "Exists"), LabelSelectorRequirement("zone", "Exists"))
    assert not LabelSelector(match_expressions=both).matches(LABELS)
    assert LabelSelector({"app": "shop", "tier": "front"}).matches(LABELS)
    assert not LabelSelector({"app": "shop", "tier": "back"}).matches(LABELS)


def test_without_a_demand_everything_is_selected() -> None:
    assert LabelSelector().matches({})
