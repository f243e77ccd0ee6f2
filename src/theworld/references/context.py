"""What a follow-up takes from the turns before: an item of the list just offered, or the question before as context.

In brackets, itself made to stand alone: a search with both finds more than one with a guess in the pronoun's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from theworld.references.chinese_topics import ASKING, LONGEST_NOUN, MEASURE, topic_of
from theworld.references.config import pattern_of
from theworld.references.detection import Detected, Kind, Span, asks_of_chat_alone
from theworld.references.frames import (
    CLOSING,
    CORRECTIONS,
    FINITE,
    LEADING,
    LONGEST_CONTEXT,
    LONGEST_FILLER,
    in_frame,
    places_of,
    refilled,
    root_of,
    with_context,
)
from theworld.references.history import (
    by_overlap,
    cut_at_word,
    last_answer,
    named_words,
    names_in,
    text_of,
    topic_tokens,
)
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text import place_of, split_sentences
from theworld.text.folding import fold_in_place
from theworld.text.language import has_ideographs
from theworld.text.sentences import FENCE
from theworld.text.tokens import tokens

ITEM = "an item of a list"
CORRECTED = "the question before, with what was meant"
REFILLED = "the question before, with one thing changed"
Alone = Callable[[str, Sequence[Message]], str]
LOOK_BACK = 24  # messages that are looked at, the last ones
LONGEST_ANSWER = 80  # characters of the last answer that are context; half as many of a Chinese one say as much
LONGEST_REPLY = 600  # characters, in Chinese half as many, of an answer that is told; a longer one is passages
LONGEST_INLINE = 40  # characters of an item that takes the ordinal's place; a longer one is context, as a step is
MOST_READ = 4  # answers whose sentences are read for lists
_STEPS = ("step", "phase", "point", "number", "步", "点", "条", "项")
_MARKUP = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|</?\w[^<>]*>|[`*#>|]+")
_ITEM_ENDS = CLOSING + ";；"
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*](?=\s)|•|\(?(?P<number>\d{1,2})[.)、）](?!\d)|[①-⑩])[ \t]*(?P<text>\S.*)")
_ROW = re.compile(r"[ \t]*\|[ \t]*(?P<cell>[^|]+)\|")
_PART = "(?:[^,，.。;；:：!?！？、]|(?<=[A-Za-z0-9])[.:](?=[A-Za-z0-9/]))+"
"""An item of an enumeration; versions, addresses and commands have stops and colons within."""
_COLON = re.compile(r"(?<![A-Za-z0-9]):|:(?![A-Za-z0-9/])|：")
_ENUMERATION = re.compile(rf"{_PART}(?:(?:、|,\s+){_PART})*(?:,?\s+(?:and|or)\s+|或者|[和与或、]){_PART}")
_SEPARATOR = re.compile(r"、|,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+|或者|[和与或]")
_BRACKETED = re.compile(r"\s*(?:\([^()]*\)|（[^（）]*）)")
_ROUND = re.compile(
    r"(?i)\b(?:I|you|we|he|she|it|they|there|who|which|that|so|if|when|as|is|are|was|were|be|can|may|must|will|has|have|had)\b"
    r"|[的都是等，。]|(?:^|[都也只还要共般])有(?![线机效限])|[一二两三四五六七八九十\d]+[个种类项条款]"
)  # What no noun holds: it belongs to a clause, or to what is round a list
_COUNTED = ("first 一 1 former 前", "second 二 2", "third 三 3", "fourth 四 4", "fifth 五 5")
RANKS = {word: rank for rank, words in enumerate(_COUNTED) for word in words.split()}
"""Words of ordinals -> places in a list, from 0 or from its end."""
RANKS |= {str(number): number - 1 for number in range(6, 10)} | dict.fromkeys(("last", "latter", "后", "最后"), -1)
_COUNTED_BY = rf"(?:(?!次|场){MEASURE}|[步点])"
ORDINAL = re.compile(
    r"\b(?:the|that)\s+(?P<en>first|second|third|fourth|fifth|last|latter|former|[1-9](?=st|nd|rd|th))(?:st|nd|rd|th)?\b"
    rf"(?:(?=\s+(?:{FINITE}|means?|still|also|really)\b)|\s+of\s+(?:those|these|them)\b"
    r"|\s+(?:one|item|option|step|point|number|phase|way|kind|case|(?P<noun>[a-z][\w-]*))\b"
    r"(?P<told>\s+(?:that\s+)?you\s+\w+\b)?(?! of\b)|(?=\W*$|,))"
    r"|\b(?:step|option|item|point)\s+(?P<number>[1-9])(?![\w.]|\s+of\b)"
    rf"|第(?P<cn>[一二三四五1-9]){_COUNTED_BY}(?!月|年|人|问题[:：,，])|(?P<end>最后|[前后])(?:(?:一|那){_COUNTED_BY}|(?<=[前后])者)"
    rf"|(?P<other>\bthe\s+other(?:\s+(?:one|option|way|kind)\b|(?=\W*$|\s+(?:{FINITE})\b))|另外?[一那]{_COUNTED_BY})"
)  # An item by its place, or of two "the other one", 另一个
_SMALL_TALK = (
    r"«english.small_talk»(?:[\s,!.]+«english.small_talk»)*|(?=.{1,20}$)(?:«chinese.small_talk»[\s，。！,.!~～]*)+"
)
_SAYS_NO_MORE = re.compile(
    r"(?i)(?:\b(?:and|or|so|no|what|how|about|to|for|in|on|at|with|from|of)\b|[那呢么还有不是对]|\W)*"
)


class Antecedent(NamedTuple):
    """What an expression may stand for, and the index of the message it comes from."""

    text: str
    source: int


@dataclass(frozen=True)
class Standalone:
    """What the rules made of a query."""

    query: str | None = None  # None where it stands alone already
    references: tuple[Detected, ...] = ()  # the dependent expressions found
    antecedents: tuple[str, ...] = ()  # what they stand for
    sources: tuple[int, ...] = ()  # the indexes of the messages these come from
    options: tuple[str, ...] = ()  # more than one, equally good antecedents, is ambiguous
    reason: str = ""  # which rule decided
    sure: bool = True  # whether it is more than the turn before as context
    before: Antecedent | None = None  # the question before, where it was looked for


@lru_cache(maxsize=4096)
def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting, thanks or a nod, which depends on nothing."""
    return pattern_of(_SMALL_TALK).fullmatch(fold_in_place(text[:200]).strip(CLOSING + ",，~～…")) is not None


class FollowUp:
    """A query in its conversation, and what is made of it in either language.

    `forced` is the antecedent that a caller chose. `alone` makes an earlier question, of turns before, stand alone.
    """

    filler: re.Pattern[str]  # what is a filler of the question before it: "And Berlin?", "X呢？"
    heading: Antecedent | None = None
    nested = False  # whether it is an earlier question, whose sentences are frames for what comes after it

    def __init__(self, query: str, history: Sequence[Message], forced: str | None, alone: Alone) -> None:
        self.query, self.history, self.forced, self.alone = query, history, forced, alone
        self.recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
        self.whole = Span(0, len(query), query.strip(CLOSING))

    @cached_property
    def before(self) -> Antecedent:
        """The user's last question, made to stand alone, small talk and what is about the chat left out; else empty."""
        for index in self.recent:
            text = text_of(self.history[index]).strip() if self.history[index].role == "user" else ""
            if text and not is_small_talk(text) and not asks_of_chat_alone(text):
                return Antecedent(self.alone(text, self.history[:index]), index)
        return Antecedent("", -1)

    @property
    def asked(self) -> str:
        """The user's last question as it was typed."""
        return text_of(self.history[self.before.source]) if self.before.text else ""

    @cached_property
    def frame(self) -> tuple[str, str]:
        """The question before without its context, and what it goes back to: of a filler all that it fills."""
        own, context = in_frame(self.before.text)
        return own, context if self.filler.match(own) else root_of(context)

    @property
    def filled(self) -> str:
        """What a filler goes with: the question before in its context, or what that fills or asks of a step of."""
        own, root = self.frame
        asked = ORDINAL.search(fold_in_place(own))
        return root if root and (self.filler.match(own) or (asked and _is_step(asked[0]))) else self.before.text

    def span(self, match: re.Match[str]) -> Span:
        """Return where a match stands, with the query's own words."""
        return Span(match.start(), match.end(), self.query[match.start() : match.end()].strip())

    def changed(
        self, query: str | None, span: Span, kind: Kind, reason: str, *used: Antecedent, sure: bool = True
    ) -> Standalone:
        """Return the rewritten query with what it was made from; untouched where there is none."""
        if query is None or query == self.query:
            return Standalone()
        sources = tuple(sorted({found.source for found in used if found.source >= 0}))
        return Standalone(query, (dependent(span, kind),), (used[0].text,), sources, (), reason, sure)

    def corrected(self) -> Standalone | None:
        """ "No, I meant X, not Y": the question before with X in the place of Y, or of its like; None for others."""
        before, folded = self.before, fold_in_place(self.query)
        forms = map(pattern_of, CORRECTIONS if before.text and len(folded) < LONGEST_FILLER * 3 else ())
        for match in filter(None, (form.fullmatch(folded) for form in forms)):
            value, rejected = (self.query[slice(*match.span(name))].strip() for name in ("value", "rejected"))
            query = before.text
            if ORDINAL.fullmatch(fold_in_place(value)):
                query = self.alone(value, self.history)
            elif ASKING.search(value):  # a question of its own
                topic = topic_of(in_frame(query)[0]) if rejected else ""
                query = f"{topic}{value}" if topic and rejected not in topic else self.alone(value, self.history)
            [(*_, old)], [(*_, new)] = LEADING.findall(rejected), LEADING.findall(value)
            for start, end in places_of(old, query)[::-1]:
                query = query[:start] + new + query[end:]
            alone = self.changed(query, self.whole, "continuation", CORRECTED, before)
            if query == before.text:
                if not match["head"]:  # nothing says that something was meant
                    continue
                framed = with_context(value, self.filled)
                unsure = self.changed(framed, self.whole, "continuation", CORRECTED, before, sure=False)
                alone = self.refill(value) or unsure
            kind = ReferenceType.CORRECTION
            references = (found._replace(kind="correction", reference_type=kind) for found in alone.references)
            return replace(alone, references=tuple(references), reason=CORRECTED)
        return None

    def refill(self, value: str, *, named: bool = True) -> Standalone | None:
        """Return the last question, or one it goes back to, with a value in the place of its like; None without one."""
        own, root = self.frame
        text = refilled(value, own, named=named)
        query = ((root and with_context(text, root)) or text) if text else refilled(value, root, named=False)
        return self.changed(query, self.whole, "continuation", REFILLED, self.before) if query else None

    def item(self) -> Standalone | None:
        """ "The second one": the item that an ordinal chooses from the latest answer that lists so many."""
        match = ORDINAL.search(fold_in_place(self.query))
        if match is None:
            return None
        english = match["en"] or match["number"]
        word, span, noun = english or match["cn"] or match["end"], self.span(match), match["noun"]
        if match["other"]:
            return self._other(span)
        rank = RANKS[word]
        offers = (offer for offer in self._offers(match) if len(offer[2]) > max(rank, 1))
        nearest = next(offers, (0, -1, ()))
        sought = noun or not english
        named, index, items = next(filter(itemgetter(0), offers), nearest) if sought and not nearest[0] else nearest
        if not items or (noun and not (named or match["told"])):
            listed = not noun and span.phrase.endswith(("者", "步"))  # but for "第一个电池"
            return self.in_context(span, "pronoun") if listed else None
        span = span._replace(end=span.end if noun else span.end + named)
        chosen = Antecedent(items[rank], index)
        return self.changed(self._with_item(span, items, chosen), span, "pronoun", ITEM, chosen)

    def _other(self, span: Span) -> Standalone | None:
        """ "The other one": of the latest list of two, of which the question before names one, the one it does not.

        In "is one better than the other?" both are meant.
        """
        if {"one", "either"} & set(tokens(self.query[: span.start])) or "一" in self.query[: span.start]:
            return None
        asked = fold_in_place(self.before.text)
        for _, index, items in self._offers(None):
            left = [item for item in items if place_of(fold_in_place(_name_of(item)), asked) < 0]
            if len(items) == 2 and len(left) == 1:
                chosen = Antecedent(left[0], index)
                return self.changed(self._with_item(span, items, chosen), span, "pronoun", ITEM, chosen)
        return None

    def _offers(self, ordinal: re.Match[str] | None) -> Iterator[tuple[int, int, Sequence[str]]]:
        """Yield of each list the noun's length where it is named so, its answer, its items: lines before sentences.

        Of an answer's sentences those come first that hold more of what was asked.
        """
        answers = [i for i in self.recent if i and self.history[i].role == "assistant"]
        asked = {i: fold_in_place(text_of(self.history[i - 1])) for i in answers}
        fresh = sorted(answers, key=lambda i: ORDINAL.search(asked[i]) is not None)  # no list answers an ordinal
        lists = partial(lists_in, steps=ordinal is not None and _is_step(ordinal[0]))
        for read, places in ((lists, answers), (enumerations_in, fresh[:MOST_READ])):
            for i in places:
                content = self.history[i].content or ""
                parts = [content] if read is lists else by_overlap(text_of(self.history[i - 1]), content)
                for items in chain.from_iterable(map(read, parts)):
                    lead = asked[i] + " " + fold_in_place(content.partition(items[0])[0][-LONGEST_CONTEXT:])
                    named = _named(ordinal, lead) if ordinal else 0
                    yield named, i, [_plain(item).strip(_ITEM_ENDS) for item in items]

    def _with_item(self, span: Span, items: Sequence[str], chosen: Antecedent) -> str:
        """Return the query with an item, but for a proper name what its list answered, or the question before."""
        step = _is_step(span.phrase)
        text = chosen.text if step else _name_of(chosen.text)
        before, after = self.query[: span.start], self.query[span.end :]
        if _SAYS_NO_MORE.fullmatch(before + after):
            question = self.before.text
            own = fold_in_place(in_frame(question)[0])
            places = ((place_of(fold_in_place(other), own), len(other)) for other in map(_name_of, items))
            start, length = next((place for place in places if place[0] >= 0), (-1, 0))
            if length:  # one of the items was asked about
                return question[:start] + text + question[start + length :]
            return with_context(text, question) or text
        asked = next((i for i in range(chosen.source - 1, -1, -1) if self.history[i].role == "user"), None)
        question = "" if asked is None else self.alone(text_of(self.history[asked]), self.history[:asked])
        if len(text) > LONGEST_INLINE or step:
            return with_context(self.query, text, question) or text
        names = {name.text for name in names_in(text)}
        named = not has_ideographs(text) if has_ideographs(self.query) else text in names
        return (None if named else with_context(before + text + after, question)) or before + text + after

    def in_context(self, span: Span, kind: Kind, *, whole: bool = False) -> Standalone:
        """Return the query with the heading, or what the question before and the beginning of its answer name.

        More outweighs what is asked now; a filler needs the `whole` question.
        """
        if heading := self.heading:
            return self.changed(with_context(self.query, heading.text), span, kind, "the heading", heading, sure=False)
        if not self.before.text:
            return Standalone()
        answer = Antecedent(*last_answer(self.history)) if kind == "pronoun" else Antecedent("", -1)
        frame = [self.filled] if whole else self.frame
        most = LONGEST_REPLY // 2 if has_ideographs(answer.text) else LONGEST_REPLY
        said = [beginning(answer.text) if len(answer.text) <= most else "", *frame]
        alone = with_context(self.query, *(said if whole or self.nested else map(named_words, said)))
        return self.changed(alone, span, kind, "the question before", self.before, answer, sure=False)


def _is_step(ordinal: str) -> bool:
    """Return whether an ordinal means one of steps, or of other sentences: "the third step", "step 3", 第三步."""
    return any(fold_in_place(ordinal).strip(" 1234567890").endswith(word) for word in _STEPS)


def _name_of(item: str) -> str:
    """Return what an item of a list is called, without what a colon adds."""
    return _COLON.split(item)[0].strip() or item


def _named(ordinal: re.Match[str], lead: str) -> int:
    """Return the length of the noun after an ordinal where what leads to a list speaks of such: ferries, 干部."""
    noun, after = ordinal["noun"], ordinal.string[ordinal.end() :][:LONGEST_NOUN]
    if noun:
        words = (word.strip(CLOSING + ",;:") for word in lead.split() if word[0] == noun[0])
        return len(noun) * any(word != noun and tokens(word) == tokens(noun) for word in words)
    lengths = () if ordinal["en"] or ordinal["number"] else range(len(after), 1, -1)
    return next((n for n in lengths if after[:n] in lead and topic_tokens(after[:n])), 0)


def dependent(span: Span, kind: Kind) -> Detected:
    """Return a pronoun or a continuation as a reference to the last turns."""
    reference = ReferenceType.CONTINUATION if kind == "continuation" else ReferenceType.REFERENTIAL
    return Detected(span, kind, reference, ReferenceScope.LAST_1_3_TURNS)


def beginning(answer: str) -> str:
    """Return an answer's first sentence without mark-up, or the items of a list it begins with, cut at a word's end."""
    first, _, rest = answer.partition("\n")
    listed = rest if first.rstrip().endswith((":", "：")) else answer if _ITEM.match(answer) else ""
    said = ", ".join(next(iter(lists_in(listed)), ())) or first
    sentence = next((one.text for one in split_sentences(_plain(said))), "").strip(CLOSING)
    return cut_at_word(sentence, LONGEST_ANSWER // 2 if has_ideographs(sentence) else LONGEST_ANSWER)


@lru_cache(maxsize=1024)
def _lists(text: str) -> tuple[tuple[str, list[str]], ...]:
    """Return the kinds of the lists of a text (`row`, `bullet`, `number`) and their items, one within an item after its
    own; prose ends one whose numbers do not go on.

    The rows of a table are a list by what their first cells say.
    """
    lists: list[tuple[str, list[str]]] = []
    within: list[tuple[tuple[int, bool], list[str]]] = []  # depths and lists round an item, the outermost first
    goes_on, apart, fenced, in_table = False, True, False, False
    for line in text.splitlines():
        if row := None if fenced else _ROW.match(line):
            cell = row["cell"].strip()
            if in_table:
                lists[-1][1].extend([cell] * bool(cell))
            elif cell and not cell.strip(":-"):  # the rule below a table's header
                lists.append(("row", []))
                in_table = True
            within, goes_on = [], False
            continue
        in_table = False
        fenced ^= FENCE.match(line) is not None
        if match := None if fenced else _ITEM.fullmatch(line):
            depth = len(match["indent"].expandtabs()), line.lstrip()[0] in "-*•"  # numbers stand round bullets
            if not goes_on and within and match["number"] != str(len(within[0][1]) + 1):
                within = []
            while within and depth < within[-1][0]:
                within.pop()
            if not within or depth > within[-1][0]:
                within.append((depth, []))
                lists.append(("bullet" if depth[1] else "number", within[-1][1]))
            within[-1][1].append(match["text"])
        goes_on = match is not None or (goes_on and not (line[:1].strip() and (apart or line[0] == "#")))
        apart = not line.strip()
    return tuple(lists)


def lists_in(text: str, *, steps: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return the lists of a text, of `steps` those with numbers, or others where none has; never a table's rows."""
    numbered = [tuple(items) for kind, items in _lists(text) if kind == "number" and steps]
    return tuple(numbered or (tuple(items) for kind, items in _lists(text) if not (steps and kind == "row")))


@lru_cache(maxsize=1024)
def enumerations_in(answer: str) -> tuple[tuple[str, ...], ...]:
    """Return the enumerations of nouns within sentences ("sencha, assam and oolong"), without what is round them."""
    found: list[tuple[str, ...]] = []
    for match in _ENUMERATION.finditer(_BRACKETED.sub("", _plain(answer[: LONGEST_CONTEXT * 3]))):
        first, *middle, last = (part.strip() for part in _SEPARATOR.split(match.group()))
        if middle and _ROUND.search(middle[0]) and not _ROUND.search(first):
            first, *middle = middle  # "Currently, we have it in Rome and Oslo"
        chinese = has_ideographs(first + last)
        first, last = _ROUND.split(first)[-1].strip(), _ROUND.split(last)[0].strip()
        if not chinese:
            first = " ".join(first.split()[-max(len(other.split()) for other in middle or [last]) :])
        elif middle and has_ideographs(first):
            first = first[-max(map(len, middle)) :]
        items = (first, *middle, last)
        short = all(items) and max(map(len, items)) <= LONGEST_INLINE
        if short and (chinese or not any(map(_ROUND.search, middle))):
            found.append(items)
    return tuple(found)


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(lambda mark: mark[1] or " ", text).split())
