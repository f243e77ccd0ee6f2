"""Fakes and conformance suites for users of the project to test their own code with."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, Completion, Embedded, TokenVectors, unit
from theworld.state import Mention, MentionType, ModelUsage
from theworld.text import entity_key, tokens

__all__ = ["FakeChatModel", "FakeEmbedder", "FakeTagger"]


_VOCABULARY = 1 << 18


class FakeChatModel:
    """Says what it was told to say, in order; ModelError when nothing is left or an entry is an exception.

    `calls` keeps every list of messages it was sent, for assertions.
    """

    name = "fake-chat"

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        self._replies = iter(replies)
        self._lock = threading.Lock()
        self.calls: list[list[ChatMessage]] = []

    def complete(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Completion:  # noqa: ARG002
        """Return the next reply; tokens are counted as whitespace-separated words."""
        with self._lock:
            self.calls.append(list(messages))
            reply = next(self._replies, None)
        if reply is None:
            raise ModelError("the fake chat model has no reply left", remedy="Give it as many replies as calls.")
        if isinstance(reply, Exception):
            if isinstance(reply, ModelError):
                reply.calls = reply.calls or 1
            raise reply
        prompt = sum(len(message.content.split()) for message in messages)
        return Completion(reply, ModelUsage(calls=1, prompt_tokens=prompt, completion_tokens=len(reply.split())))

    def stream(self, messages: Sequence[ChatMessage], *, timeout_s: float | None = None) -> Iterator[str | Completion]:
        """Yield the next reply in pieces of eight characters, then the Completion."""
        completion = self.complete(messages, timeout_s=timeout_s)
        for start in range(0, len(completion.text), 8):
            yield completion.text[start : start + 8]
        yield completion


class FakeEmbedder:
    """Bags of hashed tokens: texts sharing tokens are near each other, and nothing else is meant by it.

    A question takes `delay_s` seconds, for tests of deadlines; passages take none.
    """

    def __init__(self, dimension: int = 64, name: str = "fake-embedder", delay_s: float = 0.0) -> None:
        self.dimension = dimension
        self.name = name
        self.delay_s = delay_s

    def embed_query(self, text: str) -> Embedded:
        """Embed one question."""
        time.sleep(self.delay_s)
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in the order given."""
        found = []
        for words in map(tokens, texts):
            chances = [np.random.default_rng(_hash(word)) for word in words or [""]]
            rows = np.stack([unit(one.standard_normal(self.dimension).astype(np.float32)) for one in chances])
            ids = np.array([_hash(word) % _VOCABULARY for word in words], dtype=np.int32)
            vectors = np.rint(rows[: len(words)] * 127).astype(np.int8)
            found.append(Embedded(unit(rows.sum(axis=0)), TokenVectors(ids, vectors)))
        return found

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has."""
        return [len(tokens(text)) for text in texts]


class FakeTagger:
    """Finds exactly the names it was given, wherever they stand, longer names first."""

    name = "fake-tagger"

    def __init__(self, names: Mapping[str, MentionType]) -> None:
        self._names = dict(sorted(names.items(), key=lambda item: (-len(item[0]), item[0])))
        if "" in self._names:
            raise ValueError("an empty name matches everywhere")

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return the mentions of each text, ascending and not overlapping."""
        tagged = []
        for text in texts:
            found: list[Mention] = []
            taken: set[int] = set()
            for name, kind in self._names.items():
                for start in [one.start() for one in re.finditer(f"(?={re.escape(name)})", text)]:
                    end = start + len(name)
                    if taken.isdisjoint(range(start, end)):
                        taken.update(range(start, end))
                        found.append(Mention(surface=name, type=kind, start=start, end=end, key=entity_key(name)))
            tagged.append(sorted(found, key=lambda mention: mention.start))
        return tagged


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
