"""What `legation audit` says of manifests and of a running process, and what the metric counts."""

import json
from pathlib import Path

import aiohttp
import pytest
from typer.testing import CliRunner

from legation.admin.series import MOST
from legation.cli.main import app
from legation.proofs.hops import audited, degraded, read_hops
from legation.written_status import VERIFICATION_DEGRADED
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import legation_up
from tests.legation.running import run as run_process
from tests.legation.test_admin import admin, standing_of
from tests.real_envoy import until
from translator.rules import degraded as rules

PARAMETERS = "  infrastructure: {parametersRef: {group: legation.dev, kind: GatewayParameters, name: dev}}\n"
PERMIT = """\
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: dev, namespace: infra}
spec: {backendTLS: {insecureVerification: Permit}}
"""
EDGE = gateway("edge", 80).replace("  listeners:\n", f"{PARAMETERS}  listeners:\n")
PIN = "ab" * 32


def policy(name: str, roots: str, **options: str) -> str:
    """A policy for the Service of its name, with options of ours."""
    said = "".join(f'    legation.dev/{key.replace("_", "-")}: "{value}"\n' for key, value in options.items())
    return f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: {name}, namespace: shop}}
spec:
  targetRefs: [{{group: "", kind: Service, name: {name}}}]
  validation: {{hostname: pay.internal, wellKnownCACertificates: {roots}}}
{"  options:" if said else ""}
{said}"""


def led_to(*names: str) -> str:
    """A Gateway that permits everything, and routes to Services of these names."""
    served = (
        text for name in names for text in (service(name, 8080), route(name, name, host=f"{name}.test"))
    )
    return together(LEGATION_CLASS, EDGE, PERMIT, *served)


WEAK = policy("weak", "legation.dev/insecure-skip-verification")
NAMELESS = policy("nameless", "System", verification_mode="SkipHostname", pinned_certificate_sha256=PIN)
PINNED = policy("pinned", "legation.dev/pinned", pinned_certificate_sha256=f"{PIN}, {'cd' * 32}")
PROVED = policy("proved", "System")
WRONG = policy("wrong", "example.com/roots")
EVERYTHING = together(
    led_to("proved", "plain", "pinned", "wrong", "nameless", "weak"), WEAK, NAMELESS, PINNED, PROVED, WRONG
)


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command in this process."""
    done = CliRunner().invoke(app, ["audit", *arguments], env={"TERM": "dumb", "COLUMNS": "160"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_every_hop_is_listed_with_what_proves_it_the_worst_first(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(EVERYTHING)
    code, text, _ = run(str(tmp_path))
    assert code == 2
    assert [line.split()[:2] for line in text.splitlines()[1:7]] == [
        ["unverified", "shop/weak:80"],
        ["any-name", "shop/nameless:80"],
        ["cleartext", "shop/plain:80"],
        ["pinned", "shop/pinned:80"],
        ["verified", "shop/proved:80"],
        ["refused", "shop/wrong:80"],
    ]
    for words in (
        "TLS, proved by nothing",
        "TLS, any name proved by legation/system-roots and its only pin",
        "TLS, one of 2 pins",
        "TLS, pay.internal proved by legation/system-roots",
        "2 of 6 ways to a backend not verified as they should be, 1 without TLS of ours\n",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "0 of 1 ways to a backend unverified, 1 without TLS of ours\n"),
        (("--cleartext",), "1 of 1 ways to a backend not verified as they should be\n"),
    ],
)
def test_a_backend_without_tls_is_never_passed_over_as_verified(
    tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    (tmp_path / "shop.yaml").write_text(led_to("plain"))
    assert run(*flags, str(tmp_path))[1].endswith(said)


def test_machines_are_told_the_same_by_names_that_stay(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(EVERYTHING)
    code, text, _ = run("-o", "json", str(tmp_path))
    assert code == 2
    first, *others = json.loads(text)
    assert first == {
        "gateway": "infra/edge",
        "cluster": "shop/weak:80+weak/unverified",
        "proof": {
            "grade": "unverified",
            "backend": "shop/weak:80",
            "policy": "shop/weak",
            "serverName": "pay.internal",
            "names": [],
            "roots": "",
            "pins": 0,
            "pinned": [],
        },
    }
    assert len(others) == 5


@pytest.mark.parametrize(
    ("flags", "text", "code"),
    [
        ((), together(led_to("proved"), PROVED), 0),
        ((), led_to("plain"), 0),
        (("--cleartext",), led_to("plain"), 2),
        (("--cleartext",), together(led_to("pinned"), PINNED), 0),
        ((), together(led_to("wrong"), WRONG), 0),
        ((), together(led_to("weak").replace("Permit}", "Forbid}"), WEAK), 0),
        ((), "kind: [", 1),
        ((), together(led_to("weak"), WEAK, "kind: [\n"), 2),
    ],
    ids=["proved", "plain", "plain counts", "pinned", "refused", "forbidden", "unreadable", "unreadable too"],
)
def test_the_exit_code_says_whether_any_backend_is_unverified(
    tmp_path: Path, flags: tuple[str, ...], text: str, code: int
) -> None:
    (tmp_path / "shop.yaml").write_text(text)
    assert run(*flags, str(tmp_path))[0] == code


def test_what_is_missing_for_a_manifest_that_cannot_be_read_is_said_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text("kind: [")
    assert run(str(tmp_path))[2].splitlines()[-2:] == [
        "error: not everything could be read, so a way to a backend may be missing",
        "  mend what is named above, and ask again",
    ]


def test_what_cannot_be_told_is_not_taken_for_well(tmp_path: Path) -> None:
    assert run(str(tmp_path / "nowhere"))[0] == 1
    assert run("--admin", "127.0.0.1:1")[0] == 1


async def test_a_running_process_answers_what_its_files_would(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(EVERYTHING)
    _, offline, _ = run("-o", "json", str(tmp_path))
    async with admin(standing_of(EVERYTHING)) as client:
        status, body = await client.get("/api/v1/audit")
        assert status == 200
        assert read_hops(body.encode()) == read_hops(offline.encode())
        _, metrics = await client.get("/metrics")
    assert 'legation_degraded_hops{gateway="infra/edge",policy="shop/weak"} 1.0\n' in metrics
    assert 'legation_degraded_hops{gateway="infra/edge",policy="shop/nameless"} 1.0\n' in metrics
    assert metrics.count("legation_degraded_hops{") == 2


async def test_a_shell_is_told_what_a_running_process_serves(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(together(led_to("weak"), WEAK))
    async with legation_up(tmp_path, "--no-envoy") as running:
        url = await running.admin()
        place = url.removeprefix("http://")
        code, text, _ = await run_process("audit", "--admin", place)
        assert (code, text.splitlines()[1].split()[:2]) == (2, ["unverified", "shop/weak:80"])
        (tmp_path / "shop.yaml").write_text(together(led_to("weak"), WEAK).replace("Permit}", "Forbid}"))

        async def is_refused() -> bool:
            async with aiohttp.ClientSession() as session, session.get(f"{url}/api/v1/audit") as answer:
                return not any(each.is_weak for each in read_hops(await answer.read()))

        await until(is_refused)
        assert (await run_process("audit", "--admin", place))[0] == 0


async def test_policies_beyond_a_hundred_share_a_series() -> None:
    names = [f"weak-{number}" for number in range(MOST + 3)]
    policies = (policy(name, "legation.dev/insecure-skip-verification") for name in names)
    async with admin(standing_of(together(led_to(*names), *policies))) as client:
        _, metrics = await client.get("/metrics")
    assert metrics.count("legation_degraded_hops{") == MOST + 1
    assert 'legation_degraded_hops{gateway="infra/edge",policy="others"} 3.0\n' in metrics


def test_the_metric_counts_what_the_audit_finds() -> None:
    snapshots = standing_of(EVERYTHING).outcome.snapshots
    weak = [each for each in audited(snapshots) if each.is_weak]
    assert sum(degraded(snapshots).values()) == len(weak) == 2


def test_the_condition_that_commands_draw_in_red_is_the_one_that_rules_set() -> None:
    assert VERIFICATION_DEGRADED == rules.CONDITION
