"""What is a pin, character by character, and that one pin counts once however it is written."""

import pytest

from translator.rules.pins import Pins, read_pins, wrong_certificates, wrong_public_keys

KEY = "dpLDrTVAu4A8Ags67mbNiIcSMjTqDG5xQ8Ct1z/0Me0="
HEX = "ab" * 32
COLONS = ":".join(["AB"] * 32)


@pytest.mark.parametrize(
    "pin",
    [
        "",
        KEY[:-1],
        KEY + KEY,
        f"!{KEY}",
        f"{KEY[:20]} {KEY[20:]}",
        f"{KEY[:20]}\n{KEY[20:]}",
        KEY.replace("/", "_"),
        KEY.replace("d", "\u00e9", 1),
        "A" * 40,  # 30 bytes
        "A" * 44,  # 33 bytes
        f"{'A' * 42}==",  # 31 bytes
        HEX,
    ],
)
def test_what_is_not_the_base64_of_32_bytes_is_no_pin_of_a_key(pin: str) -> None:
    assert wrong_public_keys([KEY, pin])
    assert wrong_public_keys([KEY]) == ""


@pytest.mark.parametrize(
    "pin",
    [
        "",
        HEX[:-1],
        HEX[:-2],
        HEX + "a",
        HEX + "ab",
        COLONS[:-3],
        COLONS + ":AB",
        COLONS.replace(":", "", 1),
        KEY,
        HEX.replace("a", "g", 1),
        COLONS.replace(":", " "),
        f" {HEX}",
        f"{HEX}\n",
    ],
)
def test_what_is_not_32_bytes_in_hexadecimal_is_no_pin_of_a_certificate(pin: str) -> None:
    assert wrong_certificates([HEX, pin])
    assert wrong_certificates([HEX, HEX.upper(), COLONS, COLONS.lower()]) == ""


def test_a_pin_that_is_written_twice_is_one() -> None:
    loose = KEY.replace("0=", "1=")  # its last two bits are of no byte
    read = read_pins([KEY, loose], [HEX, HEX.upper(), COLONS])
    assert read == Pins((KEY,), (HEX,))
    assert len(read) == 2
