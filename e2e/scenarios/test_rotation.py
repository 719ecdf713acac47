"""Trust is rotated under traffic: that in backends, and that between Envoys and the control plane."""

import json
import re
from datetime import UTC, datetime, timedelta
from urllib.request import urlopen

import msgspec

from e2e.kubectl import eventually, kubectl
from e2e.scenarios.backend import Backend
from e2e.scenarios.pods import Pod
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import EDGE, Shop, visited
from e2e.scenarios.traffic import ENOUGH
from legation.channel.authority import Credential, Lifetime, make_root, vouches
from legation.channel.identity_secrets import authority_secret, leaf_of, roots_of
from legation.permissions import AUTHORITY
from legation.proxies.managed import PROBES
from legation.proxies.probed import METRICS
from tests.pki import Authority
from translator.names import Name
from translator.objects.secret import Secret
from translator.rules.identities import REVOKED_BEFORE

TAKEN = "envoy_sds_update_success"
UNAVAILABLE = 503


def taken(shop: Shop, secret: str) -> list[int]:
    """Read how often each of the proxies has taken a secret of this name."""
    sample = re.compile(rf'^{TAKEN}{{envoy_xds_resource_name="{secret}"}} (\d+)$', re.MULTILINE)
    return [int(sample.findall(statistics(pod))[0]) for pod in shop.proxies.ready(REPLICAS)]


def statistics(pod: Pod) -> str:
    """Read what an Envoy counts."""
    with urlopen(f"http://{pod.address}:{PROBES}{METRICS}", timeout=10) as answer:
        return str(answer.read().decode())


def test_a_backends_authority_is_replaced_by_one_push_for_each_step_and_no_connection_ends(
    release: Release, shop: Shop
) -> None:
    first, second = Authority("first"), Authority("second")
    backend = Backend("shop", first)
    with visited(shop, backend) as traffic:
        trust = f"trust/{shop.namespace}/{backend.name}"
        begun = eventually(lambda: taken(shop, trust))
        shop.trusts(backend.name, first, second)
        eventually(lambda: taken(shop, trust) == [each + 1 for each in begun])
        traffic.more()
        assert backend.ended == 0
        backend.show(second)
        backend.retire()
        eventually(lambda: traffic.more()[-1].connection > backend.retired)
        shop.trusts(backend.name, second)
        eventually(lambda: taken(shop, trust) == [each + 2 for each in begun])
        traffic.more()
        assert backend.ended == 0
        assert eventually(lambda: taken(shop, trust)) == [each + 2 for each in begun]
        assert (traffic.losses, backend.refused) == ([], 0)
    eventually(lambda: release.pods.ready(REPLICAS))


def test_a_backend_that_the_new_authority_does_not_vouch_for_is_not_asked_in_any_way(
    release: Release, shop: Shop
) -> None:
    backend = Backend("shop", Authority("right"))
    with visited(shop, backend) as traffic:
        trust = f"trust/{shop.namespace}/{backend.name}"
        begun = eventually(lambda: taken(shop, trust))
        shop.trusts(backend.name, Authority("wrong"))
        eventually(lambda: taken(shop, trust) == [each + 1 for each in begun])
        backend.retire()  # connections that were proved before would go on
        eventually(lambda: len(traffic.losses) > ENOUGH)
        assert backend.refused
        assert {loss.status for loss in traffic.losses} == {UNAVAILABLE}
        shop.trusts(backend.name, backend.authority)
    eventually(lambda: release.pods.ready(REPLICAS))


def test_when_the_authority_of_the_control_plane_ends_proxies_go_on_with_identities_of_its_successor(
    release: Release, shop: Shop
) -> None:
    now = datetime.now(UTC)
    near = make_root(Lifetime(now - timedelta(days=340), now + timedelta(days=25)))
    believe(release, near)
    old, new = Backend("old", Authority("old")), Backend("new", Authority("new"))
    with visited(shop, old, new) as traffic:
        assert vouches(near, identity(shop))
        [successor] = (root for root in believed(release) if root != near)
        believe(release, successor)
        eventually(lambda: vouches(successor, identity(shop)))
        shop.leads_to(new)
        traffic.reaches(new.name)
    assert traffic.losses == []


def believe(release: Release, root: Credential) -> None:
    """Have the authority's Secret hold this root alone, and the control plane start with it.

    They would find it by themselves, but look once a minute only, for what everybody has a day to believe.
    """
    secret = authority_secret(Name(release.namespace, AUTHORITY), (root,))
    kubectl("replace", "--filename=-", given=json.dumps(secret))
    release.restart()


def believed(release: Release) -> tuple[Credential, ...]:
    """Read the roots that the control plane believes."""
    found = kubectl("get", "secret", AUTHORITY, "--namespace", release.namespace, "--output=json")
    return roots_of(msgspec.json.decode(found, type=Secret))


def identity(shop: Shop) -> Credential:
    """Read by what the proxies prove whose they are."""
    found = kubectl("get", "secret", f"legation-{EDGE}", "--namespace", shop.namespace, "--output=json")
    its = leaf_of(msgspec.json.decode(found, type=Secret))
    assert its is not None
    return its


def test_proxies_whose_identities_were_taken_back_go_on_and_come_again_with_new_ones(
    release: Release, shop: Shop
) -> None:
    old, new = Backend("old", Authority("old")), Backend("new", Authority("new"))
    with visited(shop, old, new) as traffic:
        before = identity(shop)
        now = f"{REVOKED_BEFORE}={datetime.now(UTC).isoformat()}"
        kubectl("annotate", "gateway", EDGE, now, "--namespace", shop.namespace)
        eventually(lambda: identity(shop) != before)
        shop.leads_to(new)
        traffic.reaches(new.name)
    assert traffic.losses == []
    eventually(lambda: release.pods.ready(REPLICAS))
