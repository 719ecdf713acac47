"""The commands, as a shell runs them: what they print, and how they end."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
import yaml
from typer.testing import CliRunner

from legation.cli.main import app
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import environment
from tests.legation.running import run as run_process
from tests.pki import Authority
from translator.names import Name

EXAMPLES = Path(__file__).parents[2] / "examples"
LONG = "x" * 300  # no file system takes such a name, and so nobody can look there
APART = ("--tls-cert", "certificates/c", "--tls-key", "keys/k", "--tls-ca", "a")
SHOP = together(
    LEGATION_CLASS, gateway("edge", 80), service("store", 8080), route("store", "store"), route("pay", "pay")
)


PIPED = {"TERM": "dumb", "COLUMNS": "100"}
IN_A_TERMINAL = {"TERM": "xterm", "COLUMNS": "50", "FORCE_COLOR": "1"}
STEERING = re.compile(r"\x1b\[[0-9;]*m")


def run(*arguments: str, around: Mapping[str, str] = PIPED) -> tuple[int, str, str]:
    """Run a command in this process."""
    done = CliRunner().invoke(app, arguments, env=around, prog_name="legation")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with one good route, and one whose Service is missing."""
    (tmp_path / "shop.yaml").write_text(SHOP)
    return tmp_path


async def test_the_version_is_told_to_a_shell() -> None:
    code, out, _ = await run_process("--version")
    assert (code, out.split()[0]) == (0, "legation")


def test_help_names_every_command_and_nothing_that_is_not_there_yet() -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in (
        "up",
        "run",
        "translate",
        "check",
        "explain",
        "status",
        "audit",
        "pin",
        "bootstrap",
        "completion",
    ):
        assert f" {command} " in out


@pytest.mark.parametrize(
    ("command", "substance"),
    [
        (
            "run",
            ["--kubeconfig", "--namespace", "--watch", "--xds-client-ca", "LEGATION_XDS_CERT", "Examples"],
        ),
        (
            "up",
            ["--address", "--port-offset", "--admin", "--xds-client-ca", "--no-envoy", "--check", "Examples"],
        ),
        ("translate", ["yaml", "json", "tree", "status", "Exit codes", "Examples"]),
        ("check", ["Exit codes: 0 fine, 1 problems, 2 cannot tell", "Examples"]),
        (
            "status",
            ["--watch", "--admin", "--kubeconfig", "Whom to ask: with --admin", "Exit codes", "Examples"],
        ),
        ("explain", ["--method", "--header", "--context", "Exit codes: 0 served", "Examples"]),
        ("completion", ["bash|zsh|fish", "Examples"]),
        ("audit", ["--admin", "--cleartext", "Exit codes: 0 every backend is proved", "Examples"]),
        ("pin", ["--server-name", "HOST:PORT|FILE", "Exit codes", "Examples"]),
        ("bootstrap", ["--gateway", "--tls-cert", "--system-roots", "Examples"]),
    ],
)
def test_the_help_of_a_command_has_its_flags_and_examples(command: str, substance: list[str]) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    words = " ".join(out.split())
    assert [part for part in substance if part not in words] == []


def test_translate_writes_yaml_that_says_what_json_says(shop: Path) -> None:
    code, as_yaml, _ = run("translate", str(shop))
    assert code == 0
    _, as_json, _ = run("translate", "-o", "json", str(shop))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)
    edge = json.loads(as_json)["gateways"]["infra/edge"]
    assert [listener["name"] for listener in edge["listeners"]] == ["infra/edge:80"]
    assert "shop/store:80" in [cluster["name"] for cluster in edge["clusters"]]


def test_translate_never_prints_a_private_key(tmp_path: Path) -> None:
    issued = Authority("a root").issue(dns=["shop.example"])
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": "web", "namespace": "infra"},
        "stringData": {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem},
    }
    listener = "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}"
    edge = gateway("edge", 443).replace("port: 443, protocol: HTTP", listener)
    (tmp_path / "a.yaml").write_text(together(LEGATION_CLASS, edge, yaml.safe_dump(secret)))
    for output in ("yaml", "json", "tree", "status"):
        code, out, err = run("translate", "-o", output, str(tmp_path))
        assert code == 0, out + err
        assert "PRIVATE KEY" not in out + err
        assert issued.key_pem.splitlines()[1] not in out + err
    _, out, _ = run("translate", str(tmp_path))
    assert "private_key: '[redacted]'" in out
    assert "BEGIN CERTIFICATE" in out


def test_a_tree_shows_what_leads_where_and_what_fails(shop: Path) -> None:
    code, out, _ = run("translate", "-o", "tree", str(shop))
    assert code == 0
    for part in (
        "Gateway infra/edge",
        ":80 HTTP",
        "shop.example",
        "HTTPRoute shop/store",
        "shop/store:80",
        "plaintext",
    ):
        assert part in out
    assert "answers 500" in out


def test_translate_writes_objects_with_their_status(shop: Path) -> None:
    code, out, _ = run("translate", "-o", "status", str(shop))
    assert code == 0
    objects = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(out)}
    assert objects.keys() == {
        ("GatewayClass", "legation"),
        ("Gateway", "edge"),
        ("HTTPRoute", "store"),
        ("HTTPRoute", "pay"),
    }
    [parent] = objects["HTTPRoute", "pay"]["status"]["parents"]
    reasons = {condition["type"]: condition["reason"] for condition in parent["conditions"]}
    assert reasons["ResolvedRefs"] == "BackendNotFound"


def test_translate_ends_with_one_when_a_manifest_cannot_be_read(shop: Path) -> None:
    (shop / "bad.yaml").write_text("kind: [")
    code, out, err = run("translate", str(shop))
    assert code == 1
    assert "infra/edge" in out, "the others are translated"
    assert "bad.yaml" in err


def test_check_groups_problems_with_object_and_remedy_and_ends_with_one(shop: Path) -> None:
    (shop / "bad.yaml").write_text(route("third", "store").replace("[shop.example]", "7"))
    code, out, _ = run("check", str(shop))
    assert code == 1
    unread, refused = out.index("not read"), out.index("refused")
    third, pay = out.index("HTTPRoute shop/third"), out.index("HTTPRoute shop/pay")
    assert unread < third < refused < pay or refused < pay < unread < third
    assert "spec.hostnames" in out
    assert "-> create the Service" in out
    assert "\x1b[" not in out, "colours are for terminals"


def test_check_names_the_place_of_a_mistake_once_and_a_file_that_holds_no_object_by_itself(
    shop: Path,
) -> None:
    (shop / "bad.yaml").write_text(route("third", "store").replace("[shop.example]", "7"))
    (shop / "list.yaml").write_text("- no manifest")
    _, out, _ = run("check", str(shop))
    lines = out.replace(f"{shop}/", "").splitlines()
    assert "  HTTPRoute shop/third (bad.yaml, document 1: spec.hostnames)" in lines
    assert "  list.yaml, document 1" in lines
    assert any(line.startswith("  HTTPRoute shop/pay (by Gateway infra/edge, spec.") for line in lines)


def test_who_is_no_terminal_gets_whole_lines_of_which_nothing_is_cut_off(shop: Path) -> None:
    long = "s" * 63
    (shop / "long.yaml").write_text(together(service(long, 8080), route(long, long, host="long.example")))
    _, tree, _ = run("translate", "-o", "tree", str(shop))
    assert f"shop/{long}:80 http, 1 endpoint, plaintext\n" in tree
    _, audit, _ = run("audit", str(shop))
    assert re.search(
        rf"^cleartext +shop/{long}:80 +infra/edge +cleartext: no policy asks for TLS$", audit, re.MULTILINE
    )


def test_a_terminal_gets_lines_that_break_at_words_and_are_indented(shop: Path) -> None:
    _, out, _ = run("check", str(shop), around=IN_A_TERMINAL)
    lines = STEERING.sub("", out).splitlines()
    assert max(map(len, lines)) <= 50
    at = lines.index("    ResolvedRefs=False, BackendNotFound:")
    assert lines[at + 1] == "      rules[0]: Service shop/pay does not exist"
    _, tree, _ = run("translate", "-o", "tree", str(shop), around=IN_A_TERMINAL)
    assert "plaintext" in tree
    assert max(map(len, STEERING.sub("", tree).splitlines())) <= 50


def test_check_ends_with_zero_when_all_is_well(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(LEGATION_CLASS)
    code, out, _ = run("check", str(tmp_path))
    assert (code, out) == (0, "fine\n")


def test_remarks_fail_only_who_is_strict(tmp_path: Path) -> None:
    unused = {
        "apiVersion": "legation.dev/v1alpha1",
        "kind": "GatewayParameters",
        "metadata": {"name": "unused"},
    }
    (tmp_path / "unused.yaml").write_text(json.dumps(unused))
    code, out, _ = run("check", str(tmp_path))
    assert (code, "refer to them by spec.parametersRef" in out, "fine, with 1 remark" in out) == (
        0,
        True,
        True,
    )
    code, out, _ = run("check", "--strict", str(tmp_path))
    assert (code, "1 problem" in out) == (1, True)


def test_check_writes_json_for_machines(shop: Path) -> None:
    code, out, _ = run("check", "-o", "json", str(shop))
    assert code == 1
    gravest, *_ = json.loads(out)
    assert (gravest["object"], gravest["check"]) == ("HTTPRoute shop/pay", "BackendNotFound")
    assert gravest.keys() == {"group", "object", "where", "message", "remedy", "field", "check"}


@pytest.mark.parametrize(
    ("command", "code"),
    [(["check"], 2), (["translate"], 2), (["explain", "http://shop.example/"], 2), (["audit"], 1)],
)
def test_a_folder_without_manifests_is_not_told_to_be_fine(
    tmp_path: Path, command: list[str], code: int
) -> None:
    (tmp_path / "shop.yaml.tmpl").write_text("")
    (tmp_path / ".hidden.yaml").write_text("")
    ended, _, err = run(*command, str(tmp_path))
    assert ended == code
    assert "no manifests are there" in err
    assert ".json, .yaml, .yml" in err
    (tmp_path / "shop.yml").write_text("")
    assert "no manifests are there" not in run(*command, str(tmp_path))[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "missing.yaml"], "missing.yaml does not exist"),
        (["translate", "missing.yaml"], "missing.yaml does not exist"),
        (["check", LONG], "cannot be looked at: File name too long"),
        (["translate", LONG], "cannot be looked at: File name too long"),
        (["up", LONG], "is no folder"),
        (["up", "missing"], "missing is no folder"),
        (["up", ".", "--address", "here"], "--address here is no IP address"),
        (["up", ".", "--xds", "0.0.0.0:18000"], "needs mutual TLS"),
        (["up", ".", "--xds", "127.0.0.1:0", "--xds-cert", "c"], "all are needed or none"),
        (["up", ".", "--xds-cert", "c"], "are for a port that --xds names"),
        (["up", ".", "--envoy", "no-envoy"], "no Envoy to start at no-envoy"),
        (["status", "--admin", "127.0.0.1:1"], "nobody answers"),
        (["status", "--admin", "somewhere"], "HOST:PORT"),
        (["status", "--kubeconfig", "/dev/null"], "no way to a cluster"),
        (["status", "--watch", "--kubeconfig", "/dev/null"], "no way to a cluster"),
        (["status", "--watch", "-o", "json", "--kubeconfig", "/dev/null"], "no way to a cluster"),
        (["bootstrap", "--gateway", "edge"], "no NAMESPACE/NAME"),
        (["bootstrap", "--gateway", "infra/edge", "--xds", "here"], "Invalid value for '--xds': write HOST"),
        (["bootstrap", "--gateway", "infra/edge", "--tls-cert", "c"], "all are needed or none"),
        (["bootstrap", "--gateway", "infra/edge", "--xds", "example.com:18000"], "is not on loopback"),
        (["bootstrap", "--gateway", "infra/edge", *APART, "--into", "never"], "lie in different folders"),
        (["bootstrap", "--gateway", "infra/edge", "--mounted-at", "/etc/envoy"], "the folder of --into"),
        (["bootstrap", "--gateway", "infra/edge", "--into", "/proc/envoy"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_ends_with_two_and_says_why(arguments: list[str], words: str) -> None:
    code, out, err = run(*arguments)
    assert code == 2, out + err
    assert words in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["translate", "missing.yaml"], "give the path of a manifest, or of a folder of them"),
        (["bootstrap", "--gateway", "infra/edge", "--tls-cert", "c"], "or leave all three out"),
        (
            [
                "bootstrap",
                "--gateway",
                "a/b",
                "--xds",
                "unix:s",
                "--tls-cert",
                "c",
                "--tls-key",
                "k",
                "--tls-ca",
                "a",
            ],
            "give the name in Legation's certificate",
        ),
        (
            ["up", ".", *["--xds", "[::1]:0", "--xds-cert", "c", "--xds-key", "k", "--xds-client-ca", "a"]],
            "a file that this",
        ),
        (["run", "--kubeconfig", "missing"], "name a kubeconfig"),
        (["run", "--watch", "shop,pay", "--kubeconfig", "/dev/null"], "put spaces between them"),
        (["explain", "nothing", str(EXAMPLES / "http")], "`legation explain --help` has examples"),
        (["pin", "missing.pem"], "write the HOST:PORT of a backend, such as pay.shop.svc:8443"),
    ],
)
def test_what_cannot_be_done_is_told_with_what_helps(arguments: list[str], remedy: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2, err
    [what, helps] = err.splitlines()
    assert what.startswith("error: ")
    assert helps.startswith("  ")
    assert remedy in helps


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["check"], 2),
        (["check", "-o", "json"], 2),
        (["translate"], 2),
        (["explain", "http://shop.example/"], 2),
        (["audit"], 1),
    ],
)
def test_what_cannot_be_printed_is_no_answer(shop: Path, command: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "legation", *command, str(shop)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    what, helps = done.stderr.decode().splitlines()
    assert (done.returncode, what) == (code, "error: nothing more can be printed: No space left on device")
    assert helps.startswith("  make room")


def test_a_bootstrap_names_the_gateway_and_the_socket() -> None:
    code, out, _ = run(
        "bootstrap", "--gateway", "infra/edge", "--xds", "unix:/run/legation", "--node-id", "n"
    )
    assert code == 0
    made = yaml.safe_load(out)
    assert made["node"] == {"id": "n", "cluster": str(Name("infra", "edge"))}
    assert "/run/legation" in msgspec.json.encode(made["staticResources"]["clusters"]).decode()


def test_a_bootstrap_for_another_place_tells_of_its_files_there(tmp_path: Path) -> None:
    files = ("--tls-cert", "/identity/tls.crt", "--tls-key", "/identity/tls.key", "--tls-ca", "/roots/ca.crt")
    flags = ("--into", str(tmp_path), "--mounted-at", "/etc/envoy", "--output", "json")
    code, _, err = run("bootstrap", "--gateway", "infra/edge", *files, *flags)
    assert code == 0, err
    names = {
        f"legation-{what}.json": watch for what, watch in (("identity", "/identity"), ("roots", "/roots"))
    }
    assert {each.name for each in tmp_path.iterdir()} == {"envoy.json", *names}
    for name, watch in names.items():
        assert f'"/etc/envoy/{name}"' in (tmp_path / "envoy.json").read_text()
        assert f'"path": "{watch}"' in (tmp_path / name).read_text()


def test_running_in_a_cluster_takes_all_files_of_the_port_for_envoys_or_none(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    certificate.touch()
    code, _, err = run("run", "--xds-cert", str(certificate))
    assert code == 2
    assert "all are needed or none" in err


@pytest.mark.parametrize(
    ("wrong", "content", "words"),
    [
        ("cert", None, "Is a directory"),
        ("key", Authority("b").issue().key_pem, "KEY_VALUES_MISMATCH"),
        ("ca", "", "no CA"),
    ],
)
async def test_a_port_that_proves_nothing_is_not_opened_and_no_other_port_is_recommended(
    tmp_path: Path, wrong: str, content: str | None, words: str
) -> None:
    authority = Authority("a")
    issued = authority.issue(dns=["localhost"])
    for name, text in {"cert": issued.pem, "key": issued.key_pem, "ca": authority.pem}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / wrong).unlink()
    if content is None:
        (tmp_path / wrong).mkdir()
    else:
        (tmp_path / wrong).write_text(content)
    (tmp_path / "shop").mkdir()
    given = ["--xds-cert", "cert", "--xds-key", "key", "--xds-client-ca", "ca"]
    files = [each if each.startswith("--") else str(tmp_path / each) for each in given]
    ports = ["--admin", "127.0.0.1:0", "--xds", "127.0.0.1:0"]
    code, _, err = await run_process("up", str(tmp_path / "shop"), "--no-envoy", *ports, *files)
    assert (code, "Traceback" in err) == (2, False)
    assert words in err
    assert "give a certificate, its key and a CA" in err


async def test_running_in_a_cluster_says_so_when_there_is_none(tmp_path: Path) -> None:
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text("{}")
    code, _, err = await run_process("run", "--kubeconfig", str(nowhere), "--xds", "127.0.0.1:0")
    assert code == 2
    assert "no way to an API server" in err


ANSWERING = "  - backendRefs:\n    - name: store\n"  # in an example, the rule that takes everything


def tree_of(folder: Path, answering: str) -> str:
    """Draw the example of a shop, with its last rule written like this."""
    text = (EXAMPLES / "http" / "shop.yaml").read_text()
    assert ANSWERING in text
    (folder / "a.yaml").write_text(text.replace(ANSWERING, answering))
    code, out, _ = run("translate", "-o", "tree", str(folder))
    assert code == 0
    return out


def filtered(filters: str) -> str:
    """Write the rule with filters."""
    return f"  - filters: [{filters}]\n{ANSWERING.replace('- b', '  b')}"


def test_a_tree_shows_where_copies_go(tmp_path: Path) -> None:
    mirror = "{type: RequestMirror, requestMirror: {percent: 25, backendRef: {name: NAME, port: 80}}}"
    out = tree_of(tmp_path, filtered(", ".join(mirror.replace("NAME", name) for name in ("cart", "gone"))))
    assert "25.00% copied to shop/cart:80" in out
    assert out.count("copied") == 1  # the mirror that is nowhere gets nothing


def test_a_tree_shows_who_is_asked(tmp_path: Path) -> None:
    settings = "{protocol: HTTP, http: {}, backendRef: {name: cart, port: 80}}"
    out = tree_of(tmp_path, filtered(f"{{type: ExternalAuth, externalAuth: {settings}}}"))
    assert out.count("asks shop/cart:80") == 1


def test_a_tree_shows_each_share_that_gets_something_of_its_own(tmp_path: Path) -> None:
    full = "{type: ReplaceFullPath, replaceFullPath: /new}"
    other = f"    - {{name: cart, port: 80, filters: [{{type: URLRewrite, urlRewrite: {{path: {full}}}}}]}}\n"
    out = tree_of(tmp_path, ANSWERING.replace("    - n", f"{other}    - n"))
    lines = [line.strip("│├└─ ").split()[0] for line in out.splitlines()]
    assert lines[-6:] == ["9", "shop/cart:80", "82", "shop/store:80", "9", "shop/cart:80"]


def test_a_tree_shows_what_is_served_over_http3(tmp_path: Path) -> None:
    issued = Authority("a root").issue(dns=["shop.example"])
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": "web", "namespace": "infra"},
        "stringData": {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem},
    }
    parameters = {
        "apiVersion": "legation.dev/v1alpha1",
        "kind": "GatewayParameters",
        "metadata": {"name": "modern", "namespace": "infra"},
        "spec": {"clients": {"http3": "On"}},
    }
    listener = "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}"
    edge = gateway("edge", 443).replace("port: 443, protocol: HTTP", listener)
    its_own = (
        "  infrastructure: {parametersRef: {group: legation.dev, kind: GatewayParameters, name: modern}}\n"
    )
    edge = edge.replace("  listeners:\n", f"{its_own}  listeners:\n")
    written = (LEGATION_CLASS, edge, yaml.safe_dump(secret), yaml.safe_dump(parameters))
    (tmp_path / "a.yaml").write_text(together(*written))
    code, out, _ = run("translate", "-o", "tree", str(tmp_path))
    assert code == 0
    assert ":443 HTTP/3 for any name, as over TLS" in out


@pytest.mark.parametrize("command", [each.name for each in app.registered_commands])
def test_an_example_is_told_from_what_it_does_also_without_colours(command: str) -> None:
    """Where nothing marks text as a command, it is read as one with what follows."""
    [epilog] = [each.epilog for each in app.registered_commands if each.name == command]
    lines = [line for line in (epilog or "").splitlines() if line.startswith("`legation")]
    assert lines
    assert [line for line in lines if re.search(r"(?:^|; )`legation [^`]+` ", line)] == []
