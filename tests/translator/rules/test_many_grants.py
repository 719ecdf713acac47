"""What a grant more or less costs where one namespace has many, and many refer to what is there."""

from collections.abc import Callable
from typing import Any

from legation.wanted import Wishes
from tests.poison.effort import grows_no_faster
from tests.translator.rules.changing import V1, changed, thing
from translator.names import Name
from translator.objects.kinds import Object, name_of
from translator.objects.reference_grant import ReferenceGrant

FEW = 50  # grants, and references, of which four times as many are tried
GATEWAYS = "gateway.networking.k8s.io"


def grant(number: int, to: str) -> Object:
    """Let routes and ListenerSets of `shop` refer to something else of a namespace."""
    sources = [
        {"group": GATEWAYS, "kind": each, "namespace": "shop"} for each in ("HTTPRoute", "ListenerSet")
    ]
    gifts: list[dict[str, Any]] = [{"group": "", "kind": kind, "name": to} for kind in ("Service", "Secret")]
    return thing(V1, "ReferenceGrant", f"n{number}", "vault", **{"from": sources, "to": gifts})


def route(number: int) -> Object:
    refs = [{"name": f"n{number}", "namespace": "vault", "port": 80}]
    parents = [{"name": "edge", "namespace": "infra"}]
    return thing(V1, "HTTPRoute", f"n{number}", parentRefs=parents, rules=[{"backendRefs": refs}])


def listener_set(number: int) -> Object:
    shown = {"certificateRefs": [{"name": f"n{number}", "namespace": "vault"}]}
    listener = {"name": "a", "port": 443, "protocol": "HTTPS", "tls": shown}
    return thing(V1, "ListenerSet", f"n{number}", parentRef={"name": "edge"}, listeners=[listener])


def test_a_grant_is_not_held_against_each_reference_into_its_namespace() -> None:
    def begin(many: int) -> Callable[[], object]:
        services = [thing("v1", "Service", f"n{n}", "vault", ports=[{"port": 80}]) for n in range(many)]
        grants = [grant(n, "elsewhere") for n in range(many)]
        _, translate = changed([*services, *grants, *map(route, range(many))], grant(1, "n1"))
        return translate

    assert grows_no_faster(begin, FEW)


def test_what_is_to_be_read_is_not_looked_for_among_all_pairs_of_grants_and_references() -> None:
    def begin(many: int) -> Callable[[], object]:
        wishes = Wishes()
        for each in (*(grant(n, "elsewhere") for n in range(many)), *map(listener_set, range(many))):
            wishes.note((type(each), name_of(each)), each)
        return lambda: wishes.note((ReferenceGrant, Name("vault", "n1")), grant(1, "n1"))

    assert grows_no_faster(begin, FEW)
