"""What an Envoy is started with: Envoy itself says that it can be."""

import json
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from legation.addresses import ClientFiles, HostPort, Socket
from legation.bootstrap import Start, as_fields, as_yaml, bootstrap
from legation.channel.authority import Credential
from legation.roots import system_roots
from tests.legation.desk import EDGE, FILES, Desk, exchange, holds, move
from tests.legation.running import run
from tests.pki import Authority
from tests.real_envoy import ENVOY, running_envoy, until

pytestmark = pytest.mark.envoy
STATIC = Path(__file__).parents[2] / "envoy-bootstrap" / "envoy.yaml"
ADMIN = HostPort("127.0.0.1", 0)


def accepted(path: Path, *arguments: str) -> None:
    command = [str(ENVOY), "--mode", "validate", "-l", "warning", "-c", str(path), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)  # our own
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("node_id", ["edge-1", "n", "0x1F", "a: b"])
def test_envoy_reads_the_yaml_as_it_was_meant(tmp_path: Path, node_id: str) -> None:
    made = bootstrap(Start(EDGE, node_id, Socket(tmp_path / "xds"), Socket(tmp_path / "admin")))
    (tmp_path / "envoy.yaml").write_text(as_yaml(made))
    accepted(tmp_path / "envoy.yaml")
    assert yaml.safe_load(as_yaml(made)) == as_fields(made)


def test_envoy_reads_a_channel_with_mutual_tls(tmp_path: Path) -> None:
    authority = Authority("xds")
    ours = authority.issue(uri=["spiffe://legation/ns/infra/gateway/edge"])
    for name, pem in (("tls.crt", ours.chain_pem), ("tls.key", ours.key_pem), ("ca.crt", authority.pem)):
        (tmp_path / name).write_text(pem)
    files = ClientFiles(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt", "legation.example")
    made = bootstrap(Start(EDGE, "edge-1", HostPort("legation.example", 18000), ADMIN, tls=files))
    (tmp_path / "envoy.json").write_text(json.dumps(as_fields(made)))
    accepted(tmp_path / "envoy.json")


@pytest.mark.parametrize("renew", [exchange, move])
async def test_an_envoy_that_others_run_takes_a_renewed_identity_and_new_roots_while_it_runs(
    tmp_path: Path, renew: Callable[[Path, Credential, tuple[Credential, ...]], None]
) -> None:
    desk, identity, into = Desk(), tmp_path / "identity", tmp_path / "envoy"
    renew(identity, desk.envoy(), desk.roots)
    async with AsyncExitStack() as before:
        port = await before.enter_async_context(desk.open(0))
        files = zip(("--tls-cert", "--tls-key", "--tls-ca"), (identity / name for name in FILES), strict=True)
        flags = ("--gateway", str(EDGE), "--xds", f"localhost:{port}", "--into", str(into))
        code, out, err = await run("bootstrap", *flags, *(str(word) for pair in files for word in pair))
        assert (code, out.strip()) == (0, str(into / "envoy.yaml")), err
        made = yaml.safe_load((into / "envoy.yaml").read_text())
        del made["admin"]  # the harness has its own
        async with running_envoy(made) as envoy:
            await desk.connected()
            desk.succeed()
            renew(identity, desk.envoy(), desk.roots)
            await until(lambda: holds(envoy, desk.root))
            await before.aclose()
            async with desk.open(port):
                await desk.connected()


def test_without_roots_of_the_machine_there_is_one_that_proves_nobody(tmp_path: Path) -> None:
    made = bootstrap(Start(EDGE, "edge-1", Socket(tmp_path / "xds"), ADMIN, system_roots=None))
    again = bootstrap(Start(EDGE, "edge-1", Socket(tmp_path / "xds"), ADMIN, system_roots=None))
    [secret], [another] = (each.static_resources.secrets for each in (made, again) if each.static_resources)
    assert secret.name == "legation/system-roots"
    assert secret != another, "a root that is known beforehand could have a key that somebody knows"
    (tmp_path / "envoy.json").write_text(json.dumps(as_fields(made)))
    accepted(tmp_path / "envoy.json")


def test_the_static_bootstrap_takes_its_identity_from_flags(tmp_path: Path) -> None:
    written = STATIC.read_text()
    roots = yaml.safe_load(written)["static_resources"]["secrets"][0]["validation_context"]["trusted_ca"][
        "filename"
    ]
    ours = tmp_path / "roots.pem"
    ours.write_text(Authority("a root").pem)
    (tmp_path / "envoy.yaml").write_text(written.replace(roots, str(ours)))
    accepted(tmp_path / "envoy.yaml", "--service-cluster", "infra/edge", "--service-node", "edge-1")


def test_the_static_bootstrap_and_ours_keep_the_same_statistics() -> None:
    ours = as_fields(bootstrap(Start(EDGE, "edge-1", ADMIN, ADMIN)))
    written = yaml.safe_load(STATIC.read_text())
    static = written["stats_config"]["stats_matcher"]["inclusion_list"]["patterns"]
    deferred = written["deferred_stat_options"]["enable_deferred_creation_stats"]
    assert ours["deferredStatOptions"] == {"enableDeferredCreationStats": deferred}
    matcher = ours["statsConfig"]["statsMatcher"]["inclusionList"]["patterns"]  # type: ignore[index]  # plain JSON
    assert [each["safeRegex"]["regex"] for each in matcher] == [
        each["safe_regex"]["regex"] for each in static
    ]


def test_the_static_bootstrap_and_ours_take_the_same_patterns() -> None:
    ours = as_fields(bootstrap(Start(EDGE, "edge-1", ADMIN, ADMIN)))
    [layer] = ours["layeredRuntime"]["layers"]  # type: ignore[index]  # plain JSON
    [static] = yaml.safe_load(STATIC.read_text())["layered_runtime"]["layers"]
    assert layer["staticLayer"] == static["static_layer"]


def test_roots_are_taken_from_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, empty = tmp_path / "bundle.pem", tmp_path / "empty.pem"
    bundle.write_text(Authority("a root").pem)
    empty.write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert system_roots() == bundle
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    assert system_roots() != empty
