"""Answers by facts of the ontology, and by relations followed from note to note.

A question that names one note and relations ("the place of birth of the director of X") is answered by the value at
their end. It is left alone when it says anything besides the name and the relations, because what nobody checked may
be a condition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.answers.confidence import BY_FACTS, FoundAnswer, Support, stated_answer
from theworld.answers.relations import relation_values
from theworld.answers.topics import PLAIN_EN, Topic, note_about, without_names
from theworld.questions import Question
from theworld.questions.relations import AskedRelation, Relation, Span, asked_relations
from theworld.state import Candidate, DescribedSample, OntologyEvidence
from theworld.text import Language, entity_key, split_sentences, tokens
from theworld.text.folding import fold_in_place
from theworld.text.naming import names_in

MAX_HOPS = 3
TYPED = frozenset({"date", "person", "place"})
"""Types of relations that are types of mentions too."""
_PLAIN_ZH = re.compile(r"[\s的了是在于由为谁哪何时候里什么个位名人影歌曲小说？?，。《》「」'\"地方电年天日国家所首部]")


def answer_from_facts(
    ontology: OntologyEvidence | None, language: Language, evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return what the question asks for by the ontology's facts, None where it asks for more than they say.

    Its support are the sentences of the evidence that name both ends of the facts; there may be none.
    """
    if ontology is None or not ontology.answered:
        return None
    support = [place for one in ontology.described for place in _stating(one, evidence)]
    facts = list(dict.fromkeys(fact for one in ontology.described for fact in one.facts))
    way = "; ".join(f"{fact.source} —{fact.relation}→ {fact.target}" for fact in facts)
    text = ("、" if language == "zh" else ", ").join(ontology.described[-1].names)
    return FoundAnswer(text, BY_FACTS, tuple(dict.fromkeys(reversed(support))), f"facts of the ontology: {way}")


def _stating(described: DescribedSample, evidence: Sequence[Candidate]) -> list[Support]:
    """Return for every fact the sentence that names both its ends, first of all one with a word of the relation."""
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


def answer_chain(question: Question, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return the value at the end of the relations of the one topic named, None when a hop is not stated."""
    if len(topics) != 1 or question.compares:
        return None
    asked = without_names(question, topics)
    steps = _steps(asked, topics[0], question)
    if not 0 < len(steps) <= MAX_HOPS or not _says_nothing_else(asked, question.language, topics[0], steps):
        return None
    end = steps[-1].relation.type
    if end in TYPED and not question.answer_type.admits(end):  # "when did she marry?"
        return None
    return _follow([step.relation for step in steps], topics[0], question, evidence)


def _follow(
    relations: Sequence[Relation], topic: Topic, question: Question, evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    at, support, path, visited = topic.note, list[Support](), [topic.name], {topic.note}
    for relation in relations:
        value = _value(relation, evidence[at], question)
        if value is None:
            return None
        text = evidence[at].text[slice(*value)]
        support.append(Support(at, *value))
        path.append(f"{relation.name}: {text}")
        if len(support) == len(relations):
            return stated_answer(text, support[::-1], ", ".join(path), links=len(relations) - 1)
        following = note_about(text, evidence, frozenset(visited))
        if following is None:
            return None
        at = following
        visited.add(at)
    return None


def _steps(asked: str, topic: Topic, question: Question) -> list[AskedRelation]:
    """Return the relations from the topic outwards: links first, by closeness; the attribute asked for last."""
    found = asked_relations(asked, question.language)
    at = fold_in_place(question.simplified).find(fold_in_place(topic.name))
    links = sorted((one for one in found if one.relation.link), key=lambda one: abs(one.start - at))
    ends = [one for one in found if not one.relation.link]
    repeated = any(len(one.spans) > 1 for one in links)  # the father of the father
    return [*links, *ends] if len(ends) <= 1 and not repeated else []


def _says_nothing_else(asked: str, language: Language, topic: Topic, steps: Sequence[AskedRelation]) -> bool:
    """Return whether a question is made of its topic, its relations and words that add no condition."""
    left = list(asked)
    for start, end in (span for step in steps for span in step.spans):
        left[start:end] = " " * (end - start)
    if language == "zh":
        return not _PLAIN_ZH.sub("", "".join(left))
    return set(tokens("".join(left))) <= PLAIN_EN | set(tokens(topic.name))


def _value(relation: Relation, note: Candidate, question: Question) -> Span | None:
    """Return the first value a note states that neither its title nor the question names."""
    own, asked = names_in(note.title), question.names
    for start, end in relation_values(relation, note):
        key = entity_key(note.text[start:end])
        if relation.type == "date" or (key and not own(key) and not asked(key)):
            return start, end
    return None
