"""Documents listed page by page and read whole; another tenant's are unknown."""

from __future__ import annotations

from urllib.parse import quote

from service_cases import TWO_HOP


def test_a_cited_document_is_read_whole_and_offsets_fit(call):
    answer = call("/api/v1/ask", {"question": TWO_HOP, "stream": False})
    for citation in answer["citations"]:
        found = call(f"/api/v1/documents/{quote(citation['document_id'], safe='')}")
        assert found["text"][citation["start"] : citation["end"]] == citation["quote"]
        assert found["notes"] == len(found["parts"])
        assert found["characters"] == len(found["text"])


def test_documents_are_listed_page_by_page(call):
    pages, after = [], ""
    while True:
        page = call(f"/api/v1/documents?limit=7&after={quote(after)}")
        pages += [item["id"] for item in page["documents"]]
        if page["next_after"] is None:
            break
        after = page["next_after"]
    assert pages == sorted(set(pages))
    assert len(pages) == page["total"]
    found = call("/api/v1/documents?search=METROPOLIS")
    assert "en/metropolis-film.md" in {item["id"] for item in found["documents"]}


def test_what_another_tenant_has_is_unknown(client):
    assert client.get("/api/v1/documents/en/metropolis-film.md").status_code == 200
    other = {"X-Tenant-Id": "other"}
    assert client.get("/api/v1/documents/en/metropolis-film.md", headers=other).status_code == 404
    assert client.get("/api/v1/documents", headers=other).json()["data"]["total"] == 0
    assert client.get("/api/v1/documents/no%00thing").status_code in {404, 422}


def test_an_answer_as_html_and_as_a_conversation_keeps_it(call):
    asked = {"question": TWO_HOP, "stream": False}
    plain, shown = call("/api/v1/ask", asked), call("/api/v1/ask", asked | {"html": True})
    assert plain["answer_html"] is None
    assert '<a class="cite" href="#cite-1"' in shown["answer_html"] or 'href="#cite-1"' in shown["answer_html"]
    assert "Fritz Lang" in plain["said"]
    assert ".md ›" not in plain["said"], "file names are no part of what was said"
