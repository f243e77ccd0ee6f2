"""The ontology channel: what the question speaks of, over K hops, to notes and capabilities."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from theworld.deadline import Deadline
from theworld.ontology.descriptions import Described
from theworld.ontology.matching import QueryMatches
from theworld.ontology.retrieval import NESTED, Findings, OntologyIndex, OntologyIndexes, find
from theworld.retrieval.graph import telling_steps
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

    def ask(
        self, question: str, language: Language, context: Context, deadline: Deadline, limit: int
    ) -> tuple[OntologyEvidence, Sequence[tuple[str, float]]] | None:
        """Return what the ontology says, and up to `limit` notes; None without one, or when nothing is recognised.

        Raises DeadlineExceededError when the walk takes too long.
        """
        index = self.indexes.of(context.tenant)
        if index is None:
            return None
        begun = time.perf_counter()
        now = context.now or datetime.now().astimezone()
        matches = index.matcher.match(question, now=now)
        reading = index.descriptions.read(question, language)
        share = recognised(question, matches, reading.described)
        if not share:
            return None
        # A filter may take most notes away, so more are asked for.
        most, hops = limit * 4 if context.filters else limit, self.settings.hops
        found = find(index, matches, language, reading=reading, hops=hops, limit=most, deadline=deadline)
        kept = list(found.notes)
        if context.filters:
            wanted = wanted_terms(context.filters)
            asked = [note_id for note_id, _ in kept]
            stored = self._notes.notes(asked, tenant=context.tenant, mentions=False, within=deadline)
            passing = {note.id for note in stored if passes(filter_terms(note.metadata, note.document_id), wanted)}
            kept = [hit for hit in kept if hit[0] in passing]
        kept = kept[:limit]
        ids = {note_id for note_id, _ in kept}
        evidence = OntologyEvidence(
            matches=tuple(shown_matches(index, matches, language)),
            constraints=tuple(constraints(question, matches)),
            paths=found.paths,
            capabilities=found.capabilities,
            understood=reading.question if reading.described else "",
            described=tuple(shown_description(index, one, language) for one in reading.described),
            answered=reading.answered,
            note_paths=tuple(self._titled(found, ids, context.tenant, deadline)),
            recognised=share,
            notes=len(kept),
            elapsed_ms=(time.perf_counter() - begun) * 1000,
        )
        return evidence, kept

    def _titled(self, found: Findings, ids: set[str], tenant: str, deadline: Deadline) -> list[EvidencePath]:
        """Return the paths to notes that are kept and say something, the notes called by their titles."""
        paths = [path for path in found.note_paths if path.note_id in ids]
        wanted = [path.note_id for path in paths]
        stored = self._notes.notes(wanted, tenant=tenant, mentions=False, within=deadline)
        titles = {note.id: note.title for note in stored}
        titled = []
        for path in paths:
            title = titles.get(path.note_id) or path.note_id
            steps = (*path.steps[:-1], path.steps[-1].model_copy(update={"target": title}))
            if telling_steps(steps):
                text = path.text.removesuffix(path.note_id) + title
                titled.append(path.model_copy(update={"steps": steps, "text": text}))
        return titled


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
        sample = samples[one.samples[0]]
        class_id, _, name = one.attribute.partition(".")
        attribute = next(a for a in index.lookup.classes[class_id].attributes if a.id == name)
        value = sample.values[name]
        told = value if isinstance(value, str) else f"{value:,}"
        if known := next((v for v in attribute.values if v.id == value), None):
            told = known.labels.preferred(language) or known.id
        text = f"{told} {attribute.unit.of(language) if attribute.unit else ''}".strip()
        relation = attribute.labels.preferred(language)
        step = PathStep(source=sample.labels.preferred(language), relation=relation, target=text)
        return DescribedSample(text=one.text, names=(text,), aliases=(text,), facts=(step,), asked=True)
    return DescribedSample(
        text=one.text,
        names=tuple(samples[id_].labels.preferred(language) for id_ in one.samples),
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


def constraints(question: str, matches: QueryMatches) -> list[OntologyConstraint]:
    """Return the values, numbers and times that a question demands."""
    values = (
        OntologyConstraint(kind="value", attribute=m.ref.key, text=m.text) for m in matches.matches if m.kind == "value"
    )
    ranges = (
        OntologyConstraint(
            kind="range",
            attribute=one.attribute.key if one.attribute else None,
            text=question[one.start : one.end].strip(),
            low=one.low.value,
            high=one.high.value if one.high else None,
            comparison=one.comparison,
        )
        for one in matches.ranges
    )
    times = (
        OntologyConstraint(
            kind="time",
            text=question[slice(*one.place)],
            first=one.start.isoformat() if one.start else None,
            end=one.end.isoformat() if one.end else None,
        )
        for one in matches.times
    )
    return [*values, *ranges, *times]
