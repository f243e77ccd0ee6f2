"""Mentions are read of the notes that are kept, and fit their text."""

from __future__ import annotations

import pytest

from theworld.errors import EngineUnavailableError
from theworld.retrieval.notes import with_mentions as read_with_mentions
from theworld.settings import Settings
from theworld.state import Candidate, Context, Degradation, Mention, QueryState
from theworld.stores.records import StoredNote

MENTION = Mention(surface="Ada", type="person", start=0, end=3, key="ada")
FOUND = [Candidate(note_id=f"{name}#0", document_id=name, text=f"Ada and {name}") for name in "abc"]


def stored(name: str, text: str) -> StoredNote:
    return StoredNote(f"{name}#0", name, "default", name, "", 0, text, 0, len(text), "en", {}, mentions=(MENTION,))


class Notes:
    """Knows a, another text of b, and not c; of what is gone it remembers a."""

    def __init__(self, *, gone: bool = False) -> None:
        self._gone = gone

    def notes(self, note_ids, *, tenant, mentions=True, within=None):
        assert (tenant, mentions) == ("default", True)
        if self._gone:
            raise EngineUnavailableError("it is gone", where="ledger")
        return [stored("a", "Ada and a"), stored("b", "b came before Ada")]

    def remembered(self, note_ids, *, tenant, mentions=True):
        return [stored("a", "Ada and a")]


def with_mentions(notes: Notes, **context: bool):
    noted: list[Degradation] = []
    kept = read_with_mentions(
        FOUND, notes, QueryState(), Context(**context), Settings(), stage="rerank_candidates", noted=noted
    )
    return kept, noted


def test_a_note_gets_its_mentions_unless_its_text_is_another_by_now():
    kept, degradations = with_mentions(Notes())
    assert [c.mentions for c in kept] == [(MENTION,), (), ()]
    assert [c.model_copy(update={"mentions": ()}) for c in kept] == FOUND
    assert degradations == []


def test_without_the_ledger_what_is_in_memory_is_used_and_the_rest_is_told():
    kept, (degradation,) = with_mentions(Notes(gone=True))
    assert [c.mentions for c in kept] == [(MENTION,), (), ()]
    assert degradation.stage == "rerank_candidates"
    assert "the notes and their mentions cannot be read, 1 of 3 are in memory" in degradation.reason
    with pytest.raises(EngineUnavailableError):
        with_mentions(Notes(gone=True), strict=True)
