"""Files sent as they are: read by their ending, refused with a reason, and never in the way of questions."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from theworld.service.runtime import Service

MARKDOWN = b"# Old Light\n\n## Keeper\n\nAda Grey keeps the Old Light.\n"


def _send(client: TestClient, name: str, content: bytes) -> tuple[int, dict[str, object]]:
    reply = client.post("/api/v1/documents/file", params={"name": name}, content=content)
    return reply.status_code, reply.json()


@pytest.mark.slow
def test_a_file_is_read_by_its_ending_and_found(client: TestClient) -> None:
    status, reply = _send(client, "guides/light.md", MARKDOWN)
    assert (status, reply["data"]["written"]) == (200, 1), reply
    whole = client.get("/api/v1/documents/guides/light.md").json()["data"]
    assert (whole["title"], whole["source"]) == ("Old Light", "guides/light.md")
    assert whole["parts"][0]["section"] == ["Keeper"]
    assert _send(client, "guides/light.md", MARKDOWN)[1]["data"]["unchanged"] == 1
    before = client.get("/api/v1/store").json()["data"]
    client.request("DELETE", "/api/v1/documents", json={"ids": ["guides/light.md"]})
    after = client.get("/api/v1/store").json()["data"]
    assert (before["documents"] - after["documents"], after["waiting"]) == (1, 0)
    runs = [(run["what"], run["written"], run["unchanged"], run["deleted"]) for run in after["writes"][:3]]
    assert runs == [("guides/light.md", 0, 0, 1), ("guides/light.md", 0, 1, 0), ("guides/light.md", 1, 0, 0)]
    other = client.get("/api/v1/store", headers={"X-Tenant-Id": "other"}).json()["data"]
    assert (other["documents"], other["notes"], other["ontology"], other["writes"]) == (0, {}, False, [])


@pytest.mark.parametrize("name", ["../light.md", "/etc/light.md", "a//b.md", "a\\b.md", "a\x00.md", ".", " "])
def test_a_name_that_leads_elsewhere_is_refused(client: TestClient, name: str) -> None:
    assert _send(client, name, MARKDOWN)[0] == 422


def test_an_empty_file_is_refused_and_a_broken_one_is_left_out(client: TestClient) -> None:
    assert _send(client, "light.md", b"")[0] == 422
    status, reply = _send(client, "light.pdf", b"%PDF-1.4 nothing")
    assert status == 200
    (failure,) = reply["data"]["failed"]
    assert failure["id"] == "light.pdf"
    assert failure["reason"]
    assert "/tmp" not in failure["reason"]
    assert reply["data"]["written"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["长" * 200 + ".md", "guides/" + "x" * 400 + ".md", "y" * 300])
def test_a_name_longer_than_a_disk_takes_is_kept_whole(client: TestClient, name: str) -> None:
    status, reply = _send(client, name, MARKDOWN)
    assert (status, reply["data"]["written"]) == (200, 1), reply
    assert client.get(f"/api/v1/documents/{name}").json()["data"]["id"] == name
    client.request("DELETE", "/api/v1/documents", json={"ids": [name]})


@pytest.mark.slow
def test_a_form_is_its_one_file(client: TestClient) -> None:
    path, file = "/api/v1/documents/file", ("light.md", MARKDOWN, "text/markdown")
    for params, name in (({}, "light.md"), ({"name": "guides/other.md"}, "guides/other.md")):
        reply = client.post(path, params=params, files={"file": file}, data={"field": "is passed over"})
        assert reply.json()["data"]["written"] == 1, reply.text
        assert client.get(f"/api/v1/documents/{name}").json()["data"]["text"].encode() == MARKDOWN
        client.request("DELETE", "/api/v1/documents", json={"ids": [name]})
    several = client.post(path, files=[("a", file), ("b", file)])
    assert (several.status_code, "one file in a form, not 2" in several.text) == (422, True)
    none = client.post(path, params={"name": "a.md"}, data={"a": "b"}, files={"c": ("", b"")})
    assert none.status_code == 422
    assert client.post(path, content=MARKDOWN).status_code == 422, "without a name"


def test_a_bad_line_is_named(client: TestClient) -> None:
    rows = b'{"_id": "a"}\n\n{broken\n'
    failed = _send(client, "c/corpus.jsonl", rows)[1]["data"]["failed"]
    assert failed[0] == {"id": "c/corpus.jsonl:1", "reason": "`text` is missing"}
    assert failed[1]["id"] == "c/corpus.jsonl:3"
    assert failed[1]["reason"].endswith("at column 2")
    assert "line 1" not in failed[1]["reason"]


_CHANGING = [
    ("POST", "/api/v1/documents", {"documents": [{"id": "a", "text": "b"}]}),
    ("DELETE", "/api/v1/documents", {"ids": ["a"]}),
    ("POST", "/api/v1/documents/file?name=parking.md", None),
    ("POST", "/api/v1/feedback", {"request_id": "a", "verdict": "good"}),
    ("POST", "/api/v1/eval/datasets", {"name": "n", "queries": [{"id": "q", "text": "x?", "answers": ["x"]}]}),
    ("POST", "/api/v1/eval/jobs", {"dataset_id": "a"}),
    ("DELETE", "/api/v1/eval/jobs/a", None),
    ("POST", "/api/v1/retrieval/replay/a", {}),
]
FOREIGN = [
    {"Origin": "http://evil.example.com"},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize(("method", "path", "body"), _CHANGING)
@pytest.mark.parametrize("headers", FOREIGN)
def test_what_changes_something_is_refused_to_foreign_pages(
    client: TestClient, method: str, path: str, body: object, headers: dict[str, str]
) -> None:
    sent = {"json": body} if body is not None else {"content": b"# x"}
    reply = client.request(method, path, headers=headers, **sent)
    assert (reply.status_code, reply.json()["code"]) == (403, 1004)
    assert "page of another origin" in reply.json()["message"]
    zh = client.request(method, path, headers={**headers, "Accept-Language": "zh"}, **sent)
    assert "来自其他来源的网页" in zh.json()["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://127.0.0.1:8321"},
        {"Origin": "http://127.0.0.1:8321", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://docs.example.com", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://public.example.com"},
    ],
)
def test_its_own_page_and_programs_are_let_in(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    public = service.settings.service.model_copy(update={"public_url": "https://public.example.com/kb"})
    settings = service.settings.model_copy(update={"service": public})
    monkeypatch.setattr(service, "resources", replace(service.resources, settings=settings))
    reply = client.request("DELETE", "/api/v1/documents", json={"ids": ["nobody's"]}, headers=headers)
    assert reply.json()["data"] == {"deleted": 0}
    assert client.get("/api/v1/store", headers={"Origin": "http://evil.example.com"}).status_code == 200


@pytest.mark.slow
def test_uploads_that_wait_keep_nobody_out(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty wait for a writer that is busy: questions, keys and readiness go on, and are in other threads."""
    busy, release = threading.Event(), threading.Event()
    put = service.documents.put_file

    def slow(name: str, content: bytes, *, tenant: str) -> object:
        busy.set()
        assert release.wait(120)
        return put(name, content, tenant=tenant)

    monkeypatch.setattr(service.documents, "put_file", slow)
    replies: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: replies.append(_send(client, f"w{n}.md", MARKDOWN)[0])) for n in range(40)
    ]
    for thread in threads:
        thread.start()
    try:
        assert busy.wait(60)
        assert client.get("/readyz").status_code == 200
        asked = client.post("/api/v1/retrieval/search", json={"query": "planet"})
        assert asked.status_code == 200, asked.text
    finally:
        release.set()
        for thread in threads:
            thread.join(120)
    assert replies == [200] * 40
    client.request("DELETE", "/api/v1/documents", json={"ids": [f"w{n}.md" for n in range(40)]})
