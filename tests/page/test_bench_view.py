"""The test bench in a real browser: one question under two settings, side by side, and nothing live counts it."""

from __future__ import annotations

import httpx
import pytest

from page_cases import HARMFUL
from service_cases import CHINESE, TWO_HOP

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("locale", "question"), [("en-US", TWO_HOP), ("zh-CN", CHINESE)])
def test_two_settings_stand_side_by_side(visit, site, locale, question):
    from playwright.sync_api import expect

    before = httpx.get(f"{site}/api/v1/metrics/online").json()["data"]
    seen = visit(site, locale=locale)
    page = seen.page
    seen.go("#/bench")
    page.fill("#bench-question", question)
    page.locator(".check input").first.check()
    second = page.locator("fieldset").nth(1)
    second.locator("input[type=checkbox]").nth(1).uncheck()
    second.locator("input[type=checkbox]").nth(2).uncheck()
    second.locator("input[type=number]").fill("5")
    page.keyboard.press("Tab")
    page.locator(".view-bench button.primary").click()
    expect(page.locator(".bench-notes")).to_have_count(2, timeout=60_000)
    assert page.locator(".bench-notes").nth(0).locator("> li").count() == 10
    few = page.locator(".bench-notes").nth(1).locator("> li")
    assert few.count() == 5
    assert few.first.locator(".row.small .chip").count() == 1, "one channel was searched"
    assert page.locator("tbody").first.locator("th").count() >= 5
    page.locator(".bench-columns a", has_text="").first.click()
    page.wait_for_selector(".record .asked-question")
    assert question in page.inner_text(".record")
    seen.unharmed()
    after = httpx.get(f"{site}/api/v1/metrics/online").json()["data"]
    assert after == before


def test_no_channel_is_said_and_texts_of_others_are_never_run(visit, site):
    seen = visit(site)
    page = seen.page
    seen.go("#/bench")
    page.fill("#bench-question", HARMFUL["title"][:200])
    boxes = page.locator("fieldset input[type=checkbox]")
    for place in range(3):
        boxes.nth(place).uncheck()
    page.locator(".view-bench button.primary").click()
    page.wait_for_selector(".bench-results .problem")
    boxes.nth(0).check()
    page.locator(".view-bench button.primary").click()
    page.wait_for_selector(".bench-notes > li, .bench-results .muted")
    seen.unharmed()
