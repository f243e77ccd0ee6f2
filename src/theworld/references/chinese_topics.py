"""What Chinese turns are about: the topic of a question, found by its question words; no segmenter fits the time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from theworld.references.context import is_small_talk
from theworld.references.history import text_of, topic_of_text, topic_tokens
from theworld.references.phrases import has_ideographs, load_table
from theworld.state import Message
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES

LOOK_BACK = 24
"""Messages that are looked at, the last ones."""
LONGEST_TOPIC = 24
LONGEST_ANSWER = 14
"""Characters of an answer that is nothing but a name."""

PUNCTUATION = " \t\n，。！？；：、,.!?;:~～…\"'“”‘’（）()"
_TITLE = re.compile(r"[《「『][^《》「」『』]{1,40}[》」』]")
_LATIN = re.compile(r"[a-z][\w.+#/-]*(?:\s+[\w.+#-]+)*", re.IGNORECASE)
TIME = re.compile(
    r"(?:\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月(?:\d{1,2}[日号])?|(?:上|下|这|本)?(?:周|星期|礼拜)[一二三四五六日天]|大?[前后明今昨]天"
    r"|[去今明前后]年|(?:上|下|这|本)个?月|[春夏秋冬][天季]|早上|上午|中午|下午|晚上)"
)
_BOUNDARY = re.compile(
    r"的|是|有(?!限)|在|怎么|怎样|如何|为什么|为何|为啥|什么|啥|多少|多[高长大久远重快深宽]|哪|几|吗|呢|会不会|能不能|可以|会|能|应该|适合|支持|和.{1,12}(?:哪|谁|的|比)|还是|属于|跟|谁|最"
)
_MEASURE = re.compile(
    r"^(?:一下|下|几|一|两|三)?(?:个|本|部|家|款|种|位|首|篇|座|条|只|台(?![北湾中南东州])|套|些|点|场|道|间|所|名|辆|张|份)(?=.{2})"
)
_ASKS_NAME = re.compile(r"谁|哪位|哪个|哪[条座家款种部本所国只]|哪一[个条座家款种部本所位]|叫什么")
_ASKED_NOUN = re.compile(
    rf"(?:什么|啥|哪一?[个些种款项家座位类]|多少|几[个种款项克毫]?)(?P<noun>(?!时候|地方|年|月|天|人|钱)[{CJK_RANGES}a-z]{{2,8}}?)"
    r"(?:[吗呢啊]|[\s，。？?,!！]|$)"
)
_WHO_IS = re.compile(r"[^的]+是(?:谁|哪位|什么人)")
_JOINED = re.compile(r"^(?P<first>.{1,16}?)(?:和|与|跟|还是|、|vs\.?|对比)(?P<second>.{1,16})$", re.IGNORECASE)
_PREDICATE = re.compile("都[很是不有没]|很|非常|更|没有|.由|.比|.是")
_NAME = re.compile(rf"[{CJK_RANGES}\w·•.\- ]+")


@lru_cache(maxsize=16)
def words_of(name: str) -> tuple[str, ...]:
    """Return a word list of `data/chinese.yaml`, the longest first."""
    return tuple(sorted(load_table("chinese")[name], key=len, reverse=True))


@lru_cache(maxsize=16)
def any_of(name: str) -> re.Pattern[str]:
    """Return a pattern of any word of a list, the longest first."""
    return re.compile("|".join(map(re.escape, words_of(name))))


def bare(text: str) -> str:
    """Return a text without punctuation and space around it."""
    return text.strip(PUNCTUATION)


def consists_of(text: str, *names: str) -> bool:
    """Return whether a folded text is made of nothing but words of these lists."""
    pattern = "|".join(any_of(name).pattern for name in names)
    return bool(re.fullmatch(rf"(?:{pattern}|[{re.escape(PUNCTUATION)}])+", text))


def _strip_words(text: str, start: int, name: str) -> int:
    folded = fold_in_place(text)
    moved = True
    while moved:
        moved = False
        for word in words_of(name):
            if folded.startswith(word, start) and len(text) - start > len(word):
                start, moved = start + len(word), True
                break
    return start


@lru_cache(maxsize=4096)
def topic_of(question: str) -> str:
    """Return what a Chinese question is about, empty where it does not say: "姚明身高多少？" -> "姚明"."""
    text = bare(question[:200])
    title = _TITLE.search(text)
    if title:
        return title.group()
    start = _strip_words(text, 0, "openers")
    text = _without_time(text[start:])
    folded = fold_in_place(text)
    for word in words_of("introductions"):
        if folded.startswith(word):
            return _object_of(text[len(word) :])
    boundary = _BOUNDARY.search(folded, 1)
    topic = _trim(text[: boundary.start()] if boundary else text, asked=boundary is not None)
    if not topic or len(topic) > LONGEST_TOPIC:
        latin = _LATIN.search(text)
        return latin.group().strip() if latin else ""
    return topic


def topic_in(text: str) -> str:
    """Return what a text in either language is about, in its own words."""
    return (topic_of(text) if has_ideographs(text) else "") or topic_of_text(text)


def _without_time(text: str) -> str:
    match = TIME.match(fold_in_place(text))
    return text[match.end() :].lstrip("的 ") if match and match.end() < len(text) else text


def _object_of(text: str) -> str:
    text = text.lstrip("一下 ") if text.startswith("一下") else text
    measure = _MEASURE.match(fold_in_place(text))
    text = bare(text[measure.end() :] if measure else text)
    folded = fold_in_place(text)
    latin = _LATIN.search(text)
    cut = re.search(r"的|吗|呢|[，。,]", folded[1:])
    topic = bare(text[: cut.start() + 1] if cut else text)
    if latin and (latin.start() == 0 or len(topic) > 8):
        return latin.group().strip()
    return topic if len(topic) <= LONGEST_TOPIC and topic_tokens(topic) else ""


def _trim(topic: str, *, asked: bool) -> str:
    """Cut verbs, particles and attributes off the end of what stands before the question word."""
    topic = re.sub(r"[，,、\s]+$", "", topic)
    for pattern in ("[了过着]$", f"(?:{any_of('verbs').pattern})$", f"(?<=..)(?:{any_of('attributes').pattern})$"):
        folded = fold_in_place(topic)
        match = re.search(pattern, folded)
        if asked and match and match.start() >= 1:
            topic = topic[: match.start()]
    if "，" in topic or "," in topic:
        topic = re.split("[，,]", topic)[-1]
    return bare(topic) if topic_tokens(topic) else ""


def asks_name(question: str) -> bool:
    """Return whether a question asks for a name that it does not give ("谁发明了电话？", not "鲁迅是谁？")."""
    folded = fold_in_place(question)
    return _ASKS_NAME.search(folded) is not None and not _WHO_IS.fullmatch(bare(folded))


def asked_noun(question: str) -> str:
    """Return the noun that a question asks for one of (毒素 of "有什么毒素？"); empty for an attribute or none.

    What the next turn speaks of may be that as well as the question's topic.
    """
    match = _ASKED_NOUN.search(fold_in_place(question))
    return "" if match is None or any_of("attributes").fullmatch(match["noun"]) else match["noun"]


def name_in_answer(question: str, answer: str, *, beside: bool = True) -> str:
    """Return the name an answer gives in its first line, where the question asks for one.

    It is all that the line says or, with `beside`, what it says before or beside the question's own words: "郭守敬" of
    "《授时历》由郭守敬等人编成" after "《授时历》是谁编的？".
    """
    answer = bare(answer.strip().partition("\n")[0])
    if not asks_name(question):
        return ""
    introduced = re.match("是|在|位于|应该是|答案是", fold_in_place(answer))
    name = answer[introduced.end() :] if introduced else answer
    if not _is_name(name) and beside:
        name = _beside_the_question(question, answer)
    return name if _is_name(name) and topic_tokens(name) else ""


def _is_name(name: str) -> bool:
    fine = 0 < len(name) <= LONGEST_ANSWER and _NAME.fullmatch(name) and not _PREDICATE.search(fold_in_place(name))
    return bool(fine) and not any_of("verbs").search(fold_in_place(name))


def _beside_the_question(question: str, answer: str) -> str:
    """Return the first words of an answer that neither the question has nor a verb or particle is."""
    asked, folded = fold_in_place(question), fold_in_place(answer)
    asking = _ASKS_NAME.search(asked)
    predicate = asked[asking.end() :] if asking else ""
    own = [character not in predicate for character in folded]
    for start in range(len(folded) - 1):
        if folded[start : start + 2] in asked:
            own[start] = own[start + 1] = False
    for match in re.finditer(rf"{any_of('verbs').pattern}|等人?|[由被是在的了和与为]|[^\w·•‧・]", folded):
        own[match.start() : match.end()] = [False] * len(match.group())
    runs = "".join(character if kept else " " for character, kept in zip(answer, own, strict=True)).split()
    return next((run for run in runs if len(run) > 1), "")


def joined_names(topic: str) -> tuple[str, ...]:
    """Return both names of a topic that puts two side by side ("李白和杜甫"), empty where it does not."""
    match = _JOINED.match(fold_in_place(topic))
    if not match:
        return ()
    return bare(topic[slice(*match.span("first"))]), bare(topic[slice(*match.span("second"))])


def user_turns(history: Sequence[Message]) -> Iterable[tuple[int, str, str]]:
    """Yield (index, question, answer) of the last turns, the latest first."""
    answer = ""
    for index in range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1):
        text = text_of(history[index])
        if history[index].role == "assistant" and text.strip():
            answer = text
        elif history[index].role == "user":
            if text.strip() and not is_small_talk(text):
                yield index, text, answer
            answer = ""
