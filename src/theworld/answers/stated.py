"""An answer that follows from stated facts, and those that the ontology's facts give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theworld.state import AnswerScores, Candidate, OntologyEvidence
from theworld.text import Language, entity_key, split_sentences, tokens
from theworld.text.identity import names_in

STATED = 0.95
"""How often a comparison of stated facts is right, at least (benchmarks/README.md, Short answers)."""
BY_FACTS = 0.85
"""Of an answer by facts of the ontology, which no data set has: they were confirmed one by one."""


@dataclass(frozen=True, slots=True)
class Support:
    """A piece of a note that an answer rests on."""

    note: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """An answer read off notes."""

    text: str
    confidence: float
    support: tuple[Support, ...]
    reason: str
    scores: AnswerScores | None = None


def answer_from_facts(
    ontology: OntologyEvidence | None, language: Language, evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return what the question asks for by the ontology's facts, None where it asks for more than they say.

    Its support is for every fact the sentence of the evidence that names both its ends, first of all one with a word of
    the relation; there may be none.
    """
    if ontology is None or not ontology.answered:
        return None
    support: list[Support] = []
    ways: dict[str, None] = {}
    for described, fact in ((one, fact) for one in ontology.described for fact in one.facts):
        ways[f"{fact.source} —{fact.relation}→ {fact.target}"] = None
        ends = [
            [entity_key(name) for name in ([*described.aliases, end] if end in described.names else [end])]
            for end in (fact.source, fact.target)
        ]
        said = set(tokens(fact.relation))
        naming = [
            (not said & set(tokens(sentence.text)), Support(index, sentence.start, sentence.end))
            for index, note in enumerate(evidence)
            for sentence in split_sentences(note.text)
            if all(any(map(names_in(sentence.text), keys)) for keys in ends)
        ]
        if naming:
            support.append(min(naming, key=lambda pair: pair[0])[1])
    text = ("、" if language == "zh" else ", ").join(ontology.described[-1].names)
    reason = f"facts of the ontology: {'; '.join(ways)}"
    return FoundAnswer(text, BY_FACTS, tuple(dict.fromkeys(reversed(support))), reason)
