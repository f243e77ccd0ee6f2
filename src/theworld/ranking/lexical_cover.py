"""The same objective without vectors: which of the query's index tokens a note holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theworld.questions import Question
from theworld.questions.words import idf
from theworld.ranking.greedy_cover import Floats
from theworld.state import Candidate
from theworld.text import entity_key, without_qualifier
from theworld.text.tokens import token_set

_HEADING = re.compile(r"^#.*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LexicalCover:
    """Query tokens against notes."""

    similarity: Floats
    """(n, m): 1 where the note holds the token, else 0."""
    idf: Floats
    """(m,) idf of the tokens over the notes given."""
    pooled: Floats
    """(n,) idf-weighted share of the query's tokens the note holds."""


def lexical_cover(question: Question, texts: Sequence[str]) -> LexicalCover:
    """Return which of a question's content words each text holds, with idf counted over these texts."""
    bags = [token_set(text) for text in texts]
    similarity = np.array([[float(word in bag) for word in question.content] for bag in bags], dtype=np.float32)
    similarity = similarity.reshape(len(texts), len(question.content))
    rare = [idf(int(found), len(texts)) for found in similarity.sum(axis=0)]
    weights = np.array(rare, dtype=np.float32)
    return LexicalCover(similarity, weights, similarity @ weights / max(float(weights.sum()), 1e-9))


BELOW_HEADING, IN_TEXT = 0.9, 0.6
"""How near a note is to an identifier that a heading above it holds, or its text; 1 where its own heading does."""


def identifier_cover(question: Question, candidates: Sequence[Candidate]) -> Floats:
    """Return (n, m): how near each note is to each identifier of the question, by where it holds it whole.

    To words and vectors one setting is much like the others: `DB_HOST` shares both its words with `DB_HOST_PORT`.
    """
    whole = [re.compile(rf"(?<![\w.-]){re.escape(one)}(?![\w-])", re.ASCII) for one in question.identifiers]

    def near(pattern: re.Pattern[str], note: Candidate) -> float:
        places = {"\n".join(_HEADING.findall(note.text)): 1.0, "\n".join((note.title, *note.section)): BELOW_HEADING}
        return next((share for text, share in (*places.items(), (note.text, IN_TEXT)) if pattern.search(text)), 0.0)

    found = [[near(pattern, note) for pattern in whole] for note in candidates]
    return np.array(found, dtype=np.float32).reshape(len(candidates), len(whole))


@lru_cache(maxsize=50_000)
def _names_of(title: str) -> tuple[str, ...]:
    keys = {entity_key(title), entity_key(without_qualifier(title))}
    return tuple(sorted(key for key in keys if len(key) > 1))


def names_title(question: Question, title: str) -> bool:
    """Return True when a question names the title, with or without its bracketed qualifier, as whole words."""
    return any(map(question.names, _names_of(title)))
