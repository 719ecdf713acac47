"""What an XBackend believes a destination by; of policies and Gateways, tests of what changes tell."""

from typing import Any

import pytest

from tests.translator.rules.test_x_backends import PAY, VALIDATION, world_with
from translator.names import Name, Ref
from translator.objects.config_map import ConfigMap
from translator.rules.creed import Basis, Grounds, creed

SYSTEM = {"hostname": "pay.internal", "wellKnownCACertificates": "System"}


@pytest.mark.parametrize(
    ("tls", "basis"),
    [
        ({"mode": "None"}, Basis.NOTHING),
        ({"mode": "ServerOnly"}, Basis.NOTHING),
        ({"mode": "ServerOnly", "validation": VALIDATION}, Basis.ROOTS),
        ({"mode": "ServerOnly", "validation": SYSTEM}, Basis.SYSTEM),
    ],
)
def test_an_x_backend_believes_by_what_it_says_itself(tls: dict[str, Any], basis: Basis) -> None:
    found = creed(world_with(tls=tls), Ref("XBackend", PAY))
    assert found.grounds[None].basis is basis
    assert (found.until is not None) is (basis is Basis.ROOTS)


def test_whose_only_root_is_gone_believes_nobody() -> None:
    world = world_with(tls={"mode": "ServerOnly", "validation": VALIDATION})
    world.put(ConfigMap, Name("shop", "roots"), None)
    found = creed(world, Ref("XBackend", PAY))
    assert (found.grounds, found.until) == ({None: Grounds()}, None)
