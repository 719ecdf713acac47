"""What other tests rely on to see cleartext: it is seen, wherever it begins and however it is cut."""

import ssl

import pytest

from tests.handshakes.client_hello import Hello
from tests.handshakes.tap import Records, Tap

ALERT = bytes([21, 3, 3, 0, 2, 1, 0])


def greeting(name: str, *protocols: str) -> bytes:
    """Return what OpenSSL says first."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(protocols)
    told = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), told, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return told.read()


def heard(*pieces: bytes) -> Tap:
    """Return what is known of a connection by these bytes."""
    tap = Tap()
    records = Records(tap)
    for piece in pieces:
        records.feed(piece)
    return tap


@pytest.mark.parametrize(
    "request_", [b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\n", b"\x16GET /", b"\0"]
)
def test_cleartext_from_the_first_byte_is_noticed(request_: bytes) -> None:
    assert heard(request_).cleartext == request_


def test_cleartext_behind_a_handshake_is_noticed() -> None:
    tap = heard(greeting("pay.test"), ALERT + b"GET", b" /")
    assert tap.cleartext == b"GET /"
    assert len(tap.hellos) == 1


@pytest.mark.parametrize("size", [1, 2, 5, 7, 100])
def test_records_are_read_however_they_are_cut(size: int) -> None:
    said = greeting("pay.test", "h2", "http/1.1") + ALERT
    tap = heard(*(said[start : start + size] for start in range(0, len(said), size)))
    assert tap.cleartext == b""
    [hello] = tap.hellos
    assert (hello.server_name, hello.alpn) == ("pay.test", ("h2", "http/1.1"))


def test_a_greeting_says_which_versions_and_curves_it_offers() -> None:
    [hello] = heard(greeting("pay.test")).hellos
    assert isinstance(hello, Hello)
    assert 0x0304 in hello.versions
    assert 0x0017 in hello.groups
    assert 0x1301 in hello.ciphers
    assert not hello.resumes
