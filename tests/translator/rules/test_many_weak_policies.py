"""What one change costs where many policies leave something out of the proof, or have no room to say so."""

from collections.abc import Callable, Iterable

from tests.poison.effort import grows_no_faster
from tests.translator.rules.changing import V1, changed, thing
from translator.objects.kinds import Object

FEW = 160  # policies, of which four times as many are tried: of less, other things cost more
FEW_GATEWAYS = 20  # more than a policy's status has room for
RIVALS = 40
SKIP = {"legation.dev/verification-mode": "SkipHostname"}


def service(number: int) -> Object:
    return thing("v1", "Service", f"n{number}", ports=[{"name": "a", "port": 80}])


def weak(number: int, to: int) -> Object:
    """Return a policy that has a Service prove no name."""
    target = {"group": "", "kind": "Service", "name": f"n{to}"}
    proof = {"hostname": "pay.test", "wellKnownCACertificates": "System"}
    return thing(V1, "BackendTLSPolicy", f"n{number}", targetRefs=[target], validation=proof, options=SKIP)


def route(number: int, to: int, *gateways: str) -> Object:
    """Return a route for one host to one of these Services."""
    refs = [{"name": f"n{to}", "port": 80}]
    parents = [{"name": each, "namespace": "infra"} for each in gateways or ("edge",)]
    return thing(
        V1,
        "HTTPRoute",
        f"n{number}",
        parentRefs=parents,
        hostnames=[f"n{number}.shop.test"],
        rules=[{"backendRefs": refs}],
    )


def gateway(name: str) -> Object:
    """Return a Gateway that is permitted to prove less."""
    ref = {"group": "legation.dev", "kind": "GatewayParameters", "name": "lenient"}
    listener = {
        "name": "http",
        "port": 80,
        "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    asked = {"parametersRef": ref}
    return thing(
        V1, "Gateway", name, "infra", gatewayClassName="legation", infrastructure=asked, listeners=[listener]
    )


def change(here: Iterable[Object], after: Object) -> Callable[[], object]:
    """Have something change in a world where less may be proved."""
    says = {"backendTLS": {"insecureVerification": "Permit"}}
    permission = thing("legation.dev/v1alpha1", "GatewayParameters", "lenient", "infra", **says)
    made, translate = changed([permission, *here], after)
    assert any("VerificationDegraded" in str(each) for each in made.statuses.values())
    return translate


def test_what_proves_less_is_not_held_against_each_policy_that_asked_for_it() -> None:
    def begin(many: int) -> Callable[[], object]:
        numbers = range(many)
        each_its_own = (made for n in numbers for made in (service(n), weak(n, n), route(n, n)))
        return change([gateway("edge"), *each_its_own], route(1, 2))

    assert grows_no_faster(begin, FEW)


def test_policies_without_room_are_not_held_against_each_gateway() -> None:
    def begin(many: int) -> Callable[[], object]:
        names = [f"g{n}" for n in range(many)]
        leading = [route(n, 0, *names[32 * n : 32 * (n + 1)]) for n in range((many + 31) // 32)]
        here = [*map(gateway, names), service(0), *(weak(n, 0) for n in range(RIVALS)), *leading]
        return change(here, weak(RIVALS, 0))

    assert grows_no_faster(begin, FEW_GATEWAYS)
