"""Every line of the log can be read by machines, says whom it is about, and is one of few."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from structlog.testing import capture_logs

from legation.admin.metrics import Telemetry
from legation.telemetry.logs import EACH_EVENT, OF_A_NAMESPACE, Rationed
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, together
from tests.legation.running import environment, free_port, legation_up
from xds_server.report import Envoy, Rejected
from xds_server.snapshot import LDS

ROOT = Path(__file__).parents[3]
LEVELS = {"debug", "info", "warning", "error", "critical"}
SECRET_WORDS = "c2VjcmV0LXdvcmRz"  # noqa: S105  # it opens nothing
BROKEN_SECRET = f"""\
apiVersion: v1
kind: Secret
metadata: {{name: keys, namespace: shop}}
type: kubernetes.io/tls
data: {{tls.key: "{SECRET_WORDS}", tls.crt: ["{SECRET_WORDS}"]}}
"""
UNREADABLE_SECRET = BROKEN_SECRET.replace("data: {", "data: {{").replace("keys", "more-keys")


def entries(lines: list[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines]


async def test_every_line_of_a_run_is_json_and_says_what_when_and_whom(tmp_path: Path) -> None:
    shop = together(LEGATION_CLASS, gateway("edge", free_port()), route("store", "store"))
    (tmp_path / "shop.yaml").write_text(shop)
    (tmp_path / "broken.yaml").write_text(BROKEN_SECRET)
    (tmp_path / "unreadable.yaml").write_text(UNREADABLE_SECRET)
    async with legation_up(tmp_path, "--log-format", "json") as running:
        await running.logged("programmed")
    said = entries(running.lines)
    for entry in said:
        assert entry["event"]
        assert entry["level"] in LEVELS
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", str(entry["time"]))
        if "object" in entry:
            assert {"kind", "namespace", "name"} <= entry.keys()
    assert {"programmed", "refused", "not read", "draining", "envoy"} <= {str(each["event"]) for each in said}
    [refused] = [each for each in said if each["event"] == "refused"]
    assert [refused[key] for key in ("object", "kind", "namespace", "name")] == [
        "HTTPRoute shop/store",
        "HTTPRoute",
        "shop",
        "store",
    ]
    assert SECRET_WORDS not in "\n".join(running.lines)


def child(form: str, script: str) -> list[str]:
    """Return what a process writes that logs in this way."""
    begin = "import logging, structlog; from legation.telemetry.logs import LogFormat, set_up_logs\n"
    code = f"{begin}set_up_logs(LogFormat('{form}'))\n{script}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(), text=True, capture_output=True, check=False)
    return done.stderr.splitlines()


def test_a_line_that_nobody_takes_ends_nobody() -> None:
    """A disk may be full, or whoever reads has gone; what is served goes on."""
    code = """
import logging, structlog
from legation.telemetry.logs import set_up_logs
set_up_logs()
for _ in range(1000):
    structlog.get_logger().warning("no luck")
    logging.getLogger("aiohttp.server").error("no luck")
print("goes on")
"""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, env=environment(), text=True, stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert (done.stdout, done.returncode) == ("goes on\n", 0)


def test_what_libraries_say_and_what_ends_the_process_is_json_too() -> None:
    lines = child(
        "json", "logging.getLogger('aiohttp.server').error('no %s', 'luck')\nraise ValueError('oh')"
    )
    library, end = entries(lines)
    assert (library["event"], library["level"], library["logger"]) == ("no luck", "error", "aiohttp.server")
    assert (end["event"], end["level"]) == ("a mistake of ours ended the process", "critical")
    assert "ValueError: oh" in str(end["exception"])


def test_people_get_text_without_colours_where_there_is_no_terminal() -> None:
    [line] = child("text", "structlog.get_logger().warning('refused', object='HTTPRoute shop/store')")
    assert re.fullmatch(r"\S+Z \[warning *\] refused +object='?HTTPRoute shop/store'?", line.strip())


def test_lines_of_one_event_are_rationed_and_those_of_others_pass() -> None:
    rationed = Rationed()

    def passes(event: str) -> Iterator[dict[str, object]]:
        try:
            yield dict(rationed(None, "info", {"event": event}))
        except structlog.DropEvent:
            return

    many = 10 * EACH_EVENT.at_once
    passed = [entry for _ in range(many) for entry in passes("refused")]
    assert OF_A_NAMESPACE.at_once <= len(passed) < many / 2
    assert list(passes("programmed")) == [{"event": "programmed"}]
    assert len([entry for _ in range(many) for entry in passes("access")]) == many


@pytest.mark.parametrize("about", [{"object": "HTTPRoute {}/a"}, {"gateway": "{}/edge"}])
def test_a_namespace_of_which_much_is_said_leaves_lines_for_others(about: dict[str, str]) -> None:
    rationed = Rationed(lambda: 0.0)

    def passes(namespace: str) -> bool:
        said = {name: words.format(namespace) for name, words in about.items()}
        try:
            return bool(rationed(None, "warning", {"event": "refused", **said}))
        except structlog.DropEvent:
            return False

    flood = [passes("evil") for _ in range(10 * EACH_EVENT.at_once)]
    assert flood.count(True) == OF_A_NAMESPACE.at_once
    assert passes("shop")


def test_how_many_lines_were_dropped_is_said_with_the_next_one() -> None:
    now = [0.0]
    rationed = Rationed(lambda: now[0])
    for _ in range(OF_A_NAMESPACE.at_once):
        rationed(None, "info", {"event": "refused"})
    for _ in range(7):
        with pytest.raises(structlog.DropEvent):
            rationed(None, "info", {"event": "refused"})
    now[0] += 2 * OF_A_NAMESPACE.every
    assert rationed(None, "info", {"event": "refused"}) == {"event": "refused", "dropped": 7}
    assert rationed(None, "info", {"event": "refused"}) == {"event": "refused"}


def test_a_refusal_by_an_envoy_names_gateway_envoy_and_why() -> None:
    with capture_logs() as said:
        edge, refused = Envoy("infra/edge", "edge-1"), {"infra/edge:80": "v1"}
        Telemetry().note(Rejected(edge, LDS, refused, "cannot bind", isolated=True))
    assert said == [
        {
            "event": "Envoy rejected",
            "log_level": "warning",
            "gateway": "infra/edge",
            "envoy": "edge-1",
            "type": "Listener",
            "resources": ["infra/edge:80"],
            "why": "cannot bind",
        }
    ]


def spoken() -> Iterator[str]:
    """Find every event that is logged in constant words."""
    for path in sorted((ROOT / "legation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=logger, attr=attr), args=[ast.Constant(value=str(event)), *_]
                ) if attr in LEVELS and ast.unparse(logger).endswith(("log", "get_logger()")):
                    yield event


@pytest.mark.tree
def test_every_event_is_documented_and_no_other() -> None:
    page = (ROOT / "docs" / "logs.md").read_text()
    events = set(spoken())
    assert len(events) > 20
    rows = re.findall(r"^\| (`[^|]+) \| (?:[\w', ]+) \|", page.split("| Event |")[1], re.MULTILINE)
    documented = {event for row in rows for event in re.findall(r"`([^`]+)`", row)}
    made = {event for event in documented if event.startswith("no longer ")}
    assert documented - made - {"envoy"} == events - {"envoy"}
