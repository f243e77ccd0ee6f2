"""What texts are about: words that name a topic, names by their capitals, of Chinese questions the topic.

That is found by its question words; no segmenter fits the time. And whether it is the conversation itself.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from theworld.references.config import ASKING, RANKS, any_of, load_table, pattern_of
from theworld.text import split_sentences, tokens
from theworld.text.tokens import CJK_RANGES, fold_in_place, function_words, has_ideographs, token_set

CLEAR_OVERLAP = 0.3  # share of a topic's tokens that a turn must hold to count as being about it
LONGEST_TEXT = 20_000  # characters of a message that are compared with a topic
LONGEST_WITH_NAMES = 4000  # characters of a text in which names are looked for
# A capitalised word; a full stop at its end belongs to initials and titles only: "John F.", "St.", "Prof.".
_CAPITAL = (
    r"(?:(?:[A-Z][a-z]?|Mrs|Prof|Gen|Col|Rev|Gov|Sen|Rep)\.(?![\w.])|[A-Z](?:[\w&-]|\.(?=\w))*(?:['’](?!s\b)\w+)?)"
)
_GAP = r"[^\S\n]+"  # a name ends with its line: what is shown one below the other is apart
_NAME = re.compile(
    rf"(?<![\w'’]){_CAPITAL}(?:(?:{_GAP}(?:of|de|van|von|der|la|le|du|del|the|for|&))*{_GAP}(?:{_CAPITAL}|\d+\b))*"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\"“(#]\s*)$")  # a heading is capitalised as a sentence is
_TABLE_HEAD = re.compile(r"(?m)^(?=[^\n]*\|)[^\n]*\n(?=[^\n]*--)[ |:-]+$\n?")  # what columns are called names no one
_SPEAKER = r"^[^\w\n]*(?:[\d./:-]*\d[^\w\n]+){1,3}(?:[\w-]+ ){0,2}[\w-]+(?=:\s)"  # behind a time, in a chat
_NO_NAMES = re.compile(  # nor labels
    rf"{_TABLE_HEAD.pattern}|{_SPEAKER}|^[^\w\n]*(?:[\w-]+ ){{0,3}}[\w-]+(?=\**:[\s*])(?!.*\?)"
)
_HEADING = re.compile(r"\s*(?P<first>[\"'“‘]?[A-Z0-9]\S*)(?:\s+\S+){0,13}(?<![?!.])(?:\.\.\.)?\s*")
LONGEST_TOPIC = 40
PUNCTUATION = " \t\n，。！？；：、,.!?;:~～…\"'“”‘’（）()"
TIME = re.compile(
    r"(?:\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|(?:\d{1,2}|十?[一二三四五六七八九]|十)月(?:\d{1,2}[日号])?份?|(?:上|下|这|本)?(?:周|星期|礼拜)[一二三四五六日天]|大?[前后明今昨]天"
    r"|[去今明前后]年|(?:上|下|这|本)(?:个?(?:月|星期|礼拜|季度|学期)|周末?)|[春夏秋冬][天季]|早上|上午|中午|下午|晚上)"
)
_ASKS = re.compile(rf"{ASKING.pattern}|[呢吧]|会不会|能不能|还是|[，。,?？]")
_OPENERS = rf"(?:«chinese.openers»|{TIME.pattern}的?)*(?:«chinese.introductions»(?:一下)?\s*)?"
_LOWER = re.compile(r"(?<![\w'’@./-])[a-z]\w*(?![\w@]|[./-]\w)")  # no part of an address
_ARTICLE = re.compile(r"(?i)\b(?:an?|the|this|my|your|our)\s+$")
_NOUN = r"(?:^|\b(?:an?|the|this|my|your|our|of|about|for)\s+|\bdo(?:es)?\s+(?=\w+s\b))(?P<noun>«english.nouns»)"
_JOINED = re.compile(r"^(?P<first>.{1,16}?)(?:和|与|跟|还是|、|vs\.?|对比)(?P<second>[^的]{1,16})$", re.IGNORECASE)
_SIDE = r"((?:[\w.&'’/+-]+ ){0,2}[\w.&'’/+-]*\w)"
_PAIR = re.compile(
    rf"(?i)\b(?:between|compare)\s+(?:the\s+)?{_SIDE}\s+(?:and|with|to)\s+(?:the\s+)?{_SIDE}\W*$"
    r"|([\w.&'’/+-]*\w)\s+(?:or|vs\.?|versus)\s+([\w.&'’/+-]*\w)\W*$"
)  # At the end of a question: "the difference between A and B", "A or B"
_WHOSE = re.compile("[我你您他她它咱]们?$")
_OPEN_BRACKET = re.compile("[（(][^（）()]*$")


@cache
def _generic_english() -> frozenset[str]:
    return function_words() | {token for word in load_table("topics")["en"] for token in tokens(word)}


@lru_cache(maxsize=4096)
def topic_tokens(phrase: str) -> frozenset[str]:
    """Return the index tokens of a phrase that name a topic; empty where none does."""
    stripped = any_of("topics", "cn").sub(" ", fold_in_place(phrase))
    return frozenset(tokens(stripped)) - _generic_english()


def overlap(wanted: frozenset[str], text: str) -> float:
    """Return the share of the wanted tokens that the text holds, 0.0 where nothing is wanted."""
    if not wanted:
        return 0.0
    held = wanted & token_set(text[:LONGEST_TEXT])
    single = (token for token in wanted - held if len(token) == 1 and has_ideographs(token))
    return (len(held) + sum(token in fold_in_place(text) for token in single)) / len(wanted)


def answering(question: str, answer: str) -> str:
    """Return the sentence of an answer, no heading and no question, that holds most words of one, names left out."""
    wanted = topic_tokens(question) - frozenset(token for name in names_in(question) for token in tokens(name.text))
    said = (sentence.text for sentence in split_sentences(_TABLE_HEAD.sub("", answer[:LONGEST_TEXT])))
    stated = (one for one in said if not one.startswith("#") and not one.endswith(("?", "？")))
    return max(stated, key=lambda one: overlap(wanted, one), default="")


def cut_at_word(text: str, limit: int) -> str:
    """Return the beginning of a text, at most `limit` characters, up to the end of a word where it has words."""
    cut = text[:limit]
    return text if cut == text else cut.rpartition(" ")[0] or cut


def named_words(text: str) -> str:
    """Return the words of an English text that name something; a Chinese text as it is.

    Of words that say little those do that stand where a noun does: "place a hold", "how do holds work".
    """
    if has_ideographs(text):
        return text
    nouns = {match.start("noun") for match in pattern_of(_NOUN).finditer(fold_in_place(text))}
    named = (word for word in re.finditer(r"\S+", text) if topic_tokens(word[0]) or word.start() in nouns)
    return " ".join(word[0] for word in named).rstrip(",;:")


class Name(NamedTuple):
    """A name in a text."""

    text: str
    start: int
    opening: bool  # a single word that may be capitalised only because it opens a sentence


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_table("english")[name])


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[Name, ...]:
    """Return the names of a text from left to right; one that merely opens a sentence is marked as `opening`."""
    text, found = _NO_NAMES.sub(lambda head: " " * len(head[0]), text[:LONGEST_WITH_NAMES]), []
    for match in _NAME.finditer(text):
        words, start = match.group().split(" "), match.start()
        opening = bool(_SENTENCE_START.search(text[max(0, start - 3) : start]))
        while words and _names_nothing(words[0]):
            start, opening = start + len(words.pop(0)) + 1, False
        while words and _names_nothing(words[-1]):
            del words[-1]
        name = " ".join(words).rstrip(".,-&'’")
        if len(name) > 1 and not name.isdecimal():
            found.append(Name(name, start, opening and len(words) == 1))
    return tuple(found)


def sure_names(text: str) -> list[Name]:
    """Return the names of a text but for those that may be capitalised only as the first word of a sentence."""
    return [name for name in names_in(text) if not name.opening]


@lru_cache(maxsize=4096)
def _cased(text: str) -> tuple[frozenset[str], dict[str, str]]:
    """Return a text's words in lower case, and those of names, alone only within a sentence, long ones only a person's.

    A heading, an item and a cell begin with a capital too.
    """
    found: dict[str, str] = {}
    for name in sure_names(text):
        words = re.findall(r"\b[A-Z]\w*", name.text)
        person, within = looks_like_person(" ".join(words)), re.search(r"[\w,] $", text[: name.start][-2:])
        if person if len(words) > 1 else within:
            found |= {word.lower(): word for word in words if not _names_nothing(word)}
    return frozenset(_LOWER.findall(text)) | _words("things"), found


@lru_cache(maxsize=4096)
def with_capitals(question: str, answers: tuple[str, ...]) -> str:
    """Return an English question with its names written as in the answers: "who is priya" -> "who is Priya".

    What an answer writes in lower case too, or what an article stands before, is a word.
    """
    for match in reversed([] if has_ideographs(question) else list(_LOWER.finditer(question))):
        before, word, after = question[: match.start()], match[0], question[match.end() :]
        known = [_cased(answer) for answer in answers if word in answer.lower()]
        name = next((names[word] for _, names in known if word in names), word)
        if not _ARTICLE.search(before) and not any(word in words for words, _ in known):
            question = before + name + after
    return question


def _names_nothing(word: str) -> bool:
    bare = word.lower().strip(".,").replace("’", "'")
    forms = {bare, bare.split("'")[0], bare.removesuffix("s")}  # open on Saturdays
    return not (forms.isdisjoint(_words("not_names")) and forms.isdisjoint(function_words()))


@lru_cache(maxsize=8192)
def looks_like_person(name: str) -> bool:
    """Return whether a name has the shape of a person's: up to five capitalised words, none of a thing."""
    words = name.replace(".", " ").split()
    if not 1 <= len(words) <= 5 or any(c.isdigit() for c in name) or name.isupper() or not words[-1][:1].isupper():
        return False
    return "(" not in name and _words("things").isdisjoint(word.lower().strip("'\"),") for word in words)


@lru_cache(maxsize=4096)
def is_heading(text: str) -> bool:
    """Return whether a message merely names a topic, as a title does ("Ada Lovelace")."""
    title = _HEADING.fullmatch(text)
    return title is not None and title["first"].lower() not in _words("openers")


def bare(text: str) -> str:
    """Return a text without punctuation and space around it."""
    return text.strip(PUNCTUATION)


@lru_cache(maxsize=4096)
def topic_of(question: str) -> str:
    """Return what a Chinese question is about, empty where it does not say: "姚明身高多少？" -> "姚明".

    That is all that is said before something is asked: of "主题的预览图有哪些格式" 主题的预览图.
    """
    text = bare(question[:200])
    folded = fold_in_place(text)
    opened = pattern_of(_OPENERS).match(folded)
    start = opened.end() if opened else 0
    cut = _ASKS.search(folded, start + 1)
    end = cut.start() if cut else len(text)
    if cut:
        for own, name in (("(?<=.)", "verbs"), ("(?<=..)", "attributes")):
            tail = f"[了过着]?(?:{own}{any_of('chinese', name).pattern})?[了过着]?$"
            end = start + len(re.sub(tail, "", folded[start:end]))
    topic = re.sub("(?:还?有|是)$", "", bare(_OPEN_BRACKET.sub("", text[start:end])))
    # One character that is left may be the half of a word (四会, 他汀); 看我 of 怎么看我的进程 is whose it is.
    whose = _WHOSE.search(fold_in_place(topic)) is not None
    return topic if topic_tokens(topic) and 1 < len(topic) <= LONGEST_TOPIC and not whose else ""


def joined_names(topic: str) -> tuple[str, ...]:
    """Return both names of a Chinese topic that puts two side by side ("李白和杜甫"), empty where it does not."""
    match = _JOINED.match(fold_in_place(topic))
    return tuple(bare(topic[slice(*match.span(name))]) for name in ("first", "second")) if match else ()


def pair_in(question: str) -> tuple[str, ...]:
    """Return the two that a question puts side by side to tell them apart or to choose; empty where it does not."""
    if has_ideographs(question):
        return joined_names(topic_of(question))
    match = _PAIR.search(question)
    return tuple(filter(None, match.groups())) if match else ()


def topic_in(text: str) -> str:
    """Return what a text in either language is about, in its own words."""
    topic = topic_of(text) if has_ideographs(text) else ""
    return topic or cut_at_word((named_words(text) or text).strip(), LONGEST_TOPIC)


@cache
def asks(kind: str) -> re.Pattern[str]:
    """Return the pattern of a row of `asks.yaml`: Latin words stand alone, Chinese ones in others; gaps are groups."""
    letter, table = rf"[^\W_{CJK_RANGES}]", load_table("asks")[kind]
    edges = {"en": rf"(?<!{letter})(?:{{}})(?!{letter})", "zh": "(?:{})"}
    rows = [
        [edge.format("|".join(map(re.escape, word.split("/")))) for word in row]
        for code, edge in edges.items()
        for row in table[code]
    ]
    return re.compile("|".join(map(r"([^。！？.!?]{0,60}?)".join, rows)))


def chat_question(folded: str) -> re.Match[str] | None:
    """Return where a question asks for what was said or asked in this conversation, for all where it names nothing."""
    whole = asks("all").search(folded)
    if whole:
        rest = " ".join((folded[: whole.start()], *filter(None, whole.groups()), folded[whole.end() :]))
        whole = None if (topic_tokens(rest) if has_ideographs(rest) else named_words(rest)) else whole
    return whole or asks("asked").search(folded) or asks("said").search(folded)


def asks_of_chat_alone(text: str) -> bool:
    """Return whether a text asks for something said before, and names nothing else: "What was my first question?"."""
    folded = fold_in_place(text[:200])
    match = chat_question(folded)
    return match is not None and not topic_tokens(f"{folded[: match.start()]} {folded[match.end() :]}") - RANKS.keys()
