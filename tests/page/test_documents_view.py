"""Documents in a real browser: files go in, with reasons for what does not, are found, opened and deleted."""

from __future__ import annotations

import pytest

from page_cases import HARM

pytestmark = pytest.mark.slow
FILES = [
    {
        "name": "lighthouse.md",
        "mimeType": "text/markdown",
        "buffer": b"# Old Light\n\n## Keeper\n\nAda Grey keeps the Old Light.\n",
    },
    {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 no document"},
    {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""},
    {"name": "large.txt", "mimeType": "text/plain", "buffer": b"words " * 6_000_000},
]


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_files_go_in_are_found_opened_and_deleted(visit, site, locale):
    from playwright.sync_api import expect

    seen = visit(site, locale=locale)
    page = seen.page
    seen.go("#/documents")
    page.wait_for_selector(".list table")
    with page.expect_file_chooser() as chosen:
        page.locator(".drop button").first.click()
    chosen.value.set_files(FILES)
    expect(page.locator(".uploads li.failed")).to_have_count(3)
    expect(page.locator(".uploads li.done")).to_have_count(1)
    reasons = page.locator(".uploads li.failed").all_inner_texts()
    assert [reason.split("\n")[0] for reason in reasons] == ["broken.pdf", "empty.txt", "large.txt"]
    assert all(len(reason.split("\n")) > 1 for reason in reasons), "each says why"
    assert "32 MB" in reasons[2]
    page.fill("#search", "lighthouse")
    expect(page.locator(".list tbody tr")).to_have_count(1)
    page.locator(".list tbody a").click()
    expect(page.locator("pre")).to_contain_text("Ada Grey keeps the Old Light.")
    with page.expect_file_chooser() as chosen:
        page.locator(".view-documents .choices button").click()
    chosen.value.set_files([FILES[0] | {"buffer": b"# Old Light\n\nBo Finch keeps the Old Light now.\n"}])
    expect(page.locator("pre")).to_contain_text("Bo Finch")
    page.go_back()
    page.locator(".store summary").click()
    expect(page.locator(".store tbody tr").first).to_contain_text("lighthouse.md")
    page.wait_for_selector(".list table")
    page.fill("#search", "lighthouse")
    expect(page.locator(".list tbody tr")).to_have_count(1)
    page.evaluate("window.confirm = () => true")
    page.locator(".list tbody button").click()
    expect(page.locator(".list tbody tr")).to_have_count(0)
    assert not [text for text in seen.complaints if "422" not in text], seen.complaints


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_the_list_is_filtered_by_metadata(visit, site, locale):
    from playwright.sync_api import expect

    seen = visit(site, locale=locale)
    rows = seen.page.locator(".list tbody tr")
    seen.go("#/documents")
    seen.page.wait_for_selector(".list table")
    seen.page.focus("#filter-name")
    assert {"kind", "made"} <= set(
        seen.page.locator("#filter-names option").evaluate_all("all => all.map(o => o.value)")
    )
    seen.page.fill("#filter-name", "made")
    seen.page.press("#filter-name", "Enter")
    seen.page.wait_for_selector("#filter-value:focus")
    assert rows.count() > 1, "half a filter is none"
    seen.page.fill("#filter-value", "1901")
    seen.page.press("#filter-value", "Enter")
    expect(rows).to_have_count(1)
    assert "Zorblatt" in rows.first.inner_text()
    seen.page.fill("#filter-name", "kind")
    seen.page.fill("#filter-value", HARM)
    seen.page.press("#filter-value", "Enter")
    expect(seen.page.locator(".filters .chip")).to_have_count(2)
    expect(rows).to_have_count(1)
    seen.page.fill("#search", "metropolis")
    expect(rows).to_have_count(0)
    seen.page.locator(".filters .chip button").first.click()
    seen.page.locator(".filters .chip button").first.click()
    expect(rows).to_have_count(1)
    assert "Metropolis" in rows.first.inner_text()
    seen.unharmed()
