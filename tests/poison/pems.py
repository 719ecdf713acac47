"""Bundles, chains and keys as careless people paste them and hostile ones make them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

import yaml
from cryptography.hazmat.primitives.asymmetric import dsa, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from hypothesis import strategies as st

from legation.manifests import read_manifests
from tests.pki import Authority, Issued, self_signed
from tests.poison.der import KEYS, USUAL, certificate, certificates, spki
from tests.poison.spells import GATEWAYS, TENANT
from translator.objects.kinds import Object

SHORTEST_LINE = 20
HTTPS_PORT = 443
EARLY, LATE = datetime(2001, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)


class Writing(NamedTuple):
    """What one place of trust holds, and what one listener is to show."""

    bundle: bytes
    chain: bytes
    key: bytes


class Stock(NamedTuple):
    """What is made once, as keys take time."""

    good: Issued
    blocks: tuple[bytes, ...]
    secrets: tuple[bytes, ...]  # what must never be seen again
    keys: tuple[bytes, ...]


def pem(label: str, der: bytes) -> bytes:
    """Write one block."""
    text = b64encode(der).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n".encode()


@cache
def stock() -> Stock:
    """Return good and bad certificates and keys."""
    root = Authority("roots", key="rsa2048")
    good = Authority("between", root).issue(dns=["evil.example"])
    circle = Authority("circle", Authority("circle", Authority("circle")))
    whole = good.certificate.public_bytes(Encoding.DER)
    certificates = (
        *(each.pem for each in (good, root, circle, self_signed(dns=["evil.example"], key="ed25519"))),
        self_signed(not_after=EARLY, not_before=datetime(2000, 1, 1, tzinfo=UTC)).pem,
        self_signed(not_before=LATE, not_after=datetime(2100, 1, 1, tzinfo=UTC)).pem,
    )
    private = (
        good.key_pem.encode(),
        root.own.key_pem.encode(),
        good.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()),
        good.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"known")),
        good.key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        *(
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            for key in (ed25519.Ed25519PrivateKey.generate(), dsa.generate_private_key(1024))  # noqa: S505  weak on purpose
        ),
    )
    labels = ("TRUSTED CERTIFICATE", "X509 CERTIFICATE", "X509 CRL", "CERTIFICATE REQUEST", "PKCS7", "A" * 50)
    return Stock(
        good,
        (
            *map(str.encode, certificates),
            *(pem(label, whole) for label in labels),
            whole,
            b"",
            pem("CERTIFICATE", b""),
        ),
        private,
        (good.key_pem.encode(), good.key_pem.encode(), *private, b"", good.pem.encode()),
    )


def secret_lines() -> Iterator[bytes]:
    """Yield each line of each private key."""
    for key in stock().secrets:
        yield from (line for line in key.splitlines() if len(line) > SHORTEST_LINE and b"--" not in line)


def disguised(text: bytes) -> st.SearchStrategy[bytes]:
    """Write a text as other machines do, or lose a part of it."""
    return st.sampled_from((
        text,
        text,
        text,
        text.replace(b"\n", b"\r\n"),
        text.replace(b"\n", b"\r"),
        text.replace(b"\n", b"\n\n \t"),
        text.replace(b"\n", b""),
        b"\xef\xbb\xbf" + text,
        b"# a comment of somebody's, Zo\xeb\n" + text + b"Bag Attributes\n",
        text[: len(text) // 2],
        text[len(text) // 2 :],
        text.replace(b"A", b"=", 2),
        text.lower(),
        text.decode("latin-1").encode("utf-16"),
        text * 3,
    ))  # fmt: skip


def blocks() -> st.SearchStrategy[bytes]:
    """Draw what may stand in a bundle; every other one may be a key."""
    own = certificates().map(lambda der: pem("CERTIFICATE", der))
    return st.one_of(own, own, st.sampled_from(stock().blocks), st.sampled_from(stock().secrets)).flatmap(
        disguised
    )


def bundles() -> st.SearchStrategy[bytes]:
    """Draw several blocks behind each other; mostly a good one is among them."""
    good = st.just(stock().good.above[0].public_bytes(Encoding.PEM))
    return st.lists(good | blocks() | blocks(), max_size=5).map(b"".join)


def chains() -> st.SearchStrategy[bytes]:
    """Draw what a listener is to show: mostly for the key that stands beside it."""
    own = certificates(spki(stock().good.key.public_key())).map(lambda der: pem("CERTIFICATE", der))
    return st.tuples(own | own | blocks(), st.just(b"") | blocks()).map(b"".join)


ONE = pem("CERTIFICATE", certificate(KEYS["P-256"], names=(USUAL, USUAL)))


def bad_bundles() -> Mapping[str, tuple[bytes, str]]:
    """Return bundles that are refused, and what of the reason; all fit into a ConfigMap."""
    good, key = stock().good.above[0].public_bytes(Encoding.PEM), stock().secrets[0]
    return {
        "thousands": (ONE * 1001, "1000 certificates"),
        "one broken": (good + ONE[:200] + b"\n" + good, "block 2"),
        "a key instead": (key, "private key"),
        "a key beside": (good + key, "private key"),
    }


def bad_writings() -> list[Writing]:
    """Return each of them, beside what a listener may well show."""
    good = stock().good
    shown = good.pem.encode(), good.key_pem.encode()
    return [Writing(bundle, *shown) for bundle, _ in bad_bundles().values()]


def writings() -> st.SearchStrategy[Writing]:
    """Draw all that one tenant's Secrets and ConfigMaps hold."""
    keys = st.just(stock().keys[0]) | st.sampled_from(stock().keys).flatmap(disguised)
    return st.builds(Writing, bundles(), chains(), keys)


def manifests(writings: Sequence[Writing], port: int) -> str:
    """Write a tenant who believes each bundle for a Service, and shows each chain at the shared Gateway."""
    numbers = range(len(writings))
    refs = [{"name": "shared", "namespace": "infra"}]
    backends = [{"name": f"a{number}", "port": 80} for number in numbers]
    listeners = [
        {"name": f"l{n}", "port": port, "protocol": "HTTPS", "hostname": f"h{n}.evil.example",
         "tls": {"certificateRefs": [{"name": f"edge{n}"}]}}
        for n in numbers
    ]  # fmt: skip
    objects = [
        thing(f"{GATEWAYS}/v1", "HTTPRoute", "trusting", parentRefs=refs, hostnames=["evil.example"],
              rules=[{"backendRefs": backends}]),
        thing(f"{GATEWAYS}/v1", "ListenerSet", "showing", parentRef=refs[0], listeners=listeners),
        *(each for number in numbers for each in _held(number, writings[number])),
    ]  # fmt: skip
    return yaml.safe_dump_all(objects)


def things(some: list[Writing]) -> tuple[Object, ...]:
    """Return the tenant's objects."""
    loaded, problems = read_manifests(manifests(some, HTTPS_PORT), "evil.yaml")
    assert not problems
    return tuple(each.thing for each in loaded)


def thing(version: str, kind: str, name: str, **spec: object) -> dict[str, Any]:
    """Write an object of the tenant."""
    metadata = {"name": name, "namespace": TENANT, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _held(number: int, writing: Writing) -> tuple[dict[str, Any], ...]:
    """Write what one bundle and one chain are in; ways to hold a bundle take turns."""
    kind = ("ConfigMap", "Secret", "ConfigMap")[number % 3]
    believed = {"group": "", "kind": kind, "name": f"roots{number}"}
    target = {"group": "", "kind": "Service", "name": f"a{number}"}
    validation = {"hostname": "a.example", "caCertificateRefs": [believed]}
    policy = thing(
        f"{GATEWAYS}/v1", "BackendTLSPolicy", f"a{number}", targetRefs=[target], validation=validation
    )
    service = thing("v1", "Service", f"a{number}", ports=[{"name": "a", "port": 80}])
    roots, edge = thing("v1", kind, f"roots{number}"), thing("v1", "Secret", f"edge{number}")
    del roots["spec"], edge["spec"]
    field = "binaryData" if number % 3 == 0 else "data"
    encoded = b64encode(writing.bundle).decode()
    roots[field] = {"ca.crt": writing.bundle.decode(errors="replace") if number % 3 == 2 else encoded}
    edge["type"] = "kubernetes.io/tls"
    edge["data"] = {"tls.crt": b64encode(writing.chain).decode(), "tls.key": b64encode(writing.key).decode()}
    return policy, service, roots, edge
