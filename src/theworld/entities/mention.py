"""A mention as it stands in its text: what is said around it, whether it only refers to something; how well its name
fits an entry's names: equal, short, an acronym, of the same people or place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import dropwhile
from os.path import commonprefix
from typing import Any

from theworld.entities.words import entry_tokens, sport_words, topics_of, type_said
from theworld.packages import load_table
from theworld.text import entity_key, fold, tokens
from theworld.text.tokens import simplified


@cache
def demonyms() -> Mapping[str, str]:
    """Return adjective, people or other name -> key of the country."""
    table = load_table("theworld.entities", "data/demonyms.yaml")
    plurals = {f"{word}s": country for word, country in table["adjectives"].items() if word.endswith("an")}
    return plurals | {word: country for words in table.values() for word, country in words.items()}


FUNCTION_WORDS = frozenset("of the and in for de la a an".split())
ALIAS_FACTOR = 0.97
"""An alias counts a little less than the label."""
CLOSE = 0.9
"""From here names are the same but for form."""
MAX_ACRONYM = 6
MIN_PREFIX = 4
MIN_ABBREVIATED = 3
LONGEST_CHINESE_SHORT_FORM = 4

_NUMERALS = {"first": "i", "second": "ii", "third": "iii", "fourth": "iv", "1": "i", "2": "ii", "3": "iii", "4": "iv"}
_PUNCTUATION = re.compile(r"[^\w ]")
_QUALIFIER = re.compile(r"\s*[(（](.*)[)）]|[,，](.*)$")
_LEGAL_FORM = re.compile(
    r"[,，]? +(?:inc|corp|corporation|company|co|ltd|llc|plc|group)\.?$|(?:股份|有限|责任)*公司$|集团$|[市省县]$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
_FIRST_CJK = 0x2E80


def name_match(mention: str, candidate: Mapping[str, Any]) -> float:
    """Return in [0, 1] how well a mention fits the best of a candidate's label and aliases; 1 is the same name."""
    by_alias = (ALIAS_FACTOR * _similarity(mention, alias) for alias in candidate.get("aliases", ()))
    return max(_similarity(mention, candidate.get("label") or ""), *by_alias, 0.0)


@lru_cache(maxsize=20_000)
def name_words(name: str) -> frozenset[str]:
    """Return the tokens of a name, its numerals and words for nations in one form, without function words."""
    return frozenset().union(*map(_one_word, fold(name).split())) - FUNCTION_WORDS


@lru_cache(maxsize=50_000)
def _one_word(word: str) -> frozenset[str]:
    """Return the tokens of one folded word of a name."""
    country = demonyms().get(_PUNCTUATION.sub("", word)) or demonyms().get(word.removesuffix("-born"))
    if country:
        return frozenset(tokens(country)) - {"america"}
    return frozenset(_NUMERALS.get(token, token) for token in tokens(word))


@lru_cache(maxsize=20_000)
def qualifier_of(name: str) -> str:
    """Return what a name has in brackets or behind a comma: Oder for "Frankfurt (Oder)"."""
    match = _QUALIFIER.search(name)
    return next(filter(None, match.groups()), "") if match else ""


@lru_cache(maxsize=20_000)
def _similarity(mention: str, name: str) -> float:
    ours, theirs = entity_key(mention), entity_key(name)
    if not ours or not theirs:
        return 0.0
    bare = _PUNCTUATION.sub("", ours)
    if bare and bare == _PUNCTUATION.sub("", theirs):
        return 1.0 if ours == theirs else 0.97
    if theirs in {demonyms().get(ours), demonyms().get(bare)}:
        return 0.95
    legal_form = _LEGAL_FORM.search(simplified(name))
    without = name[: legal_form.start()] if legal_form else name
    if ours in {entity_key(_QUALIFIER.sub("", name)), entity_key(without)}:
        return 0.93
    # The beginning of a single word and a full stop, as Calif. is.
    begins = mention.endswith(".") and len(bare) >= MIN_ABBREVIATED and " " not in theirs and theirs.startswith(bare)
    # The first characters of a Chinese name's words, of two characters each, as 北大 is.
    short = 2 <= len(ours) <= LONGEST_CHINESE_SHORT_FORM and ord(ours[0]) >= _FIRST_CJK
    short = short and len(theirs) == 2 * len(ours) and theirs[::2] == ours
    same = begins or short or _is_acronym(mention, bare, name)
    return CLOSE if same else _overlap(mention, name, ours, theirs)


def _is_acronym(mention: str, bare: str, name: str) -> bool:
    if mention.upper() != mention or not bare.isascii() or not bare.isalpha() or not 2 <= len(bare) <= MAX_ACRONYM:
        return False
    return "".join(word[0] for word in _WORD.findall(fold(name)) if word not in FUNCTION_WORDS) == bare


def _overlap(mention: str, name: str, ours: str, theirs: str) -> float:
    """Return the fit of names that share some words."""
    left, right = name_words(mention), name_words(name)
    if not left or not right:
        return 0.0
    if left == right or (left == right - {"peopl"}):
        return CLOSE
    if left < right:
        same_end = tokens(mention)[-1:] == tokens(name)[-1:]
        return 0.45 + 0.35 * len(left) / len(right) + (0.1 if same_end else 0.0)
    if right < left:
        return 0.4 + 0.35 * len(right) / len(left)
    if left & right:
        return 0.35 * len(left & right) / len(left | right)
    prefix = max(len(commonprefix((a, b))) for a in left for b in right)  # noqa: RUF071 - of characters
    return 0.3 * prefix / max(len(ours), len(theirs)) + 0.05 if prefix >= MIN_PREFIX else 0.0


_PRONOUN = re.compile(r"(?:its?|they|their|them|he|him|his|she|hers?)", re.IGNORECASE)
_DEFINITE = re.compile(r"(?:the|this|that|these|those) ([a-z]+)", re.IGNORECASE)
_TITLED = re.compile(r" [A-Z]")


def refers(mention: MentionInText, candidate: Mapping[str, Any]) -> float:
    """Return 1 when "the country" may mean the candidate as it is one, or "its" as the text has named it before."""
    if _PRONOUN.fullmatch(mention.label):
        names = name_words(candidate.get("label") or "")
        return float(bool(names) and names <= name_words(mention.context[: max(mention.start, 0)]))
    noun = _DEFINITE.fullmatch(mention.label)
    kind = type_said(noun.group(1)) if noun else None
    return float(kind is not None and kind == type_said(candidate.get("description") or ""))


def lacks_head(mention: MentionInText, candidate: Mapping[str, Any]) -> float:
    """Return 1 when the mention's last word, which says what it is, stands nowhere in the candidate: the United States
    for "U.S. government"."""
    words = tokens(mention.label)
    if len(mention.own_words) < 2 or not words:
        return 0.0
    texts = [candidate.get("label"), candidate.get("description"), *candidate.get("aliases", ())]
    return float(not any(words[-1] in entry_tokens(text) for text in texts if text))


def holds_office(mention: MentionInText, label: str) -> float:
    """Return 1 for a certain office where the mention is a title before a name: President of the United States for
    "President" in "President John Adams". Its name ends with the title, or goes on with "of" or "in"."""
    end = mention.start + len(mention.label)
    titled = mention.start >= 0 and mention.label[:1].isupper() and _TITLED.match(mention.context[end : end + 2])
    if not titled:
        return 0.0
    title, office = " ".join(tokens(mention.label)), " ".join(tokens(label))
    return float(office.endswith(f" {title}") or office.startswith((f"{title} of ", f"{title} in ")))


CONTEXT_WINDOW = 200
"""Characters on each side of the mention that count as near it."""
MAX_CONTEXT = 8_000
"""Characters of a text that are read, around the mention."""

_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:\n]\s*)[\"'“‘`(]*$")
_APPOSED = r"\s?[(（]([^()（）]{1,40})[)）]|, ([A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,3})"
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][\w'’.-]*[ ]){1,3}$")
_NO_GIVEN_NAMES = frozenset(
    (
        "The A An In On At He She It They His Her Its Their This That These Those After Before When While As But And "
        "If For With From By New North South East West Northern Southern Eastern Western Central Great Greater Royal "
        "Old Mr Mrs Ms Dr Sir President Senator Professor Former"
    ).split()
)
"""Capitalised words that may stand before a surname or a place without belonging to it."""


@dataclass(frozen=True)
class MentionInText:
    """A mention and the text it stands in."""

    label: str
    """The mention as written."""
    context: str
    """The text, at most MAX_CONTEXT characters of it."""
    start: int
    """Where the mention stands in the text; -1 when it does not."""

    @classmethod
    def find(cls, label: str, context: str, start: int | None = None) -> MentionInText:
        """Return a mention at `start`, or at its first place in a text; a wrong start counts as unknown."""
        known = start is not None and start >= 0 and bool(label) and context.startswith(label, start)
        at = start if known and start is not None else (context.find(label) if label else -1)
        begin = max(0, min(at - MAX_CONTEXT // 2, len(context) - MAX_CONTEXT))
        return cls(label, context[begin : begin + MAX_CONTEXT], at - begin if at >= 0 else -1)

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Words of the mention as names are compared."""
        return name_words(self.label) or frozenset(tokens(self.label))

    @cached_property
    def near_words(self) -> frozenset[str]:
        """Tokens near the mention, its own left out; those of the text's beginning when it does not stand in it."""
        begin, end = self.start - CONTEXT_WINDOW, self.start + len(self.label) + CONTEXT_WINDOW
        near = self.context[max(0, begin) : end if self.start >= 0 else 2 * CONTEXT_WINDOW]
        return frozenset(tokens(near)) - frozenset(tokens(self.label))

    @cached_property
    def all_words(self) -> frozenset[str]:
        """Tokens of the text."""
        return frozenset(tokens(self.context))

    @cached_property
    def topics(self) -> frozenset[str]:
        """Topics of which the text around the mention has words."""
        return frozenset(topics_of(tokens(self.context.replace(self.label, " ") if self.label else self.context)))

    @cached_property
    def sport_words(self) -> int:
        """How many words in half the window around the mention speak of sport or of who won."""
        begin, end = max(0, self.start), max(0, self.start) + len(self.label)
        return sport_words(self.context[max(0, begin - CONTEXT_WINDOW // 2) : end + CONTEXT_WINDOW // 2])

    @cached_property
    def has_capital(self) -> bool:
        """Whether the mention begins with a capital that no beginning of a sentence gave it."""
        before = self.context[: max(self.start, 0)]
        return self.label[:1].isupper() and not _SENTENCE_BEGINS.search(before)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The mention, the full name that ends with it where the text has one (Britney Spears for Spears), and the
        mention with its full stop where it is an abbreviation."""
        names, end = [self.label], self.start + len(self.label)
        surname = self.label[:1].isupper() and " " not in self.label and self.label.isascii()
        for match in re.finditer(rf"\b{re.escape(self.label)}\b", self.context) if surname else ():
            before = _NAME_BEFORE.search(self.context[max(0, match.start() - 60) : match.start()])
            given = [*dropwhile(_NO_GIVEN_NAMES.__contains__, before.group().split() if before else ())]
            if given:
                names.append(" ".join([*given, self.label]))
                break
        # A full stop that ends no sentence.
        abbreviated = self.start >= 0 and re.match(r"\.(?:[,;:)]| [a-z0-9])", self.context[end : end + 3])
        return (*names, f"{self.label}.") if abbreviated else tuple(names)

    @cached_property
    def apposed(self) -> frozenset[str]:
        """Tokens of what narrows the mention down anywhere in the text: Texas in "Paris, Texas" or "Paris (Texas)"."""
        if not self.label:
            return frozenset()
        found = re.finditer(rf"(?<!\w){re.escape(self.label)}(?:{_APPOSED})", self.context)
        return frozenset(token for match in found for token in tokens(match.group(1) or match.group(2)))
