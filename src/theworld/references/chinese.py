"""Chinese follow-ups: pronouns, 这/那 with a noun, "X呢？", and what has no topic of its own.

What depends on the turns before and has no sure antecedent keeps its words and gets the question before in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from theworld.references.chinese_topics import (
    TIME,
    any_of,
    asked_noun,
    asks_name,
    bare,
    consists_of,
    joined_names,
    name_in_answer,
    topic_of,
    user_turns,
    words_of,
)
from theworld.references.context import (
    Antecedent,
    Earlier,
    Edit,
    Standalone,
    apply_edits,
    chosen_item,
    dependent,
    is_small_talk,
    last_answer,
    put_item,
    question_before,
    said_in,
    with_context,
)
from theworld.references.detection import Kind
from theworld.references.frames import refilled
from theworld.references.history import text_of, topic_tokens
from theworld.references.phrases import Span, has_ideographs
from theworld.state import Message
from theworld.text.folding import fold_in_place

LONGEST_ANSWER = 60
"""Characters of an answer that may hold the antecedent, added with its question."""
LONGEST_FRAGMENT = 12
_AMOUNT = re.compile(
    "(?:那|还|大概|大约|一般|一共|总共|最多|最少|至少)*(?:需要|要|得|应该|该|能|可以|够)[^，。的]{0,2}(?:多少|几|多[久长大高])[^，。的]{0,4}"
)
"""Asks for an amount of nothing named: 需要多少盐."""
MOST_UNLIKE = 3
"""Characters by which fillers of one place may differ in length."""
LONGEST_VERB = 2
"""Characters of a verb that may stand before what it points at."""
MOST_OPTIONS = 5
_GOVERNED = re.compile(
    r"(?:怎么|怎样|如何|为什么|为何|什么时候|何时|能不能|可以|应该|需要|想|要|把|将|给|对|让|用|从|跟|在)[^，。,的是]{0,4}$"
)
_ABOUT = re.compile(r"^(?:那么|那|还有|至于|换成|如果是)?(?P<value>[^，。！？,!?]{1,14}?)呢$")
_VAGUE = re.compile(r"^(?:那|这)(?:一?个)?(?:呢|怎么样|如何|好吗|行吗|可以吗)?$")
_POINTING = re.compile("(?<!在)[这那](?:一?[个种类步款条项件样点次些]|时|之后|以后)(?!们|么)")
_PLACE = re.compile("[那这][里儿边]|当地")
_CORRECTED = re.compile("^(?:不是|等等|等一下|说错|搞错|抱歉|不好意思|哦不|啊不|不对)")
_CLAUSES = re.compile("[，。；,;].*[^，。；,;？?]")
"""A question of several clauses: which of them names what it is about is not sure."""
_SEQUEL = re.compile("接着|然后|接下来|下一步")
_ADVERBS = re.compile("^(?:那|以后|之后|后来|现在|如果|要是|万一|假如|平时|最后)+")
_PREPOSITIONS = ("对", "把", "用", "在", "从", "跟", "给", "按", "想", "要")
_SINGULAR = re.compile(r"^(?:它(?!们)|他(?!们)|她(?!们)|那个|这个|那款|这款)")


@lru_cache(maxsize=1)
def _pronoun() -> re.Pattern[str]:
    kinds = any_of("kinds").pattern
    measure = "(?:一)?(?:个|家|本|部|位|种|座|款|条|首|篇|所|只|台|类|项|场|次|件|门|片|间|张)"
    return re.compile(
        rf"(?P<noun>(?:这|那)(?:{measure}|些)(?:{kinds})(?!们|文|类|民|工|口|员)|该(?:{kinds}))"
        r"|(?P<subject>^(?:那么?)?[那这]一?个(?=是|有|在|能|会|可以|要|多[高长大久远重快深宽少]|怎么|什么时候|何时|为什么|的))"
        r"|(?P<word>(?<!其)(?:他们|她们|它们|(?<!吉)(?<!其)(?<!排)他(?!人|乡|国)|她|它)|(?<![尤与极])其(?=[^他它实中余次间])|那里|那儿|那边|这里|这儿|当地)"
    )


def rewrite(query: str, history: Sequence[Message], antecedent: str | None, earlier: Earlier) -> Standalone:
    """Return the query with its antecedents inserted; untouched where it depends on nothing."""
    if is_small_talk(query):
        return Standalone()
    folded = fold_in_place(query)
    text = bare(folded)
    if not text:
        return Standalone()
    if _VAGUE.match(text):
        return _vague(query, history, antecedent, earlier)
    if item := _item(query, history, earlier):
        return item
    for rule in (_about, _continued, _fragment):
        if found := rule(query, text, history, earlier):
            return found
    return _pronouns(query, folded, history, antecedent, earlier) or _pointing(query, folded, history, earlier)


def _item(query: str, history: Sequence[Message], earlier: Earlier) -> Standalone | None:
    """ "第二种适合谁？": the item of the list that an answer offered."""
    chosen = chosen_item(query, history)
    if chosen is None:
        return None
    before = question_before(history, earlier)
    put = put_item(query, chosen, before.text if before else "")
    references = (dependent(chosen.span, "pronoun"),)
    return Standalone(put, references, (chosen.text,), (chosen.source,), (), "a listed item")


def _in_context(  # noqa: PLR0917 - called with all of them, side by side
    query: str, span: Span, kind: Kind, history: Sequence[Message], earlier: Earlier, answered: int = 0
) -> Standalone:
    """Return the query with the question before it, and as many characters of its answer."""
    before = question_before(history, earlier)
    if before is None:
        return Standalone()
    reason, references = "the question before", (dependent(span, kind),)
    index = last_answer(history) if answered else None
    said = "" if index is None else said_in(text_of(history[index]), answered) + "；"
    sources = (before.source,) if index is None else (before.source, index)
    return Standalone(
        with_context(query, said + before.text), references, (before.text,), sources, (), reason, sure=False
    )


def _pointing(query: str, folded: str, history: Sequence[Message], earlier: Earlier) -> Standalone:
    """Read 这种, 那一步, a correction or a sequel (接着) that names nothing it could refer to."""
    match = _POINTING.search(folded)
    if match and not _bound(folded[: match.start()], LONGEST_VERB + 1):
        span = Span(match.start(), match.end(), query[match.start() : match.end()])
        return _in_context(query, span, "pronoun", history, earlier, LONGEST_ANSWER)
    match = _CORRECTED.match(folded) or _SEQUEL.search(folded)
    if match is None:
        return Standalone()
    span = Span(match.start(), match.end(), query[match.start() : match.end()])
    return _in_context(query, span, "continuation", history, earlier)


def _whole(query: str, text: str, standalone: str, topic: Antecedent, reason: str) -> Standalone:
    start = max(0, fold_in_place(query).find(text))
    span = Span(start, start + len(text), query[start : start + len(text)])
    return Standalone(standalone, (dependent(span, "continuation"),), (topic.text,), (topic.source,), (), reason)


def _is_follow_up(text: str) -> bool:
    folded = bare(fold_in_place(text))
    return bool(_ABOUT.match(folded) or _VAGUE.match(folded) or _is_continuation(folded))


def last_full_question(history: Sequence[Message], earlier: Earlier) -> Antecedent | None:
    """Return the last question that is no follow-up, itself made to stand alone."""
    found = question_before(history, earlier, _is_follow_up)
    return found._replace(text=found.text.strip(" ？?。！!")) if found else None


def _about(query: str, text: str, history: Sequence[Message], earlier: Earlier) -> Standalone | None:
    """ "X呢？": the question before with X in the place of its like, or X of its topic."""
    match = _ABOUT.match(text)
    base = last_full_question(history, earlier) if match else None
    if (
        match is None
        or base is None
        or _is_continuation(text)
        or (not topic_tokens(match["value"]) and not TIME.search(text))
    ):
        return None
    start = fold_in_place(query).find(text) + match.start("value")
    value = query[start : start + len(match["value"])]
    if _pronoun().search(fold_in_place(value)):
        return None
    return _whole(query, text, _filled(value, base.text), base, "the question before, with one thing changed")


def _filled(value: str, question: str) -> str:
    topic, folded, asked = topic_of(question), fold_in_place(value), fold_in_place(question)
    time = TIME.search(asked)
    if TIME.fullmatch(folded):
        return question[: time.start()] + value + question[time.end() :] if time else f"{value}，{question}"
    if not topic or any_of("attributes").fullmatch(folded):
        return f"{topic or question}的{value}"
    if text := refilled(value, question):
        return text
    alike = has_ideographs(topic) == has_ideographs(value) and abs(len(topic) - len(value)) <= MOST_UNLIKE
    at = question.find(topic) if alike and not asked_noun(question) else -1
    return question[:at] + value + question[at + len(topic) :] if at >= 0 else f"{value}（{question}）"


def _is_continuation(folded: str) -> bool:
    core = folded.rstrip("呢吗吧啊呀么嘛?？")
    return folded in words_of("continuations") or core in words_of("continuations")


def _continued(query: str, text: str, history: Sequence[Message], earlier: Earlier) -> Standalone | None:
    """ "还有呢？", "详细一点": the question before, continued."""
    heads = words_of("continuing_heads")
    if not (_is_continuation(text) or (any(text.startswith(h) for h in heads) and len(text) <= LONGEST_FRAGMENT)):
        return None
    base = last_full_question(history, earlier)
    return (
        _whole(query, text, f"{base.text}，{query.strip()}", base, "the question before, continued") if base else None
    )


def _fragment(query: str, text: str, history: Sequence[Message], earlier: Earlier) -> Standalone | None:
    """ "怎么走？", "需要多久？": a question that names nothing."""
    if len(text) > LONGEST_FRAGMENT or _pronoun().search(text):
        return None
    if _AMOUNT.fullmatch(fold_in_place(text)):
        return _in_context(query, Span(0, len(query), query.strip()), "continuation", history, earlier)
    attribute = any_of("attributes").match(text)
    if not consists_of(text[attribute.end() :] if attribute else text, "empty_words"):
        return None
    topic = _recent_topic(history, earlier)
    return _whole(query, text, f"{topic.text}{query.strip()}", topic, "the topic of the last turns") if topic else None


def _recent_topic(history: Sequence[Message], earlier: Earlier) -> Antecedent | None:
    topics = _topics(history, earlier)
    return topics[0] if topics else None


def _topics(history: Sequence[Message], earlier: Earlier) -> list[Antecedent]:
    """Return the distinct topics of the last turns, the latest first; a labelled turn is about its label."""
    found: dict[str, Antecedent] = {}
    for index, question, _ in user_turns(history):
        label = history[index].topic
        text = label or _resolved_topic(question, history[:index], earlier)
        if text:
            found.setdefault(fold_in_place(text), Antecedent(text, index))
    return list(found.values())


def _resolved_topic(question: str, before: Sequence[Message], earlier: Earlier) -> str:
    if not has_ideographs(question):
        return ""
    if _is_follow_up(question) or _pronoun().search(fold_in_place(question)):
        alone = earlier.alone(question, before)
        return topic_of(alone) if alone != question else ""
    return topic_of(question)


def _antecedent(word: str, history: Sequence[Message], earlier: Earlier) -> Antecedent | None:
    """Return what a pronoun stands for: the name the last answer gives, else the topic of the last turns."""
    for index, question, answer in user_turns(history):
        who = word.startswith(("它", "其")) and "谁" in question
        named = "" if who else name_in_answer(question, answer, beside=not word.startswith("它"))
        compared = bare(re.split("[谁哪]", fold_in_place(question))[0])
        chosen = [name for name in joined_names(compared) if name in fold_in_place(answer)]
        named = chosen[0] if len(chosen) == 1 and asks_name(question) else named
        if not named and joined_names(compared) and asks_name(question):
            return Antecedent(question[: len(compared)], index)
        if not named and not who and not _PLACE.fullmatch(word) and (asks_name(question) or asked_noun(question)):
            return None
        if named and not (word.endswith("们") and not joined_names(named)):
            at = next((i for i in range(index + 1, len(history)) if history[i].role == "assistant"), index)
            return Antecedent(named, at)
        text = history[index].topic or _resolved_topic(question, history[:index], earlier)
        if text:
            unsure = _CLAUSES.search(question) or text.startswith(_PREPOSITIONS)
            return Antecedent(text, index) if history[index].topic or not unsure else None
    return None


def _pronouns(
    query: str, folded: str, history: Sequence[Message], forced: str | None, earlier: Earlier
) -> Standalone | None:
    match = next((m for m in _pronoun().finditer(folded) if not _bound(folded[: m.start()])), None)
    if match is None:
        return None
    found = _antecedent(match.group(), history, earlier)
    options = joined_names(found.text) if found and _SINGULAR.match(match.group()) else ()
    span = Span(match.start(), match.end(), query[match.start() : match.end()])
    if forced:
        found = Antecedent(forced, found.source if found else -1)
    elif options and found:
        found = Antecedent(options[0], found.source)
    if found is None:
        return _in_context(query, span, "pronoun", history, earlier, LONGEST_ANSWER)
    replacement = found.text + ("的" if match.group() == "其" else "")
    return Standalone(
        query=apply_edits(query, [Edit(match.start(), match.end(), replacement)]),
        references=(dependent(span, "pronoun"),),
        antecedents=(found.text,),
        sources=(found.source,) if found.source >= 0 else (),
        options=() if forced else options,
        reason="the antecedent in the last turns",
    )


def _bound(before: str, least: int = 2) -> bool:
    """Whether a name of at least so many characters stands before the pronoun in the query: its antecedent is there.

    A verb between an adverb (怎么, 想, 把) and the pronoun is none, nor is what describes the pronoun (剩下的这种).
    """
    before = _ADVERBS.sub("", _GOVERNED.sub("", before))
    if before.endswith("的") and least > 2:
        return False
    rest = any_of("openers").sub("", before)
    return bool(topic_tokens(any_of("verbs").sub("", rest))) and len(bare(rest)) >= least


def _vague(query: str, history: Sequence[Message], forced: str | None, earlier: Earlier) -> Standalone:
    """ "那个呢？": any topic of the last turns may be meant."""
    topics = _topics(history, earlier)
    if not topics:
        return Standalone()
    options = joined_names(topics[0].text) or tuple(topic.text for topic in topics[:MOST_OPTIONS])
    chosen = forced or options[0]
    text = bare(query)
    start = query.find(text)
    pointing = re.match("[那这](?:一?个)?", fold_in_place(text))
    rest = text[pointing.end() :] if pointing else text
    return Standalone(
        query=f"{chosen}{rest or '呢'}" + query[start + len(text) :],
        references=(dependent(Span(start, start + len(text), text), "pronoun"),),
        antecedents=(chosen,),
        sources=tuple(sorted({topic.source for topic in topics if forced is None or topic.text == forced}))
        or (topics[0].source,),
        options=options if len(options) > 1 and not forced else (),
        reason="the topics of the last turns",
    )
