"""Graph in a real browser: a name is drawn, gone on from by mouse and keys, and its notes open; nothing does harm."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from page_cases import HARM, HARMFUL, serious
from service_cases import settings_over
from service_process import served
from theworld.demo.credit import load_credit_ontology
from theworld.ontology.storing import import_ontology
from theworld.stores.knowledge_store import open_store

pytestmark = pytest.mark.slow
CASES = [("en-US", "Fritz Lang", "Metropolis", "Fritz Lang"), ("zh-CN", "天一阁", "宁波", "天一阁")]


@pytest.fixture(scope="module")
def with_ontology(copy_of_demo):
    """Address of a server whose store has an ontology, one of its classes named so as to do harm."""
    folder = copy_of_demo()
    plain = load_credit_ontology().model_dump(mode="json", by_alias=True)
    plain["classes"][1]["labels"] = {"en": [HARM[:80]], "zh": [HARM[:80]]}
    with open_store(settings_over(folder), read_only=False) as store:
        import_ontology(store, type(load_credit_ontology()).model_validate(plain))
    with served(folder) as (_, client, _):
        yield str(client.base_url).rstrip("/")


@pytest.mark.parametrize(("locale", "name", "beside", "title"), CASES)
def test_a_name_is_drawn_and_gone_on_from(visit, site, locale, name, beside, title):
    seen = visit(site, locale=locale)
    page = seen.page
    seen.go("#/graph")
    page.fill("#graph-name", name)
    page.press("#graph-name", "Enter")
    page.wait_for_selector(".box-centre")
    assert page.locator(".box-note").count() == page.locator(".evidence-card").count() > 0
    reached = set()
    page.focus(".graph-body .card .scroll")
    for _ in range(page.locator(".box[role=button]").count()):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.id"))
    assert len(reached) == page.locator(".box[role=button]").count(), "every box is reached by keyboard"
    page.locator(f'.box-note[aria-label*="{title}"]').first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".document-text mark")
    assert name in page.inner_text(".document-text mark")
    page.locator(f'.box-entity[aria-label*="{beside}"]').first.click()
    page.wait_for_function("name => document.querySelector('.box-centre title')?.textContent === name", arg=beside)
    page.go_back()
    page.wait_for_function("name => document.querySelector('.box-centre title')?.textContent === name", arg=name)
    seen.unharmed()


@pytest.mark.parametrize(
    ("locale", "wrong", "near"), [("en-US", "Metropolys", "Metropolis"), ("zh-CN", "天一门", "天一阁")]
)
def test_an_unknown_name_leads_to_near_ones(visit, site, locale, wrong, near):
    seen = visit(site, locale=locale)
    seen.go(f"#/graph/name/{quote(wrong, safe='')}")
    seen.page.click(f".names a:text-is('{near}')")
    seen.page.wait_for_selector(".box-centre")
    seen.unharmed()


def test_names_made_to_do_harm_are_texts(visit, site):
    seen = visit(site)
    for name in (HARM, "Zorblatt", HARMFUL["title"], "%"):
        seen.go(f"#/graph/name/{quote(name, safe='')}")
        seen.page.wait_for_selector(".box-centre, .notice")
    seen.go("#/graph/name/Quillonia")
    seen.page.locator(".box-note").first.click()
    seen.page.wait_for_selector(".document-text mark")
    seen.go("#/graph/name/%E0%A4%A")
    seen.page.wait_for_selector(".problem")
    seen.unharmed()


@pytest.mark.parametrize(("locale", "width", "scheme"), [("en-US", 1280, "light"), ("zh-CN", 390, "dark")])
def test_classes_are_listed_and_explored(visit, with_ontology, locale, width, scheme):
    seen = visit(with_ontology, locale=locale, width=width, color_scheme=scheme, bypass_csp=True)  # for axe's script
    page = seen.page
    seen.go("#/graph")
    page.wait_for_selector(".ontology tbody tr")
    assert page.locator(".ontology tbody tr").count() == len(load_credit_ontology().classes)
    assert not serious(page)
    page.locator(".ontology tbody th a").first.click()
    page.wait_for_selector(".box-centre")
    page.locator(".box[role=button]").first.click()
    page.wait_for_function(
        "location.hash.startsWith('#/graph/element/') && document.querySelector('.box-element, .box-entity')"
    )
    page.wait_for_load_state("networkidle")
    assert not serious(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("window.harmed") is None
    assert not seen.complaints, seen.complaints
