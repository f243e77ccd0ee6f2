"""How far pieces of a note cover a question, by the token vectors that the store keeps of the whole note.

A token's vector knows what stands around it, which those of the piece alone would not. Which of the note's are a
piece's follows from how many stand before it, counted by the embedder's own tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from theworld.models.protocols import Embedder, TokenVectors
from theworld.questions.words import AGAIN
from theworld.ranking.greedy_cover import CoverWeights, Floats, coverage_of, importance_of
from theworld.stores.protocols import DenseStore
from theworld.stores.records import Note, Span, embedded_text
from theworld.stores.token_codes import TokenCodes, best_cosines

WEIGHTS = CoverWeights()


def piece_scores(
    question: str,
    note: Note,
    pieces: Sequence[tuple[int, int]],
    shown: Sequence[Span] = (),
    *,
    dense: DenseStore,
    embedder_of: Callable[[str], Embedder | None],
    tenant: str,
) -> list[float]:
    """Return the share of a question, in [0, 1], that each piece note.text[start:end] covers, as the reranker does.

    What the pieces `shown` cover of it counts less. [] where no space has token vectors of both; 0 for a piece beyond
    what was embedded of the note.
    """
    for space in sorted(dense.spaces(tenant)):
        embedder = embedder_of(space)
        asked = embedder.embed_query(question).tokens if embedder is not None else None
        if embedder is None or asked is None or not len(asked.ids):
            continue
        covered = partial(_covered, asked, space=space, dense=dense, embedder=embedder, tenant=tenant)
        own = covered(note, pieces)
        if own is None:
            continue
        before = [rows for one, start, end in shown if (rows := covered(one, [(start, end)])) is not None]
        left = 1.0 - (1.0 - AGAIN) * np.concatenate([np.zeros_like(own[:1]), *before]).max(axis=0)
        importance = importance_of(dense.token_idf(space, [int(i) for i in asked.ids]), WEIGHTS.idf_power)
        scores: list[float] = (own @ (importance * left)).tolist()
        return scores
    return []


def _covered(
    asked: TokenVectors,
    note: Note,
    pieces: Sequence[tuple[int, int]],
    *,
    space: str,
    dense: DenseStore,
    embedder: Embedder,
    tenant: str,
) -> Floats | None:
    """Return how far each piece covers each token of a question, (pieces, tokens); None without token vectors."""
    [codes] = dense.token_codes(space, [f"{note.document_id}#{note.ordinal}"], tenant)
    if codes is None or not len(codes.ids):
        return None
    before = embedded_text(note.title, note.section, note.lead, note.text).removesuffix(note.text)
    texts = [before, *(note.text[start:end] for start, end in pieces)]
    places = np.minimum(np.cumsum(embedder.token_counts(texts)), len(codes.ids)).tolist()
    held = {i: slice(start, end) for i, (start, end) in enumerate(pairwise(places)) if start < end}
    if not held:
        return None
    cosines = best_cosines(asked, [TokenCodes(codes.ids[part], codes.codes[part]) for part in held.values()])
    covered = np.zeros((len(pieces), len(asked.ids)), dtype=np.float32)
    covered[list(held)] = coverage_of(cosines, WEIGHTS.similarity_floor)
    return covered
