"""A cluster that only an Envoy refuses, through all of `up`: the last good one, whose it is, and its end."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import yaml

from legation.written_status import Condition
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import LOOPBACK, http_backend, server_tls
from tests.pki import Authority
from tests.poison.passers_by import asking
from tests.poison.test_quarantine import answers, sparing, start
from tests.real_envoy import running_envoy, until

SHORT, OTHER, LONG = "a.example", "b.example", f"{'a' * 60}.example"
LEVEL = 40  # steps of a pattern: ours let pass what proves a name of any length, this Envoy none so long
SPARING = {"re2.max_program_size.error_level": LEVEL, "re2.max_program_size.warn_level": LEVEL}
CLUSTER = "shop/evil:80+evil"
REJECTED = 'legation_rejections_total{gateway="infra/edge",type="Cluster"}'


def policy(hostname: str) -> str:
    """Write which name the hostile tenant's backend is to prove."""
    refs = [{"group": "", "kind": "ConfigMap", "name": "roots"}]
    written = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "BackendTLSPolicy",
        "metadata": {"name": "evil", "namespace": "shop"},
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": "evil"}],
            "validation": {"hostname": hostname, "caCertificateRefs": refs},
        },
    }
    return yaml.safe_dump(written)


def roots(authority: Authority) -> str:
    metadata = {"name": "roots", "namespace": "shop"}
    return yaml.safe_dump(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": authority.pem}}
    )


@asynccontextmanager
async def served(folder: Path, shop: Path) -> AsyncIterator[tuple[Legation, int]]:
    """Serve a tenant's backend with TLS beside another's, by an Envoy that takes no long patterns."""
    authority, port, xds = Authority("roots"), free_port(), free_port()
    shows = server_tls(authority.issue(dns=[SHORT, OTHER]), folder)
    async with AsyncExitStack() as stack:
        plain = await stack.enter_async_context(http_backend("store"))
        secure = await stack.enter_async_context(http_backend("store", shows))
        base = together(LEGATION_CLASS, gateway("edge", port), service("store", plain.port))
        (shop / "a.yaml").write_text(together(base, service("evil", secure.port), roots(authority)))
        (shop / "evil.yaml").write_text(route("evil", "evil", host="evil.example"))
        (shop / "policy.yaml").write_text(policy(SHORT))
        (shop / "quiet.yaml").write_text(route("quiet", "store", host="quiet.example"))
        up = legation_up(shop, "--no-envoy", "--xds", f"{LOOPBACK}:{xds}")
        legation = await stack.enter_async_context(up)
        await legation.logged("xDS port")
        await stack.enter_async_context(running_envoy(sparing(start(xds), SPARING)))
        for host in ("evil.example", "quiet.example"):
            await answers(port, host)
        yield legation, port


async def programmed(legation: Legation) -> Condition:
    """Return what the Gateway says of its Envoys."""
    [edge] = (await legation.overview()).gateways
    [said] = [each for each in edge.conditions if each.type == "Programmed"]
    return said


async def is_programmed(legation: Legation) -> bool:
    return (await programmed(legation)).status == "True"


async def is_refused(legation: Legation) -> bool:
    return (await programmed(legation)).reason == "Invalid"


async def test_a_cluster_that_an_envoy_refuses_stays_as_it_was_names_its_policy_and_heals(
    tmp_path: Path,
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    async with served(tmp_path, shop) as (legation, port):
        await until(lambda: is_programmed(legation))
        async with asking(port, "evil.example"), asking(port, "quiet.example"):
            (shop / "policy.yaml").write_text(policy(LONG))
            await until(lambda: is_refused(legation))
            message = (await programmed(legation)).message
            assert f"{CLUSTER} of BackendTLSPolicy shop/evil: " in message
            assert str(LEVEL) in message
            assert await legation.metric(REJECTED) == 1
            (shop / "quiet.yaml").write_text(
                together(
                    route("quiet", "store", host="quiet.example"), route("new", "store", host="new.example")
                )
            )
            await answers(port, "new.example")
            assert await is_refused(legation)
            (shop / "policy.yaml").write_text(policy(OTHER))
            await until(lambda: is_programmed(legation))
        await answers(port, "evil.example")
