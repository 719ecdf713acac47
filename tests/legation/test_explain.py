"""What is said of objects and of requests: whether they are served, by whom, and why not."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from legation.atlas.landscape import Answers, Forwards, Redirects, Shares
from legation.atlas.ways import in_short
from legation.explain.explanation import Door, OfObject, OfRequest, Unknown, read_explanation
from legation.explain.question import Question, explained, read_question
from legation.folder import Folder, read
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_hops import policy
from tests.legation.running import Legation, free_port, legation_up
from tests.legation.test_cli import run
from tests.loopback import ask as send
from tests.loopback import http_backend
from tests.pki import CLIENT, Authority
from tests.real_envoy import until

RULES = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: rules, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  hostnames: [shop.example, "*.shop.example"]
  rules:
  - matches: [{path: {type: Exact, value: /e%78act}, method: POST}]
    backendRefs: [{name: store, port: 80}]
  - matches: [{path: {value: /cart}, headers: [{name: X-Beta, value: "yes"}]}]
    backendRefs: [{name: cart, port: 80}]
  - matches: [{path: {value: /cart}, queryParams: [{name: page, type: RegularExpression, value: "[0-9]+"}]}]
    backendRefs: [{name: cart, port: 80}]
  - matches: [{path: {value: /old}}]
    filters: [{type: RequestRedirect, requestRedirect: {statusCode: 301}}]
  - matches: [{path: {value: /gone}}]
    backendRefs: [{name: gone, port: 80}]
"""
STRANGER = route("stranger", "store", host="other.example").replace("infra}]", "infra, sectionName: none}]")
SHOP = together(
    LEGATION_CLASS, gateway("edge", 80), service("store", 8080), service("cart", 8081), RULES, STRANGER
)
OLD, NEW = (
    policy("store", "System"),
    policy("younger", "System").replace("Service, name: younger", "Service, name: store"),
)
TLS = together(LEGATION_CLASS, gateway("edge", 80), service("store", 8080), route("store", "store"), OLD, NEW)


def ask(text: str, of: str, method: str = "GET", *headers: str) -> OfObject | OfRequest | Unknown:
    """Ask about manifests."""
    folder = Folder()
    folder.take("a.yaml", read(text, "a.yaml"))
    workbench = Workbench(asks_envoys=False)
    outcome = workbench.work(folder.changes())
    return explained(workbench.world, outcome.statuses, Question(of, method, headers))


def about_object(text: str, of: str) -> OfObject:
    """Ask about an object that is there."""
    found = ask(text, of)
    assert isinstance(found, OfObject), found
    return found


def door(url: str, method: str = "GET", *headers: str) -> Door:
    """Ask the one Gateway about a request."""
    found = ask(SHOP, url, method, *headers)
    assert isinstance(found, OfRequest), found
    [only] = found.doors
    assert found.served == only.served
    return only


@pytest.mark.parametrize(
    ("url", "method", "headers", "words"),
    [
        ("http://shop.example/exact", "POST", (), "goes to shop/store:80"),
        ("http://a.b.shop.example/exact", "POST", (), "goes to shop/store:80"),
        ("http://SHOP.example/cart", "GET", ("x-beta: yes",), "goes to shop/cart:80"),
        ("http://shop.example/cart/1?page=12", "GET", (), "goes to shop/cart:80"),
        ("http://shop.example//x/../cart/?page=1&page=b", "GET", (), "goes to shop/cart:80"),
        ("http://shop.example/old/thing", "GET", (), "is redirected with 301"),
        ("http://127.0.0.1/exact", "POST", ("Host: shop.example:80",), "goes to shop/store:80"),
    ],
)
def test_a_request_is_followed_to_where_it_goes(
    url: str, method: str, headers: tuple[str, ...], words: str
) -> None:
    found = door(url, method, *headers)
    assert (found.served, found.words) == (True, words)
    assert found.place is not None
    assert (found.place.port, found.place.listener) == ("infra/edge:80", "p80")
    assert in_short(found.place.leads.action) == words


@pytest.mark.parametrize(
    ("url", "words", "passed"),
    [
        (
            "http://shop.example/exact",
            "404: no match of shop.example",
            "rule 0: POST /exact wants method POST",
        ),
        ("http://shop.example/cart", "404: no match of shop.example", "wants header x-beta = yes"),
        ("http://shop.example/cart?page=b", "404", "wants parameter page like [0-9]+"),
        ("http://shop.example/cartoon?page=1", "404", "wants another path"),
        ("http://nowhere.example/", "404: nothing at port 80 is for nowhere.example", ""),
        ("http://other.example/", "404: nothing at port 80 is for other.example", ""),
        ("http://shop.example:81/", "listens at 80, not at 81", ""),
        ("https://shop.example/", "listens at 80, not at 443", ""),
        ("https://shop.example:80/", "speaks cleartext HTTP at port 80, so no TLS handshake comes about", ""),
        ("http://shop.example/gone", "answers 500: no backend can be reached", ""),
    ],
)
def test_a_request_that_is_not_served_is_told_how_far_it_gets(url: str, words: str, passed: str) -> None:
    found = door(url)
    assert not found.served
    assert found.words.startswith(words)
    assert any(passed in each for each in ("", *found.passed_over))


def test_a_request_that_fails_is_told_the_reasons_of_its_route() -> None:
    told = [said for about in door("http://shop.example/gone").about for said in about.said]
    assert "BackendNotFound" in [said.reason for said in told]


def test_a_route_that_names_the_host_and_is_not_attached_is_named_with_its_reason() -> None:
    found = ask(SHOP, "http://other.example/")
    assert isinstance(found, OfRequest)
    [absent] = found.absent
    assert str(absent.route) == "HTTPRoute shop/stranger"
    [said] = [each for about in absent.about for each in about.said if each.verdict == "bad"]
    assert said.reason == "NoMatchingParent"
    assert said.remedy


@pytest.mark.parametrize("url", ["ftp://shop.example", "http://", "http://shop.example:port/"])
def test_what_is_no_url_of_http_is_said_to_be_none(url: str) -> None:
    found = ask(SHOP, url)
    assert isinstance(found, Unknown)
    assert "no URL" in found.words


@pytest.mark.parametrize(
    "of",
    [
        "HTTPRoute/shop/rules",
        "httproutes/shop/rules",
        "httproute.gateway.networking.k8s.io/shop/rules",
        "httproute/rules",
    ],
)
def test_a_kind_may_be_spelt_in_any_usual_way(of: str) -> None:
    assert str(about_object(SHOP, of).object) == "HTTPRoute shop/rules"


@pytest.mark.parametrize(
    ("of", "similar"),
    [
        ("httproute/shop/rule", ("HTTPRoute/shop/rules",)),
        ("httproute/infra/rules", ("HTTPRoute/shop/rules",)),
        ("gateway/shop/store", ("Service/shop/store", "EndpointSlice/shop/store")),
        ("gateway/infra/zzz", ("Gateway/infra/edge",)),
        ("httprout/shop/rules", ("HTTPRoute", "TCPRoute")),
        ("secret/shop/any", ()),
        ("svc", ("Service/shop/cart", "Service/shop/store")),
    ],
)
def test_what_is_not_there_is_answered_with_what_may_have_been_meant(
    of: str, similar: tuple[str, ...]
) -> None:
    found = ask(SHOP, of)
    assert isinstance(found, Unknown)
    assert found.similar == similar


def test_a_route_tells_each_place_where_requests_meet_it() -> None:
    found = about_object(SHOP, "httproute/shop/rules")
    assert not found.served
    assert found.words.startswith("is not served as written by Gateway infra/edge: BackendNotFound")
    assert {each.hostname for each in found.places} == {"shop.example", "*.shop.example"}
    assert len(found.places) == 2 * 5


def test_a_route_that_no_gateway_takes_says_so() -> None:
    found = about_object(SHOP, "httproute/shop/stranger")
    assert (found.served, found.places) == (False, ())
    assert found.words.startswith("is not served: NoMatchingParent")


def test_a_policy_tells_what_it_governs_and_the_one_that_lost_says_to_whom() -> None:
    won = about_object(TLS, "backendtlspolicy/shop/store")
    assert (won.served, won.words) == (True, "is served by Gateway infra/edge")
    [contest] = won.contests
    assert contest.port == "shop/store:80"
    assert str(contest.winner) == "BackendTLSPolicy shop/store"
    assert [(str(each.policy), each.why) for each in contest.lost] == [
        ("BackendTLSPolicy shop/younger", "shop/store is older, or first by name")
    ]
    lost = about_object(TLS, "backendtlspolicy/shop/younger")
    assert (lost.served, lost.places) == (False, ())
    assert lost.words.startswith("is not served: Conflicted")


def test_a_policy_that_names_the_port_goes_before_one_that_does_not() -> None:
    precise = NEW.replace("name: store}", "name: store, sectionName: http}")
    found = about_object(TLS.replace(NEW, precise), "svc/shop/store")
    [contest] = found.contests
    assert str(contest.winner) == "BackendTLSPolicy shop/younger"
    assert [each.why for each in contest.lost] == ["shop/younger names the port, and it does not"]


def test_a_service_tells_who_leads_to_it_and_with_what_tls() -> None:
    found = about_object(TLS, "service/shop/store")
    assert found.served
    assert [str(each) for each in found.users] == ["HTTPRoute shop/store"]
    [place] = found.places
    assert "TLS to pay.internal" in json.dumps(found.places, default=str)
    assert place.hostname == "shop.example"


def test_a_gateway_tells_its_listeners_and_the_routes_attached() -> None:
    found = about_object(SHOP, "gtw/infra/edge")
    assert found.served
    assert [str(each) for each in found.attached] == ["HTTPRoute shop/rules"]
    assert [(each.where, each.attached_routes) for each in found.about] == [("", None), ("listener p80", 1)]


def test_what_serves_nothing_by_itself_names_who_refers_to_it() -> None:
    found = about_object(SHOP, "gc/legation")
    assert [str(each) for each in found.users] == ["Gateway infra/edge"]


X_BACKEND = """\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: store, namespace: shop}
spec:
  type: EndpointSelector
  port: {number: 443}
  endpointSelector: {matchLabels: {app: store}}
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: own}
    validation: {hostname: store.internal, caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]}
"""


def test_roots_and_certificates_name_the_xbackends_that_refer_to_them() -> None:
    issued = Authority("roots").issue(eku=[CLIENT])
    values = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem}
    own = json.dumps({**_held("Secret", "own"), "type": "kubernetes.io/tls", "stringData": values})
    roots = json.dumps({**_held("ConfigMap", "roots"), "data": {"ca.crt": Authority("store").pem}})
    text = together(LEGATION_CLASS, f"{own}\n", f"{roots}\n", X_BACKEND)
    for of in ("secret/shop/own", "cm/shop/roots"):
        assert [str(each) for each in about_object(text, of).users] == ["XBackend shop/store"]


def _held(kind: str, name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}}


def test_a_question_is_the_same_after_it_was_sent() -> None:
    question = Question("https://shop.example/a b?c=d&e", "POST", ("X: a=b&c", "Y: ü"))
    assert read_question(question.query()) == question


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("svc/shop/cart",), 0, "is served by Gateway infra/edge"),
        (("http://shop.example/exact", "-X", "POST"), 0, "goes to shop/store:80"),
        (("http://shop.example/cart", "-H", "x-beta: yes"), 0, "matches before it"),
        (("http://shop.example/", "-H", "nothing"), 2, "has no name"),
        (("http://shop.example/gone",), 1, "-> create the Service, or correct the backendRef"),
        (("http://other.example/",), 1, "routes for this host that take no part"),
        (("httproute/shop/rule",), 2, "did you mean HTTPRoute/shop/rules?"),
    ],
)
def test_the_command_says_by_its_exit_code_whether_something_is_served(
    arguments: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(SHOP)
    what, *flags = arguments
    found, out, err = run("explain", what, str(tmp_path), *flags)
    assert (found, words in " ".join((out + err).split())) == (code, True), out + err
    assert "\x1b[" not in out


def test_the_command_writes_json_for_machines(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SHOP)
    code, out, _ = run("explain", "-o", "json", "http://shop.example/old", str(tmp_path))
    found = json.loads(out)
    assert (code, found["explains"], found["served"]) == (0, "request", True)
    assert found["doors"][0]["place"]["leads"]["action"] == {"does": "redirects", "status": 301}
    code, out, _ = run("explain", "-o", "json", "svc/shop/nothing", str(tmp_path))
    assert (code, json.loads(out)["explains"]) == (2, "nothing")


@pytest.mark.envoy
async def test_where_requests_go_is_what_a_real_envoy_does_with_them(tmp_path: Path) -> None:
    async with AsyncExitStack() as all_of_it:
        backends = {
            name: await all_of_it.enter_async_context(http_backend(name)) for name in ("store", "cart")
        }
        port = free_port()
        served = (service(name, each.port) for name, each in backends.items())
        text = together(LEGATION_CLASS, gateway("edge", port), *served, RULES, STRANGER)
        (tmp_path / "a.yaml").write_text(text)
        running = await all_of_it.enter_async_context(legation_up(tmp_path))
        admin = (await running.admin()).removeprefix("http://")
        await until(lambda: _is_programmed(running))
        for path, method, *headers in ASKED:
            what = (f"http://shop.example:{port}{path}", "-X", method, *(f"-H{each}" for each in headers))
            code, out, err = await asyncio.to_thread(run, "explain", *what, "-o", "json", "--admin", admin)
            assert code in (0, 1), err
            found = read_explanation(out.encode())
            assert isinstance(found, OfRequest)
            sent = {"Host": "shop.example", **dict(each.split(": ") for each in headers)}
            answer = await send(port, path, sent, method)
            assert _expected(found) == (answer.status, answer.body if answer.status == 200 else ""), path
            assert {each.state for each in found.envoys} == ({"newest"} if found.doors[0].place else set())


ASKED = (
    ("/exact", "POST"),
    ("/exact", "GET"),
    ("/%65xact", "POST"),
    ("/e%78act", "POST"),
    ("/exact/", "POST"),
    ("/cart", "GET", "X-Beta: yes"),
    ("/cart", "GET", "X-Beta: yes, of course"),
    ("/cart/", "GET", "x-beta: yes"),
    ("/cartoon", "GET", "X-Beta: yes"),
    ("/cart?page=12", "GET"),
    ("/cart?page=12b", "GET"),
    ("/cart?page=b&page=1", "GET"),
    ("/cart?page=1&page=b", "GET"),
    ("//cart/../x/./../cart//y?page=1", "GET"),
    ("/./exact", "POST"),
    ("/exact/..", "POST"),
    ("/old", "GET"),
    ("/older", "GET"),
    ("/gone", "GET"),
    ("/", "GET"),
)


def _expected(found: OfRequest) -> tuple[int, str]:
    """Return the status and the backend's name that follow from an explanation."""
    [door] = found.doors
    if door.place is None:
        return 404, ""
    match door.place.leads.action:
        case Forwards(ways):
            [way] = ways
            assert way.to is not None
            return 200, way.to.service.name
        case Redirects(status) | Answers(status):
            return status, ""
        case Shares():
            raise AssertionError


async def _is_programmed(running: Legation) -> bool:
    gateways = (await running.overview()).gateways
    return [each.programmed.status for each in gateways if each.programmed] == ["True"]
