"""What backends show and policies ask for, and whether the one is enough for the other."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Unpack

from msgspec import Struct

from tests.handshakes.manifests import Json, config_map, root_secret, trust_bundle
from tests.pki import CLIENT, Authority, Issued, Wish, self_signed

HOSTNAME = "pay.shop.test"
SPIFFE = "spiffe://shop.test/pay"
LAST_YEAR = datetime.now(UTC) - timedelta(days=365)
NEXT_YEAR = datetime.now(UTC) + timedelta(days=365)

ROOT, OTHER, SYSTEM = Authority("root"), Authority("other"), Authority("system")
BELOW = Authority("below", parent=ROOT)
FAR_BELOW = Authority("far below", parent=BELOW)
ALONE = self_signed(dns=[HOSTNAME])
RIGHT = ROOT.issue(dns=[HOSTNAME])
OTHERS = ROOT.issue(dns=["other.test"])
OF_SYSTEM = SYSTEM.issue(dns=[HOSTNAME])
AUTHORITIES: tuple[Json, ...] = (
    config_map("root", ROOT.pem),
    config_map("other", OTHER.pem),
    config_map("below", BELOW.pem),
    config_map("alone", ALONE.pem),
    config_map("text", "no certificate"),
    root_secret("root", ROOT.pem),
    trust_bundle("root", ROOT.pem),
)


class Case(Struct, frozen=True):
    """What a backend shows, what its policy says, and whether the backend may be told anything."""

    shows: Issued
    validation: Json
    reached: bool = True
    options: dict[str, str] = {}
    tried: bool = True  # a policy that cannot be honoured leads to no connection at all

    @property
    def server_name(self) -> str:
        """The SNI that the policy asks for."""
        return str(self.validation["hostname"])


def trusting(*names: str, hostname: str = HOSTNAME, sans: Iterable[str] = ()) -> Json:
    """Return what a policy validates: roots in ConfigMaps, or as KIND/NAME; URIs are told by their `://`."""
    proofs = [
        {"type": "URI", "uri": name} if "://" in name else {"type": "Hostname", "hostname": name}
        for name in sans
    ]
    named: Json = {"hostname": hostname, "caCertificateRefs": [_reference(name) for name in names]}
    return named | ({"subjectAltNames": proofs} if proofs else {})


def system(hostname: str = HOSTNAME) -> Json:
    """Return what a policy validates by the roots of Envoy's machine."""
    return {"hostname": hostname, "wellKnownCACertificates": "System"}


def pinning(keys: Iterable[Issued] = (), certificates: Iterable[Issued] = ()) -> dict[str, str]:
    """Return the options that pin these."""
    written = {
        "pinned-public-key-sha256": ", ".join(each.key_pin for each in keys),
        "pinned-certificate-sha256": ", ".join(each.certificate_pin for each in certificates),
    }
    return {option: pins for option, pins in written.items() if pins}


def shows(**wish: Unpack[Wish]) -> Issued:
    """Return a certificate of the root that policies trust."""
    return ROOT.issue(**wish)


def _reference(name: str) -> dict[str, str]:
    kind, _, bare = name.rpartition("/")
    group = "certificates.k8s.io" if kind == "ClusterTrustBundle" else ""
    return {"group": group, "kind": kind or "ConfigMap", "name": bare}


def _named(sans: Iterable[str], shown: Wish, *, reached: bool) -> Case:
    """Return a case about names only."""
    return Case(shows(**shown), trusting("root", sans=sans), reached)


PINS_ALONE: Json = {"hostname": HOSTNAME, "wellKnownCACertificates": "legation.dev/pinned"}
UNVERIFIED: Json = PINS_ALONE | {"wellKnownCACertificates": "legation.dev/insecure-skip-verification"}
SPARE = self_signed(dns=[HOSTNAME])
LAPSED = ROOT.issue(dns=["other.test"], not_before=LAST_YEAR, not_after=LAST_YEAR + timedelta(days=1))
RENEWED = OTHER.renew(RIGHT, dns=[HOSTNAME])
FIVE = ("a.test", "b.test", "c.test", SPIFFE, "e.test")
PROVED = {
    "right": Case(RIGHT, trusting("root")),
    "chain-of-four": Case(FAR_BELOW.issue(dns=[HOSTNAME]), trusting("root")),
    "wildcard-certificate": Case(shows(dns=["*.shop.test"]), trusting("root")),
    "uri-name": _named([SPIFFE], {"uri": [SPIFFE]}, reached=True),
    "fourth-of-five-names": _named(FIVE, {"uri": [SPIFFE]}, reached=True),
    "fifth-of-five-names": _named(FIVE, {"dns": ["e.test"]}, reached=True),
    "hostname-is-only-sni": Case(RIGHT, trusting("root", hostname="sni.test", sans=[HOSTNAME])),
    "wildcard-name-same": _named(["*.shop.test"], {"dns": ["*.shop.test"]}, reached=True),
    "wildcard-name-one-label": _named(["*.shop.test"], {"dns": [HOSTNAME]}, reached=True),
    "roots-in-secret": Case(RIGHT, trusting("Secret/root")),
    "roots-in-trust-bundle": Case(RIGHT, trusting("ClusterTrustBundle/root")),
    "two-roots": Case(RIGHT, trusting("other", "root")),
    "one-reference-missing": Case(RIGHT, trusting("nowhere", "root")),
    "one-reference-unreadable": Case(RIGHT, trusting("root", "text")),
    "anchor-is-the-certificate": Case(ALONE, trusting("alone")),
    "anchor-is-intermediate": Case(BELOW.issue(dns=[HOSTNAME])._replace(above=()), trusting("below")),
    "system-roots": Case(SYSTEM.issue(dns=[HOSTNAME]), system()),
    "pinned-key": Case(ALONE, PINS_ALONE, options=pinning([ALONE, SPARE])),
    "pinned-certificate": Case(ALONE, PINS_ALONE, options=pinning([], [SPARE, ALONE])),
    "one-form-of-two": Case(ALONE, PINS_ALONE, options=pinning([SPARE], [ALONE])),
    "pinned-key-certified-anew": Case(RENEWED, PINS_ALONE, options=pinning([RIGHT])),
    "pinned-whatever-its-name-and-date": Case(LAPSED, PINS_ALONE, options=pinning([LAPSED])),
    "pin-beside-roots": Case(RIGHT, trusting("root"), options=pinning([SPARE, RIGHT])),
    "certificate-beside-system-roots": Case(OF_SYSTEM, system(), options=pinning([], [OF_SYSTEM])),
}
REFUSED = {
    "wrong-name": Case(shows(dns=["other.test"]), trusting("root"), reached=False),
    "name-in-subject-only": Case(shows(common_name=HOSTNAME), trusting("root"), reached=False),
    "name-as-uri": Case(shows(uri=[HOSTNAME]), trusting("root"), reached=False),
    "other-authority": Case(OTHER.issue(dns=[HOSTNAME]), trusting("root"), reached=False),
    "expired": Case(
        shows(dns=[HOSTNAME], not_before=LAST_YEAR, not_after=LAST_YEAR + timedelta(days=1)),
        trusting("root"),
        reached=False,
    ),
    "not-yet-valid": Case(
        shows(dns=[HOSTNAME], not_before=NEXT_YEAR, not_after=NEXT_YEAR + timedelta(days=1)),
        trusting("root"),
        reached=False,
    ),
    "self-signed": Case(ALONE, trusting("root"), reached=False),
    "other-than-its-anchor": Case(self_signed(dns=[HOSTNAME]), trusting("alone"), reached=False),
    "for-clients-only": Case(shows(dns=[HOSTNAME], eku=[CLIENT]), trusting("root"), reached=False),
    "intermediate-missing": Case(
        FAR_BELOW.issue(dns=[HOSTNAME])._replace(above=()), trusting("root"), reached=False
    ),
    "other-uri": _named([SPIFFE], {"uri": [f"{SPIFFE}/2"]}, reached=False),
    "none-of-five-names": _named(FIVE, {"dns": [HOSTNAME]}, reached=False),
    "hostname-beside-names": _named(["a.test"], {"dns": [HOSTNAME]}, reached=False),
    "wildcard-name-two-labels": _named(["*.shop.test"], {"dns": ["a.b.shop.test"]}, reached=False),
    "wildcard-in-a-label": Case(shows(dns=["p*.shop.test"]), trusting("root"), reached=False),
    "private-for-system": Case(RIGHT, system(), reached=False),
    "system-for-private": Case(SYSTEM.issue(dns=[HOSTNAME]), trusting("root"), reached=False),
    "no-roots": Case(RIGHT, trusting("nowhere", "text"), reached=False, tried=False),
    "address-as-hostname": Case(
        shows(ip=["127.0.0.1"]), trusting("root", hostname="127.0.0.1"), reached=False, tried=False
    ),
    "unknown-option": Case(
        RIGHT, trusting("root"), reached=False, options={"verify-depth": "1"}, tried=False
    ),
    "other-key-than-pinned": Case(ALONE, PINS_ALONE, reached=False, options=pinning([SPARE])),
    "other-certificate-than-pinned": Case(RENEWED, PINS_ALONE, reached=False, options=pinning([], [RIGHT])),
    "pin-of-the-authority": Case(RIGHT, PINS_ALONE, reached=False, options=pinning([ROOT.own], [ROOT.own])),
    "other-pin-beside-roots": Case(RIGHT, trusting("root"), reached=False, options=pinning([SPARE])),
    "pin-of-another-authority": Case(RENEWED, trusting("root"), reached=False, options=pinning([RENEWED])),
    "pin-of-another-name": Case(OTHERS, trusting("root"), reached=False, options=pinning([OTHERS])),
    "pin-beside-roots-expired": Case(LAPSED, trusting("root"), reached=False, options=pinning([LAPSED])),
    "no-pins": Case(RIGHT, PINS_ALONE, reached=False, tried=False),
    "unreadable-pin": Case(
        RIGHT, PINS_ALONE, reached=False, options={"pinned-public-key-sha256": "x"}, tried=False
    ),
    "unverified-not-permitted": Case(RIGHT, UNVERIFIED, reached=False, tried=False),
    "pin-and-unverified-not-permitted": Case(
        RIGHT, UNVERIFIED, reached=False, options=pinning([RIGHT]), tried=False
    ),
    "any-name-not-permitted": Case(
        RIGHT, trusting("root"), reached=False, options={"verification-mode": "SkipHostname"}, tried=False
    ),
}
CASES = PROVED | REFUSED
