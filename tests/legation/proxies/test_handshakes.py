"""What Envoy counted of TLS with backends, in words."""

from legation.proxies.handshakes import OTHERWISE, Handshakes, counted

PAY = "shop/pay:8443+pay-tls"


def test_reasons_are_told_apart_and_what_has_none_is_no_agreement() -> None:
    prefix = "cluster.shop/pay_8443+pay-tls.ssl."
    counters = {
        f"{prefix}handshake": 5,
        f"{prefix}connection_error": 6,
        f"{prefix}fail_verify_error": 3,
        f"{prefix}fail_verify_san": 1,
        f"{prefix}fail_verify_no_cert": 0,
        "cluster.legation.ssl.handshake": 1,
    }
    failed = {"not proved to the trusted roots": 3, "proves none of the names": 1, OTHERWISE: 2}
    assert counted(counters, [PAY, "shop/other:80"]) == (Handshakes(PAY, 5, failed),)


def test_a_backend_that_never_shook_hands_is_not_told_of() -> None:
    assert counted({}, [PAY]) == ()
