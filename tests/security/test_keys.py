"""No key, and nothing else of a Secret, leaves by any way but the one to the Envoys that need it."""

import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
import yaml

from legation.admin.metrics import Telemetry
from legation.admin.server import AdminPort
from legation.folder import Folder, read
from legation.standing import Standing
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, service, together
from tests.legation.running import legation_up, run
from tests.pki import Authority, self_signed
from xds_server.hub import Hub

PLACES = {"kind": "Secret", "namespace": "infra"}
PASSWORD = "correct-horse-battery-staple"  # noqa: S105  made up, to be looked for
NUMBER = 918273645546372819


def secret(name: str, **values: str) -> str:
    """Write a Secret as people do: its values in base64."""
    data = {key.replace("_", "."): b64encode(value.encode()).decode() for key, value in values.items()}
    written = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "infra"}}
    return yaml.safe_dump({**written, "type": "kubernetes.io/tls", "data": data})


def config_map(text: str) -> str:
    written = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roots", "namespace": "shop"}}
    return yaml.safe_dump({**written, "data": {"ca.crt": text}})


LISTENERS = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: legation
  tls: {backend: {clientCertificateRef: {name: good}}}
  listeners:
  - {name: good, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: good}]},
     allowedRoutes: {namespaces: {from: All}}}
""" + "".join(
    f"  - {{name: {name}, port: {port}, protocol: HTTPS, tls: {{certificateRefs: [{{name: {name}}}]}}}}\n"
    for port, name in enumerate(("mismatched", "broken", "swapped", "number", "elsewhere"), start=8444)
)
ROUTE_WITH_TLS = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: store, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules: [{backendRefs: [{name: store, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: store, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: store}]
  validation: {hostname: store.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]}
"""


class Hoard:
    """A folder full of keys, some where they belong and some where nobody should have put them."""

    def __init__(self, folder: Path) -> None:
        """Make the keys and write the folder."""
        self.folder = folder
        good, other = self_signed(dns=["shop.test"]), self_signed(dns=["shop.test"])
        strange = Authority("roots").issue(dns=["store.test"])
        self._pems = [good.key_pem, other.key_pem, strange.key_pem]
        half = len(other.key_pem) // 2
        broken = f"{other.key_pem[:half]}#{other.key_pem[half:]}"
        texts = {
            "shop.yaml": together(
                LEGATION_CLASS,
                LISTENERS,
                service("store", 9),
                ROUTE_WITH_TLS,
                secret("good", tls_crt=good.pem, tls_key=good.key_pem, password=PASSWORD),
                secret("mismatched", tls_crt=good.pem, tls_key=other.key_pem),
                secret("broken", tls_crt=good.pem, tls_key=broken),
                secret("swapped", tls_crt=good.key_pem, tls_key=good.pem),
                config_map(strange.pem + strange.key_pem),
            ),
            "number.yaml": f"{{apiVersion: v1, kind: Secret, metadata: {{name: number, namespace: infra}}, "
            f"data: {{tls.key: {NUMBER}, tls.crt: '{PASSWORD}'}}}}",
            "fields.yaml": f"{{apiVersion: v1, kind: Secret, metadata: {{name: a, namespace: infra}}, "
            f"data: [{PASSWORD}], {PASSWORD[:-1]}: 1}}",
            "torn.yaml": f"apiVersion: v1\nkind: Secret\nstringData:\n  tls.key: {good.key_pem}",
            "tagged.yaml": f"{{kind: Secret, stringData: {{password: !{PASSWORD} x}}}}",
            "alias.yaml": f"{{kind: Secret, stringData: {{password: *{PASSWORD}}}}}",
            "unknown.yaml": f"{{apiVersion: v1, kind: Secrets, data: {{password: {PASSWORD}}}}}",
        }  # fmt: skip
        for name, text in texts.items():
            (folder / name).write_text(text)

    def marks(self) -> Iterator[str]:
        """Return what to look for: each line of a key, also as a Secret has it, and the other values."""
        for pem in self._pems:
            body = [line for line in pem.splitlines() if not line.startswith("-----")]
            yield from (line for line in body if len(line) > 20)
            whole = b64encode(pem.encode()).decode()
            yield from (whole[start : start + 40] for start in range(0, len(whole) - 40, 40))
        yield from (PASSWORD, b64encode(PASSWORD.encode()).decode(), str(NUMBER))

    def found_in(self, text: str) -> list[str]:
        """Return what of it stands in a text, however that is broken into lines."""
        joined = re.sub(r"\\n|\s", "", text)
        return [mark for mark in self.marks() if mark in joined or mark in text]


@pytest.fixture
def hoard(tmp_path: Path) -> Hoard:
    return Hoard(tmp_path)


def paths() -> set[str]:
    """Name everything that the admin port answers, about Secrets where it is about an object."""
    app = AdminPort(Standing(Hub(lambda _: None), dict), Telemetry(), frozenset()).app()
    found = [route.resource.canonical for route in app.router.routes() if route.resource is not None]
    named = {path.format(**PLACES, name=name) for path in found for name in ("edge", "good", "broken")}
    about_roots = "/api/v1/object/ConfigMap/shop/roots"
    return {*named, about_roots, "/api/v1/search?q=a", f"/api/v1/search?q={PASSWORD[:8]}"}


async def test_no_answer_of_the_admin_port_and_no_line_of_the_log_has_any_of_it(hoard: Hoard) -> None:
    async with legation_up(hoard.folder, "--no-envoy") as up, aiohttp.ClientSession() as session:
        await up.logged("admin port")
        told = {}
        for path in sorted(paths()):
            async with session.get(f"{await up.admin()}{path}") as answer:
                told[path] = f"{answer.headers} {await answer.text()}"
        address = (await up.admin()).removeprefix("http://")
        for command in ("status", "audit"):
            told[command] = "".join(map(str, await run(command, "--admin", address)))
    assert "RefNotPermitted" in told["/api/v1/status"] or "InvalidCertificateRef" in told["/api/v1/status"]
    assert '"name":"good"' in told["/api/v1/object/Secret/infra/good"]
    told["log"] = "\n".join(up.lines)
    assert {name: hoard.found_in(text) for name, text in told.items() if hoard.found_in(text)} == {}


@pytest.mark.parametrize(
    "command",
    ["check", "check -o json", "translate -o tree", "translate -o status", "audit"],
)
async def test_no_command_about_a_folder_prints_any_of_it(hoard: Hoard, command: str) -> None:
    _, out, err = await run(*command.split(), str(hoard.folder))
    assert "Usage" not in err
    assert hoard.found_in(out + err) == []


def test_no_status_and_no_mistake_of_ours_has_any_of_it(hoard: Hoard) -> None:
    workbench, folder = Workbench(), Folder()
    for path in sorted(hoard.folder.iterdir()):
        folder.take(path.name, read(path.read_text(), path.name))
    outcome = workbench.work(folder.changes())
    assert len(outcome.statuses) > 3
    told = [*map(bytes.decode, outcome.statuses.values()), repr(folder.problems()), repr(outcome.broken)]
    assert [hoard.found_in(text) for text in told if hoard.found_in(text)] == []


def test_what_is_looked_for_would_be_found(hoard: Hoard) -> None:
    for path in hoard.folder.iterdir():
        assert hoard.found_in(path.read_text()), path.name
