"""Entity-Focused Score Aggregation: the entity with the most evidence over the final notes is the short answer.

The functions follow the EFSA specification; the module constants are its weights and may be set at run time. Called
with default arguments they answer by the documented formula alone; `aliases`, `min_share`, `min_margin` and `allowed`
go beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.nodes.answer_with_entity.notes import EvidenceNote, entity_names, note_text, read_notes
from theworld.text import entity_key, fold

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
    path = _keys(path_entities)
    return _cov_cons(set(entity_names(note)), note_text(note), path)


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
) -> tuple[str | None, list[int | str]]:
    """Return (answer, support_idxs), or (None, []) when no entity is left or the evidence is not clear enough.

    `support_idxs` are the paragraphs of the notes behind the answer, the one that gave most first, no duplicates.
    Raises InvalidNoteError for a field of the wrong type.
    """
    notes = read_notes(candidates or [], topN)
    trace = trace_efsa(
        notes,
        query,
        bridge_entity,
        path_entities,
        aliases=aliases,
        min_share=min_share,
        min_margin=min_margin,
        allowed=allowed,
    )
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
    if not candidates:
        return None, []
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
    canonical = {entity_key(alias): entity_key(name) for alias, name in (aliases or {}).items()}
    path = [canonical.get(key, key) for key in _keys(path_entities)]
    bridges = {canonical.get(key, key) for key in _keys(bridge_entity)}
    evidence = _collect(notes, path, canonical)
    excluded = _exclusions(evidence, bridges, set(path), query, allowed)
    scored = [_score(key, entry) for key, entry in evidence.items() if key not in excluded]
    ranking = sorted(
        (entity for entity in scored if entity.score > 0),
        key=lambda entity: (-round(entity.score, 12), -len(entity.contributions), -entity.documents),
    )
    return _decide(tuple(ranking), excluded, min_share, min_margin)


@dataclass(slots=True)
class _Entry:
    name: str
    parts: list[Contribution]
    documents: set[str]


def _collect(notes: Sequence[EvidenceNote], path: list[str], canonical: Mapping[str, str]) -> dict[str, _Entry]:
    evidence: dict[str, _Entry] = {}
    for index, note in enumerate(notes):
        names: dict[str, str] = {}
        for key, name in note.entities.items():
            names.setdefault(canonical.get(key, key), name)
        part = _contribution(index, note, set(names), path)
        for key, name in names.items():
            entry = evidence.setdefault(key, _Entry(name, [], set()))
            entry.parts.append(part)
            entry.documents.add(note.document)
    return evidence


def _contribution(index: int, note: EvidenceNote, keys: set[str], path: list[str]) -> Contribution:
    coverage, consistency = _cov_cons(keys, note.text, path)
    decay = HOP_DECAY ** (note.hop - 1)
    weight = note.score * decay * (1 + COV_WEIGHT * coverage + CONS_WEIGHT * consistency)
    return Contribution(index, note.score, decay, coverage, consistency, weight)


def _score(key: str, entry: _Entry) -> EntityScore:
    diversity = 1 + DIVERSITY_REWARD * min(max(len(entry.documents) - 1, 0), MAX_FURTHER_DOCUMENTS)
    total = sum(part.weight for part in entry.parts) * diversity
    return EntityScore(key, entry.name, total, diversity, len(entry.documents), tuple(entry.parts))


def _exclusions(
    evidence: Mapping[str, _Entry],
    bridges: set[str],
    path: set[str],
    query: str,
    allowed: Callable[[str, str], bool] | None,
) -> dict[str, str]:
    named_in_query = names_in(query)
    excluded: dict[str, str] = {}
    for key, entry in evidence.items():
        if key in bridges:
            excluded[key] = "bridge"
        elif key in path:
            excluded[key] = "path"
        elif named_in_query(key):
            excluded[key] = "query"
        elif allowed is not None and not allowed(key, entry.name):
            excluded[key] = "vetoed"
    return excluded


def _decide(
    ranking: tuple[EntityScore, ...], excluded: Mapping[str, str], min_share: float, min_margin: float
) -> EfsaTrace:
    if not ranking:
        return EfsaTrace((), excluded, 0.0, 0.0, "no entity is left after exclusion", False)
    best = ranking[0].score
    share = best / sum(entity.score for entity in ranking)
    margin = (best - ranking[1].score) / best if len(ranking) > 1 else 1.0
    if share < min_share:
        reason = f"share of evidence {share:.2f} is below {min_share:.2f}"
    elif margin < min_margin:
        reason = f"margin to the runner-up {margin:.2f} is below {min_margin:.2f}"
    else:
        return EfsaTrace(ranking, excluded, share, margin, f"share {share:.2f}, margin {margin:.2f}", True)
    return EfsaTrace(ranking, excluded, share, margin, reason, False)


def _cov_cons(keys: set[str], text: str, path: list[str]) -> tuple[float, int]:
    if not path:
        return 0.0, 0
    coverage = sum(key in keys for key in path) / len(path)
    named = names_in(text)
    return coverage, int(any(named(key) for key in path))


def _keys(names: str | Iterable[str] | None) -> list[str]:
    """Return the distinct identity keys of names, in order."""
    listed = [names] if isinstance(names, str) else list(names or ())
    return list(dict.fromkeys(key for key in (entity_key(name) for name in listed if isinstance(name, str)) if key))


def names_in(text: str) -> Callable[[str], bool]:
    """Return a test whether a text names an entity key: whole words in Latin script, anywhere in Chinese."""
    folded = _SPACES.sub(" ", fold(text))

    def named(key: str) -> bool:
        at = folded.find(key)
        while at >= 0:
            before, after = folded[at - 1 : at] if at else "", folded[at + len(key) : at + len(key) + 1]
            if not (_joins(before, key[0]) or _joins(key[-1], after)):
                return True
            at = folded.find(key, at + 1)
        return False

    return named


_SPACES = re.compile(r"[\s_·•‧・]+")
_CJK = 0x2E80


def _joins(left: str, right: str) -> bool:
    """Tell whether two neighbouring characters belong to one Latin word or number."""
    return bool(left) and bool(right) and left.isalnum() and right.isalnum() and ord(left) < _CJK and ord(right) < _CJK
