"""Events over real HTTP: told once for each change for the worse, by who leads, and never too many."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from k8s_watch.kind import Place
from k8s_watch.writer import Writer
from legation.events import BUG, MOST_WAITING, OF_A_NAMESPACE, OF_ALL, RECOVERED, Events, happenings
from legation.proofs.changes import RootsChange
from legation.proofs.trust_news import REASON as TRUST_CHANGED
from legation.status_writer import Wrote
from legation.workbench import Outcome
from tests.k8s_watch.faults import Json, refusing
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import reached, running
from tests.pki import Authority
from translator.names import Name, Ref
from translator.rules.certificates import read_certificates
from translator.rules.degraded import CONDITION as DEGRADED
from translator.rules.expiry import CONDITION as EXPIRING
from translator.rules.gateways import CONTROLLER
from translator.rules.insecure_verification import FORBIDDEN
from translator.translate import Mistake

STORE = Ref("HTTPRoute", Name("shop", "store"))


def said(type_: str, status: str, reason: str = "Why", message: str = "words") -> Json:
    """One condition."""
    return {"type": type_, "status": status, "reason": reason, "message": message}


def parents(*conditions: Json, by: str = CONTROLLER) -> bytes:
    """Return what a route says."""
    entry: Json = {"controllerName": by, "parentRef": {"name": "edge"}, "conditions": list(conditions)}
    return json.dumps({"parents": [entry]}).encode()


def wrote(before: bytes, after: bytes, ref: Ref = STORE) -> Wrote:
    return Wrote(ref, Place("gateway.networking.k8s.io/v1", "httproutes", *ref.name), "uid-1", before, after)


GOOD = parents(said("Accepted", "True"), said("ResolvedRefs", "True"))
BAD = parents(said("Accepted", "True"), said("ResolvedRefs", "False", "BackendNotFound", "no Service pay"))
WORSE = wrote(GOOD, BAD)


def test_what_turned_bad_is_told_with_reason_message_place_and_remedy() -> None:
    [told] = happenings(WORSE)
    assert (told.type, told.reason, told.uid, told.kind) == (
        "Warning",
        "BackendNotFound",
        "uid-1",
        "HTTPRoute",
    )
    assert told.note == (
        "by Gateway shop/edge: ResolvedRefs=False: no Service pay "
        "(create the Service, or correct the backendRef)"
    )


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (GOOD, parents(said("Accepted", "False", FORBIDDEN)), FORBIDDEN),
        (
            GOOD,
            parents(said("Accepted", "True"), said(DEGRADED, "True", "VerificationSkipped")),
            "VerificationSkipped",
        ),
    ],
    ids=["forbidden", "permitted"],
)
def test_unverified_backends_are_warned_of_whether_or_not_they_are_permitted(
    before: bytes, after: bytes, reason: str
) -> None:
    [told] = happenings(wrote(before, after))
    assert (told.type, told.reason) == ("Warning", reason)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"{}", GOOD),
        (BAD, BAD),
        (
            BAD,
            parents(
                said("ResolvedRefs", "False", "BackendNotFound", "no Service pay"), said("Accepted", "True")
            ),
        ),
        (GOOD, parents(said("Accepted", "False"), by="example.com/other")),
        (b"{}", parents(said("Programmed", "False", "Pending"))),
        (BAD, b"{}"),
        (BAD, parents(said("Accepted", "True"), by="example.com/other")),
    ],
    ids=["well", "the same", "the same in another order", "of others", "waiting", "gone", "others remain"],
)
def test_what_did_not_turn_bad_is_not_told(before: bytes, after: bytes) -> None:
    assert happenings(wrote(before, after)) == ()


def test_another_reason_or_message_is_told_and_what_remains_is_not_repeated() -> None:
    more = parents(
        said("Accepted", "False", "NoMatchingParent", "no listener"),
        said("ResolvedRefs", "False", "BackendNotFound", "no Service pay"),
    )
    assert [each.reason for each in happenings(wrote(BAD, more))] == ["NoMatchingParent"]
    other = parents(said("ResolvedRefs", "False", "BackendNotFound", "no Service cart"))
    assert ["no Service cart" in each.note for each in happenings(wrote(BAD, other))] == [True]


def test_a_remark_is_a_warning() -> None:
    after = parents(
        said("Accepted", "True"), said("legation.dev/VerificationDegraded", "True", "NotVerified")
    )
    assert [(each.type, each.reason) for each in happenings(wrote(GOOD, after))] == [
        ("Warning", "NotVerified")
    ]


SOON = "ConfigMap shop/roots, ca.crt: certificate 1 (CN=a) expires within 7 days, on 2026-02-06 00:00 UTC"
NOW = "ConfigMap shop/roots, ca.crt: certificate 1 (CN=a) expires within 1 day, on 2026-02-06 00:00 UTC"
LATER = "ConfigMap shop/roots, ca.crt: certificate 2 (CN=b) expires within 30 days, on 2026-03-01 00:00 UTC"


def ending(reason: str, *words: str, gateways: tuple[str, ...] = ("edge",)) -> bytes:
    """Return what a policy says of certificates that end soon, by each of these Gateways."""
    entries = [
        {
            "controllerName": CONTROLLER,
            "ancestorRef": {"name": name},
            "conditions": [said("Accepted", "True"), said(EXPIRING, "True", reason, "; ".join(words))],
        }
        for name in gateways
    ]
    return json.dumps({"ancestors": entries}).encode()


def test_each_certificate_is_told_of_once_at_each_step_however_many_gateways_say_so() -> None:
    first = ending("ExpiresWithin7Days", SOON, LATER, gateways=("edge", "inner"))
    assert [(each.reason, each.once) for each in happenings(wrote(GOOD, first))] == [
        ("ExpiresWithin7Days", True),
        ("ExpiresWithin30Days", True),
    ]
    [told] = happenings(wrote(first, ending("ExpiresWithin1Day", NOW, LATER)))
    assert (told.type, told.reason) == ("Warning", "ExpiresWithin1Day")
    assert told.note.startswith(NOW)


def test_nothing_is_told_again_when_another_certificate_was_renewed_or_a_gateway_joined() -> None:
    both, one = ending("ExpiresWithin7Days", SOON, LATER), ending("ExpiresWithin30Days", LATER)
    assert happenings(wrote(both, one)) == ()
    assert happenings(wrote(one, ending("ExpiresWithin30Days", LATER, gateways=("edge", "inner")))) == ()


def test_that_all_is_well_again_is_told_once_and_not_while_something_is_wrong() -> None:
    two = parents(said("Accepted", "False", "One"), said("ResolvedRefs", "False", "Two"))
    one = parents(said("Accepted", "True"), said("ResolvedRefs", "False", "Two"))
    assert happenings(wrote(two, one)) == ()
    [told] = happenings(wrote(two, GOOD))
    assert (told.type, told.reason) == ("Normal", RECOVERED)
    assert told.note.startswith("no longer: by Gateway shop/edge: Accepted=False")


class Scene:
    """Who tells, and a server that is told."""

    def __init__(self, api: FaultyApi, writer: Writer) -> None:
        self.api = api
        self.writer = writer
        self.events = Events(writer)

    def told(self) -> list[dict[str, Json]]:
        """Read every Event."""
        return [thing for (plural, _, _), thing in self.api.objects.items() if plural == "events"]

    async def until_told(self, number: int, after: int = 0) -> None:
        """Wait for so many Events, and for so many attempts to write one."""
        await self.api.until(lambda: len(self.told()) >= number and self.api.count("write") >= after)

    async def until_all_is_told(self) -> None:
        """Wait for what is told last: Events are written one after another."""
        last = wrote(GOOD, BAD, Ref("HTTPRoute", Name("last", "last")))
        self.events.note(last)
        await self.api.until(lambda: any(key[:2] == ("events", "last") for key in self.api.objects))


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    api = FaultyApi()
    async with serving(api), reached(api, folder) as server:
        yield Scene(api, Writer(server, CONTROLLER))


async def test_an_event_is_written_about_the_object(tmp_path: Path) -> None:
    async with scene(tmp_path) as here, running(here.events.run()):
        here.events.note(WORSE)
        await here.until_told(1)
        [told] = here.told()
        assert told["regarding"] == {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "namespace": "shop",
            "name": "store",
            "uid": "uid-1",
        }


async def test_what_goes_back_and_forth_is_counted_in_one_event(tmp_path: Path) -> None:
    async with scene(tmp_path) as here, running(here.events.run()):
        for _ in range(3):
            here.events.note(WORSE)
        await here.until_all_is_told()
        series = [each["series"] for each in here.told() if "series" in each]
        assert [each["count"] for each in series if isinstance(each, dict)] == [3]


async def test_a_flood_is_cut_short_and_leaves_other_namespaces_their_share(tmp_path: Path) -> None:
    async with scene(tmp_path) as here, running(here.events.run()):
        for number in range(3000):
            here.events.note(wrote(GOOD, BAD, Ref("HTTPRoute", Name("noisy", f"r{number}"))))
        await here.until_all_is_told()
        assert OF_A_NAMESPACE.at_once < len(here.told()) <= OF_A_NAMESPACE.at_once + 5
        for number in range(3000):
            here.events.note(wrote(GOOD, BAD, Ref("HTTPRoute", Name(f"n{number}", "r"))))
        await here.until_told(OF_ALL.at_once)
        assert len(here.told()) <= MOST_WAITING


async def test_a_server_that_takes_no_events_is_named_once_and_does_no_harm(tmp_path: Path) -> None:
    async with scene(tmp_path) as here:
        here.api.fault("write", refusing(403, "you may not"), times=2)
        with capture_logs() as logs:
            async with running(here.events.run()):
                here.events.note(WORSE)
                here.events.note(wrote(BAD, GOOD))
                await here.until_all_is_told()
    assert [each["why"] for each in logs if each["event"] == "an Event was not written"] == ["you may not"]


def broken(about: Ref | None) -> Outcome:
    return Outcome({}, {}, {"Cluster shop/pay:443": Mistake(KeyError("sni"), about)}, 0.0)


async def test_a_mistake_of_ours_is_told_about_the_object_that_shows_it_once_by_all_replicas(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as here:
        await here.api.put("pay", "services")
        here.api.objects["services", "shop", "pay"]["metadata"]["uid"] = "uid-9"  # type: ignore[call-overload, index]  # an object's own
        here.events.take(broken(Ref("Service", Name("shop", "pay"))))
        assert here.api.requests == []  # somebody else leads
        for times in (1, 2):
            async with running(here.events.run()):
                await here.until_told(1, after=times)
        [told] = [each for each in here.told() if each["reason"] == BUG]
        assert isinstance(told["regarding"], dict)
        assert told["regarding"]["uid"] == "uid-9"
        assert "KeyError: 'sni'" in str(told["note"])
        assert "series" not in told


async def test_a_mistake_about_an_object_that_is_gone_is_not_told(tmp_path: Path) -> None:
    async with scene(tmp_path) as here, running(here.events.run()):
        here.events.take(broken(Ref("Service", Name("shop", "pay"))))
        await here.until_all_is_told()
        assert [each["reason"] for each in here.told()] == ["BackendNotFound"]


async def test_new_roots_are_told_by_who_leads_and_by_who_comes_next_only_if_nobody_did(
    tmp_path: Path,
) -> None:
    old, new = (read_certificates(Authority(name).pem) for name in ("old", "new"))
    policy = Ref("BackendTLSPolicy", Name("shop", "pay"))
    outcome = Outcome({}, {}, {}, 0.0, roots=(RootsChange(policy, new, old),))
    async with scene(tmp_path) as here:
        await here.api.put("pay", "backendtlspolicies")
        next_one = Events(here.writer)
        next_one.take(outcome)
        assert here.api.requests == []  # somebody else leads
        async with running(here.events.run()):
            here.events.take(outcome)
            await here.until_told(1, after=1)
        async with running(next_one.run()):
            await here.until_told(1, after=2)
        [told] = here.told()
    assert (told["type"], told["reason"]) == ("Normal", TRUST_CHANGED)
    assert told["note"] == (
        f"trusts from now on CN=new (SHA-256 {new[0].fingerprint}); "
        f"no longer trusts CN=old (SHA-256 {old[0].fingerprint})"
    )
    assert "series" not in told
