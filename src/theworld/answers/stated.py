"""Answers that follow from what notes state: facts of the ontology, comparisons, chains of relations.

- facts: what the ontology's facts say of the thing described; the sentences that state them support it.
- comparison: a question that names two notes. Which came first follows from their dates, whether both are from one
  country from their countries, whether both are of a kind from the first sentences of both.
- chain: a question that names one note and relations ("the place of birth of the director of X"): the relations are
  followed from note to note. It is left alone when it says anything besides the name and the relations, because what
  nobody checked may be a condition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.answers.confidence import BY_FACTS, NO, YES, FoundAnswer, Support, probability_of, stated_signs
from theworld.answers.facts import begin_of, countries_in, country_of, lifespan
from theworld.answers.one_entity import names_in
from theworld.answers.relations import AskedRelation, Relation, Span, asked_relations, relation_values
from theworld.answers.topics import Topic, compared_topics, named_topics, note_about, plain
from theworld.state import Candidate, DescribedSample, OntologyEvidence
from theworld.text import Language, cjk_share, entity_key, split_sentences, tokens
from theworld.text.dates import DateSpan
from theworld.text.folding import fold_in_place
from theworld.text.word_sets import word_set

MAX_HOPS = 3
STATED, NOT_STATED = 0.75, 0.5
"""Shares of the asked words: a thing is so from the first on, and not so up to the second where the other one is."""
COMPARES = re.compile(r"\bor\b|\bboth\b|\bsame\b|还是|相同|同一", re.IGNORECASE)
_FIRST = re.compile(
    r"\b(?:first|earlier|earliest|before|older|oldest|elder|eldest)\b|先|早|年长|[更较比]老|大", re.IGNORECASE
)
_LAST = re.compile(
    r"\b(?:later|last|latest|after|(?:more |most )?recent(?:ly)?|younger|youngest|newer|newest)\b|后|晚|年轻|新|小",
    re.IGNORECASE,
)
_DEATH = re.compile(r"\b(?:die[sd]?|death|passed away)\b|去世|逝世|过世|病逝|死", re.IGNORECASE)
_BIRTH = re.compile(r"\b(?:born|birth|younger|youngest|elder|eldest)\b|出生|诞生|年[长轻纪龄]|岁", re.IGNORECASE)
_OLDER = re.compile(r"\bold(?:er|est)\b|[更较比]老", re.IGNORECASE)
_BEGIN = re.compile(
    r"\b(?:c[ao]me|releas\w*|publish\w*|found\w*|form\w*|establish\w*|open\w*|creat\w*|start\w*|began|launch\w*|premier\w*|"
    r"made|aired|built|newer|newest|recent)\b|上映|[发创][行布售立办建刊作]|出版|成立|建[成立造]|问世|首播|开[放幕通业播办]|通车|落成|启[用动]|推出|"
    r"设立|完[成工]|竣工|历史|新",
    re.IGNORECASE,
)
_SAME_COUNTRY = re.compile(
    r"\bsame (?:country|nationality)\b|\bnationality\b[^?]*\bsame\b|\bshare\b[^?]*\b(?:nationality|country)\b|"
    r"(?:同一|相同)[个的]?国|国籍(?:是否)?(?:相同|一样)",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"^\s*(?:is|are|was|were|do|does|did|has|have|had|can)\b|吗[？?]?\s*$|是否|是不是", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\b(?:same|different|more|less|fewer|than|common|share|or)\b|同|一样|更|最|比|较|还是", re.IGNORECASE
)
"""Words of questions that ask more than whether both things are so."""
_EMPTY_ZH = re.compile(r"是不是|是否|两[者个位名部座家]|[都均皆吗的是为在有和与跟]|位于|属于|来自|一[个位名种部座家]")
_PLAIN_EN = frozenset(
    tokens(
        "a an the of in on at to for from is are was were be were do does did has have had what which who whom whose "
        "that it its he she his her film movie song album single book novel play musical opera series show person man "
        "woman name named called band company come came both all and by with not also considered type kind s 's"
    )
)
"""Words of a question that add no condition."""
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


def answer_comparison(question: str, language: Language, evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return the answer to a question that compares two named things, None when the notes do not state enough."""
    topics = compared_topics(question, evidence)
    if len(topics) != 2:
        return None
    asked = _without_names(question, topics)
    if _SAME_COUNTRY.search(asked):
        return _same_country(asked, language, topics, evidence)
    if _YES_NO.search(question) and not _OTHERWISE.search(asked):
        return _both_are(asked, language, topics, evidence)
    return _by_order(asked, topics, evidence)


def _without_names(question: str, topics: Sequence[Topic]) -> str:
    """Return a question with spaces where it names its topics, every offset as it was."""
    for topic in topics:
        at = fold_in_place(question).find(fold_in_place(topic.name))
        if at >= 0:
            question = question[:at] + " " * len(topic.name) + question[at + len(topic.name) :]
    return question


def _by_order(asked: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return which of two came first or last, by births, deaths or beginnings."""
    latest = bool(_LAST.search(asked))
    if latest == bool(_FIRST.search(asked)):
        return None
    by_death = bool(_DEATH.search(asked))
    by_birth = not by_death and (bool(_BIRTH.search(asked)) or _are_older(asked, topics, evidence))
    if not (by_birth or by_death or _BEGIN.search(asked) or _OLDER.search(asked)):
        return None
    subjects = [_subject(asked, topic, evidence, person=by_birth or by_death) for topic in topics]
    texts = [evidence[index].text if index is not None else "" for index in subjects]
    if by_birth or by_death:
        lives = [lifespan(text) for text in texts]
        moments = [life.birth if by_birth else life.death for life in lives]
    else:
        moments = [begin_of(text) for text in texts]
    left, right = moments
    if left is None or right is None or _tied(left, right):
        return None
    winner = 0 if (left.moment < right.moment) != latest else 1
    dates = [Support(i, d.start, d.end) for i, d in zip(subjects, moments, strict=True) if d and i is not None]
    support = [dates[winner], dates[1 - winner]]
    if topics[winner].note != support[0].note:
        support.insert(0, _opening(topics[winner].note, evidence))
    reason = f"{topics[0].name} {left.year}, {topics[1].name} {right.year}"
    return _found(topics[winner].name, support, reason, links=0)


def _are_older(asked: str, topics: Sequence[Topic], evidence: Sequence[Candidate]) -> bool:
    """Tell whether "older" is said of people: those who directed or sang, or the topics when both were born."""
    if not _OLDER.search(asked):
        return False
    return bool(_links(asked)) or all(lifespan(evidence[topic.note].text).birth for topic in topics)


def _tied(left: DateSpan, right: DateSpan) -> bool:
    """Tell whether two moments cannot be told apart at the precision both have."""
    parts = 1 + (left.month > 0 and right.month > 0) + (left.day > 0 and right.day > 0)
    return left.moment[:parts] == right.moment[:parts]


def _same_country(
    asked: str, language: Language, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    subjects = [_subject(asked, topic, evidence, person=True) for topic in topics]
    if subjects[0] is None or subjects[1] is None:
        return None
    left, right = (country_of(evidence[index].text) for index in subjects if index is not None)
    if left is None or right is None:
        return None
    text = YES[language] if left.country == right.country else NO[language]
    support = [Support(subjects[0], left.start, left.end), Support(subjects[1], right.start, right.end)]
    return _found(text, support, f"{topics[0].name}: {left.country}, {topics[1].name}: {right.country}", links=0)


def _both_are(
    asked: str, language: Language, topics: Sequence[Topic], evidence: Sequence[Candidate]
) -> FoundAnswer | None:
    """Return yes when the first sentences of both notes say what is asked, no when only one of them does."""
    wanted = _content(asked)
    if not wanted:
        return None
    openings = [_opening(topic.note, evidence, sentences=2) for topic in topics]
    shares = [
        len(wanted & {*tokens(evidence[one.note].text[one.start : one.end]), *tokens(evidence[one.note].title)})
        / len(wanted)
        for one in openings
    ]
    if min(shares) < STATED and (min(shares) > NOT_STATED or max(shares) < STATED):
        return None
    text = YES[language] if min(shares) >= STATED else NO[language]
    return _found(text, openings, f"{topics[0].name}: {shares[0]:.0%}, {topics[1].name}: {shares[1]:.0%}", links=0)


def _content(asked: str) -> set[str]:
    """Return the tokens of a question, its names left out, that say what is asked."""
    if cjk_share(asked):
        asked = _EMPTY_ZH.sub(" ", asked)
        for country in reversed(countries_in(asked)):
            end = country.end + asked.startswith("人", country.end)
            asked = f"{asked[: country.start]} {asked[country.start : country.end]} {asked[end:]}"
    return set(tokens(plain(asked))) - _PLAIN_EN - word_set("function")


def _subject(asked: str, topic: Topic, evidence: Sequence[Candidate], *, person: bool) -> int | None:
    """Return the note compared: the topic's own, or that of its director or performer when the question says so."""
    links, note = _links(asked), evidence[topic.note]
    if not links or not person or lifespan(note.text[:300]).birth is not None:
        return topic.note
    values = (note.text[slice(*value)] for value in relation_values(links[0], note))
    found = (note_about(value, evidence, frozenset({topic.note})) for value in values)
    return next((index for index in found if index is not None), None)


def _links(asked: str) -> list[Relation]:
    found = asked_relations(asked, "zh" if cjk_share(asked) else "en")
    return [one.relation for one in found if one.relation.link]


def answer_chain(question: str, language: Language, evidence: Sequence[Candidate]) -> FoundAnswer | None:
    """Return the value at the end of the question's relations, None when a hop is not stated."""
    topics = named_topics(question, evidence)
    if len(topics) != 1 or COMPARES.search(question):
        return None
    asked = _without_names(question, topics)
    steps = _steps(asked, language, topics[0], question)
    if not 0 < len(steps) <= MAX_HOPS or not _says_nothing_else(asked, language, topics[0], steps):
        return None
    at, support, path, visited = topics[0].note, list[Support](), [topics[0].name], {topics[0].note}
    for place, step in enumerate(steps):
        value = _value(step.relation, evidence[at], question)
        if value is None:
            return None
        text = evidence[at].text[slice(*value)]
        support.append(Support(at, *value))
        path.append(f"{step.relation.name}: {text}")
        if place == len(steps) - 1:
            return _found(text, support[::-1], ", ".join(path), links=place)
        following = note_about(text, evidence, frozenset(visited))
        if following is None:
            return None
        at = following
        visited.add(at)
    return None


def _steps(asked: str, language: Language, topic: Topic, question: str) -> list[AskedRelation]:
    """Return the relations from the topic outwards: links first, by closeness; the attribute asked for last."""
    found = asked_relations(asked, language)
    at = fold_in_place(question).find(fold_in_place(topic.name))
    links = sorted((one for one in found if one.relation.link), key=lambda one: abs(one.start - at))
    ends = [one for one in found if not one.relation.link]
    repeated = any(len(one.spans) > 1 for one in links)  # the father of the father
    return [*links, *ends] if len(ends) <= 1 and not repeated else []


def _says_nothing_else(asked: str, language: Language, topic: Topic, steps: Sequence[AskedRelation]) -> bool:
    """Tell whether a question is made of its topic, its relations and words that add no condition."""
    left = list(asked)
    for start, end in (span for step in steps for span in step.spans):
        left[start:end] = " " * (end - start)
    if language == "zh":
        return not _PLAIN_ZH.sub("", "".join(left))
    return set(tokens("".join(left))) <= _PLAIN_EN | set(tokens(topic.name))


def _value(relation: Relation, note: Candidate, question: str) -> Span | None:
    """Return the first value a note states that neither its title nor the question names."""
    own, asked = names_in(note.title), names_in(question)
    for start, end in relation_values(relation, note):
        key = entity_key(note.text[start:end])
        if relation.type == "date" or (key and not own(key) and not asked(key)):
            return start, end
    return None


def _opening(note: int, evidence: Sequence[Candidate], *, sentences: int = 1) -> Support:
    """Return the first sentences of a note."""
    first = split_sentences(evidence[note].text)[:sentences]
    return Support(note, first[0].start, first[-1].end) if first else Support(note, 0, 0)


def _found(text: str, support: Sequence[Support], reason: str, *, links: int) -> FoundAnswer:
    signs = stated_signs(links)
    return FoundAnswer(text, probability_of(signs), tuple(support), reason, signs)
