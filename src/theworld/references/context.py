"""What a follow-up takes from the turns before: an item of the list just offered, or the question before as context.

A follow-up whose antecedent is not sure keeps its own words and gets the question before, itself made to stand alone,
in brackets: a search then has the words of both, which finds more than a guessed name in the pronoun's place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from theworld.references.config import load_table
from theworld.references.detection import Detected, Kind, Span
from theworld.references.history import last_answer, named_words, text_of
from theworld.references.names import names_in
from theworld.state import Message, ReferenceScope, ReferenceType
from theworld.text.folding import fold_in_place
from theworld.text.language import has_ideographs
from theworld.text.quantities import either

Alone = Callable[[str, Sequence[Message]], str]
LOOK_BACK = 24
"""Messages that are looked at, the last ones."""
LONGEST_CONTEXT = 200
"""Characters added at most."""
LONGEST_ANSWER = 80
"""Characters of the last answer that are context; half as many of a Chinese one say as much."""
LONGEST_INLINE = 40
"""Characters of a listed item that takes the ordinal's place; a longer one is context, and so is a step."""
_STEP = re.compile("step|phase|point|number|[步点条项]", re.IGNORECASE)
_MARKUP = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)|</?\w[^<>]*>|[`*#>|]+")
_CLOSING = " \t\n?？!！.。"
_OWN_CONTEXT = re.compile(r"\s*(?:\(([^()]*)\)|（([^（）]*)）)([\s?？!！.。]*)$")
_ITEM_LINE = re.compile(r"(?m)^[ \t]*(?:[-*•]|\(?\d{1,2}[.)、）]|[①-⑩])[ \t]*(.+)$")
_PART = "(?:[^,，.。;；:：!?！？、]|(?<=[A-Za-z0-9])[.:](?=[A-Za-z0-9/]))+"
"""An item of an enumeration; versions, addresses and commands have stops and colons within."""
_COLON = re.compile(r"(?<![A-Za-z0-9]):|:(?![A-Za-z0-9/])|：")
_ENUMERATION = re.compile(rf"{_PART}(?:(?:、|,\s+){_PART})*(?:,?\s+(?:and|or)\s+|[和与或、]){_PART}")
_SEPARATOR = re.compile(r"、|,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+|和|与|或")
_COUNTED = ("first 一 1 former 前 最初 最早 一开始 最开始", "second 二 2", "third 三 3", "fourth 四 4", "fifth 五 5")
RANKS = {word: rank for rank, words in enumerate(_COUNTED) for word in words.split()}
"""Words of ordinals -> places in a list, from 0 or from its end."""
RANKS |= dict.fromkeys(("last", "latter", "后", "最后"), -1)
_ORDINAL = re.compile(
    r"\b(?:the|that)\s+(?P<en>first|second|third|fourth|fifth|last|latter|former)\b"
    r"(?:\s+(?:one|item|option|step|point|number|phase|way|kind|case)\b(?! of\b)|(?=\W*$))"
    r"|第(?P<cn>[一二三四五1-5])[个种条项步点款类](?!月|年|人)|(?P<end>最后|[前后])(?:(?:一|那)[个种条项步点款类]|(?<=[前后])者)"
)
_SAYS_NO_MORE = re.compile(r"(?i)(?:\b(?:and|or|so|what|how|about|to|for|in|on|at|with|from|of)\b|[那呢么还有]|\W)*")


@dataclass(frozen=True)
class Standalone:
    """What the rules made of a query: `query` is None where it stands alone already.

    `references` are the dependent expressions found, `antecedents` what they stand for, `sources` the indexes of the
    messages these come from; more than one of `options`, equally good antecedents, is ambiguous. `reason` says which
    rule decided. Where no antecedent is `sure` the query has the turn before as its context.
    """

    query: str | None = None
    references: tuple[Detected, ...] = ()
    antecedents: tuple[str, ...] = ()
    sources: tuple[int, ...] = ()
    options: tuple[str, ...] = ()
    reason: str = ""
    sure: bool = True


class Antecedent(NamedTuple):
    """What an expression may stand for, and the index of the message it comes from."""

    text: str
    source: int


@cache
def _small_talk() -> re.Pattern[str]:
    english, chinese = (either(load_table(name)["small_talk"]) for name in ("english", "chinese"))
    return re.compile(rf"(?:{english})(?:[\s,!.]+(?:{english}))*|(?=.{{1,20}}$)(?:(?:{chinese})[\s，。！,.!~～]*)+")


@lru_cache(maxsize=4096)
def is_small_talk(text: str) -> bool:
    """Return whether a message is a greeting, thanks or a nod, which depends on nothing."""
    return bool(_small_talk().fullmatch(fold_in_place(text[:200]).strip(_CLOSING + ",，~～…")))


def with_context(query: str, *added: str) -> str | None:
    """Return the query with texts in brackets before its closing mark; None where there is nothing to add."""
    chinese = has_ideographs(query)
    flat = ("；" if chinese else "; ").join(_flat(" ".join(text.split())) for text in added if text)
    flat = flat[:LONGEST_CONTEXT].strip(_CLOSING)
    end = len(query.rstrip(_CLOSING))
    return query[:end] + (f"（{flat}）" if chinese else f" ({flat})") + query[end:] if flat else None


def in_frame(text: str) -> tuple[str, str]:
    """Return a question without its own context, and that context: "Q3 (A; Q2; Q1)?" -> "Q3?", "A; Q2; Q1"."""
    match = _OWN_CONTEXT.search(text)
    return (text[: match.start()] + match[3], match[1] or match[2] or "") if match else (text, "")


def root_of(context: str) -> str:
    """Return the question that a context goes back to, its last: "A; Q2; Q1" -> "Q1"."""
    return context.replace("；", "; ").split("; ")[-1]


def _flat(text: str) -> str:
    """Return a question and what it goes back to; what lies between would outweigh the words asked now."""
    own, context = in_frame(text)
    root = root_of(context)
    return own.rstrip(_CLOSING) + (("；" if has_ideographs(own) else "; ") + root) * bool(root)


class FollowUp:
    """A query in its conversation, and what is made of it in either language.

    `forced` is the antecedent that a caller chose. `alone` makes an earlier question stand alone: (question, turns
    before it) -> the question with its own antecedents.
    """

    heading: Antecedent | None = None
    nested = False
    """Whether it is an earlier question, whose sentences are frames for what comes after it."""

    def __init__(self, query: str, history: Sequence[Message], forced: str | None, alone: Alone) -> None:
        self.query, self.history, self.forced, self.alone = query, history, forced, alone
        self.recent = range(len(history) - 1, max(-1, len(history) - 1 - LOOK_BACK), -1)
        self.whole = Span(0, len(query), query.strip(_CLOSING))

    @cached_property
    def before(self) -> Antecedent | None:
        """The user's last question, made to stand alone; small talk is none."""
        asked = ((i, text_of(self.history[i]).strip()) for i in self.recent if self.history[i].role == "user")
        index, text = next(((i, text) for i, text in asked if text and not is_small_talk(text)), (-1, ""))
        return Antecedent(self.alone(text, self.history[:index]), index) if text else None

    def fills(self, text: str) -> bool:
        """Return whether a question is a filler of the one before it: "And Berlin?", "X呢？"."""
        raise NotImplementedError

    @cached_property
    def frame(self) -> tuple[str, str]:
        """The question before without its context, and what it goes back to: of a filler all that it fills."""
        own, context = in_frame(self.before.text if self.before else "")
        return own, context if self.fills(own) else root_of(context)

    @property
    def filled(self) -> str:
        """What a filler goes with: the question before in its context, or what that fills, whose place it takes."""
        own, root = self.frame
        return root if root and self.fills(own) else self.before.text if self.before else ""

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

    def item(self) -> Standalone | None:
        """ "The second one": the item that an ordinal chooses from the latest answer that lists so many."""
        match = _ORDINAL.search(fold_in_place(self.query))
        if match is None:
            return None
        rank, span = RANKS[match["en"] or match["cn"] or match["end"]], self.span(match)
        answers = [(i, text_of(self.history[i])) for i in self.recent if self.history[i].role == "assistant"]
        # A list that was shown line by line is chosen from before one within a sentence, though that is nearer.
        offers = (
            (i, [stripped for item in read(text) if (stripped := _plain(item).strip(_CLOSING + ";；"))])
            for read in (_ITEM_LINE.findall, _enumeration)
            for i, text in answers
        )
        index, items = next(((i, items) for i, items in offers if len(items) > max(rank, 1)), (-1, []))
        if not items:
            listed = match["en"] or span.phrase.endswith(("者", "步"))  # but for "第一个电池"
            return self.in_context(span, "pronoun") if listed else None
        chosen = Antecedent(items[rank], index)
        return self.changed(self._with_item(span, items, chosen), span, "pronoun", "an item of a list", chosen)

    def _with_item(self, span: Span, items: Sequence[str], chosen: Antecedent) -> str:
        """Return the query with an item in the ordinal's place, or the question before where it says no more.

        An item is named by what stands before its colon. A proper name needs no more; any other item gets what the list
        answered as its context.
        """
        text = chosen.text if _STEP.search(span.phrase) else _COLON.split(chosen.text)[0].strip() or chosen.text
        before, after = self.query[: span.start], self.query[span.end :]
        if _SAYS_NO_MORE.fullmatch(before + after):
            question = self.before.text if self.before else ""
            taken = next((item for item in items if item != text and item in question), "")
            return question.replace(taken, text, 1) if taken else with_context(text, question) or text
        asked = next((i for i in range(chosen.source - 1, -1, -1) if self.history[i].role == "user"), None)
        question = "" if asked is None else self.alone(text_of(self.history[asked]), self.history[:asked])
        if len(text) > LONGEST_INLINE or _STEP.search(span.phrase):
            return with_context(self.query, text, question) or text
        chinese = has_ideographs(self.query)
        named = not has_ideographs(text) if chinese else text in {name.text for name in names_in(text)}
        return (None if named else with_context(before + text + after, question)) or before + text + after

    def in_context(self, span: Span, kind: Kind, *, whole: bool = False) -> Standalone:
        """Return the query with the heading, or the question before and the beginning of an answer that may be meant.

        Of these what names something is enough, more outweighs what is asked now; a filler needs the `whole` question.
        """
        if heading := self.heading:
            alone = with_context(self.query, heading.text)
            return self.changed(alone, span, kind, "the heading", heading, sure=False)
        if self.before is None:
            return Standalone()
        answer = Antecedent(*last_answer(self.history)) if kind == "pronoun" else Antecedent("", -1)
        frame = [self.filled] if whole else [self.before.text] if self.nested else self.frame
        said = [beginning(answer.text), *frame]
        alone = with_context(self.query, *(said if whole or self.nested else map(named_words, said)))
        return self.changed(alone, span, kind, "the question before", self.before, answer, sure=False)


def dependent(span: Span, kind: Kind) -> Detected:
    """Return a pronoun or a continuation as a reference to the last turns."""
    reference = ReferenceType.CONTINUATION if kind == "continuation" else ReferenceType.REFERENTIAL
    return Detected(span, kind, reference, ReferenceScope.LAST_1_3_TURNS)


def beginning(answer: str) -> str:
    """Return an answer's first sentence without mark-up, or the items of a list it begins with, cut at a word's end."""
    first, _, rest = answer.partition("\n")
    announced = first.rstrip().endswith((":", "："))
    items = _ITEM_LINE.findall(rest if announced else answer if _ITEM_LINE.match(answer) else "")
    said = ", ".join(items) if items or announced else first
    sentence = re.split(r"(?<=[.!?])\s|(?<=[。！？])", _plain(said))[0].strip(_CLOSING)
    cut = sentence[: LONGEST_ANSWER // 2 if has_ideographs(sentence) else LONGEST_ANSWER]
    return sentence if cut == sentence else cut.rpartition(" ")[0] or cut


def _enumeration(answer: str) -> list[str]:
    """Return the items of the first enumeration within a sentence: "sencha, assam and oolong"; clauses are none."""
    found = (_SEPARATOR.split(match.group()) for match in _ENUMERATION.finditer(answer[: LONGEST_CONTEXT * 3]))
    return next((items for items in found if max(map(len, items)) <= LONGEST_INLINE), [])


def _plain(text: str) -> str:
    """Return a text without mark-up, on one line."""
    return " ".join(_MARKUP.sub(lambda mark: mark[1] or " ", text).split())
