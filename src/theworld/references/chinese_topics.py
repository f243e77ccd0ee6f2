"""What Chinese turns are about: the topic of a question, found by its question words; no segmenter fits the time."""

from __future__ import annotations

import re
from functools import lru_cache

from theworld.references.config import any_of, pattern_of
from theworld.references.history import by_overlap, cut_at_word, named_words, topic_tokens
from theworld.text.folding import fold_in_place
from theworld.text.language import CJK_RANGES, has_ideographs

MEASURE = "(?:个|家|本|部|位|种|座|款|条|首|篇|所|只|台|类|项|场|次|件|门|片|间|张|层)"
LONGEST_TOPIC, LONGEST_LABEL = 24, 40
LONGEST_NAME = 14  # characters of an answer that is nothing but a name
PUNCTUATION = " \t\n，。！？；：、,.!?;:~～…\"'“”‘’（）()"
_NAMES_ITS_TOPIC = re.compile("[a-z0-9]|^(?:什么|啥)(?:是|叫)|^[^的]+是(?:什么|啥)(?:意思)?$|^[^的]{2,}在哪[里儿边]?$")
TIME = re.compile(
    r"(?:\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月(?:\d{1,2}[日号])?|(?:上|下|这|本)?(?:周|星期|礼拜)[一二三四五六日天]|大?[前后明今昨]天"
    r"|[去今明前后]年|(?:上|下|这|本)个?月|[春夏秋冬][天季]|早上|上午|中午|下午|晚上)"
)
ASKING = re.compile("怎么|怎样|如何|为[什何啥]|什么|啥|多少|多[高长大久远重快深宽]|[哪几吗谁]")
_BOUNDARY = re.compile(
    rf"{TIME.pattern}|的|是|还?有(?!限)|[还也]?(?:在|能|会|可以)|怎么|怎样|如何|为什么|为何|为啥|什么|啥|多少|多[高长大久远重快深宽]|哪|几|吗|呢|会不会|能不能|应该|适合|支持|和.{{1,12}}(?:哪|谁|的|比)|还是|属于|跟|谁|最|[，。,]"
)
_ASKS_FOR = re.compile(
    rf"谁|哪位|哪一?[个条座家款种部本所国只位]|叫什么|(?:什么|啥|多少|几[个种款项克毫]?)(?!时候|地方|年|月|天|人|钱)[{CJK_RANGES}a-z]{{2,8}}?"
    r"(?:[吗呢啊]|[\s，。？?,!！]|$)"
)
_WHO_IS = re.compile("[^的]+是(?:谁|哪位|什么人)")
_JOINED = re.compile(r"^(?P<first>.{1,16}?)(?:和|与|跟|还是|、|vs\.?|对比)(?P<second>.{1,16})$", re.IGNORECASE)
_SAYS = re.compile(rf"都[很是不有没]|很|非常|更|没有|由|.比|.是|\d\s*{MEASURE}")
_WHO = re.compile("谁|哪位")
_BESIDE_A_NAME = r"等人?|[由被是在的了和与为]|[^\w·•‧・]"
_BEGINS_WITH_ITS_TITLE = re.compile(r"《([^》]{2,12})》：\W*(?:\1\W+)?\1[，,（(]")
_OPENERS = rf"(?:«chinese.openers»|{TIME.pattern}的?)*(?:«chinese.introductions»(?:一下)?\s*)?"
_OPEN_BRACKET = re.compile("[（(][^（）()]*$")
_NAME = re.compile(rf"[{CJK_RANGES}\w·•.\- ]+")
NO_PERSON = r"\d|«chinese.things»$"


def says_little(text: str) -> bool:
    """Return whether a folded question names a word or so ("谁设计的？"): it asks about what the turn before did."""
    generic = any_of("topics", "cn")
    asking = generic.match(text)
    most = 3 if asking and asking.end() > 1 else 2
    return len(generic.sub("", text)) <= most and not _NAMES_ITS_TOPIC.search(text)


def bare(text: str) -> str:
    """Return a text without punctuation and space around it."""
    return text.strip(PUNCTUATION)


@lru_cache(maxsize=4096)
def topic_of(question: str, *, described: bool = False) -> str:
    """Return what a Chinese question is about, empty where it does not say: "姚明身高多少？" -> "姚明".

    Of "主题的预览图有哪些格式" that is 主题, with what it describes, which is no attribute, 主题的预览图.
    """
    text = bare(question[:200])
    folded = fold_in_place(text)
    opened = pattern_of(_OPENERS).match(folded)
    start = opened.end() if opened else 0
    cut = _BOUNDARY.search(folded, start + 1)
    while described and cut and cut[0] == "的" and not any_of("chinese", "attributes").match(folded, cut.end()):
        cut = _BOUNDARY.search(folded, cut.end() + 1)
    end = cut.start() if cut else len(text)
    if cut:
        for own, name in (("(?<=.)", "verbs"), ("(?<=..)", "attributes")):
            tail = f"[了过着]?(?:{own}{any_of('chinese', name).pattern})?[了过着]?$"
            end = start + len(re.sub(tail, "", folded[start:end]))
    topic = bare(_OPEN_BRACKET.sub("", text[start:end]))
    # One character that is left may be the half of a word (四会, 他汀).
    return topic if topic_tokens(topic) and 1 < len(topic) <= LONGEST_TOPIC else ""


def topic_in(text: str) -> str:
    """Return what a text in either language is about, in its own words."""
    return (topic_of(text, described=True) if has_ideographs(text) else "") or cut_at_word(
        (named_words(text) or text).strip(), LONGEST_LABEL
    )


def asks_for(question: str) -> bool:
    """Return whether a question asks for a name or a kind of thing ("谁发明了电话？", "有什么毒素？").

    The next turn may speak of that. No attribute is one ("代表作是什么？"), nor who someone is ("鲁迅是谁？").
    """
    folded = bare(fold_in_place(question))
    asked = any_of("chinese", "attributes").sub("", folded)
    return _ASKS_FOR.search(asked) is not None and not _WHO_IS.fullmatch(folded)


def name_in_answer(answer: str) -> str:
    """Return the name that is all an answer says in its first line ("是贝尔。" -> "贝尔"); empty for other answers."""
    first = bare(answer.strip().partition("\n")[0])
    name = re.sub("^(?:是|在|位于|应该是|答案是)", "", first)
    folded = fold_in_place(name)
    says = _SAYS.search(folded) or any_of("chinese", "verbs").search(folded)
    return name if len(name) <= LONGEST_NAME and _NAME.fullmatch(name) and not says and topic_tokens(name) else ""


def name_given(question: str, answer: str, *, person: bool) -> str:
    """Return the name that is all an answer says; of a person asked for, the first one in the sentence that answers.

    That is the first run of characters that neither the question has nor a verb, a particle or a time is. Unless that
    sentence is all, or says the predicate again, it has to be there twice; else a passage is about its title.
    """
    asked = fold_in_place(question)
    name = name_in_answer(answer)
    who = _WHO.search(asked)
    if name or not person or who is None:
        return name
    sentence = next(iter(by_overlap(question, answer)), "")
    folded = fold_in_place(sentence)
    said = [(start, start + 2) for start in range(len(folded) - 1) if folded[start : start + 2] in asked]
    no_name = f"{TIME.pattern}|{any_of('chinese', 'verbs').pattern}|{_BESIDE_A_NAME}"
    said += [match.span() for match in re.finditer(no_name, folded)]
    known = {place for span in said for place in range(*span)}
    runs = "".join(" " if place in known else character for place, character in enumerate(sentence)).split()
    names = (name_in_answer(run) for run in runs if len(run) > 1 and not pattern_of(NO_PERSON).search(run))
    name = next(filter(None, names), "")
    predicate = bare(asked[who.end() :]).removesuffix("的")
    again = len(predicate) > 1 and predicate in folded
    if again or sentence.strip() == answer.strip() or answer.count(name) > 1:
        return name
    about = _BEGINS_WITH_ITS_TITLE.match(answer)
    return about[1] if about and about[1] not in asked else ""


def joined_names(topic: str) -> tuple[str, ...]:
    """Return both names of a topic that puts two side by side ("李白和杜甫"), empty where it does not."""
    match = _JOINED.match(fold_in_place(topic))
    return tuple(bare(topic[slice(*match.span(name))]) for name in ("first", "second")) if match else ()
