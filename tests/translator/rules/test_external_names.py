"""DNS names that say themselves that they lead where nothing may be sent."""

import pytest

from translator.rules.external_names import unsafe


@pytest.mark.parametrize(
    "name",
    [
        "pay.example.com",
        "PAY.example.com.",
        "10-0-0-1.pods.example",
        "1.2.example",
        "999.0.0.1.example",
        "notlocalhost.example",
        "local.example",
        "svc.example",
    ],
)
def test_a_whole_name_of_elsewhere_is_none_of_them(name: str) -> None:
    assert unsafe(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no DNS name"),
        ("a b.example", "no DNS name"),
        ("*.example", "no DNS name"),
        (f"{'a.' * 130}example", "no DNS name"),
        ("127.0.0.1", "IP address"),
        ("127.1", "IP address"),
        ("2130706433", "IP address"),
        ("0x7f.1", "IP address"),
        ("a.0x7f000001", "IP address"),
        ("[::1]", "no DNS name"),
        ("localhost", "own machine"),
        ("LocalHost.", "own machine"),
        ("admin.localhost", "own machine"),
        ("localhost.localdomain", "own machine"),
        ("127-0-0-1.example.com", "own machine"),
        ("app.127.0.0.1.example.com", "own machine"),
        ("169.254.169.254.example.com", "own machine"),
        ("a-169-254-169-254.example.com", "own machine"),
        ("0.0.0.0.example.com", "own machine"),
        ("lvh.me", "own machine"),
        ("10.0.0.1.nip.io", "written in it"),
        ("7f000001.nip.io", "written in it"),
        ("metadata.google.internal", "metadata"),
        ("METADATA.google.internal.", "metadata"),
        ("pay.shop.svc.cluster.local", "within the cluster"),
        ("pay.shop.svc.clusterset.local.", "within the cluster"),
        ("pay.shop.svc", "within the cluster"),
        ("printer.local", "within the cluster"),
        ("pay", "no whole name"),
    ],
)
def test_such_a_name_is_refused_with_a_reason(name: str, why: str) -> None:
    refused = unsafe(name)
    assert refused is not None
    assert refused.reason == "UnsafeExternalName"
    assert why in refused.message
