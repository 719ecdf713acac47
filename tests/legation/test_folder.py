"""What the files of a folder say together."""

import pytest

from legation.change import Put
from legation.folder import Folder, Reading, read
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_hops import PERMIT
from tests.legation.proofs.test_trust import config_map
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.provenance import FieldManager, TracedMeta
from translator.objects.service import Service

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
EDGE, STORE = Name("infra", "edge"), Name("shop", "store")
POLICY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation: {hostname: pay.internal, wellKnownCACertificates: 7}
"""


GOOD = POLICY.replace("7}", "System}")


def says(path: str, text: str) -> Reading:
    return read(text, path)


def ports(changes: tuple[Put, ...]) -> list[int]:
    gateways = [change.thing for change in changes if isinstance(change.thing, Gateway)]
    return [each.spec.listeners[0].port for each in gateways]


def generation(changes: tuple[Put, ...]) -> int:
    [change] = changes
    assert isinstance(change.thing, Gateway)
    return change.thing.metadata.generation


def test_the_file_is_who_wrote_what_is_told_of() -> None:
    folder = Folder()
    told = ("GatewayClass", "Gateway", "GatewayParameters", "ConfigMap", "Namespace", "BackendTLSPolicy")
    texts = [LEGATION_CLASS, gateway("edge", 80), PERMIT, config_map("roots"), NAMESPACE, GOOD]
    folder.take("shop.yaml", says("shop.yaml", together(*texts)))
    metadata = {each.kind.__name__: getattr(each.thing, "metadata", None) for each in folder.changes()}
    wrote = {kind: each.writer for kind, each in metadata.items() if isinstance(each, TracedMeta)}
    assert wrote == dict.fromkeys(told, FieldManager("shop.yaml", "File"))


def test_changes_come_by_kind_and_name_whatever_the_order_of_files() -> None:
    folder, again = Folder(), Folder()
    files = {"b.yaml": route("store", "store"), "a.yaml": together(service("store", 1), gateway("edge", 80))}
    for path, text in files.items():
        folder.take(path, says(path, text))
    for path, text in reversed(files.items()):
        again.take(path, says(path, text))
    changes = folder.changes()
    assert changes == again.changes()
    assert [change.kind.__name__ for change in changes] == [
        "EndpointSlice",
        "Gateway",
        "HTTPRoute",
        "Service",
    ]


def test_only_what_differs_is_told() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", together(gateway("edge", 80), service("store", 1))))
    folder.changes()
    folder.take("a.yaml", says("a.yaml", together(gateway("edge", 81), service("store", 1))))
    assert ports(folder.changes()) == [81]
    assert folder.changes() == ()


def test_a_generation_counts_the_edits_of_an_object() -> None:
    folder = Folder()
    seen = []
    for port in (80, 81, 80):
        folder.take("a.yaml", says("a.yaml", gateway("edge", port)))
        seen.append(generation(folder.changes()))
    assert seen == [1, 2, 3]


def test_an_edit_that_does_not_parse_keeps_the_file_as_it_was() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80)))
    folder.take("b.yaml", says("b.yaml", service("store", 1)))
    folder.changes()
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80) + "  bad: [\n"))
    folder.take("b.yaml", says("b.yaml", service("store", 2)))
    assert [change.kind.__name__ for change in folder.changes()] == ["EndpointSlice", "Service"]
    assert {problem.place.source for problem in folder.problems()} == {"a.yaml"}
    assert "kept as it was" in folder.problems()[-1].message
    assert not folder.is_unsafe()


def test_a_file_that_is_gone_takes_its_objects_along() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80)))
    folder.changes()
    folder.drop("a.yaml")
    assert folder.changes() == (Put(Gateway, EDGE, None),)


def test_an_object_in_two_files_is_the_first_files_and_both_are_named() -> None:
    folder = Folder()
    folder.take("b.yaml", says("b.yaml", gateway("edge", 81)))
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80)))
    assert ports(folder.changes()) == [80]
    [problem] = folder.problems()
    assert (problem.place.source, "a.yaml" in problem.message) == ("b.yaml", True)
    folder.drop("a.yaml")
    assert ports(folder.changes()) == [81]
    assert folder.problems() == ()


def test_an_object_twice_in_one_file_is_the_first() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", together(gateway("edge", 80), gateway("edge", 81))))
    assert ports(folder.changes()) == [80]
    [problem] = folder.problems()
    assert problem.place.document == 2


def test_a_new_file_gives_what_could_be_read_of_it() -> None:
    folder = Folder()
    bad = route("store", "store").replace("hostnames: [shop.example]", "hostnames: 7")
    folder.take("a.yaml", says("a.yaml", together(gateway("edge", 80), bad)))
    assert [change.kind for change in folder.changes()] == [Gateway]
    assert not folder.is_unsafe()


HIDDEN = POLICY.replace("name: pay}]", "name: 7}]")  # a policy whose target nobody can read


def test_a_policy_that_cannot_be_read_fails_its_targets_and_nothing_else() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", together(gateway("edge", 80), POLICY)))
    assert [change.kind for change in folder.changes()] == [BackendTLSPolicy, Gateway]
    assert not folder.is_unsafe()
    assert [problem.path for problem in folder.problems()] == ["spec.validation.wellKnownCACertificates"]


def test_a_new_file_that_says_nothing_of_policies_holds_nothing_back() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80)))
    folder.take("b.yaml", says("b.yaml", "kind: ["))
    assert ports(folder.changes()) == [80]
    assert not folder.is_unsafe()


ASTRAY = POLICY.replace("gateway.networking.k8s.io", "networking.k8s.io")  # nobody's, as it says


@pytest.mark.parametrize(
    "text", [HIDDEN, ASTRAY, "kind: [BackendTLSPolicy", together(service("pay", 1), HIDDEN)]
)
def test_a_new_file_that_may_hide_a_policy_is_unsafe_until_it_is_removed(text: str) -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", text))
    assert folder.is_unsafe()
    assert "until it is repaired" in folder.problems()[-1].message
    folder.drop("a.yaml")
    assert not folder.is_unsafe()


def test_a_new_file_that_may_hide_a_policy_is_unsafe_until_it_is_repaired() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", HIDDEN))
    folder.take("a.yaml", says("a.yaml", POLICY.replace("7", "System")))
    assert not folder.is_unsafe()
    assert folder.problems() == ()


def test_a_new_file_that_hides_a_policy_says_so_after_each_edit_until_it_hides_none() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", together(service("pay", 1), HIDDEN)))
    folder.take("a.yaml", says("a.yaml", together(service("pay", 2), HIDDEN)))
    assert folder.is_unsafe()
    assert "until it is repaired" in folder.problems()[-1].message
    folder.take("a.yaml", says("a.yaml", together(service("pay", 3), gateway("edge", 80), "kind: [")))
    assert not folder.is_unsafe()
    assert ports(folder.changes()) == [80]


def test_a_kind_that_is_not_for_us_is_passed_over_without_harm() -> None:
    folder = Folder()
    deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: store, namespace: shop}\n"
    folder.take("a.yaml", says("a.yaml", gateway("edge", 80)))
    folder.changes()
    folder.take("a.yaml", says("a.yaml", together(deployment, gateway("edge", 81))))
    assert ports(folder.changes()) == [81]
    assert [problem.severity for problem in folder.problems()] == ["note"]
    assert not folder.is_unsafe()


def test_a_broken_edit_of_a_policy_that_was_read_before_is_safe() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", POLICY.replace("7", "System")))
    folder.take("a.yaml", says("a.yaml", POLICY))
    assert not folder.is_unsafe()
    assert len(folder.changes()) == 1


def test_what_a_file_said_moves_to_another_file_without_a_change() -> None:
    folder = Folder()
    folder.take("a.yaml", says("a.yaml", service("store", 1)))
    folder.changes()
    folder.drop("a.yaml")
    folder.take("b.yaml", says("b.yaml", service("store", 1)))
    assert folder.changes() == ()
    folder.drop("b.yaml")
    assert {change.kind for change in folder.changes()} >= {Service}
    assert HTTPRoute not in {change.kind for change in folder.changes()}
