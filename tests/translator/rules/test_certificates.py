"""What can be read out of PEM, and what is said about the rest."""

from base64 import encodebytes
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.pki import KEYS, Authority, self_signed
from translator.rules.certificates import MOST_CERTIFICATES, Bundle, read_bundle
from translator.verdict import Refused

ROOTS = Authority("roots")
OTHERS = Authority("others")
PLAIN = "-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n"


def bundle_of(text: str) -> Bundle:
    bundle = read_bundle(text)
    assert isinstance(bundle, Bundle)
    return bundle


def refusal_of(text: str) -> Refused:
    refusal = read_bundle(text)
    assert isinstance(refusal, Refused)
    return refusal


def damaged(pem: str, was: bytes, now: bytes) -> str:
    """Return a certificate with some bytes replaced by as many others."""
    der = x509.load_pem_x509_certificate(pem.encode()).public_bytes(Encoding.DER)
    assert der.count(was) >= 1
    assert len(was) == len(now)
    body = encodebytes(der.replace(was, now)).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"


def usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def test_certificates_are_passed_on_in_their_order() -> None:
    bundle = bundle_of(OTHERS.pem + ROOTS.pem)
    assert [anchor.pem for anchor in bundle.anchors] == [OTHERS.pem, ROOTS.pem]
    assert [anchor.number for anchor in bundle.anchors] == [1, 2]
    assert [anchor.subject for anchor in bundle.anchors] == ["CN=others", "CN=roots"]
    assert bundle.broken == ()


@pytest.mark.parametrize(
    "text",
    [
        f"# our roots \u00e9\n{ROOTS.pem}the end",
        ROOTS.pem.replace("\n", "\r\n"),
        ROOTS.pem.replace("\n", "\n    "),
        f"prose {ROOTS.pem.strip()} prose",
    ],
    ids=["comments", "carriage returns", "indented", "on a line with other words"],
)
def test_text_around_and_blanks_within_a_block_do_not_matter(text: str) -> None:
    assert bundle_of(text) == bundle_of(ROOTS.pem)


def test_two_blocks_need_no_line_break_between_them() -> None:
    assert len(bundle_of(ROOTS.pem.strip() + OTHERS.pem).anchors) == 2


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (PLAIN, "is no certificate that can be read"),
        (PLAIN.replace("bm90", "!!!!"), "is no certificate that can be read"),
        (PLAIN.replace("-----END CERTIFICATE-----\n", ""), "lacks its BEGIN or its END line"),
        (PLAIN.replace("-----BEGIN CERTIFICATE-----\n", ""), "lacks its BEGIN or its END line"),
        (PLAIN.replace("END CERTIFICATE", "END PUBLIC KEY"), "lacks its BEGIN or its END line"),
        (PLAIN.replace("CERTIFICATE", "X509 CRL"), "is a X509 CRL, not a CERTIFICATE"),
        (damaged(ROOTS.pem, b"\x02\x01\x02\x02", b"\x02\x01\x07\x02"), "is no certificate that can be read"),
        (
            damaged(ROOTS.pem, b"\x0c\x05roots", b"\x0c\x05\xff\xff\xff\xff\xff"),
            "is no certificate that can be read",
        ),
    ],
    ids=[
        "no DER",
        "no base64",
        "no end",
        "no begin",
        "wrong end",
        "a list of revoked ones",
        "version 8",
        "no UTF-8",
    ],
)
def test_a_broken_block_is_named_by_its_number_and_leaves_the_others(broken: str, says: str) -> None:
    bundle = bundle_of(ROOTS.pem + broken + OTHERS.pem)
    assert [anchor.pem for anchor in bundle.anchors] == [ROOTS.pem, OTHERS.pem]
    assert bundle.broken == (f"block 2 {says}",)


def test_a_last_block_without_end_is_named() -> None:
    assert bundle_of(ROOTS.pem + "-----BEGIN CERTIFICATE-----\nMII").broken == (
        "block 2 lacks its BEGIN or its END line",
    )


def test_a_server_certificate_that_another_signed_proves_nothing() -> None:
    bundle = bundle_of(ROOTS.pem + OTHERS.issue(dns=["pay.internal"], common_name="pay").pem)
    assert [anchor.pem for anchor in bundle.anchors] == [ROOTS.pem]
    assert bundle.broken == (
        "block 2 is neither a certificate authority nor self-signed, so it proves nothing",
    )


def test_a_self_signed_server_certificate_stands_for_itself() -> None:
    (anchor,) = bundle_of(self_signed(dns=["pay.internal"]).pem).anchors
    assert not anchor.authority


def test_an_authority_whose_key_may_not_sign_certificates_proves_nothing() -> None:
    key = KEYS["p256"]()
    start = x509.CertificateBuilder(
        subject_name=x509.Name([]),
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=datetime(2026, 1, 1, tzinfo=UTC),
        not_valid_after=datetime(2026, 2, 1, tzinfo=UTC),
    )
    start = start.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    for signs in (True, False):
        bundle = bundle_of(ROOTS.sign(start.add_extension(usage(signs=signs), critical=True), key).pem)
        assert len(bundle.anchors) == signs
        assert len(bundle.broken) == (not signs)


def test_an_intermediate_authority_can_be_trusted_without_its_root() -> None:
    (anchor,) = bundle_of(Authority("between", ROOTS).pem).anchors
    assert anchor.authority


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"])
def test_a_private_key_anywhere_makes_a_bundle_refused(label: str) -> None:
    refusal = refusal_of(f"{ROOTS.pem} -----BEGIN {label}-----\nc2VjcmV0\n")
    assert refusal.reason == "InvalidCACertificateRef"
    assert "private key" in refusal.message
    assert "c2VjcmV0" not in refusal.message


def test_a_text_without_a_block_is_refused() -> None:
    assert "no certificate in PEM" in refusal_of("roots").message


def test_a_bundle_of_too_many_certificates_is_refused() -> None:
    assert len(bundle_of(PLAIN * MOST_CERTIFICATES).broken) == MOST_CERTIFICATES
    assert (
        f"more than {MOST_CERTIFICATES} certificates" in refusal_of(PLAIN * (MOST_CERTIFICATES + 1)).message
    )


def test_a_bundle_that_is_too_long_is_refused() -> None:
    whole = ROOTS.pem.ljust(2**20)
    assert len(bundle_of(whole).anchors) == 1
    assert "longer than 1048576" in refusal_of(whole + " ").message


def test_beginnings_without_end_stop_at_the_limit() -> None:
    assert "more than" in refusal_of("-----BEGIN CERTIFICATE-----\n" * 30_000).message


def test_what_cannot_be_printed_is_left_out_of_a_subject() -> None:
    (anchor,) = bundle_of(Authority("ro\u202eots").pem).anchors
    assert anchor.subject == "CN=ro?ots"


def test_a_long_subject_is_cut() -> None:
    (anchor,) = bundle_of(Authority("," * 64).pem).anchors
    assert anchor.subject == "CN=" + "\\," * 38 + "\\"


def test_a_certificate_knows_its_time() -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC)
    (anchor,) = bundle_of(
        Authority("roots", not_before=since, not_after=since + timedelta(days=1)).pem
    ).anchors
    assert (anchor.since, anchor.until) == (since, since + timedelta(days=1))
