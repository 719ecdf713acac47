"""What options may say, and that Envoy takes every value they may have."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2

from tests.envoy_validate import validate
from translator.envoy.resource import CLUSTER
from translator.envoy.upstream_tls import transport_socket
from translator.rules.backend_tls import DnsName, SystemRoots, UpstreamTls
from translator.rules.backends import Protocol
from translator.rules.tls_options import CIPHER_SUITES, CURVES, TlsOptions, read_options
from translator.verdict import Refused


def ours(**options: str) -> dict[str, str]:
    return {f"legation.dev/{name.replace('_', '-')}": value for name, value in options.items()}


def refusal_of(options: dict[str, str]) -> str:
    refusal = read_options(options)
    assert isinstance(refusal, Refused)
    assert refusal.reason == "Invalid"
    return refusal.message


def test_without_options_the_handshake_is_as_envoy_would_have_it() -> None:
    assert read_options({}) == TlsOptions("1.2", "1.3", (), (), ())


def test_every_option_is_read() -> None:
    given = ours(
        min_tls_version="1.2",
        max_tls_version="1.2",
        cipher_suites="ECDHE-RSA-AES256-GCM-SHA384, ECDHE-RSA-AES128-GCM-SHA256",
        curves="X25519,P-256",
        alpn="h2, http/1.1",
    )
    assert read_options(given) == TlsOptions(
        min_version="1.2",
        max_version="1.2",
        cipher_suites=("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256"),
        curves=("X25519", "P-256"),
        alpn=("h2", "http/1.1"),
    )


def test_a_protocol_has_a_name_of_at_most_255_letters() -> None:
    assert read_options(ours(alpn="h" * 255)) == TlsOptions(alpn=("h" * 255,))


def test_what_is_said_twice_counts_once() -> None:
    assert read_options(ours(curves="P-256,P-256")) == TlsOptions(curves=("P-256",))


def test_options_of_other_domains_are_left_alone() -> None:
    assert read_options({"other.test/min-tls-version": "0.9"}) == TlsOptions()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (ours(min_tls_version="1.1"), "option legation.dev/min-tls-version: '1.1' is no TLS version"),
        (ours(max_tls_version=""), "option legation.dev/max-tls-version: '' is no TLS version"),
        (ours(cipher_suites="RC4-SHA"), "option legation.dev/cipher-suites: 'RC4-SHA' cannot be used"),
        (ours(cipher_suites="DES-CBC3-SHA"), "'DES-CBC3-SHA' cannot be used"),
        (ours(cipher_suites=""), "'' cannot be used"),
        (ours(curves="P-256,P-224,"), "option legation.dev/curves: 'P-224', '' cannot be used"),
        (ours(alpn="h2,h\u00e9"), "option legation.dev/alpn: 'h\u00e9' is no protocol name"),
        (ours(alpn="h" * 256), "is no protocol name"),
        (ours(alpn="h 2"), "'h 2' is no protocol name"),
        (ours(min_tls_version="1.3", max_tls_version="1.2"), "no version is left"),
        (ours(pinned_public_key="x"), "option legation.dev/pinned-public-key is not known"),
        (ours(verification_mode="None"), "option legation.dev/verification-mode: 'None' is no mode"),
        ({"legation.dev/": "x"}, "option legation.dev/ is not known"),
        ({"min-tls-version": "1.3"}, "did you mean legation.dev/min-tls-version?"),
        ({"minVersion": "1.3"}, "option minVersion is none that the Gateway API defines: remove it"),
    ],
)
def test_a_mistake_is_refused_and_named(options: dict[str, str], says: str) -> None:
    assert says in refusal_of(options)


def test_all_mistakes_are_named_at_once() -> None:
    message = refusal_of(ours(min_tls_version="1", curves="P-1", unheard_of=""))
    assert all(f"legation.dev/{key}" in message for key in ("min-tls-version", "curves", "unheard-of"))


def test_envoy_takes_every_suite_and_every_curve() -> None:
    tls = UpstreamTls(
        "pay.internal", SystemRoots(), (DnsName("pay.internal"),), cipher_suites=CIPHER_SUITES, curves=CURVES
    )
    cluster = cluster_pb2.Cluster(name="pay", transport_socket=transport_socket(tls, Protocol.HTTP))
    cluster.load_assignment.cluster_name = "pay"
    validate({CLUSTER: {"pay": cluster.SerializeToString()}})


def test_a_hostile_value_makes_no_endless_message() -> None:
    long, many = "x" * 4096, ",".join(map(str, range(1000)))
    assert (
        len(refusal_of(ours(min_tls_version=long, cipher_suites=long, curves=many, alpn=f"{long},{many}")))
        < 5000
    )
