"""Entity-Focused Score Aggregation: the entity with the most evidence over the final notes is the short answer.

The functions follow the EFSA specification; the module constants are its weights and may be set at run time. Called
with default arguments they answer by the documented formula alone; `aliases`, `min_share`, `min_margin` and `allowed`
go beyond it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theworld.answers.efsa_input import (
    EvidenceNote,
    aliases_of,
    count_of,
    entity_names,
    finite,
    names_of,
    note_text,
    read_notes,
    reading,
    text_of,
    wrong,
)
from theworld.questions import read_question
from theworld.text import entity_key
from theworld.text.identity import names_in

HOP_DECAY = 0.85
"""Factor per hop beyond the first."""
COV_WEIGHT = 0.10
"""Beta: weight of coverage."""
CONS_WEIGHT = 0.05
"""Gamma: weight of consistency."""
DIVERSITY_REWARD = 0.03
"""Epsilon: reward per further document that names the entity."""
MAX_FURTHER_DOCUMENTS = 3
"""The diversity reward stops growing here."""


@dataclass(frozen=True, slots=True)
class OneEntity:
    """Identity keys of the same entity stand for one of them, the canonical key."""

    canonical: Mapping[str, str] = field(default_factory=dict)
    """Key -> canonical key, for keys that are not canonical themselves."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Canonical key -> the keys that stand for it."""

    @classmethod
    def of_names(cls, aliases: Mapping[str, str] | None) -> OneEntity:
        """Read name -> name of the same entity; chains are followed, a circle ends where it began."""
        direct = {entity_key(alias): entity_key(name) for alias, name in (aliases or {}).items()}
        ends: dict[str, str] = {}
        for key in direct:
            way, at = {key: None}, key
            while at not in ends and (following := direct.get(at)) and following not in way:
                way[following] = None
                at = following
            ends.update(dict.fromkeys(way, ends.get(at, at)))
        canonical = {key: ends[key] for key in direct if key and ends[key] != key}
        others: dict[str, list[str]] = {}
        for key, name in canonical.items():
            others.setdefault(name, []).append(key)
        return cls(canonical, {name: tuple(keys) for name, keys in others.items()})

    def key(self, key: str) -> str:
        """Return the canonical key of a key."""
        return self.canonical.get(key, key)

    def keys(self, key: str) -> tuple[str, ...]:
        """Return every key of the entity that a key names."""
        name = self.key(key)
        return (name, *self.others.get(name, ()))

    def named_in(self, text: str) -> Callable[[str], bool]:
        """Return a test whether a text has any name of the entity that a key names."""
        has = names_in(text)
        return lambda key: any(has(each) for each in self.keys(key))


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one note gave to one entity: weight = score * decay * (1 + beta * coverage + gamma * consistency)."""

    note: int
    """Index of the note in the list given."""
    score: float
    decay: float
    coverage: float
    consistency: int
    weight: float


@dataclass(frozen=True, slots=True)
class EntityScore:
    """One entity's evidence, factor by factor."""

    key: str
    """Identity key."""
    name: str
    """Name as first written."""
    score: float
    """Sum of the contributions' weights times `diversity`."""
    diversity: float
    """1 + epsilon * min(documents - 1, 3)."""
    documents: int
    contributions: tuple[Contribution, ...]
    """In order of the notes."""


@dataclass(frozen=True, slots=True)
class EfsaTrace:
    """Every entity's score, best first, and what was left out or decided."""

    ranking: tuple[EntityScore, ...]
    """Best first; ties by evidence count, document count, first appearance."""
    excluded: Mapping[str, str]
    """Identity key -> `bridge`, `path`, `query` or `vetoed`."""
    share: float
    """The best entity's share of all evidence that is left."""
    margin: float
    """(best - second) / best; 1 when there is no second."""
    reason: str
    """Why there is an answer or none."""
    answered: bool


def compute_cov_cons(note: Mapping[str, Any], path_entities: Iterable[str] | None) -> tuple[float, int]:
    """Return (coverage, consistency): the share of the path's entities a note has, and 1 if its text names any."""
    with reading("compute_cov_cons"):
        names, text, path = entity_names(note), note_text(note), names_of(path_entities, "path_entities")
    return _cov_cons(set(names), text, _keys_of(path), OneEntity())


def efsa_answer(
    candidates: Sequence[Mapping[str, Any]] | None,
    query: str,
    bridge_entity: str | None = None,
    path_entities: Iterable[str] | None = None,
    topN: int = 20,  # noqa: N803
    *,
    aliases: Mapping[str, str] | None = None,
    min_share: float = 0.0,
    min_margin: float = 0.0,
    allowed: Callable[[str, str], bool] | None = None,
    logits: bool = False,
) -> tuple[str | None, list[int | str]]:
    """Return (answer, support_idxs), or (None, []) when no entity is left or the evidence is not clear enough.

    `final_score` is used as given; `logits` declares the scores to be logits, which go through a sigmoid.
    `support_idxs` are the paragraphs of the notes behind the answer, the one that gave most first, no duplicates.
    Raises InvalidNoteError for an argument or field of the wrong type.
    """
    with reading("efsa_answer"):
        notes = read_notes([] if candidates is None else candidates, count_of(topN, "topN"), logits=logits)
        asked = text_of(query, "query")
        bridges, path = names_of(bridge_entity, "bridge_entity"), names_of(path_entities, "path_entities")
        beyond: dict[str, Any] = {
            "aliases": aliases_of(aliases),
            "min_share": finite(min_share, "min_share", "efsa_answer"),
            "min_margin": finite(min_margin, "min_margin", "efsa_answer"),
            "allowed": allowed,
        }
        if allowed is not None and not callable(allowed):
            raise wrong("allowed", "a function of key and name", allowed, "efsa_answer")
    trace = trace_efsa(notes, asked, bridges, path, **beyond)
    if not trace.answered:
        return None, []
    best = trace.ranking[0]
    by_weight = sorted(best.contributions, key=lambda part: (-part.weight, part.note))
    support = [index for part in by_weight for index in notes[part.note].paragraphs]
    return best.name, list(dict.fromkeys(support))


def efsa_answer_with_fallback(
    candidates: Sequence[Mapping[str, Any]] | None = None,
    query: str = "",
    bridge_entity: str | None = None,
    path_entities: Iterable[str] | None = None,
    topN: int = 20,  # noqa: N803
    **beyond: Any,
) -> tuple[str | None, list[int | str]]:
    """Return what `efsa_answer` returns; (None, []) tells the caller to fall back to another kind of answer."""
    return efsa_answer(candidates, query, bridge_entity, path_entities, topN, **beyond)


def trace_efsa(
    notes: Sequence[EvidenceNote],
    query: str,
    bridge_entity: str | Iterable[str] | None = None,
    path_entities: Iterable[str] | None = None,
    *,
    aliases: Mapping[str, str] | None = None,
    min_share: float = 0.0,
    min_margin: float = 0.0,
    allowed: Callable[[str, str], bool] | None = None,
) -> EfsaTrace:
    """Score every entity of the notes and say which may be the answer and why.

    `aliases` maps names to the name of the same entity; `allowed(key, name)` may veto an entity, never add one.
    """
    one = OneEntity.of_names(aliases)
    path = list(dict.fromkeys(one.key(key) for key in _keys_of(path_entities)))
    bridges = {one.key(key) for key in _keys_of(bridge_entity)}
    named = read_question(query).names
    names, parts = dict[str, str](), dict[str, list[Contribution]]()
    for index, note in enumerate(notes):
        own: dict[str, str] = {}
        for key, name in note.entities.items():
            own.setdefault(one.key(key), name)
        coverage, consistency = _cov_cons(set(own), note.text, path, one)
        decay = HOP_DECAY ** (note.hop - 1)
        weight = note.score * decay * (1 + COV_WEIGHT * coverage + CONS_WEIGHT * consistency)
        part = Contribution(index, note.score, decay, coverage, consistency, weight)
        for key, name in own.items():
            names.setdefault(key, name)
            parts.setdefault(key, []).append(part)
    excluded: dict[str, str] = {}
    for key, name in names.items():
        if key in bridges:
            excluded[key] = "bridge"
        elif key in path:
            excluded[key] = "path"
        elif any(map(named, one.keys(key))):
            excluded[key] = "query"
        elif allowed is not None and not allowed(key, name):
            excluded[key] = "vetoed"
    ranking = []
    for key in (key for key in names if key not in excluded):
        documents = len({notes[part.note].document for part in parts[key]})
        diversity = 1 + DIVERSITY_REWARD * min(max(documents - 1, 0), MAX_FURTHER_DOCUMENTS)
        score = sum(part.weight for part in parts[key]) * diversity
        if score > 0:
            ranking.append(EntityScore(key, names[key], score, diversity, documents, tuple(parts[key])))
    ranking.sort(key=lambda entity: (-round(entity.score, 12), -len(entity.contributions), -entity.documents))
    return _decided(tuple(ranking), excluded, min_share, min_margin)


def _decided(
    ranking: tuple[EntityScore, ...], excluded: Mapping[str, str], min_share: float, min_margin: float
) -> EfsaTrace:
    if not ranking:
        return EfsaTrace((), excluded, 0.0, 0.0, "no entity is left after exclusion", False)
    best = ranking[0].score
    share = best / sum(entity.score for entity in ranking)
    margin = (best - ranking[1].score) / best if len(ranking) > 1 else 1.0
    reason = f"share {share:.2f}, margin {margin:.2f}"
    if share < min_share:
        reason = f"share of evidence {share:.2f} is below {min_share:.2f}"
    elif margin < min_margin:
        reason = f"margin to the runner-up {margin:.2f} is below {min_margin:.2f}"
    return EfsaTrace(ranking, excluded, share, margin, reason, share >= min_share and margin >= min_margin)


def _cov_cons(keys: set[str], text: str, path: list[str], one: OneEntity) -> tuple[float, int]:
    if not path:
        return 0.0, 0
    coverage = sum(key in keys for key in path) / len(path)
    named = one.named_in(text)
    return coverage, int(any(named(key) for key in path))


def _keys_of(names: str | Iterable[str] | None) -> list[str]:
    """Return the distinct identity keys of names, in order."""
    listed = [names] if isinstance(names, str) else names or ()
    return [key for key in dict.fromkeys(map(entity_key, listed)) if key]
