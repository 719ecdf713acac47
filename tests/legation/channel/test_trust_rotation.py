"""An authority is replaced in `legation up` under traffic: nothing fails, and every step is recorded."""

from functools import partial
from http import HTTPStatus
from pathlib import Path

import pytest

from legation.proofs.audit_record import Began, Cause, Changed, read_line
from tests.handshakes.backends import http_backend, speaks
from tests.handshakes.traffic import Traffic, flowing
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_audit_record import objects
from tests.legation.proofs.test_changes import policy
from tests.legation.proofs.test_trust import config_map
from tests.legation.running import Legation, free_port, legation_up
from tests.looking import eventually
from tests.loopback import ask, opens
from tests.pki import Authority
from tests.real_envoy import until
from translator.envoy.proofs import Grade

OLD, NEW = Authority("old"), Authority("new")
NAME = "pay.internal"
OLD_PRINT, NEW_PRINT = OLD.own.certificate_pin, NEW.own.certificate_pin


def changes(path: Path) -> list[Changed]:
    """Return what was recorded so far."""
    return [each for each in map(read_line, path.read_bytes().splitlines()) if isinstance(each, Changed)]


def told(running: Legation) -> list[tuple[list[str], list[str]]]:
    """Return what came and went by the lines of the log."""
    lines = (dict[str, object](each) for each in running.entries() if each.get("event") == "trust changed")
    return [(_fingerprints(each["added"]), _fingerprints(each["removed"])) for each in lines]


def _fingerprints(found: object) -> list[str]:
    assert isinstance(found, list)
    return [each["fingerprint"] for each in found]


class Folder:
    """Manifests of a shop whose backend is proved by one ConfigMap."""

    def __init__(self, path: Path) -> None:
        """Begin with nothing in the folder."""
        path.mkdir()
        self.path = path

    def put(self, name: str, text: str) -> None:
        """Write one file."""
        (self.path / f"{name}.yaml").write_text(text)


@pytest.mark.envoy
async def test_no_request_fails_while_an_authority_is_replaced_and_each_step_is_recorded(
    tmp_path: Path,
) -> None:
    path, folder, port = tmp_path / "audit", Folder(tmp_path / "shop"), free_port()
    shown = [speaks(each.issue(dns=[NAME])) for each in (OLD, NEW)]
    async with http_backend(shown[0]) as old, http_backend(shown[1]) as new:
        folder.put("shop", together(LEGATION_CLASS, gateway("edge", port), route("pay", "pay")))
        folder.put("pay", service("pay", old.port))
        folder.put("roots", config_map("roots", OLD.pem))
        folder.put("policy", policy(NAME))
        async with legation_up(folder.path, "--audit-log", str(path)) as running:
            await until(partial(opens, port))
            traffic = Traffic(frozenset({HTTPStatus.OK}))
            async with flowing(traffic, lambda: _status(port)):
                await traffic.more()
                folder.put("roots", config_map("roots", OLD.pem, NEW.pem))
                await eventually(lambda: len(changes(path)) == 1)
                await until(running.is_held)
                await traffic.more()
                folder.put("pay", service("pay", new.port))
                await eventually(lambda: new.told)
                await traffic.more()
                folder.put("roots", config_map("roots", NEW.pem))
                await eventually(lambda: len(changes(path)) == 2)
                await traffic.more()
            assert traffic.surprises == []
            assert told(running) == [([NEW_PRINT], []), ([], [OLD_PRINT])]
    _is_recorded(path)


def _is_recorded(path: Path) -> None:
    """Tell that the record begins, and has the two steps of the rotation and nothing else."""
    began, *steps = map(read_line, path.read_bytes().splitlines())
    assert isinstance(began, Began)
    assert began.grades == {Grade.VERIFIED.value: 1}
    for step, prints in zip(steps, ({OLD_PRINT, NEW_PRINT}, {NEW_PRINT}), strict=True):
        assert isinstance(step, Changed)
        assert step.policy is not None
        assert step.after is not None
        assert (step.why, objects(step)) == (Cause.CA_CHANGED, ("ConfigMap shop/roots",))
        assert (step.policy.manager, step.policy.operation) == ("policy.yaml", "File")
        assert set(step.after.fingerprints) == prints


async def _status(port: int) -> int:
    return (await ask(port, headers={"host": "shop.example"})).status
