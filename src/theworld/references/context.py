"""What a follow-up takes from the turns before: an item of the list just offered, or the question before as context.

In brackets, itself made to stand alone: a search with both finds more than one with a guess in the pronoun's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from theworld.references.config import ASKING, RANKS, pattern_of
from theworld.references.frames import (
    CLOSING,
    CORRECTIONS,
    FINITE,
    LONGEST_FILLER,
    ORDINAL,
    root_of,
    topic_change,
    with_context,
)
from theworld.references.history import is_long, text_of, told
from theworld.references.topics import (
    CLEAR_OVERLAP,
    TIME,
    answering,
    asks_of_chat_alone,
    cut_at_word,
    named_words,
    names_in,
    overlap,
    pair_in,
    sure_names,
    topic_of,
    topic_tokens,
    with_capitals,
)
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text import fold, place_of
from theworld.text.calendar import MONTH, Interval
from theworld.text.phrases import PhraseTable, is_small_talk
from theworld.text.sentences import ITEM_LINE, Listed, in_frame, lists_in
from theworld.text.tokens import CJK_RANGES, fold_in_place, has_ideographs, token_set

ITEM = "an item of a list"
CORRECTED = "the question before, with what was meant"
REFILLED = "the question before, with one thing changed"
AGAIN = "the question before, once more"
Alone = Callable[[str, Sequence[Message]], str]
LOOK_BACK = 24  # messages that are looked at, the last ones
LONGEST_ANSWER = 80  # characters of the last answer that are context; half as many of a Chinese one say as much
LONGEST_INLINE = 40  # characters of an item that takes the ordinal's place; a longer one is context, as a step is
_ASKS_WHO = re.compile(r"(?i)谁|\bwho(?:m|se)?\b")
_TITLE = re.compile("《([^》]{2,20})》：")
_STEP = re.compile("step|phase|point|number|[步点點条條项項]", re.IGNORECASE)  # an item with a number
_MARKUP = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|</?\w[^<>]*>|[`*#>|]+")
_COLON = re.compile(r"(?<![A-Za-z0-9]):|:(?![A-Za-z0-9/])|[：。]")
_NODS = r"«english.nods»(?:[\s,!.]+«english.nods»)*|(?=.{1,20}$)(?:«chinese.nods»[\s，。！,.!~～]*)+"
_FORM = r"\W*(?:«language.around_form»\W*)*«language.form»\W*(?:«language.around_form»\W*)*"
PREPOSITION = "(?:in|on|for|at|of|with|to|from|by|over|under|without)"
_SAYS_NO_MORE = re.compile(rf"(?i)(?:\b(?:and|or|so|no|what|how|about|{PREPOSITION})\b|[那呢么还有不是对]|\W)*")
_ASKS = re.compile(rf"(?i)(?:how|wh\w+|{FINITE})\b(?=.*\s)")
_NAMES_FIRST = re.compile(rf"(?i)[^,:，：]+[,:，：]\s*(?:\w+\s+)?(?:how|wh\w+|{FINITE}|{ASKING.pattern})")
"""X, how do I…: what is asked of something else."""
_COUNTED_NOUN = rf"(?!{ASKING.pattern}|«chinese.verbs»|«chinese.openers»|[的是有在会该])[{CJK_RANGES}]{{2}}"
_LEADING = re.compile(rf"(?i)^(?:({PREPOSITION})\s+)?((?:the|an?)\s+)?(.*)")  # preposition, article, filler
_NOUN = r"(?:(?:the|an?)\s+(?:[\w.&'’-]+\s+)?)?[\w.&'’-]+"
"""One noun, with an article also one that has a word before it."""
_PHRASE = re.compile(rf"\b({PREPOSITION})\s+({_NOUN})(?=\s+{PREPOSITION}\b|\W*$)", re.IGNORECASE)
_BEFORE_VERB = re.compile(
    rf"(?i)\bd(?:o|oes|id)\s+(?:the|an?|my|your|our)\s+[\w-]+\s+({PREPOSITION})\s+((?:the|an?)\s+[\w.&'’-]+)(?=\s+[\w'’-]+\W*$)"
)
"""One at the end of the subject: of a dog in `What does a ticket for a dog cost?`, the verb is no part of it."""
_LIKES = (
    re.compile(r"(?<![A-Za-z\d])(?:1[0-9]{3}|20[0-9]{2})(?:s\b|(?!\d))"),
    re.compile(
        rf"(?i)\b(?:(?:this|next|last)\s+)?(?:{MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|yesterday|week|month|year"
        r"|spring|summer|autumn|fall|winter)\b"
    ),
    TIME,
    re.compile(r"(?<!\d)\d+(?:[.,]\d+)*(?![A-Za-z\d]|[.,]\d)"),
    re.compile(r"(?<![\w./-])[A-Za-z\d./-]*[-_./](?:[\w./-]*[A-Za-z\d])"),
)  # Years, days and seasons, numbers, terms that are written like code: a value takes the place of its like


Kind = Literal["correction", "keyword", "time", "history", "continuation", "pronoun"]
"""What was recognised; earlier ones are preferred as the primary reference."""


class Span(NamedTuple):
    """An occurrence of a phrase: text[start:end]."""

    start: int
    end: int
    phrase: str


class Detected(NamedTuple):
    """A referring expression."""

    span: Span
    kind: Kind
    reference_type: ReferenceType
    scope: ReferenceScope
    interval: Interval | None = None
    added: bool = False  # a default keyword that the specification does not have


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
def depends_on_nothing(text: str) -> bool:
    """Return whether a message is a greeting, thanks, a nod or a mere change of topic, which depends on nothing."""
    nod = pattern_of(_NODS).fullmatch(fold_in_place(text[:200]).strip(CLOSING + ",，~～…"))
    return nod is not None or is_small_talk(fold(text[:200])) or topic_change(text) == len(text)


class FollowUp:
    """A query in its conversation, and what is made of it in either language.

    `forced` is the antecedent that a caller chose. `alone` makes an earlier question, of turns before, stand alone.
    Such a one, of a `depth`, is `nested`: its sentences are frames for what comes after it.
    """

    filler: re.Pattern[str]  # what is a filler of the question before it: "And Berlin?", "X呢？"
    heading: Antecedent | None = None

    def __init__(self, query: str, history: Sequence[Message], forced: str | None, alone: Alone, depth: int) -> None:
        self.query, self.history, self.forced, self.alone, self.nested = query, history, forced, alone, depth > 0
        self.recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
        answers = (history[index] for index in self.recent if history[index].role == "assistant")
        self._answers = tuple(message.content or "" for message in answers)
        self.query = with_capitals(query, self._answers)
        self.whole = Span(0, len(query), query.strip(CLOSING))

    def said(self, index: int) -> str:
        """Return what a message says; of the user's, names have the capitals that they have in the answers."""
        text = text_of(self.history[index])
        return with_capitals(text, self._answers) if self.history[index].role == "user" else text

    @cached_property
    def before(self) -> Antecedent:
        """The user's last question, made to stand alone, small talk and what is about the chat left out; else empty."""
        for index in self.recent:
            text = self.said(index).strip() if self.history[index].role == "user" else ""
            if text and not depends_on_nothing(text) and not asks_of_chat_alone(text):
                alone = self.alone(text, self.history[:index])
                own, said = in_frame(text)
                if said and alone == text:  # brackets of its own are no context
                    end = len(own.rstrip(CLOSING))
                    alone = f"{own[:end]} {said}{own[end:]}"
                return Antecedent(alone, index)
        return Antecedent("", -1)

    @property
    def asked(self) -> str:
        """The user's last question as it was typed, but for capitals."""
        return self.said(self.before.source) if self.before.text else ""

    @property
    def answer(self) -> Antecedent:
        """What was answered to it; empty, from -1, where nothing was."""
        later = range(self.before.source + 1, len(self.history))
        index = next((i for i in later if self.history[i].role == "assistant"), -1)
        return Antecedent(text_of(self.history[index]) if index >= 0 else "", index)

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
        return root if root and (self.filler.match(own) or (asked and _STEP.search(asked[0]))) else self.before.text

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

    def again(self) -> Standalone | None:
        """ "Shorter, please": the question before, of whose answer this says how it should be; None for others."""
        about_form = self.before.text and pattern_of(_FORM).fullmatch(fold_in_place(self.query))
        return self.changed(self.before.text, self.whole, "continuation", AGAIN, self.before) if about_form else None

    def corrected(self) -> Standalone | None:
        """ "No, I meant X, not Y": the question before with X in the place of Y, or of its like; None for others."""
        before, folded = self.before, fold_in_place(self.query)
        forms = map(pattern_of, CORRECTIONS if before.text and len(folded) < LONGEST_FILLER * 3 else ())
        for match in filter(None, (form.fullmatch(folded) for form in forms)):
            value, rejected = (self.query[slice(*match.span(name))].strip() for name in ("value", "rejected"))
            query, (own, context) = before.text, in_frame(before.text)
            asks = ASKING.search(value)  # a question of its own
            if _NAMES_FIRST.match(value):
                query = value
            elif asks or _ASKS.match(value) or ORDINAL.fullmatch(fold_in_place(value)):
                query = self.alone(value, self.history)
                if rejected and asks:
                    topic = topic_of(own).partition(rejected)[0].removesuffix("的")
                    query = f"{topic}{value}" if topic_tokens(topic) else with_context(value, root_of(context)) or query
            else:
                [(*_, old)], [(*_, new)] = _LEADING.findall(rejected), _LEADING.findall(value)
                for place in PhraseTable([(old, None)]).find(fold_in_place(query))[::-1]:
                    query = query[: place.start] + new + query[place.end :]
                own, now = in_frame(query)
                if now != context:  # what was answered between was about what was not meant
                    query = with_context(own, root_of(now)) or query
            if query != before.text:
                alone = self.changed(query, self.whole, "continuation", CORRECTED, before)
            elif match["head"]:
                framed = with_context(value, self.filled)
                unsure = self.changed(framed, self.whole, "continuation", CORRECTED, before, sure=False)
                alone = self.refill(value) or unsure
            else:  # nothing says that something was meant
                continue
            kind = ReferenceType.CORRECTION
            references = (found._replace(kind="correction", reference_type=kind) for found in alone.references)
            return replace(alone, references=tuple(references), reason=CORRECTED)
        return None

    def refill(self, value: str) -> Standalone | None:
        """Return the last question, or one it goes back to, with a value in the place of its like; None without one."""
        own, root = self.frame
        query: str | None
        if text := refilled(value, own):
            query = with_context(text, root) or text
        elif (query := refilled(value, root)) and not self.filler.match(own):
            query = with_context(own, query)  # "How much does it cost?", "And in the annex?": that, of the root so
        return self.changed(query, self.whole, "continuation", REFILLED, self.before) if query else None

    def item(self) -> Standalone | None:
        """ "The second one": the item that an ordinal chooses from the latest answer that lists so many."""
        match = ORDINAL.search(fold_in_place(self.query))
        if match is None:
            return None
        if alone := self._counted_on(match):
            return alone
        rank, span = RANKS[match["en"] or match["number"] or match["cn"] or match["end"]], self.span(match)
        many = RANKS.get(match["many"] or match["more"] or "", -1) + 1
        for index, items, about in self._offers(steps=_STEP.search(match[0]) is not None):
            if len(items) > max(rank, 1) and len(items) >= many and not (many and rank > 0):
                named = map(_name_of, items[:many] if rank == 0 else items[-many:])
                joined = ("和" if has_ideographs(self.query) else " and ").join(named)
                chosen = Antecedent(joined if many else items[rank], index)
                if token_set(self.counted(match) or "") <= token_set(f"{about} {chosen.text}"):
                    return self.changed(self._with_item(span, items, chosen), span, "pronoun", ITEM, chosen)
        return None

    def _counted_on(self, ordinal: re.Match[str]) -> Standalone | None:
        """ "And the second?": the question before, where that counts itself and chose no item ("the first quote")."""
        own, context = in_frame(self.before.text)
        said = None if context else ORDINAL.search(fold_in_place(own))
        rest = self.query[: ordinal.start()] + self.query[ordinal.end() :]
        group = next((name for name in ("en", "cn") if said and said[name] and ordinal[name]), None)
        if said is None or group is None or not _SAYS_NO_MORE.fullmatch(rest):
            return None
        query = own[: said.start(group)] + ordinal[group] + own[said.end(group) :]
        return self.changed(query, self.span(ordinal), "pronoun", REFILLED, self.before)

    def counted(self, ordinal: re.Match[str]) -> str | None:
        """Return the noun that an ordinal counts, empty for none, None for a Chinese one that was not said before."""
        noun = pattern_of(_COUNTED_NOUN).match(fold_in_place(self.query), ordinal.end())
        known = noun and any(noun[0] in fold_in_place(self.history[i].content or "") for i in self.recent)
        return (noun[0] if known else None) if noun else ordinal["noun"] or ""

    def _offers(self, *, steps: bool) -> Iterator[tuple[int, Sequence[str], str]]:
        """Yield lists with their message's index and what they are about, the latest first.

        Of a turn the two that its question puts side by side, then those of its answer that share more with it. Of
        passages, which hold lists of anything, only those that share something with it.
        """
        for i in self.recent:
            if i == 0 or self.history[i].role != "assistant":
                continue
            wanted = topic_tokens(asked := self.said(i - 1))
            if pair := pair_in(asked):
                yield i - 1, pair, asked
            answer = self.history[i].content or ""
            lists: Iterable[Listed] = lists_in(answer, steps=steps)
            if wanted and told(self.history[i]) != answer:
                lists = (one for one in lists if overlap(wanted, f"{one.introduction} {one.items}") >= CLEAR_OVERLAP)
            for found in sorted(lists, key=lambda one: -overlap(wanted, one.introduction)):
                items = [_plain(item).strip(CLOSING + ";；") for item in found.items]
                yield i, items, f"{asked} {found.introduction}"

    def _with_item(self, span: Span, items: Sequence[str], chosen: Antecedent) -> str:
        """Return the query with an item, but for a proper name what its list answered, or the question before."""
        step = _STEP.search(span.phrase) is not None
        text = chosen.text if step else _name_of(chosen.text)
        before, after = self.query[: span.start], self.query[span.end :]
        if _SAYS_NO_MORE.fullmatch(before + after):
            question = self.before.text
            own = fold_in_place(in_frame(question)[0])
            for other in map(_name_of, items):
                if (start := place_of(fold_in_place(other), own)) >= 0:  # one of the items was asked about
                    return question[:start] + text + question[start + len(other) :]
            return with_context(text, question) or text
        asked = next((i for i in range(chosen.source - 1, -1, -1) if self.history[i].role == "user"), None)
        question = "" if asked is None else self.alone(text_of(self.history[asked]), self.history[:asked])
        if len(text) > LONGEST_INLINE or step:
            return with_context(self.query, text, question) or text
        named = text in {name.text for name in names_in(text)}
        return (None if named else with_context(before + text + after, question)) or before + text + after

    def in_context(self, span: Span, kind: Kind, *, whole: bool = False) -> Standalone:
        """Return the query with the heading, or what the question before and the sentence that answers it name.

        More outweighs what is asked now; a filler needs the `whole` question.
        """
        if heading := self.heading:
            return self.changed(with_context(self.query, heading.text), span, kind, "the heading", heading, sure=False)
        if not self.before.text:
            return Standalone()
        answer = self.answer if kind == "pronoun" else Antecedent("", -1)
        only_told = answer.source >= 0 and not _ASKS_WHO.search(self.asked)  # passages name who did it
        text = told(self.history[answer.source]) if only_told else answer.text
        frame = [self.filled] if whole else self.frame
        said = [answered(self.asked, text), *frame]
        alone = with_context(self.query, *(said if whole or self.nested else map(named_words, said)))
        return self.changed(alone, span, kind, "the question before", self.before, answer, sure=False)


def _name_of(item: str) -> str:
    """Return what an item of a list is called, without what a colon adds."""
    return _COLON.split(item)[0].strip() or item


def dependent(span: Span, kind: Kind) -> Detected:
    """Return a pronoun or a continuation as a reference to the last turns."""
    reference = ReferenceType.CONTINUATION if kind == "continuation" else ReferenceType.REFERENTIAL
    return Detected(span, kind, reference, ReferenceScope.LAST_1_3_TURNS)


def answered(question: str, answer: str) -> str:
    """Return the sentence of an answer that answers, or the items of a list it begins with, cut at a word's end.

    Of long passages no more than the title they stand under, where the question asks 谁: a person's.
    """
    if is_long(answer):
        title = _TITLE.match(answer) if "谁" in fold_in_place(question) else None
        return title[1] if title else ""
    first, _, rest = answer.partition("\n")
    listed = rest if first.rstrip().endswith((":", "：")) else answer if ITEM_LINE.match(answer) else ""
    items = ", ".join(next((found.items for found in lists_in(listed)), []))
    said = _plain(items or answering(question, answer)).strip(CLOSING)
    return cut_at_word(said, LONGEST_ANSWER // 2 if has_ideographs(said) else LONGEST_ANSWER)


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(lambda mark: mark[1] or " ", text).split())


def _is_named(filler: str) -> bool:
    return any(not name.opening or name.text == filler for name in names_in(filler))


def refilled(value: str, frame: str) -> str | None:
    """Return a question with a value in the place of its like, of a name in that of the last name; None without one."""
    [(preposition, article, filler)] = _LEADING.findall(value)
    kind = next((likes for likes in _LIKES if likes.fullmatch(fold_in_place(filler))), None)
    places = [match.span() for match in kind.finditer(fold_in_place(frame))] if kind else []
    if not places and _is_named(filler):
        places = [(name.start, name.start + len(name.text)) for name in sure_names(frame)]
    if preposition and kind is None and not token_set(filler) & token_set(frame):  # for one with its preposition
        phrases = [*_BEFORE_VERB.finditer(frame)] or [*_PHRASE.finditer(frame)]
        places = [phrase.span(2) for phrase in phrases if phrase[1].lower() == preposition.lower()]
        filler = article * bool(places) + filler
    *kinds, head = filler.split() or [""]
    if kinds and not places:  # "development team" for "platform team"
        before = rf"(?i)\b(?:the|an?|my|your|our|{FINITE}|{PREPOSITION}) "
        noun = rf"{before}((?:[\w-]+ ){{{len(kinds)}}}{re.escape(head)})(?!\w)"
        places = [match.span(1) for match in re.finditer(noun, frame) if all(map(topic_tokens, match[1].split()))]
    if not places:
        return None
    start, end = places[-1]
    return f"{frame[:start]}{filler}{frame[end:]}"
