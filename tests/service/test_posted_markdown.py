"""Texts that are posted: divided at their Markdown, kept to the letter, or plain where the caller says so."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from theworld.ingestion import SourceDocument
from theworld.service.documents import as_markdown

ROWS = "\n".join(f"| {day} | {day % 9} to {day % 9 + 9} |" for day in range(1, 60))
TEXT = f"""# Old Light

The Old Light stands on a granite island.

## Keeper

{"Ada Grey keeps the Old Light, which is older than the harbour. " * 20}

## Hours

| Day | Hours |
|---|---|
{ROWS}
"""


def posted(client: TestClient, **fields: object) -> dict[str, object]:
    document = {"id": "old-light", "text": TEXT, **fields}
    reply = client.post("/api/v1/documents", json={"documents": [document]}).json()["data"]
    assert not reply["failed"], reply
    return reply


@pytest.mark.slow
def test_markdown_is_divided_as_in_a_file(client: TestClient) -> None:
    def parts(name: str = "old-light") -> list[tuple[object, ...]]:
        whole = client.get(f"/api/v1/documents/{name}").json()["data"]
        assert whole["text"] == TEXT, "to the letter"
        return [tuple(part[key] for key in ("section", "kind", "start", "end")) for part in whole["parts"]]

    assert posted(client, format="text")["written"] == 1
    assert all(part[:2] == ([], "paragraph") for part in parts())
    assert posted(client)["written"] == 1, "the same text, divided in another way"
    client.post("/api/v1/documents/file", params={"name": "old-light.md"}, content=TEXT.encode())
    assert parts() == parts("old-light.md")
    assert {part[1] for part in parts() if part[0] == ["Hours"]} == {"table"}
    assert posted(client)["unchanged"] == 1
    assert client.get("/api/v1/documents/old-light").json()["data"]["title"] == "Old Light"
    assert client.post("/api/v1/documents", json={"documents": [{"id": "x", "text": "x", "format": "html"}]}).is_error
    client.request("DELETE", "/api/v1/documents", json={"ids": ["old-light", "old-light.md"]})


def test_what_the_caller_names_stands_before_what_the_text_names() -> None:
    text = "---\ntitle: Light\naliases: [Lamp]\nyear: 1901\nplace: Lundy\n---\n# Light\n\nA lighthouse.\n"
    found = as_markdown(SourceDocument("", text, "light"))
    assert (found.title, found.aliases, found.metadata) == ("Light", ("Lamp",), {"year": 1901, "place": "Lundy"})
    assert (found.id, found.text, text[found.body_start :]) == ("light", text, "A lighthouse.\n")
    found = as_markdown(SourceDocument("Old Light", text, "light", ("Beacon",), {"year": 1890}))
    assert (found.title, found.aliases, found.metadata) == (
        "Old Light",
        ("Beacon",),
        {"year": 1890, "place": "Lundy"},
    )


@pytest.mark.parametrize("text", ["Rush was a band.", "One.\n\nTwo.", "---\na: [\n---\nText", "天坛位于北京。"])
def test_plain_text_stays_a_passage(text: str) -> None:
    plain = SourceDocument("", text, "plain", passage=True)
    assert as_markdown(plain) is plain


@pytest.mark.slow
def test_an_id_given_twice_is_named(client: TestClient) -> None:
    twice = [{"id": "twin", "text": "A lighthouse."}, {"id": "twin", "text": "Another lighthouse."}]
    reply = client.post("/api/v1/documents", json={"documents": twice}).json()["data"]
    assert reply["failed"] == [{"id": "twin", "reason": "the document id 'twin' is given more than once"}]
    client.request("DELETE", "/api/v1/documents", json={"ids": ["twin"]})
