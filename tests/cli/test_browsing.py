from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from theworld.cli.app import run


def test_lists_documents(cli, store: Path) -> None:
    done = cli("list", "--store", store)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["lighthouse.md", "peart.md", "rush.md", "tiantan.md"]
    assert lines[-1] == "4 documents."
    assert "天坛" in done.out


def test_lists_some_of_them(cli, store: Path) -> None:
    def listed(*options: object) -> tuple[int, list[str]]:
        found = json.loads(cli("list", "--store", store, "--json", *options).out)
        return found["total"], [document["id"] for document in found["documents"]]

    assert listed("--search", "PEART") == (1, ["peart.md"])
    assert listed("--filter", "topic=towers") == (1, ["lighthouse.md"])
    assert listed("--limit", 2) == (4, ["lighthouse.md", "peart.md"])
    assert listed("--tenant", "nobody") == (0, [])
    assert "2 listed" in cli("list", "--store", store, "--limit", 2).out


def test_a_listed_document_has_everything_but_its_text(cli, store: Path) -> None:
    (found,) = json.loads(cli("list", "--store", store, "--json", "--search", "tiantan").out)["documents"]
    assert datetime.fromisoformat(found.pop("written_at")).tzinfo is not None
    assert found.pop("source").endswith("tiantan.md")
    assert found.pop("characters") > 20
    expected = {"id": "tiantan.md", "title": "天坛", "notes": 1, "languages": ["zh"], "metadata": {}, "aliases": []}
    assert found == expected


def test_shows_a_document(cli, store: Path) -> None:
    done = cli("show", "lighthouse.md", "--store", store)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Old Light\n")
    assert "topic: towers" in done.out
    assert "The Old Light is a lighthouse, built by Ada Grey." in done.out
    notes = cli("show", "rush.md", "--store", store, "--notes").out
    assert "rush.md#0 paragraph, characters 8-91 rush.md\n" in notes, "the place it is cited by, without a heading too"
    assert "[bold]for decades[/bold]" in notes, "what a document holds is never mark-up"


def test_shown_as_json_the_notes_lie_in_the_text(cli, store: Path) -> None:
    found = json.loads(cli("show", "peart.md", "--store", store, "--json").out)
    assert all(found["text"][part["start"] : part["end"]] == part["text"] for part in found["parts"])
    assert found["parts"]


def test_an_unknown_document_says_how_to_find_one(cli, store: Path) -> None:
    done = cli("show", "none.md", "--store", store)
    assert done.code == 4
    assert "theworld list" in done.err


def test_an_id_that_is_nearly_right_names_the_nearest(cli, store: Path) -> None:
    assert "Did you mean lighthouse.md?" in cli("show", "docs/Light-house.md", "--store", store).err
    assert "Did you mean peart.md?" in cli("delete", "pert.md", "--store", store).err
    assert "Did you mean" not in cli("show", "天一阁", "--store", store).err


def test_a_tenant_without_documents_names_those_there_are(cli, store: Path) -> None:
    done = cli("list", "--store", store, "--tenant", "foo")
    assert (done.code, done.out) == (0, "0 documents.\nNo tenant is called 'foo'; this store has default.\n")
    assert cli("list", "--store", store, "--search", "nowhere").out == "0 documents.\n"


def test_no_store(cli, tmp_path: Path) -> None:
    assert cli("list", "--store", tmp_path / "none").code == 4
    assert run(["show"]) == 2
