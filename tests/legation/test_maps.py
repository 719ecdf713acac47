"""What the page asks, and how it is answered: in words, once for everybody, and never with a secret."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from time import monotonic
from typing import Any
from weakref import ref

import aiohttp
import pytest
import yaml
from aiohttp import web
from cryptography import x509

from legation.addresses import HostPort
from legation.admin.kept import MOST_KEPT, Kept
from legation.admin.maps import LONGEST_SEARCH
from legation.admin.metrics import Telemetry
from legation.admin.page import assets
from legation.admin.server import AdminPort, answering
from legation.atlas.chart import MOST_AT_ONCE
from legation.change import Stated
from legation.checks.table import GROUPS, REMEDIES
from legation.folder import Folder, read
from legation.peers import Others
from legation.pump import the_time
from legation.standing import Standing
from legation.telling import Holding, Refused, Telling, versions
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_hops import EVERYTHING, policy
from tests.pki import Authority
from tests.real_envoy import until
from translator.rules.gateways import BINDING, Binding
from translator.world import World
from xds_server.hub import Hub
from xds_server.snapshot import LDS

ROOTS = Authority("shop roots")
WEB = Authority("the web").issue(dns=["shop.example"])
SECRET = yaml.safe_dump({
    "apiVersion": "v1",
    "kind": "Secret",
    "type": "kubernetes.io/tls",
    "metadata": {"name": "web", "namespace": "infra"},
    "stringData": {"tls.crt": WEB.chain_pem, "tls.key": WEB.key_pem},
})  # fmt: skip
BUNDLE = yaml.safe_dump({
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "roots", "namespace": "shop"},
    "data": {"ca.crt": ROOTS.pem},
})  # fmt: skip
OWN = policy("own", "System").replace(
    "wellKnownCACertificates: System", "caCertificateRefs: [{group: '', kind: ConfigMap, name: roots}]"
)
HTTPS = gateway("web", 443).replace(
    "port: 443, protocol: HTTP", "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: web}]}"
)
SHOP = together(
    EVERYTHING, HTTPS, SECRET, BUNDLE, OWN, service("own", 8081), route("own", "own", parent="web")
)


class Running:
    """An admin port over a world that changes."""

    def __init__(
        self, session: aiohttp.ClientSession, port: int, take: Callable[[str], None], standing: Standing
    ) -> None:
        self.asked = 0  # how often the world was
        self.session = session
        self.url = f"http://127.0.0.1:{port}"
        self.take = take
        self.standing = standing

    async def get(self, path: str) -> Any:  # noqa: ANN401  # whatever JSON says
        """What is answered, read."""
        async with self.session.get(f"{self.url}/api/v1/{path}") as answer:
            assert answer.status == 200, await answer.text()
            return json.loads(await answer.read())


@asynccontextmanager
async def running(text: str) -> AsyncIterator[Running]:
    workbench, folder, standing = Workbench(asks_envoys=False), Folder(), Standing(Hub(lambda _: None), dict)

    def take(written: str) -> None:
        folder.take("a.yaml", read(written, "a.yaml"))
        here = Stated(BINDING, Binding("127.0.0.1", is_exclusive=True))
        standing.take(workbench.work((the_time(), here, *folder.changes())))

    async def ask(question: Callable[[World], bytes | None]) -> bytes | None:
        page.asked += 1
        return question(workbench.world)

    take(text)
    port = AdminPort(standing, Telemetry(), frozenset({"localhost"}), ask=ask)
    async with answering(port, HostPort("127.0.0.1", 0)) as number, aiohttp.ClientSession() as session:
        page = Running(session, number, take, standing)
        yield page


async def test_the_map_sums_up_every_gateway_and_what_is_wrong() -> None:
    async with running(SHOP) as page:
        now = await page.get("map")
    edge, web_gateway = now["gateways"]
    assert edge["summary"]["grades"] == {
        "unverified": 1, "any-name": 1, "cleartext": 1, "pinned": 1, "verified": 1, "refused": 1,
    }  # fmt: skip
    verdicts = {each["type"]: each["verdict"] for each in edge["conditions"]}
    assert (verdicts["Programmed"], verdicts["legation.dev/VerificationDegraded"]) == ("good", "alarm")
    assert web_gateway["bound"] == ["127.0.0.1:443"]
    assert "BackendTLSPolicy shop/wrong" in {each["object"] for each in now["findings"]}


async def test_findings_are_what_is_wrong_and_what_is_advised_the_gravest_first() -> None:
    async with running(together(SHOP, gateway("idle", 81))) as page:
        found = [(each["group"], each["check"], each["object"]) for each in await page.get("findings")]
    groups = [group for group, *_ in found]
    assert groups == sorted(groups, key=GROUPS.index)
    assert ("refused", "Invalid", "BackendTLSPolicy shop/wrong") in found
    assert ("without effect", "listener-without-routes", "Gateway infra/idle") in found


async def test_a_small_gateway_is_answered_whole_with_who_decides_and_until_when() -> None:
    async with running(SHOP) as page:
        chart = await page.get("map/infra/web")
    [port] = chart["landscape"]["ports"]
    [lane] = port["lanes"]
    assert (port["speaks"], lane["tls"], lane["listener"]) == ("TLS", "ended", "p443")
    [host] = chart["tables"][0]["hosts"]
    [leads] = host["leads"]
    [way] = leads["action"]["ways"]
    proving = way["to"]["proving"]
    assert proving["decidedBy"] == {"kind": "BackendTLSPolicy", "namespace": "shop", "name": "own"}
    anchor = x509.load_pem_x509_certificate(ROOTS.pem.encode())
    assert proving["grade"] == "verified"
    assert datetime.fromisoformat(proving["expires"]) == anchor.not_valid_after_utc


async def test_names_of_a_large_gateway_are_answered_when_somebody_asks() -> None:
    many = (route(f"r{n}", "store", host=f"h{n}.test") for n in range(MOST_AT_ONCE + 1))
    async with running(together(LEGATION_CLASS, gateway("edge", 80), service("store", 80), *many)) as page:
        chart = await page.get("map/infra/edge")
        [table] = chart["tables"]
        assert len(table["hosts"]) == MOST_AT_ONCE + 1
        assert {each["leads"] for each in table["hosts"]} == {None}
        [leads] = await page.get(f"map/infra/edge/leads?table={table['table']}&host=h7.test")
    assert leads["author"] == "HTTPRoute shop/r7 rule 0"


async def test_an_object_says_its_conditions_with_a_remedy_and_what_it_leads_to() -> None:
    async with running(together(SHOP, route("lost", "gone"))) as page:
        lost = await page.get("object/HTTPRoute/shop/lost")
        weak = await page.get("object/BackendTLSPolicy/shop/weak")
        own = await page.get("object/Service/shop/own")
    [about] = lost["says"]
    [bad] = [each for each in about["conditions"] if each["verdict"] == "bad"]
    assert bad["reason"] == "BackendNotFound"
    assert bad["remedy"] == REMEDIES["BackendNotFound"]
    assert lost["leadsTo"] == [{"kind": "Service", "namespace": "shop", "name": "gone"}]
    assert "alarm" in {each["verdict"] for each in weak["says"][0]["conditions"]}
    assert {each["kind"] for each in own["ledToBy"]} == {"HTTPRoute", "BackendTLSPolicy"}


async def test_trust_tells_subject_fingerprint_dates_and_users() -> None:
    async with running(SHOP) as page:
        found = await page.get("trust")
    by_owner = {each["name"].partition("/")[2]: each for each in found}
    [anchor] = by_owner["own"]["certificates"]
    assert anchor["subject"] == "CN=shop roots"
    assert len(anchor["fingerprint"]) == 64
    assert anchor["source"] == "ConfigMap shop/roots"
    assert by_owner["own"]["gateways"] == ["infra/web"]
    assert by_owner["web"]["purpose"] == "shown to clients"
    assert len(by_owner["pinned"]["pins"]) == 2
    assert by_owner["wrong"]["gateways"] == []


async def test_searching_finds_words_in_kinds_names_and_hostnames() -> None:
    async with running(SHOP) as page:
        by_host = await page.get("search?q=PROVED.test")
        by_kind = await page.get("search?q=backendtls%20weak")
        assert await page.get("search?q=") == []
        assert await page.get(f"search?q={'x' * LONGEST_SEARCH * 2}") == []
    assert [each["object"]["kind"] for each in by_host] == ["HTTPRoute"]
    assert [each["object"]["name"] for each in by_kind] == ["weak"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("map/infra/nowhere", "there is no Gateway infra/nowhere of this controller"),
        ("map/infra/%3Cscript%3E", "there is no Gateway infra/<script>"),
        ("map/infra/edge/leads?table=none&host=a", "there is no name 'a' in a route table 'none'"),
        ("map/infra/edge/leads?table=infra/edge:80&host=a", "there is no name 'a' in a route table"),
        ("map/infra/nowhere/leads", "there is no name ''"),
        ("object/HTTPRoute/shop/nowhere", "there is no HTTPRoute shop/nowhere"),
        ("object/Pod/shop/proved", "there is no Pod shop/proved"),
        ("object/__class__/shop/proved", "there is no __class__ shop/proved"),
        ("object/GatewayClass/nowhere", "there is no GatewayClass nowhere"),
    ],
)
async def test_what_is_not_there_is_said_in_words_that_no_browser_runs(path: str, words: str) -> None:
    async with running(SHOP) as page, page.session.get(f"{page.url}/api/v1/{path}") as answer:
        assert answer.status == 404
        assert words in await answer.text()
        assert answer.content_type == "text/plain"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


ADDRESSES = ("map", "map/infra/edge", "map/infra/web", "trust", "envoys", "audit", "object/Secret/infra/web")


async def test_no_answer_holds_a_key_or_a_certificate() -> None:
    async with running(SHOP) as page:
        for address in ADDRESSES:
            async with page.session.get(f"{page.url}/api/v1/{address}") as answer:
                text = await answer.text()
                assert answer.status == 200
                assert "PRIVATE" not in text
                assert "BEGIN" not in text
                assert WEB.key_pem.splitlines()[1] not in text


async def test_an_answer_that_is_the_same_is_not_sent_again_and_one_that_differs_is() -> None:
    async with running(SHOP) as page:
        address = f"{page.url}/api/v1/map/infra/edge"
        async with page.session.get(address) as answer:
            tag = {"If-None-Match": answer.headers["ETag"]}
        async with page.session.get(address, headers=tag) as again:
            assert (again.status, await again.read()) == (304, b"")
        page.take(SHOP.replace("Permit}", "Forbid}"))

        async def says_so() -> bool:
            async with page.session.get(address, headers=tag) as changed:
                return b"InsecureVerificationForbidden" in await changed.read()

        await until(says_so)


@pytest.mark.parametrize(
    "path", ["map", "map/infra/edge", "trust", "object/Gateway/infra/edge", "search?q=pay"]
)
async def test_a_question_to_which_something_is_added_is_the_same_question(path: str) -> None:
    async with running(SHOP) as page:
        asked = [await page.get(f"{path}{'&' if '?' in path else '?'}n={number}") for number in range(4)]
        assert asked[1:] == asked[:-1]
        assert page.asked == 1


async def test_envoys_at_other_replicas_are_told_in_short_and_judged_by_what_is_offered_here() -> None:
    async with running(SHOP) as page:
        offered = tuple(versions(page.standing.outcome.snapshots["infra/edge"]).items())
        newest, old = Holding(newest=True, listeners=offered), Holding(newest=True)
        taken = Refused(offered[0][0], LDS, offered[0][1], "Address already in use")

        async def say(*tellings: Telling, current: bool, refused: Sequence[Refused] = ()) -> None:
            page.standing.others = lambda: Others(tuple({"infra/edge": each} for each in tellings))
            words = [{"resource": each.name, "words": each.words} for each in refused]
            wanted = {"present": True, "current": current, "refused": words}

            async def says_so() -> bool:
                edge, other = [each["elsewhere"] for each in (await page.get("envoys"))["gateways"]]
                assert other == {"present": False, "current": False, "refused": []}
                return bool(edge == wanted)

            await until(says_so)

        await say(Telling(holdings=(newest,)), Telling(holdings=(newest,)), current=True)
        await say(Telling(holdings=(newest,)), Telling(holdings=(newest, old)), current=False)
        await say(Telling(holdings=(old,), refused=(taken,)), current=False, refused=(taken,))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_nothing_can_be_changed(method: str) -> None:
    async with running(SHOP) as page:
        for path in ("/", "/assets/page.js", "/api/v1/map", "/api/v1/search?q=a", "/api/v1/trust"):
            async with page.session.request(method, f"{page.url}{path}") as answer:
                assert answer.status == 405


async def test_other_pages_are_told_nothing() -> None:
    async with running(SHOP) as page:
        from_elsewhere = {"Origin": "https://evil.example"}
        async with page.session.get(f"{page.url}/api/v1/map", headers=from_elsewhere) as answer:
            assert not [name for name in answer.headers if name.startswith("Access-Control")]
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        async with page.session.get(f"{page.url}/api/v1/map", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 421


async def test_the_page_is_made_of_its_own_files_which_a_browser_may_keep() -> None:
    async with running(SHOP) as page:
        async with page.session.get(page.url) as front:
            text = await front.text()
        assert "<script>" not in text
        assert "://" not in text
        for name, known in assets().items():
            async with page.session.get(f"{page.url}/assets/{name}") as file:
                assert (file.status, await file.read()) == (200, known.body)
            tag = {"If-None-Match": known.tag}
            async with page.session.get(f"{page.url}/assets/{name}", headers=tag) as again:
                assert again.status == 304
        async with page.session.get(f"{page.url}/assets/..%2Fserver.py") as other:
            assert other.status == 404


async def test_an_answer_is_made_once_of_one_state_and_rests_as_long_as_it_deserves() -> None:
    made: list[int] = []

    async def make() -> bytes:
        made.append(len(made))
        return str(len(made)).encode()

    fresh, resting = Kept(), Kept(rest=1e9)
    first = await fresh.answer("a", 1, make)
    assert await fresh.answer("a", 1, make) is first
    assert (await fresh.answer("a", 2, make)).tag != first.tag
    assert made == [0, 1]
    kept = await resting.answer("a", 1, make)
    assert await resting.answer("a", 2, make) is kept


async def test_no_more_is_kept_than_somebody_would_be_answered() -> None:
    class State:
        pass

    async def make() -> bytes:
        return b""

    kept, state = Kept(), State()
    gone = ref(state)
    await kept.answer("a", state, make)
    del state
    assert gone() is not None
    await kept.answer("b", State(), make)
    assert gone() is None
    for number in range(2 * MOST_KEPT):
        await kept.answer(str(number), 1, make)
    assert len(kept) == MOST_KEPT


async def test_answers_that_are_big_are_kept_up_to_a_size() -> None:
    kept, made = Kept(most_bytes=100), list[str]()

    async def ask(text: str, size: int) -> None:
        async def make() -> bytes:
            made.append(text)
            return b"0" * size

        await kept.answer(text, 1, make)

    for text, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40), ("a", 40), ("b", 40), ("whole", 200)):
        await ask(text, size)
    assert made == ["a", "b", "c", "b", "whole"]
    assert len(kept) == 1
    for text in ("whole", "a", "b", "a"):
        await ask(text, 40)
    assert made[5:] == ["a", "b"]


async def test_after_each_answer_there_is_as_long_for_what_waited() -> None:
    begun, ended = [], []

    async def make() -> bytes:
        begun.append(monotonic())
        await asyncio.sleep(0.05)
        ended.append(monotonic())
        return b""

    kept = Kept()
    await asyncio.gather(*(kept.answer(text, 1, make) for text in ("a", "b", "c")))
    pauses = [later - before for before, later in zip(ended, begun[1:], strict=False)]
    assert min(pauses) >= 0.05


async def test_an_answer_that_could_not_be_made_is_asked_for_again() -> None:
    kept = Kept()

    async def fails() -> bytes:
        raise web.HTTPNotFound

    async def made() -> bytes:
        return b"there"

    with pytest.raises(web.HTTPNotFound):
        await kept.answer("a", 1, fails)
    assert (await kept.answer("a", 1, made)).body == b"there"
