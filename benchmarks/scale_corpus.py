"""Stores of any size from real ones: real notes first, then derived ones that keep the real graph's shape.

A derived note is a real one in another *replica* of the corpus. Within a replica each rare name is replaced, always
by the same other words, so that titles, links and shared names hold together as they do in the real notes; common
names (in ten real notes or more) and a tenth of the rare ones stay, and join the replicas. The second half of the
sentences comes from another real note. Its vector is the mean of both notes' vectors by their share, with noise; its
token codes are those of both, with bits flipped. So texts, mentions and links are consistent with each other, vectors
only near enough for measuring speed and for distracting. Everything follows from the numbers given: no state, no
clock.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger import NoteParts
from theworld.stores.protocols import NoteChange
from theworld.stores.records import DocumentRecord, NoteRecord, content_hash
from theworld.stores.token_codes import CODE_BYTES, TokenCodes
from theworld.text import entity_key, split_sentences

COMMON = 10
"""A name in so many real notes is the same in every replica."""
SHARED = 10
"""One in so many of the other names is, too."""
NOISE = 0.3
"""Length of the noise added to a derived vector of length 1."""
FLIPPED = 0.1
"""Share of the bits of derived token codes that are flipped."""
_WORD = re.compile(r"[^\W\d_]+")
_KEPT = frozenset("the of and a an in on at to for from by with de la von van der".split())


@dataclass(frozen=True)
class RealNotes:
    """The notes of real stores, one after the other, each document once."""

    changes: list[NoteChange]

    @classmethod
    def read(cls, stores: Sequence[Path]) -> RealNotes:
        """Read all notes with their mentions, vectors and token codes; document ids are made unique by a prefix."""
        found: list[NoteChange] = []
        for number, path in enumerate(stores):
            with KnowledgeStore.open(path) as store:
                found += [_prefixed(change, f"r{number}-") for change in _all(store) if change.note is not None]
        return cls(found)

    @cached_property
    def frequency(self) -> Counter[str]:
        """In how many notes each entity key is named."""
        return Counter(
            key
            for change in self.changes
            for key in {m.key for m in _note(change).mentions} | {entity_key(change.title)}
        )

    @cached_property
    def words(self) -> list[str]:
        """Capitalised words of names, in order of text: what replaced names are made of."""
        found = {w for c in self.changes for m in _note(c).mentions for w in _WORD.findall(m.surface) if w[0].isupper()}
        return sorted(found)

    def documents(self, count: int) -> Iterator[DocumentRecord]:
        """Yield documents of one note each, `count` in all: first the real notes, then derived ones."""
        for number in range(count):
            change = self.changes[number % len(self.changes)]
            replica = number // len(self.changes)
            yield _real(change) if replica == 0 else self._derived(number, replica, change)

    def _derived(self, number: int, replica: int, change: NoteChange) -> DocumentRecord:
        random = np.random.default_rng([number, replica])
        other = self.changes[int(random.integers(len(self.changes)))]
        text, mentions, share = self._text(_note(change), _note(other), replica)
        title = self._renamed(change.title, entity_key(change.title), replica)
        vectors, codes = _vectors(random, _note(change), _note(other), share)
        return _document(f"x{number}", title, (), text, mentions, vectors, codes)

    def _text(self, first: NoteRecord, second: NoteRecord, replica: int) -> tuple[str, list[Mention], float]:
        """Return the first half of one note's sentences and the second of the other's, renamed, and the share."""
        own, others = split_sentences(first.text), split_sentences(second.text)
        own, others = own[: (len(own) + 1) // 2], others[(len(others) + 1) // 2 :]
        text, mentions = "", []
        for note, sentences in ((first, own), (second, others)):
            for sentence in sentences:
                text += " " if text else ""
                piece, some = self._sentence(note, sentence.start, sentence.end, len(text), replica)
                text, mentions = text + piece, mentions + some
        lengths = [sum(s.end - s.start for s in some) for some in (own, others)]
        return text, mentions, lengths[0] / max(sum(lengths), 1)

    def _sentence(self, note: NoteRecord, start: int, end: int, offset: int, replica: int) -> tuple[str, list[Mention]]:
        piece, mentions, position = "", [], start
        for mention in note.mentions:
            if mention.start < position or mention.end > end:
                continue
            piece += note.text[position : mention.start]
            surface = self._renamed(mention.surface, mention.key, replica)
            place = offset + len(piece)
            key = mention.key if surface == mention.surface else entity_key(surface)
            mentions.append(
                mention.model_copy(update={"surface": surface, "key": key, "start": place, "end": place + len(surface)})
            )
            piece, position = piece + surface, mention.end
        return piece + note.text[position:end], mentions

    def _renamed(self, surface: str, key: str, replica: int) -> str:
        """Return a name as it is in a replica: word by word, so that a short form fits the long one."""
        if self.frequency[key] >= COMMON or _number(key, replica) % SHARED == 0:
            return surface
        return _WORD.sub(lambda found: self._word(found.group(), replica), surface)

    def _word(self, word: str, replica: int) -> str:
        if not word[0].isupper() or word.casefold() in _KEPT:
            return word
        return self.words[_number(word.casefold(), replica) % len(self.words)]


def _all(store: KnowledgeStore) -> Iterator[NoteChange]:
    after, last = 0, store.ledger.sequence()
    while after < last:
        changes, after = store.ledger.changes(after, 500, NoteParts())
        yield from changes


def _prefixed(change: NoteChange, prefix: str) -> NoteChange:
    return NoteChange(
        change.sequence,
        change.tenant,
        prefix + change.note_id,
        prefix + change.document_id,
        change.title,
        change.aliases,
        change.metadata,
        change.note,
    )


def _note(change: NoteChange) -> NoteRecord:
    if change.note is None:
        raise ValueError("a removed note")
    return change.note


def _real(change: NoteChange) -> DocumentRecord:
    note = _note(change)
    return _document(
        change.note_id.replace("#", "."),
        change.title,
        change.aliases,
        note.text,
        note.mentions,
        note.vectors,
        note.codes,
    )


def _document(  # noqa: PLR0917
    identity: str,
    title: str,
    aliases: tuple[str, ...],
    text: str,
    mentions: Sequence[Mention],
    vectors: Mapping[str, Embedded],
    codes: Mapping[str, TokenCodes],
) -> DocumentRecord:
    note = NoteRecord(
        f"{identity}#0", 0, text, 0, len(text), "en", mentions=tuple(mentions), vectors=vectors, codes=codes
    )
    return DocumentRecord(
        identity, title, text, f"made/{identity}", content_hash(title, text), aliases, {"made": identity[0]}, (note,)
    )


def _vectors(
    random: np.random.Generator, first: NoteRecord, second: NoteRecord, share: float
) -> tuple[dict[str, Embedded], dict[str, TokenCodes]]:
    vectors, codes = {}, {}
    for space in first.vectors.keys() & second.vectors.keys():
        mixed = share * first.vectors[space].vector + (1 - share) * second.vectors[space].vector
        noise = random.normal(size=mixed.size)
        mixed = mixed / np.linalg.norm(mixed) + NOISE * noise / np.linalg.norm(noise)
        vectors[space] = Embedded((mixed / np.linalg.norm(mixed)).astype(np.float32))
        if space in first.codes and space in second.codes:
            codes[space] = _codes(random, first.codes[space], second.codes[space], share)
    return vectors, codes


def _codes(random: np.random.Generator, first: TokenCodes, second: TokenCodes, share: float) -> TokenCodes:
    head, tail = round(share * len(first.ids)), round(share * len(second.ids))
    ids = np.concatenate([first.ids[:head], second.ids[tail:]])
    bits = random.random((len(ids), 8 * CODE_BYTES)) < FLIPPED
    return TokenCodes(ids, np.concatenate([first.codes[:head], second.codes[tail:]]) ^ np.packbits(bits, axis=1))


def _number(word: str, replica: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{replica} {word}".encode(), digest_size=8).digest(), "big")
