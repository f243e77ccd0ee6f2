"""The shell in a real browser: signing in, languages, dark, phones, the keyboard, and no serious violation by axe."""

from __future__ import annotations

import re

import pytest

from page_cases import serious
from service_cases import TWO_HOP
from service_process import served
from theworld.service.page import page_files
from theworld.stores.ledger.api_keys import KeyRing
from theworld.stores.ledger.opening import open_database

pytestmark = pytest.mark.slow
VIEWS = [
    name.removeprefix("views/").removesuffix(".js") for name in page_files() if re.fullmatch(r"views/\w+\.js", name)
]


@pytest.mark.parametrize(("scheme", "locale", "width"), [("light", "en-US", 1280), ("dark", "zh-CN", 390)])
def test_no_view_has_serious_violations_or_overflows(visit, site, scheme, locale, width):
    seen = visit(site, locale=locale, color_scheme=scheme, width=width, bypass_csp=True)  # axe brings its own script
    seen.go()
    seen.ask(TWO_HOP)
    seen.page.wait_for_selector(".rendered")
    for name in VIEWS:
        seen.go(f"#/{name}")
        seen.page.wait_for_selector(f".view-{name} :is(h1, h2)", state="attached")
        seen.page.wait_for_load_state("networkidle")
        assert not serious(seen.page), name
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} is wider than the window"
        )
    dark = seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert dark == (scheme == "dark")
    assert not seen.complaints, seen.complaints


@pytest.mark.parametrize("width", [1366, 375])
def test_a_view_looks_the_same_whichever_was_shown_before(visit, site, width):
    def boxes(seen) -> list:
        seen.page.wait_for_selector(".list tbody tr")
        seen.page.wait_for_load_state("networkidle")
        return seen.page.evaluate(
            "[...document.querySelectorAll('.list :is(th, td)')].map(e => [e.innerText, e.offsetWidth, e.offsetHeight])"
        )

    seen = visit(site, width=width)
    seen.go("#/documents")
    alone = boxes(seen)
    seen.go()
    seen.page.wait_for_selector("#question")
    for name in (*VIEWS, "documents"):
        seen.page.click(f"#nav a[href='#/{name}']")
        seen.page.wait_for_selector(f".view-{name} :is(h1, h2)", state="attached")
    assert boxes(seen) == alone
    assert not seen.complaints, seen.complaints


def test_names_of_stages_fit_their_boxes(visit, site):
    for locale in ("en-US", "zh-CN"):
        seen = visit(site, locale=locale)
        seen.go("#/found")
        seen.page.wait_for_selector(".node text")
        wide = "[...document.querySelectorAll('.node')].filter(e => [...e.querySelectorAll('text')].some("
        wide += "t => t.getBBox().width > e.querySelector('rect').getBBox().width)).map(e => e.textContent)"
        assert seen.page.evaluate(wide) == [], locale


def test_language_and_colours_switch_and_stay(visit, site):
    seen = visit(site, color_scheme="light")
    seen.go()
    seen.page.click("[data-tool=language]")
    seen.page.wait_for_selector("html[lang=zh-Hans]")
    assert seen.page.title() == "提问 · TheWorld"
    seen.page.select_option("#tools select", "dark")
    seen.page.reload()
    seen.page.wait_for_selector("html[lang=zh-Hans][data-theme=dark]")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"


def test_the_keyboard_alone_asks_and_reads(visit, site):
    seen = visit(site)
    seen.go()
    seen.page.wait_for_selector("#question:focus")
    seen.page.keyboard.type(TWO_HOP)
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".rendered a.cite")
    for _ in range(40):
        seen.page.keyboard.press("Tab")
        if seen.page.evaluate("document.activeElement.matches('.evidence-open')"):
            break
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_selector(".document-text")
    assert seen.page.evaluate("document.querySelector('.log').getAttribute('aria-live')") == "polite"


def test_signing_in_with_a_key_opens_its_tenant_alone(visit, copy_of_demo, monkeypatch):
    store = copy_of_demo()
    with open_database(store, writable=True) as ledger:
        token = KeyRing(ledger).create("page", tenants=["default"], scopes=["query"])
    monkeypatch.setenv("THEWORLD_SERVICE__KEYS", "required")
    with served(store) as (_, client, _):
        seen = visit(str(client.base_url).rstrip("/"))
        seen.go("#/found")
        seen.page.wait_for_selector("#signin[open]")
        seen.page.fill("#key", "wrong")
        seen.page.click("#signin button[type=submit]")
        seen.page.wait_for_selector("#signin[open] .problem")
        assert seen.page.inner_text("#signin code") == "theworld keys create"
        assert seen.page.inner_text("[data-tool=account]") == "Sign in"
        seen.page.fill("#key", token)
        seen.page.click("#signin button[type=submit]")
        seen.page.wait_for_selector(".node-graph")
        assert seen.page.evaluate("sessionStorage.getItem('theworld.key')") == token
        assert seen.page.evaluate("Object.keys(localStorage).some(k => k.includes('key'))") is False
        seen.page.click("[data-tool=account]")
        seen.page.fill("#tenant", "other")
        seen.page.click("#signin button[type=submit]")
        seen.page.wait_for_selector(".view-found .problem, main > .problem")
        assert client.get("/api/v1/nodes").status_code == 401


def test_interactive_documentation_calls_the_service_and_nobody_else(visit, site):
    seen = visit(site)
    called = []
    seen.page.on("request", lambda request: called.append(request.url))
    seen.go("docs")
    seen.page.click("#operations-operation-readyz_readyz_get .opblock-summary-control")
    seen.page.click("#operations-operation-readyz_readyz_get .execute")
    seen.page.wait_for_selector("#operations-operation-readyz_readyz_get .live-responses-table .response-col_status")
    assert f"{site}/readyz" in called
    assert [url for url in called if not url.startswith((site, "data:"))] == []
    seen.unharmed()
