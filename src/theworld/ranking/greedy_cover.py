"""Choosing a set of evidence: each next note is the one that adds most to what the chosen ones already cover.

A pointwise score hurts multi-hop questions, since the second note looks irrelevant to the question by itself. Here a
note's gain is the idf-weighted similarity it adds over the query tokens, a bonus when a link joins it to a chosen
note, a bonus when the query names its title, and small priors: its similarity as a whole, and the graph's walk; it
loses a little for each chosen note of the same title. It is greedy maximisation of a monotone submodular coverage
function (Nemhauser, Wolsey and Fisher 1978) with late-interaction similarities (ColBERT, SIGIR 2020).

A link leads on: from the note that names a title to the note that has it, less so back. What the question itself names
needs no link to be found, and the links of a later choice say less. After the first few choices little is left to
cover, so the given order counts a little again.

Without vectors the objective is the same: a note covers those of the query's index tokens that it holds.

How far pieces of a note cover a question is told by the token vectors that the store keeps of the whole note: a token's
vector knows what stands around it, which those of the piece alone would not. Which of the note's are a piece's follows
from how many stand before it, counted by the embedder's own tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from theworld.models.protocols import Embedder, TokenVectors
from theworld.questions import Question
from theworld.questions.words import AGAIN, idf
from theworld.state import Candidate
from theworld.stores.array_folder import inner_products
from theworld.stores.protocols import DenseStore
from theworld.stores.records import Note, Span, embedded_text
from theworld.stores.token_codes import TokenCodes, best_cosines
from theworld.text import entity_key, fold, place_of, without_qualifier
from theworld.text.dates import find_days
from theworld.text.tokens import has_ideographs, token_set

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class CoverWeights:
    """The objective's parameters; the defaults were tuned on three English and one Chinese development set together."""

    similarity_floor: float = 0.38
    """Similarities below count as nothing covered; the rest is stretched to [0, 1]."""
    idf_power: float = 2.0
    """Exponent on the idf of query tokens (see `importance_of`)."""
    prior: float = 0.15
    """Weight of the pooled similarity of query and note."""
    agreement: float = 0.6
    """Weight of how high words and vectors together put a note, where the graph does not lead."""
    conversation: float = 0.2
    """Weight of how near a note's document is to what the last answer was about, where links do not count."""
    walk: float = 0.16
    """Weight of the graph channel's score over its best: how often a walk from the question's seeds comes by."""
    named: float = 0.09
    """Bonus of a note whose title the query names."""
    title_link: float = 0.18
    """Bonus of a note whose title a chosen note names."""
    title_back: float = 0.09
    """Bonus of a note that names a chosen note's title."""
    shared_link: float = 0.15
    """Bonus, times the link's rarity weight, of a note that shares an entity with a chosen note."""
    fading: float = 0.4
    """The links and lifts of the choice after s others count 1 / (1 + fading s)."""
    second_hop: float = 0.035
    """Bonus for each standard deviation by which a note stands out for what is left of the question, asked of a name
    of a chosen note (see `second_hop`)."""
    same_title: float = 0.04
    """What a note loses for each chosen note of the same title: five notes about one film say little about its cast."""
    repeated: float = 0.25
    """What covering again counts where links do not: there, a note that says the same is more often the answer than
    one that holds what few words are left."""
    late_order: float = 0.05
    """Weight of the given order from the choice after `LATE` others on."""


LATE = 5
"""Choices that are made without looking at the given order."""
LATE_DECAY = 20
"""The given order's bonus at place r, from 1, is (LATE_DECAY + 1) / (LATE_DECAY + r)."""


@dataclass(frozen=True, slots=True)
class CoverInput:
    """Everything the objective needs of n candidates, in a given order, and m query units."""

    similarity: Floats
    """(n, m) best similarity of each query unit within each note, in [0, 1]."""
    importance: Floats
    """(m,) weight of each query unit, >= 0; the units of one kind sum to at most 1."""
    prior: Floats
    """(n,) pooled similarity, in [0, 1]."""
    agreement: Floats
    """(n,) how high words and vectors put a note among the candidates, in [0, 1], as far as the graph does not lead."""
    walk: Floats
    """(n,) graph channel's score over the best one's, 0 where that channel has not found the note."""
    named: Floats
    """(n,) 1 where the query names the note's title, else 0."""
    title_links: Floats
    """(n, n) 1 where the row's note names the column's title and the query does not, zero diagonal."""
    shared_links: Floats
    """(n, n) rarity weight of the rarest shared entity, symmetric, zero diagonal."""
    same_title: Floats
    """(n, n) 1 where two notes have the same title, symmetric, zero diagonal."""
    conversation: Floats | float = 0.0
    """(n,) how near the note's document is to what the last answer was about, in [0, 1]."""
    linked: float = 1.0
    """How far links count, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One step of the greedy choice."""

    index: int
    gain: float
    merit: float
    """Coverage of the query by this note alone plus its bonuses, over the most they can be: in [0, 1].

    Without agreement, conversation and order, which compare candidates: the best of bad ones must not look good."""
    covered: float
    """Coverage of the query by this note and all chosen before it, in [0, 1]."""


def importance_of(idf: Floats, power: float) -> Floats:
    """Return idf ** power scaled to sum to 1, shape (m,); zeros where there is no idf."""
    raised: Floats = idf**power
    return raised / max(float(raised.sum()), 1e-9)


Follow = Callable[[int, Floats], Floats]
"""(Candidate just chosen, gains by now, -inf where chosen) -> how much each candidate is lifted by it, (n,)."""


def coverage_of(cosines: Floats, floor: float) -> Floats:
    """Return how far cosines above the floor cover, in [0, 1], same shape."""
    covered: Floats = np.clip((cosines - floor) / (1.0 - floor), 0.0, 1.0)
    return covered


def greedy_cover(given: CoverInput, weights: CoverWeights, steps: int, follow: Follow | None = None) -> list[Choice]:
    """Return the first `steps` choices, best first; ties go to the candidate that came first.

    `follow` is asked after each of the first `LATE` choices what it leads to.
    """
    n = len(given.prior)
    similarity = coverage_of(given.similarity, weights.similarity_floor)
    importance = given.importance
    base = weights.prior * given.prior + weights.walk * given.walk + weights.named * given.named
    whole = adds = inner_products(similarity, importance)
    again = weights.repeated * (1.0 - given.linked)
    alone = whole + base
    standing = base + weights.agreement * given.agreement
    standing = standing + weights.conversation * (1.0 - given.linked) * given.conversation
    late = weights.late_order * (LATE_DECAY + 1) / (LATE_DECAY + np.arange(1, n + 1, dtype=np.float32))
    # What a choice of the row's note adds to the column's, (n, n).
    titles = np.maximum(weights.title_link * given.title_links, weights.title_back * given.title_links.T)
    bonds = np.maximum(titles, weights.shared_link * given.shared_links)
    strongest = max(weights.title_link, weights.title_back, weights.shared_link)
    most = 1.0 + weights.prior + weights.walk + weights.named + strongest
    covered = np.zeros(similarity.shape[1], dtype=np.float32)
    link, lift = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    left = np.ones(n, dtype=bool)
    choices: list[Choice] = []
    for step in range(min(steps, n)):
        if step == LATE:
            standing = standing + late
        gain = np.where(left, adds + standing + link + lift, -np.inf)
        index = int(np.argmax(gain))
        merit = (float(alone[index]) + float(link[index]) + float(lift[index])) / most
        left[index] = False
        if (similarity[index] > covered).any():
            covered = np.maximum(covered, similarity[index])
            new = inner_products(np.maximum(similarity - covered, 0.0), importance)
            adds = again * whole + (1.0 - again) * new
        choices.append(Choice(index, float(gain[index]), merit, min(float(covered @ importance), 1.0)))
        standing = standing - weights.same_title * given.same_title[index]
        fade = 1.0 + weights.fading * step
        link = np.maximum(link, bonds[index] / fade)
        if follow is not None and step < LATE:
            now = np.where(left, adds + standing + link + lift, -np.inf)
            lift = np.maximum(lift, weights.second_hop * follow(index, now) / fade)
    return choices


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


_HEADING = re.compile(r"^#.*", re.MULTILINE)
BELOW_HEADING, IN_TEXT = 0.9, 0.6
"""How near a note is to an identifier that a heading above it holds or one of its lines begins with (a row, an item, an
option: that is what it is about), or its text; 1 where its own heading does."""


_BEGINNING = re.compile(r"(?:^[^\w\n]*(?:\w+[\"' ]*[:：=])?|[|;\t])[^\w\n]*\Z", re.MULTILINE)
LONGEST_KEY = 24
"""Characters before what a line begins with: the marks of an item, and a key."""
_days_of = lru_cache(maxsize=4096)(find_days)
_RECORD = (
    r"(?:^[^\w\n]*|[|;\t][ \"]*|,\"?(?=\S)){}(?=\"?(?: *[|;\t]|,(?! )))"  # a cell of a table, or of CSV
    r"|^#+ {}(?=\n\n- [\w ]+: )"  # a heading over fields: an event, a contact
)
_RECORDS = re.compile(_RECORD.format(r"(?P<cell>\w[^|;,\t\n]{1,60}?)", r"(?P<heading>\w.{1,60})"), re.MULTILINE)
MOST_RECORDS = 0.1
"""Share of the notes that may hold the words that a record is found by: others are the words of the whole text."""


@lru_cache(maxsize=4096)
def _records_of(text: str) -> frozenset[str]:
    """Return the identity keys of a note's cells and records, in several words or signs."""
    keys = map(entity_key, (one["cell"] or one["heading"] for one in _RECORDS.finditer(text)))
    return frozenset(key for key in keys if " " in key or (len(key) > 2 and has_ideographs(key)))


def _record_names(question: Question, candidates: Sequence[Candidate]) -> list[str]:
    """Return what cells and records of the notes are called that the question names whole.

    Words of a name that stand together say more than those words here and there: many customers have either name.
    """
    keys = frozenset[str]().union(*(_records_of(note.text) for note in candidates))
    found = sorted(filter(question.names, keys), key=lambda key: (-len(key), key))
    longest = [key for i, key in enumerate(found) if not any(place_of(key, other) >= 0 for other in found[:i])]
    texts = [fold(note.text) for note in candidates] if longest else []
    return [key for key in longest if sum(key in text for text in texts) <= max(1.0, MOST_RECORDS * len(texts))]


def exact_cover(question: Question, candidates: Sequence[Candidate]) -> Floats:
    """Return (n, m): how near each note is to each identifier, record and day of a question, by where it has it whole.

    To words and vectors one setting is much like the others: `DB_HOST` shares both its words with `DB_HOST_PORT`. So is
    one row of a table, by what it is of, and 15 October is none of the words of 2025-10-15.
    """
    asked = [rf"(?<![\w.-]){re.escape(one)}(?![\w-])" for one in question.identifiers]
    before = r"(?u:^[^\w\n]*(?:\w+[\"' ]*[:：=][^\w\n]*)?)"  # the marks of an item or row, or a key: `"id": "A-17"`
    patterns = [(re.compile(one, re.ASCII), re.compile(before + one, re.ASCII | re.MULTILINE)) for one in asked]
    for name in map(re.escape, _record_names(question, candidates)):
        record = _RECORD.format(name, name)
        patterns.append((re.compile(rf"(?<!\w){name}(?!\w)", re.I), re.compile(record, re.I | re.MULTILINE)))

    def near(whole: re.Pattern[str], first: re.Pattern[str], note: Candidate) -> float:
        if whole.search("\n".join(_HEADING.findall(note.text))):
            return 1.0
        if whole.search("\n".join((note.title, *note.section))) or first.search(note.text):
            return BELOW_HEADING
        return IN_TEXT if whole.search(note.text) else 0.0

    days = list(dict.fromkeys((month, day) for month, day, _ in find_days(question.text)))

    def at(day: tuple[int, int], note: Candidate) -> float:
        starts = [start for *one, start in _days_of(note.text) if tuple(one) == day]
        begins = any(_BEGINNING.search(note.text, max(0, start - LONGEST_KEY), start) for start in starts)
        return BELOW_HEADING if begins else IN_TEXT if starts else 0.0

    found = [[*(near(*one, note) for one in patterns), *(at(day, note) for day in days)] for note in candidates]
    return np.array(found, dtype=np.float32).reshape(len(candidates), len(patterns) + len(days))


@lru_cache(maxsize=50_000)
def _names_of(title: str) -> tuple[str, ...]:
    keys = {entity_key(title), entity_key(without_qualifier(title))}
    return tuple(sorted(key for key in keys if len(key) > 1))


def names_title(question: Question, title: str) -> bool:
    """Return True when a question names the title, with or without its bracketed qualifier, as whole words."""
    return any(map(question.names, _names_of(title)))


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
        importance = importance_of(dense.token_idf(space, [int(i) for i in asked.ids]), CoverWeights().idf_power)
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
    covered[list(held)] = coverage_of(cosines, CoverWeights().similarity_floor)
    return covered
