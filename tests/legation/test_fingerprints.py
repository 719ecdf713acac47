"""`legation pin`: what it prints is what a policy takes, and what the backend has."""

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from typer.testing import CliRunner

from legation.cli.main import app
from tests.legation.running import environment
from tests.legation.running import run as run_process
from tests.loopback import Backend, http_backend, server_tls
from tests.pki import Authority
from translator.rules.tls_options import TlsOptions, read_options

ROOT = Authority("root")
PAY = ROOT.issue(dns=["pay.internal"], common_name="pay")
VERSION = bytes.fromhex("a003020102")  # as each certificate of version 3 begins


def odd() -> bytes:
    """Return a certificate that says to be of version 2, which TLS takes and `cryptography` does not read."""
    written = ssl.PEM_cert_to_DER_cert(PAY.pem)
    assert written.count(VERSION) == 1
    return written.replace(VERSION, VERSION[:-1] + b"\x01")


def run(*arguments: str) -> tuple[int, str, str]:
    """Run the command in this process."""
    done = CliRunner().invoke(app, ["pin", *arguments], env={"TERM": "dumb", "COLUMNS": "100"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest_asyncio.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    context: ssl.SSLContext = server_tls(PAY, tmp_path)
    async with http_backend("pay", context) as backend:
        yield backend


def written(tmp_path: Path, text: str | bytes) -> str:
    path = tmp_path / "a.pem"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


async def test_what_a_backend_shows_is_printed_as_a_policy_takes_it(backend: Backend) -> None:
    code, text, _ = await run_process("pin", f"127.0.0.1:{backend.port}")
    assert code == 0
    spec = yaml.safe_load(text)["spec"]
    assert spec["validation"] == {
        "hostname": "pay.internal",
        "wellKnownCACertificates": "legation.dev/pinned",
    }
    options = read_options(spec["options"])
    assert isinstance(options, TlsOptions)
    assert options.pins.public_keys == (PAY.key_pin,)
    with_both = yaml.safe_load(text.replace("# legation.dev/", "legation.dev/"))["spec"]["options"]
    both = read_options(with_both)
    assert isinstance(both, TlsOptions)
    assert both.pins.certificates == (PAY.certificate_pin,)
    assert "Nobody vouched for it" in text
    assert "legation pin spare.pub" in text


async def test_the_name_that_is_asked_for_stands_in_the_policy(backend: Backend) -> None:
    _, text, _ = await run_process("pin", "--server-name", "till.shop.test", f"127.0.0.1:{backend.port}")
    assert yaml.safe_load(text)["spec"]["validation"]["hostname"] == "till.shop.test"
    assert "an example" not in text


def test_a_name_that_nobody_gave_is_called_an_example(tmp_path: Path) -> None:
    _, text, _ = run(written(tmp_path, PAY.pem))
    assert "    hostname: pay.internal # an example: write the name" in text
    _, text, _ = run("--server-name", "pay.internal", written(tmp_path, PAY.pem))
    assert "an example" not in text


def test_the_commands_that_make_a_key_in_reserve_end_with_its_pin(tmp_path: Path) -> None:
    _, text, _ = run(written(tmp_path, PAY.pem))
    commands = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    assert [each.split()[0] for each in commands] == ["openssl", "openssl", "legation"]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-ec", "\n".join(commands)],
        cwd=tmp_path,
        env=environment() | {"PATH": path},
        check=True,
        capture_output=True,
    )
    public = load_pem_public_key((tmp_path / "spare.pub").read_bytes())
    pin = sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    options = yaml.safe_load(done.stdout)["spec"]["options"]
    assert options == {"legation.dev/pinned-public-key-sha256": b64encode(pin).decode()}


async def test_an_odd_certificate_is_pinned_by_its_bytes_where_it_is_shown_and_in_a_file(
    tmp_path: Path,
) -> None:
    pem = ssl.DER_cert_to_PEM_cert(odd())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(written(tmp_path, pem + PAY.key_pem))
    async with http_backend("pay", context) as backend:
        answers = [await run_process("pin", f"127.0.0.1:{backend.port}"), run(written(tmp_path, pem))]
    for code, text, _ in answers:
        assert code == 0
        options = read_options(yaml.safe_load(text)["spec"]["options"])
        assert isinstance(options, TlsOptions)
        assert options.pins.public_keys == ()
        assert options.pins.certificates == (sha256(odd()).hexdigest(),)
        assert "1 is not a valid X509 version" in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("--server-name", ".x", "127.0.0.1:{port}"),
        ("--server-name", "x" * 64, "127.0.0.1:{port}"),
        (f"{'x' * 64}.test:443",),
    ],
    ids=["begins with a dot", "label too long", "label of the address too long"],
)
async def test_a_name_that_no_server_can_be_asked_for_is_said_with_what_helps(
    backend: Backend, arguments: tuple[str, ...]
) -> None:
    code, out, err = await run_process("pin", *(each.format(port=backend.port) for each in arguments))
    assert (code, out) == (2, "")
    assert "is no name to ask a server for" in err
    assert "--server-name pay.internal" in err
    assert "Traceback" not in err


def test_of_a_chain_the_first_certificate_is_pinned(tmp_path: Path) -> None:
    chain = f"anything before\n{PAY.pem}{ROOT.pem}"
    code, text, _ = run("-o", "json", written(tmp_path, chain))
    assert code == 0
    found = json.loads(text)
    assert found["publicKeySha256"] == PAY.key_pin
    assert found["certificateSha256"].replace(":", "").lower() == PAY.certificate_pin
    assert found["what"].startswith("certificate of CN=pay, until 20")


def test_a_key_in_reserve_is_pinned_before_it_has_a_certificate(tmp_path: Path) -> None:
    public = PAY.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .sign(PAY.key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    for text in (public, request):
        code, printed, _ = run(written(tmp_path, text))
        assert code == 0
        assert yaml.safe_load(printed)["spec"]["options"] == {
            "legation.dev/pinned-public-key-sha256": PAY.key_pin
        }
        assert "pinned-certificate-sha256" not in printed
        assert "beside the pin of the key that is in use" in printed
        assert "-out spare.key" not in printed, "it would take the place of the key that was pinned"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PAY.key_pem, "private key, which is not read"),
        ("nothing", "holds no PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "CERTIFICATE cannot be read"),
        ("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n", "neither a certificate"),
    ],
    ids=["key", "text", "broken", "other"],
)
def test_what_cannot_be_pinned_is_said(tmp_path: Path, text: str, says: str) -> None:
    code, out, err = run(written(tmp_path, text))
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())


async def test_a_backend_that_asks_for_a_certificate_is_not_said_to_speak_no_tls(tmp_path: Path) -> None:
    context = server_tls(PAY, tmp_path)
    context.maximum_version, context.verify_mode = ssl.TLSVersion.TLSv1_2, ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=ROOT.pem)

    def turn_away(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, pytest.raises(ssl.SSLError, match="did not return a certificate"):
            context.wrap_socket(connection, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        turned_away = asyncio.create_task(asyncio.to_thread(turn_away, listener))
        code, _, err = await run_process("pin", f"127.0.0.1:{listener.getsockname()[1]}")
        await turned_away
    assert code == 2
    assert "where TLS is spoken" not in err
    assert "name a file with the backend's own" in err


def test_an_address_without_a_server_and_a_file_that_is_not_there_are_said() -> None:
    assert "shows no certificate" in run("127.0.0.1:1")[2]
    assert "is no file, and no address" in " ".join(run("nowhere.pem")[2].split())
