"""Files sent as they are: read by their ending, refused with a reason, and never in the way of questions."""

from __future__ import annotations

import threading

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
