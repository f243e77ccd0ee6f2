"""Which words of a note are indexed for BM25, and which of a query are looked for, the same in every engine."""

from __future__ import annotations

from collections import Counter

from theworld.stores.engine_access import is_text
from theworld.stores.records import NoteRecord
from theworld.text import tokens

LONGEST_TOKEN = 255
"""Characters of a token; longer ones are in no index and in no query."""


def indexed_words(title: str, note: NoteRecord) -> list[str]:
    """Return the tokens of title, headings, lead and text, in this order, as one body.

    Each part by itself: where two Chinese headings meet there is no word.
    """
    parts = (title, *note.section, note.lead, note.text)
    return [token for part in parts for token in tokens(part) if len(token) <= LONGEST_TOKEN]


def query_words(text: str) -> Counter[str]:
    """Return the tokens of a query and how often each is asked."""
    return Counter(token for token in tokens(text) if len(token) <= LONGEST_TOKEN and is_text(token))
