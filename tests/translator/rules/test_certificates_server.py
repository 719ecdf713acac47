"""Which Secrets Envoy can show to clients, and what is said about the others."""

from base64 import encodebytes
from datetime import UTC, datetime, timedelta
from inspect import signature
from types import MappingProxyType

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from tests.pki import CLIENT, KEYS, Authority, Issued, Wish, self_signed
from tests.translator.rules.backend_tls_given import secret, shop, world_of
from translator.objects.secret import Secret
from translator.rules.certificates import (
    LONGEST_KEY,
    NOW,
    KeyPair,
    chain,
    days_left,
    lapse,
    own_certificate,
    server_certificate,
    server_certificate_warning,
)
from translator.verdict import Refused
from translator.world import World

LEAF = Authority("between", Authority("roots")).issue(dns=["shop.test"])
OTHER = self_signed(dns=["other.test"])
SELF_SIGNED = MappingProxyType({
    kind: self_signed(key=kind) for kind in ("p224", "p256", "p384", "p521", "rsa1024", "rsa2048", "ed25519")
})  # fmt: skip
EC_PARAMETERS = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"


def tls_secret(chain: str, key: str) -> Secret:
    return secret("web", "kubernetes.io/tls", tls_crt=chain, tls_key=key)


def pair_of(chain: str, key: str) -> KeyPair:
    pair = server_certificate(world_of(tls_secret(chain, key)), shop("web"))
    assert isinstance(pair, KeyPair), pair
    return pair


def refusal_of(given: Secret) -> str:
    refusal = server_certificate(world_of(given), shop("web"))
    assert isinstance(refusal, Refused)
    assert refusal.reason == "InvalidCertificateRef"
    assert refusal.message.startswith("Secret shop/web ")
    assert server_certificate_warning(world_of(given), shop("web")) == ""
    return refusal.message


def key_in(form: PrivateFormat, issued: Issued = LEAF) -> str:
    return issued.key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def test_a_chain_and_its_key_are_served() -> None:
    assert pair_of(LEAF.chain_pem, LEAF.key_pem) == KeyPair(LEAF.chain_pem, LEAF.key_pem)


@pytest.mark.parametrize("kind", ["p256", "p384", "p521", "rsa2048"])
def test_every_kind_of_key_that_envoy_serves_with_is_taken(kind: str) -> None:
    issued = SELF_SIGNED[kind]
    assert pair_of(issued.pem, issued.key_pem).chain == issued.pem


@pytest.mark.parametrize("kind", ["p224", "rsa1024", "ed25519"])
def test_every_other_kind_of_key_is_refused(kind: str) -> None:
    issued = SELF_SIGNED[kind]
    assert "use ECDSA on P-256" in refusal_of(tls_secret(issued.pem, issued.key_pem))


@pytest.mark.parametrize(("kind", "says"), [("rsa2048", None), ("p256", "issue it with digitalSignature")])
def test_rsa_may_be_for_the_exchange_of_keys_alone_and_ecdsa_may_not(kind: str, says: str | None) -> None:
    usage = dict.fromkeys(signature(x509.KeyUsage).parameters, False) | {"key_encipherment": True}
    key = KEYS[kind]()
    start = x509.CertificateBuilder(
        subject_name=SELF_SIGNED[kind].certificate.subject,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=datetime(2026, 1, 1, tzinfo=UTC),
        not_valid_after=datetime(2027, 1, 1, tzinfo=UTC),
    )
    names = x509.SubjectAlternativeName([x509.DNSName("shop.test")])
    start = start.add_extension(names, critical=False).add_extension(x509.KeyUsage(**usage), critical=True)
    issued = Authority("roots").sign(start, key)
    if says is None:
        assert pair_of(issued.pem, issued.key_pem).chain == issued.pem
    else:
        assert says in refusal_of(tls_secret(issued.pem, issued.key_pem))


def test_a_key_in_an_older_form_is_written_anew() -> None:
    older = EC_PARAMETERS + key_in(PrivateFormat.TraditionalOpenSSL)
    assert pair_of("comment\n" + LEAF.chain_pem, older) == pair_of(LEAF.chain_pem, LEAF.key_pem)


def test_a_certificate_that_names_nobody_is_shown_to_backends_and_to_no_clients() -> None:
    nobody = Authority("roots").issue(eku=[CLIENT])
    given = tls_secret(nobody.chain_pem, nobody.key_pem)
    assert "it names nobody" in refusal_of(given)
    assert isinstance(own_certificate(world_of(given), shop("web")), KeyPair)


@pytest.mark.parametrize(
    "wish", [{"dns": ["shop.test"]}, {"uri": ["spiffe://shop.test/web"]}, {"ip": ["198.18.0.1"]}]
)
def test_a_certificate_that_names_anybody_beside_its_subject_is_shown_to_clients(wish: Wish) -> None:
    named = Authority("roots").issue(**wish)
    assert pair_of(named.chain_pem, named.key_pem).key == named.key_pem


def test_a_secret_that_is_not_there_is_refused() -> None:
    refusal = server_certificate(world_of(), shop("web"))
    assert refusal == Refused(
        "InvalidCertificateRef",
        "Secret shop/web does not exist: create it, with `kubectl create secret tls`",
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (secret("web", "Opaque", tls_crt=LEAF.pem, tls_key=LEAF.key_pem), "is of type Opaque"),
        (secret("web", "kubernetes.io/tls", tls_key=LEAF.key_pem), "has no tls.crt"),
        (secret("web", "kubernetes.io/tls", tls_crt=LEAF.pem), "has no tls.key"),
        (tls_secret("", LEAF.key_pem), "has no tls.crt"),
        (tls_secret("Hello world", LEAF.key_pem), "tls.crt holds no certificate in PEM"),
        (tls_secret(LEAF.pem + LEAF.key_pem, LEAF.key_pem), "tls.crt holds a private key"),
        (tls_secret(LEAF.pem + LEAF.pem[:200], LEAF.key_pem), "block 2 lacks its BEGIN or its END line"),
        (tls_secret(LEAF.pem, "Hello world"), "is no private key in PEM"),
        (tls_secret(LEAF.pem, LEAF.pem), "is no private key in PEM"),
        (tls_secret(LEAF.pem, LEAF.key_pem.ljust(LONGEST_KEY + 1)), "more than 8192 bytes"),
        (tls_secret(LEAF.pem, OTHER.key_pem), "is not the key of tls.crt"),
        (tls_secret(OTHER.pem + LEAF.chain_pem, LEAF.key_pem), "in the wrong order"),
    ],
)
def test_a_secret_that_cannot_be_served_says_why(given: Secret, says: str) -> None:
    assert says in refusal_of(given)


def test_a_key_may_be_as_long_as_it_is_said() -> None:
    assert pair_of(LEAF.pem, LEAF.key_pem.ljust(LONGEST_KEY)).key == LEAF.key_pem


def test_nothing_is_known_of_a_chain_that_cannot_be_served() -> None:
    assert chain(world_of(), shop("web")) == ()
    assert chain(world_of(tls_secret(LEAF.pem, OTHER.key_pem)), shop("web")) == ()
    [own] = chain(world_of(tls_secret(LEAF.pem, LEAF.key_pem)), shop("web"))
    assert own.pem == LEAF.pem


def test_comments_that_are_no_utf_8_leave_a_chain_readable() -> None:
    foreign = b"# Z\xfcrich\n" + LEAF.pem.encode()
    given = secret("web", "kubernetes.io/tls", tls_crt=foreign, tls_key=LEAF.key_pem)
    assert server_certificate(world_of(given), shop("web")) == KeyPair(LEAF.pem, LEAF.key_pem)


def test_an_encrypted_key_is_refused() -> None:
    sealed = LEAF.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"sesame"))
    assert "encrypted" in refusal_of(tls_secret(LEAF.pem, sealed.decode()))


def test_a_key_of_another_algorithm_is_refused() -> None:
    key = dsa.generate_private_key(2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    assert "use ECDSA on P-256" in refusal_of(tls_secret(LEAF.pem, pem))


def test_no_message_and_no_picture_of_a_pair_shows_a_key() -> None:
    secret_part = LEAF.key_pem.splitlines()[1]
    assert secret_part not in refusal_of(tls_secret(OTHER.pem, LEAF.key_pem))
    assert secret_part not in repr(pair_of(LEAF.pem, LEAF.key_pem))


def test_an_expired_certificate_is_served_with_a_warning() -> None:
    old = self_signed(not_before=datetime(2025, 1, 1, tzinfo=UTC), not_after=datetime(2025, 2, 1, tzinfo=UTC))
    world = world_of(tls_secret(old.pem, old.key_pem))
    assert server_certificate_warning(world, shop("web")) == ""
    before = server_certificate(world, shop("web"))
    world.state(NOW, datetime(2026, 1, 1, tzinfo=UTC))
    assert server_certificate(world, shop("web")) == before
    assert server_certificate_warning(world, shop("web")) == (
        "Secret shop/web: its certificate expired on 2025-02-01 00:00 UTC, and will be refused: renew it"
    )


def test_notice_is_given_in_three_steps_and_ends_with_the_validity() -> None:
    world, until = World(), datetime(2026, 6, 1, tzinfo=UTC)
    since = datetime(2025, 6, 1, tzinfo=UTC)
    assert days_left(world, since, until) is None
    told = []
    for days in (31, 29, 8, 6, 2, 0.9, 0, -0.1):
        world.state(NOW, until - timedelta(days))
        told.append(days_left(world, since, until))
    assert told == [None, 30, 30, 7, 7, 1, 1, None]


def test_what_lives_for_hours_is_given_notice_in_its_last_quarter() -> None:
    world, since = World(), datetime(2026, 1, 1, tzinfo=UTC)
    until = since + timedelta(hours=24)
    for hour, days in ((1, None), (17, None), (18, 1), (23, 1)):
        world.state(NOW, since + timedelta(hours=hour))
        assert days_left(world, since, until) == days


def test_a_validity_without_an_end_needs_no_notice() -> None:
    world = World()
    world.state(NOW, datetime(2026, 1, 1, tzinfo=UTC))
    end_of_time = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert days_left(world, datetime(1, 1, 1, tzinfo=UTC), end_of_time) is None
    assert lapse(world, datetime(1, 1, 1, tzinfo=UTC), end_of_time) == ""


def test_a_clock_that_ticks_reads_no_certificate_again() -> None:
    world = world_of(tls_secret(LEAF.pem, LEAF.key_pem))
    for hour in range(3):
        world.state(NOW, datetime(2026, 1, 1, hour, tzinfo=UTC))
        server_certificate_warning(world, shop("web"))
    assert world.memory.runs["_served"] == 1


def test_a_certificate_above_with_a_key_nobody_knows_is_passed_on() -> None:
    curve = bytes.fromhex("2a8648ce3d030107")
    der = Authority("strange").own.certificate.public_bytes(Encoding.DER)
    body = encodebytes(der.replace(curve, curve[:-1] + b"\x63")).decode()
    strange = f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"
    assert pair_of(LEAF.pem + strange, LEAF.key_pem).chain.startswith(LEAF.pem)
    assert "is not the key of tls.crt" in refusal_of(tls_secret(strange, LEAF.key_pem))
