"""One reading of a question: everything that is read off its words alone, each thing at most once.

The state holds only the question's text and language; `read_question` gives the `Question` of these from a bounded
cache, so that all nodes of a request share one, in whatever threads they run. It is not kept in the state itself: it
follows from the text, so that checkpoints stay small, an old one needs no migration, and patterns and phrases that
cannot be serialised may be part of it. A question that the ontology has rewritten is another text, and read anew.

What costs little is an attribute like what costs much: every reading is made when it is first asked for, under the
question's lock, and kept. Readings that need the notes found (which titles are named, how rare a word is) take them as
an argument and are made by `theworld.questions.words` and `theworld.answers.comparisons` from what is kept here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from itertools import islice, pairwise
from typing import Any, Generic, TypeVar

import yaml

from theworld.questions.names import Place, capitalised_names, identifiers, name_tokens, possible_names, quoted_names
from theworld.questions.words import QuestionWords
from theworld.state import MentionType
from theworld.text import Language, cjk_share, detect_language, entity_key, fold, tokens
from theworld.text.calendar import MONTH, MONTHS
from theworld.text.dates import find_dates
from theworld.text.identity import names_in
from theworld.text.numerals import read_numeral
from theworld.text.phrases import Unit, units
from theworld.text.quantities import Quantity, find_quantities
from theworld.text.time_ranges import TimeRange, find_time_ranges
from theworld.text.tokens import function_words, has_ideographs, simplified

KEPT = 64
"""Questions whose readings are remembered; one request reads a handful."""
LONGEST_KEPT = 2_000
"""Characters of a question whose readings are remembered."""
_MONTH = re.compile(
    rf"(?i)\b(?P<name>(?!may\b)(?:{MONTH})|may(?=\W+\d)|(?<=\d )may)\b"
    r"|(?P<numeral>1?\d|十[一二]?|[一二三四五六七八九])月"
)
"""May is a month beside a number."""
_DAY = re.compile(
    rf"(?i)(?<!\d)(?P<first>\d\d?)(?:st|nd|rd|th)?(?=\s+(?:of\s+)?(?:{MONTH})\b)"
    rf"|\b(?:{MONTH})\.?\s+(?P<second>\d\d?)(?:st|nd|rd|th)?\b|(?<=月)(?P<zh>\d\d?|[一二三四五六七八九十]{{1,3}})[日号]"
)
"""The day beside a month."""
_MEANING = re.compile("[是叫有]?(?:什[么麼]|甚[么麼]|啥)意思")
_LATIN_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*")
MOST_PARTS = 4
_AROUND = " ，,。.？?；;"
_SHORTEST_ZH, _SHORTEST_EN = 4, 3
"""Characters or words that a part must have."""
_ASKS_ZH = r"谁|[哪什几]|多少|如何|怎么|怎样|为何|是否|何时|何处|多大|多久|多长|(?P<verb>[能会要可是有])[不没](?P=verb)"
_ASKING_ZH = re.compile(rf"(?:{_ASKS_ZH})[么些个里种样]?|[吗呢]")
_AUXILIARY = "is|are|was|were|do|does|did|can|could|may|might|will|would|should|shall|must|has|have|had"
_ASKS = re.compile(
    rf"(?i){_ASKS_ZH}|[吗呢]|总额|合计|平均|趋势|变化|波动|关系"
    rf"|\b(?:who|whom|whose|what|which|how|why|total|average)\b|\b(?:when|where)\s+(?:{_AUXILIARY})\b"
    rf"|^(?:where|{_AUXILIARY}|list|show|explain|describe)\b"
)
"""When and where otherwise only name a time and a place: "When I open it, what is shown?"."""
_BETWEEN = re.compile(
    r"[？?；;。]\s*|(?<=\w\w)\.\s+|[，,]\s*(?=(?:以及|并且|并|同时|另外|还有|而|且|then\b|and\b|also\b))"
    rf"|[，,]\s*(?=[^，,？?。]*?(?:{_ASKS_ZH}))"
    r"|[，,]\s*(?:and\s+)?(?=(?:who|whom|what|which|where|when|why|how)\b)|(?<!\s)\s+and\s+(?=(?:who|whom|what|which|where|when|why|how)\b)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]*\)|（[^（）]*）")
_LEADING = re.compile(r"(?i)^(?:以及|并且|并|同时|另外|还有|而且|而|且|and|also|then)[，,]?\s*")
T = TypeVar("T")
_UNTYPED = frozenset({"concept", "other"})
_WHICH = (
    r"\b(?:what|which)\s+(?:(?:is|was|are|were)\s+the\s+(?:name\s+of\s+(?:the\s+|an?\s+)?)?)?"
    r"(?:(?!(?:is|are|was|were|did|does|do|has|had|the|an?|of|in|on|at|by|for|from|to|that|who|and|or)\b)[\w-]+\s+){0,4}?"
)
"""What or which, and the words of description before the noun that tells the type."""


@dataclass(frozen=True, slots=True)
class AnswerType:
    """The expected type of an answer."""

    name: str = "any"
    """`person`, `place`, `organization`, `work`, `date`, `year`, `quantity`, `yes_no` or `any`."""
    types: frozenset[str] | None = None
    """Mention types that may answer; None: any, empty: no entity can."""

    def admits(self, mention_type: MentionType | str) -> bool:
        """Return whether a mention of this type may be the answer; untyped ones may, except for dates and numbers."""
        if self.types is None:
            return True
        if mention_type in _UNTYPED:
            return bool(self.types) and not self.types <= {"date", "number", "quantity"}
        return mention_type in self.types


ANY = AnswerType()


@cache
def _rules() -> tuple[tuple[AnswerType, dict[str, re.Pattern[str]]], ...]:
    table = resources.files("theworld.questions").joinpath("answer_types.yaml").read_text(encoding="utf-8")
    return tuple(
        (
            AnswerType(one["name"], frozenset(one["types"])),
            {code: re.compile(one[code].replace("WHICH ", _WHICH), re.IGNORECASE) for code in ("en", "zh")},
        )
        for one in yaml.safe_load(table)
    )


def expected_answer_type(question: str, language: Language | str | None = None) -> AnswerType:
    """Return the type of answer a question expects, `ANY` when it does not say."""
    text = simplified(question.strip())
    chosen = "zh" if (language or detect_language(text)) == "zh" else "en"
    return next((kind for kind, patterns in _rules() if patterns[chosen].search(text)), ANY)


class _Once(Generic[T]):
    """A reading that is made when first asked for and kept: cached_property under the question's lock."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read, self.__doc__, self._name = read, read.__doc__, read.__name__

    def __get__(self, question: Question, owner: type[Question]) -> T:
        return question.once(self._name, lambda: self._read(question))


@dataclass(frozen=True)
class Question:
    """A question and what is read off it; two are equal when text and language are."""

    text: str
    """As understood: references resolved, descriptions replaced by names."""
    language: Language
    _made: dict[object, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)

    def once(self, key: object, read: Callable[[], T]) -> T:
        """Return what `read` gave the first time it was asked for under this key."""
        with self._lock:
            if key not in self._made:
                self._made[key] = read()
            made: T = self._made[key]
            return made

    @_Once
    def simplified(self) -> str:
        """The text in simplified Chinese, every offset as it was: what patterns are looked for in."""
        return simplified(self.text)

    @_Once
    def folded(self) -> str:
        """The text folded for comparison; offsets are not kept."""
        return fold(self.text)

    @_Once
    def tokens(self) -> tuple[str, ...]:
        """Its distinct index tokens, in order."""
        return tuple(dict.fromkeys(tokens(self.text)))

    @_Once
    def content(self) -> tuple[str, ...]:
        """Those that are no function words and, in Chinese, hold nothing that asks; all where there are no others."""
        rest = _ASKING_ZH.sub(" ", self.simplified)
        named = self.tokens if rest == self.simplified else tokens(rest)
        return tuple(word for word in self.tokens if word in named and word not in function_words()) or self.tokens

    @_Once
    def keywords(self) -> str:
        """Its text without English function words and 什么意思, what BM25 is asked; all of it where nothing is left.

        Notes of another language hold few of them, which would make them count for much. Those in capitals (IT), and
        within a name of several words ("Man Who Knew Too Much"), stay.
        """
        names = [range(*place) for place, name in self.written_names if " " in name]

        def kept(word: re.Match[str]) -> str:
            if (word[0].isupper() and len(word[0]) > 1) or not function_words().issuperset(tokens(word[0])):
                return word[0]
            return word[0] if any(word.start() in name for name in names) else ""

        text = _MEANING.sub(" ", _LATIN_WORD.sub(kept, self.text))
        otherwise = sorted(frozenset[str]().union(*self.dates.values()))
        return " ".join((text if text == self.text or tokens(text) else self.text, *otherwise))

    @_Once
    def dates(self) -> dict[str, frozenset[str]]:
        """Index tokens of the months and days it names -> those of how notes write them otherwise: april -> apr, 04."""
        found = dict[str, frozenset[str]]()
        names = [range(*place) for place, name in self.written_names if " " in name]  # Jan Brueghel
        for match in _MONTH.finditer(self.simplified):
            name, numeral = match["name"], match["numeral"]
            if any(match.start() in place for place in names):
                continue
            month = MONTHS[name.lower()] if name else read_numeral(numeral)
            written = " ".join(other for other, number in MONTHS.items() if number == month)
            others = {f"{month:02}", *tokens(written), *([] if name else [str(month)])}
            found |= {token: frozenset(others - {token}) for token in tokens(match[0])}
        for match in _DAY.finditer(self.simplified):
            written = str(match[match.lastgroup or 0])
            day = read_numeral(written) or 0
            known = tokens(written if match["zh"] and written.isdecimal() else match[0].split()[-1])  # 9th, 十二号
            found |= {token: frozenset({f"{day:02}", str(day)} - {token}) for token in known}
        return found

    @_Once
    def units(self) -> tuple[Unit, ...]:
        """Its words as stems and CJK characters, with their places: what known phrases are looked for among."""
        return tuple(units(self.text))

    @_Once
    def amounts(self) -> tuple[Quantity, ...]:
        """Its numbers with scale and unit, by position."""
        return tuple(find_quantities(self.text))

    @_Once
    def answer_type(self) -> AnswerType:
        """The type of answer it expects."""
        return expected_answer_type(self.simplified, self.language)

    @_Once
    def parts(self) -> tuple[str, ...]:
        """What it asks one after the other ("who wrote it and when was it published?"), none where it is one."""
        return tuple(split_parts(self.text))

    @property
    def possible_names(self) -> dict[Place, str]:
        """The identity key of every run of words that may be a name; not kept, since these are thousands."""
        keys = ((place, entity_key(self.text[slice(*place)])) for place in possible_names(self.text))
        return {place: key for place, key in keys if key}

    @_Once
    def written_names(self) -> tuple[tuple[Place, str], ...]:
        """Names by how they are written, with their places: quoted ones first, then capitalised ones."""
        return (*quoted_names(self.text), *capitalised_names(self.text))

    @_Once
    def name_tokens(self) -> frozenset[str]:
        """Index tokens of what is written as a name within a sentence, numbers left out."""
        return name_tokens(self.text, self.language, self.written_names)

    @_Once
    def identifiers(self) -> tuple[str, ...]:
        """What it holds that is written as code is: settings, options, files."""
        return tuple(identifiers(self.text))

    @_Once
    def years(self) -> tuple[tuple[str, str], ...]:
        """Each year it names in digits, and as it writes the date (民國112年), in lower case."""
        return tuple((str(abs(one.year)), self.text[one.start : one.end].casefold()) for one in find_dates(self.text))

    @_Once
    def names(self) -> Callable[[str], bool]:
        """A test whether it names an identity key."""
        return names_in(self.text)

    def times(self, now: datetime) -> tuple[TimeRange, ...]:
        """Return the periods it names for certain, read once for each moment that they refer to.

        "From 2000 to 2050 yuan" names none.
        """
        key = ("times", now.isoformat(), str(now.tzinfo))  # equal moments of two zones lie in different days
        ends = {amount.start: amount.end for amount in self.amounts if amount.unit}

        def read() -> tuple[TimeRange, ...]:
            found = (t for t in find_time_ranges(self.text, now) if not t.approximate)
            return tuple(t for t in found if all(not begin < t.place[1] < end for begin, end in ends.items()))

        return self.once(key, read)

    def words_over(self, texts: Sequence[str]) -> QuestionWords:
        """Return its content words, weighed by how rare they are among texts; see `QuestionWords`."""
        return QuestionWords(self.content, texts, self.dates)


def split_parts(question: str) -> list[str]:
    """Return the parts of a question in order, [] when it is one: each asks something, with what is said before it."""
    # What stands in brackets, as the context of a follow-up does, is one with what it stands behind.
    whole = _BRACKETS.sub(lambda inside: "_" * len(inside[0]), simplified(question))
    between = [match.span() for match in _BETWEEN.finditer(whole)]
    places = pairwise((0, *(place for span in between for place in span), len(question)))
    parts: list[tuple[int, int]] = []
    begin = 0
    for start, end in islice(places, 0, None, 2):
        piece = _without_lead(question[start:end].strip(_AROUND))
        long = len(piece) >= _SHORTEST_ZH if cjk_share(piece) > 0.3 else len(piece.split()) >= _SHORTEST_EN
        if long and _ASKS.search(simplified(piece)):
            parts.append((begin, end))
            begin = end
    if not 1 < len(parts) <= MOST_PARTS:
        return []
    parts[-1] = (parts[-1][0], len(question))  # what is said last may be about it
    return [_without_lead(question[start:end].strip(_AROUND)) for start, end in parts]


def _without_lead(piece: str) -> str:
    lead = _LEADING.match(simplified(piece))
    return piece[lead.end() if lead else 0 :].strip()


_kept = lru_cache(maxsize=KEPT)(Question)


@lru_cache(maxsize=KEPT)
def _language_of(text: str) -> Language:
    """Return a question's language: one with Chinese characters and no English function word is Chinese.

    Commands, products and names in it stay Latin and may be most of its characters: "br log truncate 怎么用？".
    """
    if (language := detect_language(text)) == "en" and has_ideographs(text):
        words = {word.lower() for word in re.findall("[A-Za-z]+", text) if not word.isupper()}
        return "zh" if function_words().isdisjoint(words) else "en"
    return language


def spoken_language(text: str, interface: Language) -> Language | None:
    """Return the language to answer a question in where its own is not plain: the interface's; else None, its own.

    It is not plain where there are Latin words only and none of them an English function word: "hbbr port".
    """
    plain = interface == "en" or has_ideographs(text) or not function_words().isdisjoint(tokens(text))
    return None if plain else interface


def read_question(text: str, language: str | None = None) -> Question:
    """Return the shared reading of a text; any other language than `zh` is English, none: the text's own.

    A text of more than `LONGEST_KEPT` characters is read anew by everyone who asks: its readings are not small.
    """
    chosen: Language = "zh" if (language or _language_of(text)) == "zh" else "en"
    return _kept(text, chosen) if len(text) <= LONGEST_KEPT else Question(text, chosen)
