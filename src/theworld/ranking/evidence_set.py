"""The default reranker: a set of evidence by late interaction over stored token vectors, without further weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.deadline import Deadline
from theworld.models.protocols import Embedded, Embedder, TokenVectors
from theworld.questions import Question, read_question
from theworld.ranking.contract import Ranked, Reranking
from theworld.ranking.fusion import graph_share, min_max
from theworld.ranking.greedy_cover import (
    CoverInput,
    CoverWeights,
    Floats,
    coverage_of,
    exact_cover,
    greedy_cover,
    importance_of,
    lexical_cover,
    names_title,
)
from theworld.ranking.pointwise import distinct
from theworld.ranking.second_hop import SecondHop, Space, joined_by
from theworld.state import Candidate
from theworld.stores.array_folder import inner_products
from theworld.stores.protocols import DenseStore, GraphStore, Link
from theworld.stores.token_codes import best_cosines
from theworld.text.sentences import in_frame

OTHER_LANGUAGE = 0.5
"""What coverage counts in notes of another language than the query's: their embedder may not know its words."""
STANDING, STANDING_ACROSS = {"sparse": 0.45, "dense": 0.55}, {"sparse": 0.2, "dense": 0.8}
"""What words and vectors count in their agreement, as in the baseline that gains are measured against; where next to no
note is in the question's language, which shares hardly a word with them."""
WORDS_ALONE = 10.0
"""How much more agreement counts where most notes have no token vectors, of which only the shared words are known."""
LINKED = (0.6, 0.85)
"""Shares of the graph up to which its links, its walk and named titles count nothing, and from which they count in
full."""
APART = (0.5, 0.9)
"""The same, for links, of the share of different documents among the candidates: a link leads to a document, and where
several of its notes compete it does not say to which."""
ASKED = 0.5
"""From what share of their weight on links are followed to a second hop, which costs an embedding for each name."""
BY_VECTORS = "en"
"""Language of notes compared by token vectors alone; in others, whose embedder is for whole texts, words count half."""
FEWEST_OWN = 3
"""Notes in the question's language by which those in another one are judged; fewer say nothing."""
EXPECTED = 0.7
"""What coverage that is only expected counts; .5 to 1 find about the same."""
IDENTIFIERS, RECORDS = 0.6, 0.4
"""What the question's identifiers together, and the records and days that it names, count beside its other units, which
together count 1."""
CONTEXT = 0.7
"""What the idf of a word counts that a question has only from its conversation, in brackets: what was asked before
would outweigh what is asked now."""
MICRO_BATCH = 20
"""Notes scored between two looks at the clock."""


@dataclass
class Scores:
    """Similarities of the candidates scored so far to the units of one kind (tokens of a space, or words)."""

    rows: dict[int, Floats] = field(default_factory=dict)
    """Candidate index -> (m,) best similarity by query unit."""
    pooled: dict[int, float] = field(default_factory=dict)
    """Candidate index -> pooled similarity."""
    idf: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))


class EvidenceSetReranker:
    """Greedy evidence set over the embedders' own token vectors; words where a space has none."""

    def __init__(
        self,
        dense: DenseStore,
        graph: GraphStore,
        embedder_of: Callable[[str], Embedder | None],
        weights: CoverWeights | None = None,
    ) -> None:
        self._dense, self._graph, self._embedder_of = dense, graph, embedder_of
        self._weights = weights or CoverWeights()

    @property
    def name(self) -> str:
        """Name and version of the objective."""
        return "evidence-set-v2"

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return the candidates as a set of evidence, as many as could be scored in time."""
        try:
            question, candidates = read_question(query), distinct(candidates)
            scores: dict[str, Scores] = {}
            scored = 0
            while scored < len(candidates) and not deadline.expired:
                batch = candidates[scored : scored + MICRO_BATCH]
                self._score(question.text, batch, scored, tenant, scores)
                scored += len(batch)
            total = len(candidates)
            needed = min(top_k, total)
            if scored < needed:
                reason = f"{scored} of {total} candidates scored in time, {needed} needed; fused order is kept"
                return Reranking((), "timeout", reason)
            chosen = self._choose(question, candidates[:scored], tenant, scores, deadline)
        except Exception as error:  # the contract: failures are an outcome
            return Reranking((), "error", f"failed, the fused order is kept: {type(error).__name__}: {error}")
        if scored == total:
            return chosen
        reason = f"out of time after {scored} of {total} candidates; the others follow in fused order"
        return replace(chosen, outcome="partial", reason=reason)

    def _score(
        self, query: str, batch: Sequence[Candidate], offset: int, tenant: str, scores: dict[str, Scores]
    ) -> None:
        left = dict(enumerate(batch, start=offset))
        for space in sorted(self._dense.spaces(tenant)):
            embedder = self._embedder_of(space)
            asked = embedder.embed_query(query) if embedder is not None else None
            units = asked.tokens if asked is not None else None
            if asked is None or units is None or not len(units.ids) or not left:
                continue
            found = self._dense.token_codes(space, [c.note_id for c in left.values()], tenant)
            have = {i: t for i, t in zip(list(left), found, strict=True) if t is not None and len(t.ids)}
            if not have:
                continue
            if space not in scores:
                scores[space] = Scores(idf=self._idf(space, embedder, query, units.ids))
            kind = scores[space]
            kind.rows.update(zip(have, best_cosines(units, list(have.values())), strict=True))
            pooled = self._dense.cosines(space, asked.vector, [left[i].note_id for i in have], tenant)
            kind.pooled.update(zip(have, pooled.tolist(), strict=True))
            left = {i: c for i, c in left.items() if i not in have or c.language != BY_VECTORS}
        if left:
            kind = scores.setdefault("", Scores())
            kind.rows.update(dict.fromkeys(left, np.zeros(0, dtype=np.float32)))

    def _idf(self, space: str, embedder: Embedder | None, query: str, ids: NDArray[Any]) -> Floats:
        """Return the idf of a question's tokens in a space, less for those that only its context has."""
        idf = self._dense.token_idf(space, [int(i) for i in ids])
        own, context = in_frame(query)
        asked = embedder.embed_query(own).tokens if embedder is not None and context else None
        return idf * _lessened(ids, asked.ids) if asked is not None else idf

    def _choose(
        self,
        question: Question,
        candidates: Sequence[Candidate],
        tenant: str,
        scores: dict[str, Scores],
        deadline: Deadline,
    ) -> Reranking:
        texts = [f"{candidate.title} {candidate.text}" for candidate in candidates]
        words = scores.get("")
        if words is not None:
            rows = sorted(words.rows)
            cover = lexical_cover(question, [texts[i] for i in rows])
            words.rows = dict(zip(rows, cover.similarity, strict=True))
            words.pooled = dict(zip(rows, cover.pooled.tolist(), strict=True))
            words.idf = cover.idf * _lessened(question.content, read_question(in_frame(question.text)[0]).content)
        walked = [(c.note_id, c.channels["graph"]) for c in candidates if "graph" in c.channels]
        walk = [(note_id, hit.score) for note_id, hit in sorted(walked, key=lambda one: one[1].rank)]
        share = graph_share(walk, len(candidates))
        # How far the graph's walk and named titles count, and how far links do, in [0, 1].
        linked = _between(share, LINKED)
        joined = linked * _between(len({c.document_id for c in candidates}) / max(len(candidates), 1), APART)
        links = self._links(question, candidates, tenant) if joined else []
        columns = self._columns(question, candidates, scores)
        compared = _with_tokens(scores)
        given = _assemble(question, candidates, columns, links, share=share, linked=linked, joined=joined)
        _expect_across(given, question, candidates, compared)
        if 2 * len(compared) < len(candidates):
            given = replace(given, agreement=given.agreement * WORDS_ALONE)
        hop = SecondHop(
            question,
            texts,
            joined_by([(source, target, link.via) for source, target, link in links if joined >= ASKED]),
            [self._space(space, kind, candidates, tenant) for space, kind in sorted(scores.items()) if space],
            deadline,
        )
        choices = greedy_cover(
            given, self._weights, len(candidates), lambda chosen, gain: joined * hop.after(chosen, gain)
        )
        ranked, ceiling = list[Ranked](), 1.0
        for choice in choices:  # their merit is the score, held down to never increase along the order
            if not math.isfinite(choice.merit):
                raise ValueError(f"{choice.merit} is no score: token vectors or their weights are broken")
            ceiling = min(ceiling, max(choice.merit, 0.0))
            hops, over = hop.reached(choice.index)
            ranked.append(Ranked(candidates[choice.index].note_id, ceiling, ceiling, choice.covered, hops, over))
        complete = Reranking(tuple(ranked), "complete", stages=tuple(hop.hops))
        late = replace(complete, outcome="partial", reason="no time for a second hop")
        return late if hop.out_of_time else complete

    def _columns(
        self, question: Question, candidates: Sequence[Candidate], scores: dict[str, Scores]
    ) -> list[tuple[Scores, Floats]]:
        """Return the query units of every kind, with what they weigh."""
        columns = []
        both = _with_tokens(scores) & (scores[""].rows.keys() if "" in scores else set())
        for space in sorted(scores):
            kind = scores[space]
            same = sum(candidates[i].language == question.language for i in kind.rows)
            here = 1.0 if 2 * same >= len(kind.rows) else OTHER_LANGUAGE
            if 2 * len(both & kind.rows.keys()) > len(kind.rows):
                here /= 2.0  # its notes have units of another kind too, which count the other half
            importance = (importance_of(kind.idf, self._weights.idf_power) * here).astype(np.float32)
            columns.append((kind, importance))
        near = exact_cover(question, candidates)
        numbers = (IDENTIFIERS, len(question.identifiers)), (RECORDS, near.shape[1] - len(question.identifiers))
        if near.size:
            shares = [np.full(number, weight / max(number, 1), dtype=np.float32) for weight, number in numbers]
            columns.append((Scores(rows=dict(enumerate(near))), np.concatenate(shares)))
        return columns

    def _space(self, space: str, kind: Scores, candidates: Sequence[Candidate], tenant: str) -> Space:
        embedder = self._embedder_of(space)
        if embedder is None:
            raise ValueError(f"the embedder of {space} is gone")

        def similarities(queries: Sequence[Embedded], chosen: Sequence[int]) -> Floats:
            note_ids = [candidates[i].note_id for i in chosen]
            cosines = np.stack([self._dense.cosines(space, query.vector, note_ids, tenant) for query in queries])
            tokens = [query.tokens for query in queries if query.tokens is not None]
            if len(tokens) < len(queries):  # of a text in another language than the space's
                return np.stack([cosines, cosines])
            codes = [one for one in self._dense.token_codes(space, note_ids, tenant) if one is not None]
            ids = np.concatenate([one.ids for one in tokens])
            together = TokenVectors(ids, np.concatenate([one.vectors for one in tokens]))
            covered = coverage_of(best_cosines(together, codes), self._weights.similarity_floor)
            idf = self._dense.token_idf(space, [int(i) for i in ids])
            ends = np.cumsum([len(one.ids) for one in tokens])
            own = [slice(end - len(one.ids), end) for one, end in zip(tokens, ends, strict=True)]
            power = self._weights.idf_power
            shares = [inner_products(covered[:, part], importance_of(idf[part], power)) for part in own]
            return np.stack([cosines, np.stack(shares)])

        return Space(embedder.embed_query, similarities, kind.rows.keys())

    def _links(self, question: Question, candidates: Sequence[Candidate], tenant: str) -> list[tuple[int, int, Link]]:
        """Return the links among the candidates with their places, none over a title that the question itself names."""
        position = {candidate.note_id: i for i, candidate in enumerate(candidates)}
        links = self._graph.links(list(position), tenant=tenant)
        asked = {via: names_title(question, via) for via in {link.via for link in links if link.titled}}
        return [
            (position[link.source], position[link.target], link)
            for link in links
            if not (link.titled and asked[link.via])
        ]


def _assemble(
    question: Question,
    candidates: Sequence[Candidate],
    columns: Sequence[tuple[Scores, Floats]],
    links: Sequence[tuple[int, int, Link]],
    *,
    share: float,
    linked: float,
    joined: float,
) -> CoverInput:
    n = len(candidates)
    units = np.concatenate([np.zeros(0, dtype=np.float32), *(importance for _, importance in columns)])
    similarity, prior = np.zeros((n, len(units)), dtype=np.float32), np.zeros(n, dtype=np.float32)
    start = 0
    for kind, importance in columns:
        for i, row in kind.rows.items():
            similarity[i, start : start + len(row)] = row
            prior[i] = kind.pooled.get(i, prior[i])  # identifiers have none, and leave that of words and vectors
        start += len(importance)
    titled, shared = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    for i, j, link in links:
        if link.titled:
            titled[i, j] = max(titled[i, j], joined * link.weight)
        else:
            shared[i, j] = shared[j, i] = max(shared[i, j], joined * link.weight)
    _, titles = np.unique([candidate.title for candidate in candidates], return_inverse=True)
    same = (titles[:, None] == titles).astype(np.float32)
    np.fill_diagonal(same, 0.0)
    walk = np.array([c.channels["graph"].score if "graph" in c.channels else 0.0 for c in candidates], dtype=np.float32)
    # How high words and vectors together put each note, in [0, 1]: each by its range, 0 where not found.
    standing = np.zeros(n, dtype=np.float32)
    own = [i for i, candidate in enumerate(candidates) if candidate.language == question.language]
    said = {i: c.channels["sparse"].score for i, c in enumerate(candidates) if "sparse" in c.channels}
    across = len(own) < FEWEST_OWN and max(said, key=lambda i: said[i], default=-1) not in own
    for channel, weight in (STANDING_ACROSS if across else STANDING).items():
        if found := {i: c.channels[channel].score for i, c in enumerate(candidates) if channel in c.channels}:
            standing[list(found)] += weight * np.asarray(min_max(list(found.values())), dtype=np.float32)
    return CoverInput(
        similarity,
        units,
        prior,
        agreement=(1.0 - share) * standing,
        walk=linked * (walk / max(float(walk.max(initial=0.0)), 1e-9)),
        named=linked * np.array([names_title(question, c.title) for c in candidates], dtype=np.float32),
        title_links=titled,
        shared_links=shared,
        same_title=linked * same,
        conversation=np.array([candidate.in_conversation for candidate in candidates], dtype=np.float32),
        linked=linked,
    )


def _expect_across(
    given: CoverInput, question: Question, candidates: Sequence[Candidate], compared: AbstractSet[int]
) -> None:
    """Fill in what is not known of notes in another language whose token vectors the question's do not compare with.

    Neither words nor pooled similarity speak for them, and any note that shares a word would stand before them. So they
    are taken to be as similar as notes in the question's language that lie as near, in standard deviations, and to
    cover as much: what lies nearer than all but k of these covers what the (k + 1)-th best of them does.
    """
    near = {i: c.channels["dense"].score for i, c in enumerate(candidates) if "dense" in c.channels}
    own = [i for i in near if candidates[i].language == question.language]
    other = [i for i in near if candidates[i].language != question.language and i not in compared]
    if len(own) < FEWEST_OWN or not other:
        return
    floor, total = CoverWeights().similarity_floor, max(float(given.importance.sum()), 1e-9)
    scores, known = np.array([near[i] for i in own]), given.prior[own]
    away = scores - scores.mean()
    slope = float(away @ (known - known.mean())) / max(float(away @ away), 1e-9)
    covered = np.sort(coverage_of(given.similarity[own], floor) @ given.importance)[::-1] / total
    for i in other:
        given.prior[i] = known.mean() + slope * (near[i] - scores.mean())
        expected = EXPECTED * float(covered[min(int((scores > near[i]).sum()), len(own) - 1)])
        given.similarity[i] = np.maximum(given.similarity[i], floor + (1.0 - floor) * expected)


def _lessened(units: Sequence[Any] | NDArray[Any], own: Sequence[Any] | NDArray[Any]) -> Floats:
    """Return what each unit of a question counts: 1 where it is among its own, else CONTEXT."""
    return np.where(np.isin(np.asarray(units), np.asarray(own)), 1.0, CONTEXT).astype(np.float32)


def _between(value: float, ends: tuple[float, float]) -> float:
    """Return how far a value is from the first end to the second, in [0, 1]."""
    return min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)


def _with_tokens(scores: Mapping[str, Scores]) -> set[int]:
    """Return the candidates that have token vectors."""
    return {i for space, kind in scores.items() if space for i in kind.rows}
