"""What the models make of notes: vectors, token codes and typed mentions, the same in this process as in another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from theworld.errors import TheWorldError
from theworld.ingestion.names import as_written, without_marks
from theworld.ingestion.report import Stopwatch
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.records import embedded_text
from theworld.stores.token_codes import TokenCodes, encode_tokens
from theworld.text import Language

if TYPE_CHECKING:
    from theworld.models.registry import Models

EMBED_NOTES = 64
"""Notes embedded between two steps of the progress."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """What the models see of a note."""

    title: str
    """Title of its document."""
    text: str
    language: Language
    section: tuple[str, ...] = ()
    lead: str = ""


@dataclass(frozen=True, slots=True)
class MadeNote:
    """What the models made of a note."""

    mentions: Sequence[Mention]
    vectors: dict[str, Embedded] = field(default_factory=dict)
    """By space, without token vectors."""
    codes: dict[str, TokenCodes] = field(default_factory=dict)
    """Token vectors by space, coded."""


@dataclass(frozen=True, slots=True)
class FailedNote:
    """A note that a model failed on."""

    reason: str
    error: Exception | None = None
    """What the model raised, where that can be told."""


Outcome = MadeNote | FailedNote


def model_notes(
    models: Models, notes: Sequence[NoteText], watch: Stopwatch, advance: Callable[[int], None], *, side_by_side: bool
) -> list[Outcome]:
    """Return what the models make of each note, in order; one that a model fails on does not spoil the others.

    `advance` is told how many more notes are done. `side_by_side` tags in a second thread. Errors of the project (a
    model that is missing, for instance) pass through.
    """
    mentions: list[Sequence[Mention]] = [()] * len(notes)
    made: list[tuple[dict[str, Embedded], dict[str, TokenCodes]]] = [({}, {})] * len(notes)

    def tag() -> None:
        with watch("tag"):
            for language, places in _by_language(notes):
                found = models.tagger_for(language).tag([without_marks(notes[place].text) for place in places])
                for place, some in zip(places, found, strict=True):
                    mentions[place] = as_written(notes[place].text, some)

    def embed() -> None:
        for language, places in _by_language(notes):
            embedder = models.embedder_for(language)
            # Notes of similar length lie side by side, for embedders that pad their batches.
            ordered = sorted(places, key=lambda place: len(notes[place].text))
            for first in range(0, len(ordered), EMBED_NOTES):
                some = ordered[first : first + EMBED_NOTES]
                texts = [
                    embedded_text(one.title, one.section, one.lead, one.text) for one in map(notes.__getitem__, some)
                ]
                with watch("embed"):
                    found = embedder.embed_passages(texts)
                with watch("codes"):
                    for place, one in zip(some, found, strict=True):
                        codes = {} if one.tokens is None else {embedder.name: encode_tokens(one.tokens)}
                        made[place] = {embedder.name: Embedded(one.vector)}, codes
                advance(len(some))

    try:
        if side_by_side:
            with ThreadPoolExecutor(1, thread_name_prefix="tagger") as pool:
                tagging = pool.submit(tag)
                embed()
                tagging.result()
        else:
            embed()
            tag()
    except TheWorldError:
        raise
    except Exception as error:  # a model's own failure on some text: anything may come
        if len(notes) == 1:
            return [FailedNote(f"a model failed on it: {type(error).__name__}: {error}", error)]
        one_by_one = (model_notes(models, [note], watch, advance, side_by_side=side_by_side) for note in notes)
        return [outcome for outcomes in one_by_one for outcome in outcomes]
    return [MadeNote(some, *one) for some, one in zip(mentions, made, strict=True)]


def _by_language(notes: Sequence[NoteText]) -> Iterator[tuple[Language, list[int]]]:
    places: dict[Language, list[int]] = defaultdict(list)
    for place, note in enumerate(notes):
        places[note.language].append(place)
    yield from places.items()
