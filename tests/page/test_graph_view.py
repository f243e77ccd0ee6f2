"""The graph in a real browser: from a name to notes and neighbours, onwards by keyboard, and the ontology's classes."""

from __future__ import annotations

import pytest

from service_process import served
from theworld.demo.credit import load_credit_ontology
from theworld.ontology.storing import import_ontology
from theworld.stores.knowledge_store import KnowledgeStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site_with_ontology(copy_of_demo):
    store = copy_of_demo()
    with KnowledgeStore.open(store, read_only=False) as opened:
        import_ontology(opened, load_credit_ontology())
    with served(store) as (_, client, _):
        yield str(client.base_url).rstrip("/")


@pytest.mark.parametrize(("locale", "name", "label"), [("en-US", "fritz", "Fritz Lang"), ("zh-CN", "范钦", "范钦")])
def test_a_name_leads_on_to_others(visit, site_with_ontology, locale, name, label):
    seen = visit(site_with_ontology, locale=locale)
    page = seen.page
    seen.go("#/graph")
    page.fill("#entity-name", name)
    page.wait_for_selector(f".found-entities a:has-text('{label}')")
    page.locator(f".found-entities a:has-text('{label}')").first.click()
    page.wait_for_selector(f".card h2:has-text('{label}')")
    assert page.locator(".neighbourhood .note").count() > 0
    onward = page.locator(".neighbourhood a.near").first
    other = onward.get_attribute("aria-label")
    onward.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(f".card h2:has-text('{other}')")
    page.locator(".graph-columns section").nth(1).locator("a").first.click()
    page.wait_for_selector(".view-documents pre")
    seen.unharmed()


def test_classes_are_drawn_and_unknown_names_said(visit, site_with_ontology, site):
    seen = visit(site_with_ontology)
    page = seen.page
    seen.go("#/graph")
    page.locator(".view-graph section .chip").first.click()
    page.wait_for_selector(".view-graph img")
    assert page.evaluate("document.querySelector('.view-graph img').naturalWidth") > 0
    page.fill("#entity-name", "zzzz qqqq")
    page.wait_for_selector(".found-entities li.muted")
    seen.unharmed()
    seen.go("#/graph/entity/nobody%20at%20all")
    page.wait_for_selector("main > .problem")
    harmed = visit(site)
    harmed.go("#/graph")
    harmed.page.fill("#entity-name", "zorblatt")
    harmed.page.locator(".found-entities a").first.click()
    harmed.page.wait_for_selector(".neighbourhood")
    harmed.unharmed()
