"""The page, in a real Chromium: over a real `legation up`, whose Envoys are real, too."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from socket import socket

import pytest
import yaml
from aiohttp import ClientSession, web
from msgspec import Struct

from e2e.page.browser import Tab, chromium
from legation.peers import Others
from legation.telling import Holding, Telling, versions
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_hops import EVERYTHING, led_to, policy
from tests.legation.running import Legation, free_port, legation_up
from tests.legation.test_maps import SHOP, running
from tests.pki import Authority

MANY = 5_000
STARTS_WITHIN = 240.0  # seconds, with so many routes on a machine that does much else
PAINTS_WITHIN = 60_000  # milliseconds, of which most pass before the page has its turn
WIDTHS = (380, 800, 1280, 1920)
LAGS = Telling(holdings=(Holding(newest=True),))  # it holds no listener, and was offered none
HARM = "<img src=x onerror=hit=1><script>hit=1</script>"

BELOW = "/api/v1/namespaces/legation-system/pods/legation-1:19080/proxy"
LED_HERE = "evil.example"

OVERFLOWS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
SQUEEZED = """[...document.querySelectorAll('.name .quiet')].map((each) =>
  each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)).filter((lines) => lines > 2.5)"""
VIEWS = {"1": "infra/edge", "2": "To look at", "3": "Envoys", "4": "Trust", "5": "Audit"}
SHOWS_BACKENDS = "document.querySelectorAll('.backend').length"


def headed(title: str) -> str:
    """Return what holds where a view is shown."""
    return f"document.querySelector('main h1')?.innerText === {json.dumps(title)}"


class Shown(Struct, frozen=True):
    """A browser that shows the page of a running `legation up`."""

    tab: Tab
    running: Legation
    folder: Path
    url: str

    def write(self, text: str) -> None:
        """Change what is served."""
        (self.folder / "shop.yaml").write_text(text)


@asynccontextmanager
async def shown(folder: Path, text: str, *flags: str) -> AsyncIterator[Shown]:
    """Serve manifests, and show the page that it has of them."""
    (folder / "shop.yaml").write_text(text)
    async with legation_up(folder, *flags) as running, chromium() as tab:
        url = await running.admin()
        await tab.looks(1280)
        await tab.goes(f"{url}/")
        yield Shown(tab, running, folder, url)


def assert_well_behaved(page: Shown) -> None:
    """Nothing was complained of, and nobody else was asked anything."""
    assert page.tab.complaints == []
    others = [url for url in page.tab.asked if not url.startswith((f"{page.url}/", "about:"))]
    assert others == []


def everything() -> str:
    """One backend of each grade, at a port that is free."""
    return EVERYTHING.replace("port: 80, protocol", f"port: {free_port()}, protocol")


async def grades(tab: Tab) -> dict[str, str]:
    """What the map says of each backend."""
    found: dict[str, str] = await tab.run(
        "Object.fromEntries([...document.querySelectorAll('.backend')].map((each) => "
        "[each.querySelector('b').innerText, each.querySelector('.grade').innerText.trim()]))"
    )
    return found


async def test_the_map_shows_what_real_envoys_hold_and_what_each_backend_must_prove(tmp_path: Path) -> None:
    async with shown(tmp_path, everything()) as page:
        await page.tab.text("live, 1 Envoy")
        await page.tab.shows(f"{SHOWS_BACKENDS} === 6")
        assert await grades(page.tab) == {
            "shop/nameless:80": "any name",
            "shop/pinned:80": "pinned",
            "shop/plain:80": "cleartext",
            "shop/proved:80": "verified",
            "shop/weak:80": "unverified",
            "shop/wrong:80": "refused",
        }
        await page.tab.text("TLS to pay.internal, proving pay.internal by the machine's roots")
        await page.tab.text("by BackendTLSPolicy shop/proved")
        await page.tab.press("3")
        await page.tab.shows(
            "document.querySelector('.state.good')?.innerText && document.querySelector('td')"
        )
        await page.tab.text("RouteConfiguration")
        await page.tab.shows("document.querySelector('tbody').innerText.includes('current')")
        assert_well_behaved(page)


async def test_envoys_that_are_connected_to_other_replicas_are_not_missed(tmp_path: Path) -> None:
    async with running(SHOP) as port, chromium() as tab:
        await tab.looks(1280)
        await tab.goes(f"{port.url}/#/envoys")
        await tab.text("No Envoy of this Gateway is connected.")
        listeners = tuple(versions(port.standing.outcome.snapshots["infra/edge"]).items())
        current = Telling(holdings=(Holding(newest=True, listeners=listeners),))
        port.standing.others = lambda: Others(({"infra/edge": current},))
        await tab.text("Its Envoys are connected to other replicas: current")
        port.standing.others = lambda: Others(({"infra/edge": current}, {"infra/edge": LAGS}))
        await tab.text("connected to other replicas: not all of them current")
        await tab.photograph(tmp_path / "elsewhere.png")
        assert tab.complaints == []


@asynccontextmanager
async def passed_on(url: str) -> AsyncIterator[str]:
    """Pass questions on as `kubectl proxy` does: from below a path, by the name of an API server."""
    async with ClientSession(auto_decompress=False) as session:

        async def ask(request: web.Request) -> web.Response:
            told = {**request.headers, "Host": "api.cluster.example"}
            async with session.get(url + request.path_qs.removeprefix(BELOW), headers=told) as answer:
                said = {
                    name: answer.headers[name] for name in ("Content-Type", "ETag") if name in answer.headers
                }
                return web.Response(status=answer.status, headers=said, body=await answer.read())

        app = web.Application()
        app.router.add_get(f"{BELOW}/{{rest:.*}}", ask)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}{BELOW}"
        finally:
            await runner.cleanup()


async def test_through_an_api_server_the_page_works_and_by_a_name_that_was_led_here_it_is_refused() -> None:
    rule = f"--host-resolver-rules=MAP {LED_HERE} 127.0.0.1"
    async with running(SHOP) as port, passed_on(port.url) as url, chromium(rule) as tab:
        await tab.looks(1280)
        await tab.goes(f"{url}/")
        await tab.shows(f"{SHOWS_BACKENDS} === 6")
        await tab.press("/")
        await tab.write("backendtls weak")
        await tab.shows("document.querySelectorAll('[role=option]').length === 1")
        await tab.press("Enter")
        await tab.text("nothing proves the backend")
        for number, title in VIEWS.items():
            await tab.press(number)
            await tab.shows(headed(title))
        assert tab.complaints == []
        assert [each for each in tab.asked if not each.startswith((f"{url}/", "about:"))] == []
        await tab.goes(port.url.replace("127.0.0.1", LED_HERE))
        await tab.text("ask for this port by an address")


async def test_what_an_envoy_refuses_is_shown_in_its_own_words(tmp_path: Path) -> None:
    with socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = EVERYTHING.replace("port: 80, protocol", f"port: {other.getsockname()[1]}, protocol")
        async with shown(tmp_path, taken) as page:
            await page.tab.text("1 rejected what it was sent")
            await page.tab.press("3")
            await page.tab.text("Address already in use")
            assert_well_behaved(page)


async def test_a_backend_that_is_not_verified_is_red_in_light_and_in_dark(tmp_path: Path) -> None:
    async with shown(
        tmp_path,
        together(led_to("weak"), policy("weak", "legation.dev/insecure-skip-verification")),
        "--no-envoy",
    ) as page:
        for scheme in ("light", "dark"):
            await page.tab.looks(1280, scheme=scheme)
            await page.tab.shows(f"{SHOWS_BACKENDS} === 1")
            for what in (".backend .grade", ".remark.alarm b", ".chip.unverified"):
                await page.tab.shows(f"document.querySelector('{what}')")
                red, green, blue = await colour(page.tab, what)
                assert red > green + 50
                assert red > blue + 50


async def colour(tab: Tab, selector: str) -> list[int]:
    """The colour of an element's text."""
    found: str = await tab.run(f"getComputedStyle(document.querySelector('{selector}')).color")
    return [int(each) for each in found.removeprefix("rgb(").removesuffix(")").split(",")]


async def test_a_change_shows_without_reloading_and_leaves_focus_scroll_and_what_is_open(
    tmp_path: Path,
) -> None:
    text = everything()
    async with shown(tmp_path, text, "--no-envoy") as page:
        tab = page.tab
        await tab.looks(1280, 500)
        await tab.shows(f"{SHOWS_BACKENDS} === 6")
        await tab.run(
            "window.mark = 1; document.querySelector('.host .name').click(); scrollTo(0, 200);"
            "document.querySelectorAll('.host .name')[2].focus({preventScroll: true})"
        )
        await tab.shows("document.querySelector('.host .name').ariaExpanded === 'false'")
        page.write(text.replace("Permit}", "Forbid}"))
        await tab.text("InsecureVerificationForbidden")
        assert await tab.run("window.mark") == 1
        assert await tab.run("scrollY") == 200
        assert await tab.run("document.activeElement === document.querySelectorAll('.host .name')[2]")
        assert await tab.run("document.querySelector('.host .name').ariaExpanded") == "false"
        page.write(f"{text}---\n{route('added', 'plain', host='added.test')}")
        await tab.text("added.test")
        assert_well_behaved(page)


async def test_everything_is_reached_by_keys_alone(tmp_path: Path) -> None:
    async with shown(tmp_path, everything(), "--no-envoy") as page:
        tab = page.tab
        await tab.shows(f"{SHOWS_BACKENDS} === 6")
        await tab.press("/")
        await tab.write("backendtls weak")
        await tab.shows("document.querySelectorAll('[role=option]').length === 1")
        await tab.press("Enter")
        await tab.shows("document.querySelector('aside h2')?.innerText === 'shop/weak'")
        await tab.text("nothing proves the backend")
        await tab.press("Escape")
        await tab.shows("!document.querySelector('aside')")
        for number, title in VIEWS.items():
            await tab.press(number)
            await tab.shows(headed(title))
        await tab.press("1")
        await tab.shows(f"{SHOWS_BACKENDS} === 6")
        await tab.run("document.querySelector('.host .name').focus()")
        await tab.press("Enter")
        await tab.shows("document.querySelector('.host .name').ariaExpanded === 'false'")
        for _ in range(3):
            await tab.press("Tab")
        assert await tab.run("document.activeElement.matches('a.backend, a.object, button.name')")
        assert_well_behaved(page)


async def test_whoever_cannot_see_is_told_what_each_control_is(tmp_path: Path) -> None:
    async with shown(tmp_path, everything(), "--no-envoy") as page:
        await page.tab.shows(f"{SHOWS_BACKENDS} === 6")
        for number, title in VIEWS.items():
            await page.tab.press(number)
            await page.tab.shows(headed(title))
            told = await page.tab.call("Accessibility.getFullAXTree")
            controls = [
                each
                for each in told["nodes"]
                if each["role"]["value"] in ("link", "button", "combobox", "searchbox")
            ]
            assert controls
            assert [
                each for each in controls if not each["ignored"] and not each["name"]["value"].strip()
            ] == []
        roles = await page.tab.run(
            "['header', 'nav', 'main'].map((each) => document.querySelector(each) !== null)"
        )
        assert roles == [True, True, True]


CONTRAST = """(() => {
  const parse = (text) => (text.match(/[0-9.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
    .reduce((sum, each, n) => sum + each * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll('body *')) {
    const text = [...node.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
    if (!text || !node.checkVisibility() || node.closest('.unseen, noscript, script')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${node.className} ${node.innerText}`.slice(0, 80));
  }
  return [...new Set(poor)];
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_can_be_read_and_every_width_is_enough(tmp_path: Path, scheme: str) -> None:
    photographs = tmp_path / "photographs"
    photographs.mkdir()
    served = tmp_path / "served"
    served.mkdir()
    async with shown(served, everything(), "--no-envoy") as page:
        for width in WIDTHS:
            await page.tab.looks(width, scheme=scheme)
            for view in ("map", "findings", "envoys", "trust", "audit"):
                await page.tab.goes(f"{page.url}/#/{view}?object=BackendTLSPolicy/shop/weak")
                await page.tab.shows("document.querySelector('main')?.innerText.length > 100")
                await page.tab.text("VerificationDegraded")
                assert await page.tab.run(CONTRAST) == [], (width, view)
                assert not await page.tab.run(OVERFLOWS), (width, view)
                await page.tab.photograph(photographs / f"{view}-{width}.png")
        assert len(list(photographs.iterdir())) == len(WIDTHS) * 5
        assert_well_behaved(page)


async def test_the_longest_names_fit_a_window_that_was_made_narrow_and_squeeze_nothing_beside_them(
    tmp_path: Path,
) -> None:
    name, host = "a-" * 31 + "b", ".".join(["h" * 63] * 3) + ".example"
    routes = (route(f"{name}-{n}", name, host=f"h{n}.{host}", parent=name) for n in range(60))
    served = together(LEGATION_CLASS, gateway(name, free_port()), service(name, 80), *routes)
    async with shown(tmp_path, served.replace("infra", name), "--no-envoy") as page:
        await page.tab.shows("document.querySelectorAll('.host').length === 60")
        await page.tab.shows("document.querySelector('.backend')")
        for width in (1280, 380):
            await page.tab.looks(width)
            await page.tab.shows(f"innerWidth === {width}")
            assert not await page.tab.run(OVERFLOWS), width
            assert await page.tab.run(SQUEEZED) == [], width
        assert_well_behaved(page)


async def test_thousands_of_routes_are_shown_at_once_and_each_is_found(tmp_path: Path) -> None:
    routes = (route(f"r{n}", "store", host=f"host-{n}.test") for n in range(MANY))
    served = together(LEGATION_CLASS, gateway("edge", free_port()), service("store", 80), *routes)
    async with shown(tmp_path, served, "--no-envoy") as page:
        tab = page.tab
        await tab.shows("document.querySelectorAll('.host').length", within=STARTS_WITHIN)
        await tab.goes(f"{page.url}/")
        await tab.shows("document.querySelectorAll('.host').length")
        painted = await tab.run(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity"
        )
        assert painted < PAINTS_WITHIN
        assert await tab.run("document.querySelectorAll('*').length") < 5_000
        await tab.press("/")
        await tab.write("host-4321.test")
        await tab.shows("document.querySelector('[role=option]')?.innerText.includes('shop/r4321')")
        await tab.press("Enter")
        await tab.shows("document.querySelector('aside .list a')")
        await tab.run("document.querySelector('aside .list a').click()")
        await tab.shows("document.querySelectorAll('.host').length === 1")
        await tab.run("document.querySelector('.host .name').click()")
        await tab.shows(f"{SHOWS_BACKENDS} === 1")
        assert await grades(tab) == {"shop/store:80": "cleartext"}
        assert_well_behaved(page)


async def test_trust_and_audit_show_what_is_used_and_what_is_weak_first(tmp_path: Path) -> None:
    roots = Authority("shop roots")
    bundle = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roots", "namespace": "shop"}}
    own = policy("own", "System").replace(
        "wellKnownCACertificates: System", "caCertificateRefs: [{group: '', kind: ConfigMap, name: roots}]"
    )
    served = together(
        everything(),
        yaml.safe_dump({**bundle, "data": {"ca.crt": roots.pem}}),
        own,
        service("own", 80),
        route("own", "own", host="own.test"),
    )
    async with shown(tmp_path, served, "--no-envoy") as page:
        tab = page.tab
        await tab.shows(SHOWS_BACKENDS)
        await tab.press("4")
        await tab.text("CN=shop roots")
        assert await tab.run("document.querySelector('tbody td').innerText") == "BackendTLSPolicy shop/own"
        await tab.press("5")
        await tab.shows("document.querySelectorAll('main.audit tbody tr').length === 7")
        rows = await tab.run(
            "[...document.querySelectorAll('tbody tr')].map((each) => each.cells[0].innerText.trim())"
        )
        assert rows == ["unverified", "any name", "cleartext", "pinned", "verified", "verified", "refused"]
        await tab.run("document.querySelector('.chip.pinned').click()")
        await tab.shows("document.querySelectorAll('main.audit tbody tr').length === 1")
        assert "one of 2 pins" in await tab.run("document.querySelector('tbody').innerText")
        assert_well_behaved(page)


async def test_text_of_users_is_never_markup(tmp_path: Path) -> None:
    roots = Authority(HARM)
    bundle = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roots", "namespace": "shop"}}
    own = policy("own", "System").replace(
        "wellKnownCACertificates: System", "caCertificateRefs: [{group: '', kind: ConfigMap, name: roots}]"
    )
    matched = route("own", "own").replace(
        "  - backendRefs", f"  - matches: [{{headers: [{{name: x, value: '{HARM}'}}]}}]\n    backendRefs"
    )
    served = together(
        led_to("plain"),
        yaml.safe_dump({**bundle, "data": {"ca.crt": roots.pem}}),
        own,
        service("own", 80),
        matched,
    )
    async with shown(tmp_path, served, "--no-envoy") as page:
        await page.tab.text(f"x: {HARM}")
        await page.tab.press("4")
        await page.tab.text("onerror")
        assert await page.tab.run("typeof hit") == "undefined"
        assert await page.tab.run("document.querySelectorAll('img, body script').length") == 0
        assert_well_behaved(page)


async def test_nothing_but_the_pages_own_files_can_run_or_be_asked(tmp_path: Path) -> None:
    async with shown(tmp_path, led_to("plain"), "--no-envoy") as page:
        tab = page.tab
        await tab.shows(f"{SHOWS_BACKENDS} === 1")
        inline = "Object.assign(document.createElement('script'), {textContent: 'hit = 1'})"
        await tab.run(f"try {{ document.body.append({inline}) }} catch {{}} 0")
        await tab.run(
            "try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=hit=1>') } catch {} 0"
        )
        assert await tab.run("typeof hit") == "undefined"
        refused = await tab.run("fetch('http://127.0.0.2:9/').then(() => 'answered', () => 'refused')")
        assert refused == "refused"
        assert any("Content Security Policy" in each for each in tab.complaints)


async def test_the_page_says_when_nobody_answers_any_more(tmp_path: Path) -> None:
    async with chromium() as tab:
        (tmp_path / "shop.yaml").write_text(led_to("plain"))
        async with legation_up(tmp_path, "--no-envoy") as running:
            await tab.goes(f"{await running.admin()}/")
            await tab.shows(f"{SHOWS_BACKENDS} === 1")
        await tab.text("no answer since")
        assert await tab.run(SHOWS_BACKENDS) == 1
