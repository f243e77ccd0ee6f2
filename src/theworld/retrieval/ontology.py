"""The ontology channel: what the question speaks of, over K hops, to notes and capabilities."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from theworld.deadline import Deadline
from theworld.ontology.questions.descriptions import Described
from theworld.ontology.questions.matching import QueryMatches
from theworld.ontology.retrieval import NESTED, Findings, OntologyIndex, OntologyIndexes, find
from theworld.retrieval.evidence_paths import telling_steps
from theworld.retrieval.notes import NoteSource
from theworld.settings import OntologySettings
from theworld.state import (
    Context,
    DescribedSample,
    EvidencePath,
    OntologyConstraint,
    OntologyEvidence,
    OntologyMatch,
    PathStep,
)
from theworld.stores.records import filter_terms, passes, wanted_terms
from theworld.text import Language

Hits = Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class OntologyFindings:
    """What the ontology has to say about one question."""

    evidence: OntologyEvidence
    notes: Hits


@dataclass(frozen=True, slots=True)
class OntologyRequest:
    """One question to the ontology."""

    question: str
    language: Language
    context: Context
    deadline: Deadline
    limit: int
    """Notes wanted."""


class OntologyChannel:
    """Asks the ontologies of one store."""

    def __init__(self, indexes: OntologyIndexes, notes: NoteSource, settings: OntologySettings) -> None:
        self.indexes, self._notes, self.settings = indexes, notes, settings

    @property
    def present(self) -> bool:
        """Whether questions are to be asked here: it is switched on and, as far as known without waiting, not empty."""
        return self.settings.enabled and not self.indexes.surely_none()

    def warm(self, tenants: Sequence[str]) -> None:
        """Read the ontologies now, not within the first question's deadline."""
        if self.settings.enabled:
            for tenant in tenants:
                self.indexes.of(tenant)

    def ask(self, request: OntologyRequest) -> OntologyFindings | None:
        """Return what the ontology says; None when the tenant has none or nothing is recognised.

        Raises DeadlineExceededError when the walk takes too long.
        """
        index = self.indexes.of(request.context.tenant)
        return None if index is None else self._findings(index, request)

    def _findings(self, index: OntologyIndex, request: OntologyRequest) -> OntologyFindings | None:
        begun, context = time.perf_counter(), request.context
        now = context.now or datetime.now().astimezone()
        matches = index.matcher.match(request.question, now=now)
        reading = index.descriptions.read(request.question, request.language)
        share = recognised(request.question, matches, reading.described)
        if not share:
            return None
        # A filter may take most notes away, so more are asked for.
        limit = request.limit * 4 if context.filters else request.limit
        found = find(
            index,
            matches,
            request.language,
            reading=reading,
            hops=self.settings.hops,
            limit=limit,
            deadline=request.deadline,
        )
        kept = self._passing(found.notes, request)[: request.limit]
        ids = {note_id for note_id, _ in kept}
        evidence = OntologyEvidence(
            matches=tuple(shown_matches(index, matches, request.language)),
            constraints=tuple(constraints(request.question, matches)),
            paths=found.paths,
            capabilities=found.capabilities,
            understood=reading.question if reading.described else "",
            described=tuple(shown_description(index, one, request.language) for one in reading.described),
            answered=reading.answered,
            note_paths=tuple(self._titled(found, ids, request)),
            recognised=share,
            notes=len(kept),
            elapsed_ms=(time.perf_counter() - begun) * 1000,
        )
        return OntologyFindings(evidence, kept)

    def _passing(self, notes: Hits, request: OntologyRequest) -> list[tuple[str, float]]:
        context = request.context
        if not context.filters:
            return list(notes)
        wanted = wanted_terms(context.filters)
        ids = [note_id for note_id, _ in notes]
        stored = self._notes.notes(ids, tenant=context.tenant, mentions=False, within=request.deadline)
        passing = {note.id for note in stored if passes(filter_terms(note.metadata, note.document_id), wanted)}
        return [(note_id, score) for note_id, score in notes if note_id in passing]

    def _titled(self, found: Findings, ids: set[str], request: OntologyRequest) -> list[EvidencePath]:
        """Return the paths to notes that are kept and say something, the notes called by their titles."""
        paths = [path for path in found.note_paths if path.note_id in ids]
        wanted = [path.note_id for path in paths]
        stored = self._notes.notes(wanted, tenant=request.context.tenant, mentions=False, within=request.deadline)
        titles = {note.id: note.title for note in stored}
        titled = (_with_title(path, titles.get(path.note_id, "")) for path in paths)
        return [path for path in titled if telling_steps(path.steps)]


def _with_title(path: EvidencePath, title: str) -> EvidencePath:
    if not title:
        return path
    steps = (*path.steps[:-1], path.steps[-1].model_copy(update={"target": title}))
    text = path.text.removesuffix(path.note_id) + title
    return path.model_copy(update={"steps": steps, "text": text})


def recognised(question: str, matches: QueryMatches, described: Sequence[Described]) -> float:
    """Return the share of a question's letters and digits that name elements, or stand in a description of some."""
    places = [(match.start, match.end) for match in matches.matches]
    places += [(at, at + len(one.text)) for one in described if (at := question.find(one.text)) >= 0]
    letters = [place for place, letter in enumerate(question) if letter.isalnum()]
    inside = sum(any(start <= place < end for start, end in places) for place in letters)
    return inside / len(letters) if letters else 0.0


def shown_matches(index: OntologyIndex, matches: QueryMatches, language: Language) -> list[OntologyMatch]:
    """Return the matches as state values, names inside longer ones last."""
    pairs = [(m, m.kind, m.score) for m in matches.matches] + [(m, "nested", m.score * NESTED) for m in matches.nested]
    return [
        OntologyMatch(
            kind=m.ref.kind,
            key=m.ref.key,
            label=index.lookup.elements[m.ref].labels.preferred(language),
            how=how,
            score=score,
            start=m.start,
            end=m.end,
            value=m.value,
        )
        for m, how, score in pairs
    ]


def shown_description(index: OntologyIndex, one: Described, language: Language) -> DescribedSample:
    """Return what a description stands for as a state value."""
    samples, relations = index.lookup.samples, index.lookup.relations
    if one.attribute:
        return _shown_value(index, one, language)
    names = tuple(samples[id_].labels.preferred(language) for id_ in one.samples)
    return DescribedSample(
        text=one.text,
        names=names,
        aliases=tuple(dict.fromkeys(label for id_ in one.samples for label in samples[id_].labels.all())),
        facts=tuple(
            PathStep(
                source=samples[fact.source].labels.preferred(language),
                relation=relations[fact.relation].labels.preferred(language),
                target=samples[fact.target].labels.preferred(language),
            )
            for fact in one.facts
        ),
        asked=one.asked,
    )


def _shown_value(index: OntologyIndex, one: Described, language: Language) -> DescribedSample:
    sample = index.lookup.samples[one.samples[0]]
    class_id, _, name = one.attribute.partition(".")
    attribute = next(a for a in index.lookup.classes[class_id].attributes if a.id == name)
    value = sample.values[name]
    known = next((v for v in attribute.values if v.id == value), None)
    told = (
        known.labels.preferred(language) or known.id if known else f"{value:,}" if not isinstance(value, str) else value
    )
    unit = attribute.unit.of(language) if attribute.unit else ""
    text = f"{told} {unit}".strip()
    owner = sample.labels.preferred(language)
    step = PathStep(source=owner, relation=attribute.labels.preferred(language), target=text)
    return DescribedSample(text=one.text, names=(text,), aliases=(text,), facts=(step,), asked=True)


def constraints(question: str, matches: QueryMatches) -> list[OntologyConstraint]:
    """Return the values, numbers and times that a question demands."""
    found = [
        OntologyConstraint(kind="value", attribute=m.ref.key, text=m.text) for m in matches.matches if m.kind == "value"
    ]
    for one in matches.ranges:
        number = one.constraint
        found.append(
            OntologyConstraint(
                kind="range",
                attribute=one.attribute.key if one.attribute else None,
                text=question[number.start : number.end].strip(),
                low=number.low.value,
                high=number.high.value if number.high else None,
                comparison=number.comparison,
            )
        )
    for time_range in matches.times:
        first, end = time_range.start, time_range.end
        found.append(
            OntologyConstraint(
                kind="time",
                text=question[slice(*time_range.place)],
                first=first.isoformat() if first else None,
                end=end.isoformat() if end else None,
            )
        )
    return found
