"""What of a question may be a name: by how it is written, and every run of words that a store may know as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theworld.text.calendar import MONTHS, WEEKDAYS
from theworld.text.tokens import CJK_RANGES, function_words, tokens

Place = tuple[int, int]
"""Where something stands in the question: (start, end)."""
LONGEST_READ = 2_000
"""Characters of a question in which names are looked for: each place begins a dozen possible ones."""
LONGEST_NAME_WORDS = 8
LONGEST_NAME_CJK = 12
_WORD = re.compile(rf"[^\W_{CJK_RANGES}]+(?:['’.\-&][^\W_{CJK_RANGES}]+)*")
_CJK_RUN = re.compile(rf"[{CJK_RANGES}·•‧・]{{2,}}")
QUOTED = re.compile(r"[《「『“\"]([^《》「」『』“”\"]{2,500})[》」』”\"]")
_LONGEST_QUOTED = 60
"""Characters of a name in quotation marks; what is longer is quoted, and no name."""
_SHORT = r"(?:(?:[A-Z]\.)+|[A-Z][a-z]{1,2}\.)(?=\s)"  # initials, "St.": a stop that ends no sentence
_REST = r"[\w'’-]*(?:\.[\w'’-]+)*"
_NO_NAME = r"(?!I['’][a-z])"  # "I'd", which a sentence may hold anywhere
_CAPITALISED = re.compile(
    rf"\b{_NO_NAME}(?:{_SHORT}|[A-Z]{_REST})"
    rf"(?:\s+(?:(?:of|the|de|la|van|von|and|&)\s+(?!I\b))?{_NO_NAME}(?:{_SHORT}|[A-Z0-9]{_REST}))*"
)
IDENTIFIER = re.compile(
    r"(?<![\w./-])(?:--[A-Za-z][\w-]{1,60}|[A-Za-z][A-Za-z0-9]{1,60}(?:_+[A-Za-z0-9]{1,60}|\.[A-Za-z0-9]{2,60}){1,8}"
    r"|[a-z]{2,30}[A-Z]\w{1,60}|[A-Za-z][A-Za-z0-9]{0,60}(?:-[A-Za-z0-9]{1,60}){0,4}-[0-9]{2,60}"
    r"|[A-Z]{1,5}[0-9]{3,60})(?![\w/-])",
    re.ASCII,
)
_CALENDAR = frozenset(token for word in (*MONTHS, *WEEKDAYS) for token in tokens(word))  # capitalised, but no names
_SENTENCE_BEGINS = re.compile(r"(?:^|[.?!:\n])\s*$")
_OPENING = frozenset(
    "what which who whom whose when where why how is are was were do does did can could has have had in on at of the "
    "a an if between both name tell please".split()
)
"""Words that are capitalised because they open a question."""


def possible_names(text: str) -> Iterator[Place]:
    """Yield the place of every run of words or characters that is no function words alone."""
    text = text[:LONGEST_READ]
    words = list(_WORD.finditer(text))
    for i, first in enumerate(words):
        content = False
        for last in words[i : i + LONGEST_NAME_WORDS]:
            content = content or last.group().lower() not in function_words()
            if content and (last is not first or not first.group()[0].islower()):
                yield first.start(), last.end()
    for run in _CJK_RUN.finditer(text):
        for start in range(run.start(), run.end() - 1):
            yield from ((start, end) for end in range(start + 2, min(start + LONGEST_NAME_CJK, run.end()) + 1))


def quoted_names(text: str) -> Iterator[tuple[Place, str]]:
    """Yield what stands between quotation marks, with its place."""
    quoted = ((match.span(1), match.group(1)) for match in QUOTED.finditer(text))
    yield from ((place, name) for place, name in quoted if len(name) <= _LONGEST_QUOTED)


def capitalised_names(text: str) -> Iterator[tuple[Place, str]]:
    """Yield runs of capitalised words with their places, the words that open a question and a genitive left out."""
    for match in _CAPITALISED.finditer(text):
        words = list(re.finditer(r"\S+", match.group()))
        while words and words[0].group().casefold() in _OPENING:
            del words[0]
        if words:
            start = match.start() + words[0].start()
            written = text[start : match.end()].rstrip("?.,'’")
            if text[match.end() : match.end() + 1].isspace():
                written = written.removesuffix("'s").removesuffix("’s")
            yield (start, start + len(written)), " ".join(written.split())


def identifiers(text: str) -> Iterator[str]:
    """Yield what is written as code is, each once: MAX_SIZE, server.port, --dry-run, maxSize, SKU-1041, M017."""
    yield from dict.fromkeys(match.group() for match in IDENTIFIER.finditer(text[:LONGEST_READ]))


def name_tokens(text: str, language: str, written: Sequence[tuple[Place, str]]) -> frozenset[str]:
    """Return the index tokens of names written in a sentence, not at its beginning; in Chinese, of its Latin words."""
    within = (name for (start, _), name in written if not _SENTENCE_BEGINS.search(text[:start]))
    names = (word.group() for word in _WORD.finditer(text)) if language == "zh" else within
    found = {token for name in names for token in tokens(name)} - function_words() - _CALENDAR
    return frozenset(token for token in found if len(token) > 1 and not token.isdigit())
