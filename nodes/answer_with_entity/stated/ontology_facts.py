"""Questions that the facts of the ontology answer: "who controls the company that buys the sensors of X?"."""

from __future__ import annotations

from collections.abc import Sequence

from theworld.nodes.answer_with_entity.confidence import CONFIDENCE
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.reasoned import ReasonedAnswer, Support
from theworld.state import Candidate, DescribedSample, OntologyEvidence, PathStep
from theworld.text import Language, entity_key, split_sentences, tokens

_JOINED = {"zh": "、", "en": ", "}


def answer_from_facts(
    ontology: OntologyEvidence | None, language: Language, evidence: Sequence[Candidate]
) -> ReasonedAnswer | None:
    """Return what the question asks for by the facts, None where it asks for more than they say.

    Its support are the sentences of the evidence that name both ends of the facts; there may be none.
    """
    if ontology is None or not ontology.answered:
        return None
    asked = ontology.described[-1]
    support = [place for one in ontology.described for place in stating(one, evidence)]
    way = "; ".join(f"{fact.source} —{fact.relation}→ {fact.target}" for fact in _facts(ontology.described))
    return ReasonedAnswer(
        _JOINED[language].join(asked.names),
        CONFIDENCE["ontology fact"],
        tuple(dict.fromkeys(reversed(support))),
        f"facts of the ontology: {way}",
    )


def _facts(described: Sequence[DescribedSample]) -> Sequence[PathStep]:
    return list(dict.fromkeys(fact for one in described for fact in one.facts))


def stating(described: DescribedSample, evidence: Sequence[Candidate]) -> list[Support]:
    """Return for every fact of a description the sentence of the evidence that names both of its ends.

    The first that has a word of the relation's name too, else the first.
    """
    found = []
    for fact in described.facts:
        ends = [
            [entity_key(name) for name in ([*described.aliases, end] if end in described.names else [end])]
            for end in (fact.source, fact.target)
        ]
        said = set(tokens(fact.relation))
        naming = [
            (not said & set(tokens(sentence.text)), Support(index, sentence.start, sentence.end))
            for index, note in enumerate(evidence)
            for sentence in split_sentences(note.text)
            if _names_both(sentence.text, ends)
        ]
        if naming:
            found.append(min(naming, key=lambda pair: pair[0])[1])
    return found


def _names_both(sentence: str, ends: Sequence[Sequence[str]]) -> bool:
    has = names_in(sentence)
    return all(any(has(key) for key in keys) for keys in ends)
