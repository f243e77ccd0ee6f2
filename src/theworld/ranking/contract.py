"""The contract of every reranker: order kept on failure, partial results only when they cover the top, said which.

Where an ontology has spoken, only the first notes are the reranker's. It compares words, and knows nothing of what
hangs together without sharing one: a guarantor's rating, a note in the other language, which it puts behind every note
that repeats the question. There the fused order stands; and where the ontology knows what a description stands for
("the guarantor of X"), the notes that name that and say most of the rest come first.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from theworld.deadline import Deadline, DeadlineExceededError, run_within
from theworld.questions import Question, read_question
from theworld.state import Candidate, OntologyEvidence, StageTrace
from theworld.text import fold, tokens
from theworld.text.tokens import token_set

Outcome = Literal["complete", "partial", "timeout", "error"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate as the reranker put it."""

    note_id: str
    score: float
    """The reranker's own score; never increases down the list."""
    relevance: float
    """The same as a relevance in [0, 1]."""
    covered: float | None = None
    """How much of the query this note and all before it cover, in [0, 1]; None where the reranker cannot tell."""
    hop: int = 1
    """1 when reached from the query itself, 2 over one bridge, ..."""
    bridge: str | None = None
    """The name over which it was reached, if hop > 1."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """What a reranker made of the candidates."""

    ranked: tuple[Ranked, ...]
    """Best first; empty on timeout and error."""
    outcome: Outcome
    """`partial`: the deadline cut it short, but at least the top K were scored."""
    reason: str = ""
    """Why it is not complete; empty when it is."""
    stages: tuple[StageTrace, ...] = ()
    """What it did in steps of its own."""


class Reranker(Protocol):
    """Orders candidates by how well they answer a query."""

    @property
    def name(self) -> str:
        """Name and version, logged with every score."""

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return an order of the candidates, which have no mentions yet. Never raises: failures are an outcome."""


RESERVE = 0.1
"""Share of what is left that a reranker does not get, so that it can still say what it has scored, at most 50 ms."""
_LONGEST_RESERVE_MS = 50.0


def rerank_within(
    reranker: Reranker, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
) -> Reranking:
    """Return what the reranker makes of the candidates, on time whatever it does; one that raises or hangs is left."""
    reserve = min(_LONGEST_RESERVE_MS, RESERVE * deadline.remaining_ms())
    own = Deadline(deadline.started, deadline.budget_ms - reserve)

    def work() -> Reranking:
        found = reranker.rerank(query, candidates, top_k=top_k, tenant=tenant, deadline=own)
        return checked(found, candidates, top_k)

    try:
        return run_within(deadline, work, name="rerank_candidates")
    except DeadlineExceededError as error:
        return Reranking((), "timeout", f"{error}; the fused order is kept")
    except Exception as error:  # a reranker of one's own may break the contract
        return Reranking((), "error", f"failed, the fused order is kept: {type(error).__name__}: {error}")


def checked(reranking: Reranking, candidates: Sequence[Candidate], top_k: int) -> Reranking:
    """Return the reranking, or an error in its place when it breaks the contract.

    It must not name unknown notes or one twice, its scores must be relevances and never increase, and it must cover
    what it says: everything when complete, the first `top_k` candidates when partial.
    """
    if reranking.outcome in {"timeout", "error"}:
        return Reranking((), reranking.outcome, reranking.reason or "it gave no reason")
    broken = _broken(reranking, candidates, top_k)
    return Reranking((), "error", f"it {broken}; the fused order is kept") if broken else reranking


def _broken(reranking: Reranking, candidates: Sequence[Candidate], top_k: int) -> str:
    if reranking.outcome not in {"complete", "partial"}:
        return f"returned the unknown outcome {reranking.outcome!r}"
    known, ids = [c.note_id for c in candidates], [r.note_id for r in reranking.ranked]
    if len(set(ids)) < len(ids) or not set(known).issuperset(ids):
        return "returned unknown or doubled notes"
    if not all(math.isfinite(r.score) and 0.0 <= r.relevance <= 1.0 for r in reranking.ranked):
        return "returned scores that are no relevance"
    if any(a.score < b.score or a.relevance < b.relevance for a, b in itertools.pairwise(reranking.ranked)):
        return "returned scores that contradict its order"
    needed = known if reranking.outcome == "complete" else known[:top_k]
    if not set(ids).issuperset(needed):
        return f"scored {len(ids)} of {len(known)} notes and not the first {len(needed)}"
    return ""


def apply_ranking(candidates: list[Candidate], reranking: Reranking) -> list[Candidate]:
    """Return the candidates in the reranker's order; those it did not score follow in fused order."""
    by_id = {candidate.note_id: candidate for candidate in candidates}
    ordered = []
    for rank, ranked in enumerate(reranking.ranked, start=1):
        update = {
            "rerank_rank": rank,
            "rerank_score": ranked.score,
            "final_score": ranked.relevance,
            "covered": ranked.covered,
            "hop": ranked.hop,
            "bridge": ranked.bridge,
        }
        ordered.append(by_id.pop(ranked.note_id).model_copy(update=update))
    floor = ordered[-1].final_score if ordered else 1.0
    rest = [c.model_copy(update={"final_score": min(c.final_score, floor)}) for c in by_id.values()]
    return ordered + rest


MOST_ABOUT = 3
"""Notes about what a question describes that are put first."""


def about_described_first(
    reranked: Sequence[Candidate], question: Question, ontology: OntologyEvidence
) -> list[Candidate]:
    """Return the candidates with the notes first that name what the question describes and share most of its words.

    Only notes in the question's language, since words decide. They take the relevance of the best.
    """
    names = [fold(alias) for one in ontology.described for alias in one.aliases]
    asked = [fold(alias) for one in ontology.described[-1:] for alias in one.aliases]
    own = [c for c in reranked if c.language == question.language]
    # What is known by the facts need not be said by the notes.
    rest = question.simplified.replace(ontology.described[-1].text, " ")
    texts = {c.note_id: f"{c.title} {c.text}" for c in own}
    wanted = read_question(rest, question.language).words_over(list(texts.values()))
    known = {token for name in names for token in tokens(name)}

    def worth(candidate: Candidate) -> tuple[float, float]:
        said = token_set(texts[candidate.note_id])
        return wanted.share(said - known), wanted.share(said)

    about = [c for c in own if any(name in fold(texts[c.note_id]) for name in asked)]
    about = sorted((c for c in about if worth(c)[0] > 0), key=worth, reverse=True)[:MOST_ABOUT]
    best = max((c.final_score for c in reranked), default=0.0)
    first = [candidate.model_copy(update={"final_score": best}) for candidate in about]
    taken = {candidate.note_id for candidate in about}
    return [*first, *(c for c in reranked if c.note_id not in taken)]


def keep_fused_tail(reranked: Sequence[Candidate], head: int) -> list[Candidate]:
    """Return the first `head` candidates as they are and the others by fused rank; relevance never increases."""
    last = len(reranked) + 1
    tail = sorted(reranked[head:], key=lambda c: (c.fused_rank or last, c.note_id))
    ordered = list(reranked[:head])
    floor = ordered[-1].final_score if ordered else 1.0
    for candidate in tail:
        floor = min(floor, candidate.final_score)
        ordered.append(candidate.model_copy(update={"final_score": floor}))
    return ordered


_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
"""Of a heading only these say of which version it is: error 1002 is no newer than 1001."""
YEAR = 4
"""Digits that a number has at least to name a version in a question: fewer may count anything."""
SHOWN = 3
"""Notes that an answer mostly shows."""
SAME_WORDS = 0.6
"""Share of the shorter note's words that the other has, where both say the same of two versions."""


def _without_version(source: str) -> str:
    """Return a path without what differs between versions of a document: prices 2025.docx, prices 2026 new.xlsx."""
    folder, _, file = source.rpartition("/")
    name = file.rpartition(".")[0] or file
    return _NUMBER.sub("#", f"{folder}/{_YEAR.split(name)[0].strip(' -_.') or name}")


def newest_first(reranked: Sequence[Candidate], asked: AbstractSet[str]) -> list[Candidate]:
    """Return the candidates, of versions of one document the one that the question names first, or else the newest.

    The paths of versions differ in numbers only: years, dates, releases, or by what follows the year of a file's name;
    or they are parts of one document under headings with other years, as sheets of a workbook are. Where the question
    names one (`asked` are its index tokens and the years that it means), all its notes come before those of the others;
    where it names none, of notes that say nearly the same that of the highest numbers, and the others of these come
    after the first SHOWN: what changes a price list stands beside the new one. Relevance stays with the place.
    """
    ordered, versions, older = list(reranked), defaultdict[str, list[int]](list), set[str]()
    for place, one in enumerate(reranked):
        versions[_without_version(one.source)].append(place)

    def exchange(places: Sequence[int], key: Callable[[Candidate], Any]) -> None:
        for place, best in zip(places, sorted((ordered[place] for place in places), key=key), strict=True):
            ordered[place] = best

    def numbers(one: Candidate) -> list[str]:
        return [*_NUMBER.findall(one.source), *_YEAR.findall("\n".join(one.section))]

    def named(one: Candidate) -> int:
        return -len(asked & {number for number in numbers(one) if len(number) >= YEAR})

    for places in versions.values():
        left = places if len({tuple(numbers(ordered[place])) for place in places}) > 1 else []
        exchange(left, named)
        while left:
            words = token_set(ordered[left[0]].text)
            others = {place: token_set(ordered[place].text) for place in left}
            alike = [p for p, said in others.items() if len(words & said) >= SAME_WORDS * min(len(words), len(said))]
            exchange(alike, lambda one: (named(one), [-int(number) for number in numbers(one)]))
            if not any(named(ordered[place]) for place in alike):
                newest = numbers(ordered[alike[0]])
                older |= {ordered[place].note_id for place in alike if numbers(ordered[place]) != newest}
            left = [place for place in left if place not in alike]
    return _with_relevance_of(reranked, _behind_first(ordered, older))


def _behind_first(notes: Sequence[Candidate], later: AbstractSet[str]) -> list[Candidate]:
    """Return notes in their order, but for those of some ids, which come after the first SHOWN others."""
    first = [one for one in notes if one.note_id not in later][:SHOWN]
    before = {one.note_id for one in first}
    return [*first, *(one for one in notes if one.note_id not in before)]


def _with_relevance_of(places: Sequence[Candidate], notes: Sequence[Candidate]) -> list[Candidate]:
    kept = ("final_score", "rerank_rank", "rerank_score")
    scores = ({name: getattr(place, name) for name in kept} for place in places)
    return [one.model_copy(update=update) for one, update in zip(notes, scores, strict=True)]
