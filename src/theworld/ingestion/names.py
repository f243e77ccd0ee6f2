"""Finds the titles and aliases of documents in notes and joins them with the tagger's mentions.

The tagger sees a note without its marks of Markdown, which it would take into names, each character in its place.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import ahocorasick

from theworld.state import Mention
from theworld.text import entity_key, without_qualifier
from theworld.text.tokens import CJK_RANGES, simplified

TitleRow = tuple[str, str, Sequence[str]]
"""(document id, title, aliases), as the store's `titles` gives them."""

SHORTEST = 2
"""Characters; shorter names are not looked for."""

_CJK = re.compile(f"[{CJK_RANGES}]")
_NUMBER = re.compile(r"[\d\W_]+|[IVX]+")
_ARTICLE = re.compile(r"(?i:the|a|an) ")
_SENTENCE_BREAK = re.compile(r"(?:^|[.!?:;。！？：；\n•*#>-]|\A)[\s\"'“‘«(\[]*\Z", re.MULTILINE)
_BETWEEN_NAMES = re.compile(r"\s*(?:[,;&/、，；和与及]|\b(?:and|or)\b|,\s*and\b)\s*")
_MARKS = re.compile(r"^[ \t]*#+(?=[ \t])|^[ \t]*\|[-:| \t]+$|[*`]+", re.MULTILINE)
"""Marks of headings, emphasis and code, and the rule below a table's header."""
_CELLS = re.compile(r"[|;\t]|(?<!\d),(?=\S)|,(?=[^\s\d])")
"""What stands between the cells of a table or of CSV, and in no name."""
_OPENING, _CLOSING = "\"'“‘«《〈「『*_`", "\"'”’»》〉」』*_`"
_APOSTROPHES, _DOTS = "’‘ʼ`´", "·•‧・"


class Name(NamedTuple):
    """A name that some document goes by."""

    pattern: str
    """Flat, lower-case and in simplified Chinese: what is searched."""
    form: str
    """Flat, as it is written in the title."""
    key: str
    """Identity of the entity it stands for."""


class TitleMatch(NamedTuple):
    """A name found in a text."""

    start: int
    end: int
    key: str


class _Flat(dict[int, str]):
    """A translation table, filled as characters are met, that keeps the length of any text."""

    def __init__(self, *, lower: bool = False) -> None:
        super().__init__()
        self._to_lower = lower

    def __missing__(self, code: int) -> str:
        """Return one character for one: narrow, without accent, one kind of apostrophe, dot and space."""
        character = chr(code)
        plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", character))
        if len(plain) > 1 and all(unicodedata.category(mark) == "Mn" for mark in plain[1:]):
            plain = plain[0]
        plain = plain if len(plain) == 1 else character
        plain = "'" if plain in _APOSTROPHES else "·" if plain in _DOTS else " " if plain.isspace() else plain
        if self._to_lower and len(plain.lower()) == 1:
            plain = simplified(plain.lower())
        self[code] = plain
        return plain


_FLAT, _LOWER = _Flat(), _Flat(lower=True)


@cache
def common_words() -> frozenset[str]:
    """Return the English words whose capital letter at the start of a sentence says nothing."""
    table = files("theworld.ingestion").joinpath("data/common_words.txt").read_text("utf-8")
    return frozenset(word for line in table.splitlines() if not line.startswith("#") for word in line.split())


def names_of(titles: Iterable[TitleRow]) -> frozenset[Name]:
    """Return every name the documents go by: titles, titles without bracketed qualifier or article, aliases.

    The key of a title is its own; the key of an alias is that of the one title it belongs to, or its own where
    several titles share it. So all names of an entity have one key, and an ambiguous name stands for itself.
    """
    rows = list(titles)
    owners: dict[str, set[str]] = defaultdict(set)
    for _, title, _ in rows:
        owners[entity_key(without_qualifier(title))].add(entity_key(title))
    by_title: dict[str, set[str]] = defaultdict(set)
    by_alias: dict[str, set[str]] = defaultdict(set)
    for _, title, aliases in rows:
        bare = without_qualifier(title)
        key = entity_key(bare) if len(owners[entity_key(bare)]) == 1 else entity_key(title)
        by_title[_form(title)].add(entity_key(title) if title == bare else key)
        short = bare[4:] if bare.startswith("The ") else bare
        named = bare if all(word in common_words() for word in short.lower().split()) else short
        for form in {bare, named} - {title}:
            by_title[_form(form)].add(entity_key(bare))
        for alias in aliases:
            by_alias[_form(alias)].add(key)
    taken = {form.translate(_LOWER) for form in by_title}
    for form, keys in by_alias.items():
        if form.translate(_LOWER) not in taken:
            by_title[form] = keys if len(keys) == 1 else {entity_key(form)}
    return frozenset(
        Name(form.translate(_LOWER), form, key)
        for form, keys in by_title.items()
        if len(form) >= SHORTEST and _NUMBER.fullmatch(form) is None
        for key in keys
        if key
    )


def _form(name: str) -> str:
    return " ".join(name.translate(_FLAT).split())


class NameIndex:
    """Finds names in texts, all at once (Aho-Corasick)."""

    def __init__(self, names: Iterable[Name]) -> None:
        by_pattern: dict[str, list[Name]] = defaultdict(list)
        for name in sorted(names):
            by_pattern[name.pattern].append(name)
        self._automaton = ahocorasick.Automaton()
        for pattern, same in by_pattern.items():
            self._automaton.add_word(pattern, same)
        self._empty = not by_pattern
        if not self._empty:
            self._automaton.make_automaton()

    def may_occur(self, text: str) -> bool:
        """Return whether the letters of a name stand in a text: true for every text in which `find` finds one."""
        return not self._empty and next(self._automaton.iter(text.translate(_LOWER)), None) is not None

    def find(self, text: str, mentions: Sequence[Mention] = ()) -> list[TitleMatch]:
        """Return the names in a text, the longest of overlapping ones, ascending.

        Latin names stand between word boundaries. Names of one word, or of common words only, match as written;
        a common word at the start of a sentence is a name only in quotation marks or where the tagger marked it.
        """
        if self._empty:
            return []
        flat = text.translate(_FLAT)
        tagged = {(mention.start, mention.end) for mention in mentions}
        found = []
        for last, names in self._automaton.iter(text.translate(_LOWER)):
            end = last + 1
            start = end - len(names[0].pattern)
            name = next((name for name in names if _holds(name, flat, start, end, (start, end) in tagged)), None)
            if name is not None:
                found.append(TitleMatch(start, end, name.key))
        kept: list[TitleMatch] = []
        for match in sorted(found, key=lambda match: (match.start, -match.end)):
            if not kept or match.start >= kept[-1].end:
                kept.append(match)
            elif match.end - match.start > kept[-1].end - kept[-1].start:
                kept[-1] = match
        return kept


def _holds(name: Name, flat: str, start: int, end: int, tagged: bool) -> bool:
    if not (_is_edge(flat, start - 1, start) and _is_edge(flat, end, end - 1)):
        return False
    if _CJK.search(name.form):
        return True
    words = name.pattern.split()
    common = all(word in common_words() for word in words)
    if len(words) > 1 and not common:
        return True
    written, article = flat[start:end], _ARTICLE.match(name.form)
    if written != name.form and (article is None or written[article.end() :] != name.form[article.end() :]):
        return False
    if not common or len(words) > 1 or tagged:
        return True
    quoted = start > 0 and flat[start - 1] in _OPENING and flat[end : end + 1] in _CLOSING and end < len(flat)
    return quoted or _SENTENCE_BREAK.search(flat[max(0, start - 8) : start]) is None


def _is_edge(text: str, outside: int, inside: int) -> bool:
    """Return whether a Latin word ends between two neighbouring characters; Chinese has no such borders."""
    if not 0 <= outside < len(text):
        return True
    left, right = text[outside], text[inside]
    return not (left.isalnum() and right.isalnum() and _CJK.match(left) is None and _CJK.match(right) is None)


def without_marks(text: str) -> str:
    """Return a text of the same length with blanks for marks of Markdown, and with semicolons between cells."""
    return _MARKS.sub(lambda mark: " " * len(mark[0]), text).replace("|", ";")


def as_written(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Return mentions that were found in a text without marks with their words as they stand in the text itself."""
    return [one.model_copy(update={"surface": text[one.start : one.end]}) for one in mentions]


def join_mentions(text: str, mentions: Sequence[Mention], matches: Sequence[TitleMatch]) -> tuple[Mention, ...]:
    """Return mentions with the names found among them, ascending and not overlapping.

    A mention of the same span, or of the same words but for an article or possessive, keeps its type and becomes
    `titled`; so does one drawn too wide, cut to the name (`Sir Isaac Newton`). Several names in a row that the tagger
    took for one are separated. Otherwise the name takes the place of the mentions it overlaps where it is longer
    than each. What the tagger took for one name over several cells is none.
    """
    names = (mention for mention in mentions if not _CELLS.search(mention.surface))
    joined = [mention for mention in names if not _is_listing(mention, text, matches)]
    for match in matches:
        surface = text[match.start : match.end]
        rivals = [mention for mention in joined if mention.start < match.end and match.start < mention.end]
        same = next((mention for mention in rivals if entity_key(mention.surface) == entity_key(surface)), None)
        named = {"titled": True, "key": match.key}
        if same is None and len(rivals) == 1 and _is_overdrawn(rivals[0], match, surface):
            same, named = rivals[0], named | {"surface": surface, "start": match.start, "end": match.end}
        if same is not None:
            joined[joined.index(same)] = same.model_copy(update=named)
        elif all(mention.end - mention.start < len(surface) for mention in rivals):
            joined = [mention for mention in joined if mention not in rivals]
            joined.append(Mention(surface=surface, start=match.start, end=match.end, key=match.key, titled=True))
    return tuple(sorted(joined, key=lambda mention: (mention.start, mention.end)))


def _is_listing(mention: Mention, text: str, matches: Sequence[TitleMatch]) -> bool:
    """Return whether a mention is several names in a row (`Voyager 1 and Voyager 2`), which a tagger took for one."""
    inside = [match for match in matches if mention.start <= match.start and match.end <= mention.end]
    gaps = [text[left.end : right.start] for left, right in pairwise(inside)]
    return bool(gaps) and all(_BETWEEN_NAMES.fullmatch(gap) for gap in gaps)


def _is_overdrawn(mention: Mention, match: TitleMatch, surface: str) -> bool:
    """Return whether a tagger drew a mention too wide around a name.

    A person's full name with a rank or form of address before it, or a Chinese place with one character behind it.
    """
    if mention.type == "person":
        return " " in surface and mention.start < match.start and mention.end == match.end
    one_more = mention.start == match.start and mention.end == match.end + 1
    return mention.type == "place" and one_more and len(surface) > 2 and _CJK.match(surface) is not None


def forget_names(mentions: Sequence[Mention], gone: Collection[str]) -> tuple[Mention, ...]:
    """Return mentions without the names (patterns) that no document goes by any more.

    What only the title made a mention is dropped; what the tagger typed stays, with the key of its own words.
    """
    kept = []
    for mention in mentions:
        if not mention.titled or pattern_of(mention.surface) not in gone:
            kept.append(mention)
        elif mention.type != "other":
            kept.append(mention.model_copy(update={"titled": False, "key": entity_key(mention.surface)}))
    return tuple(kept)


def pattern_of(surface: str) -> str:
    """Return the pattern under which a name is searched."""
    return _form(surface).translate(_LOWER)
