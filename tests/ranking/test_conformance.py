"""All rerankers under one contract."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from reranker_suite import MakeReranker, RerankerConformance, candidates
from theworld.models.cross_encoder_model import OnnxCrossEncoder
from theworld.ranking import CrossEncoderReranker, EvidenceSetReranker, RemoteReranker, RerankProtocol
from theworld.ranking.evidence_set import MICRO_BATCH
from theworld.stores.dense import NumpyDense
from theworld.testing import FakeEmbedder
from theworld.testing.conformance.documents import feed, put


class Slowed:
    """Passes everything on; the named methods take longer, or fail."""

    def __init__(self, whole: Any, methods: set[str], delay_s: float, error: str) -> None:
        self._whole, self._methods, self._delay_s, self._error = whole, methods, delay_s, error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        return self._wrapped(found) if name in self._methods else found

    def _wrapped(self, found: Any) -> Any:
        def call(*args: Any) -> Any:
            time.sleep(self._delay_s)
            if self._error:
                raise RuntimeError(self._error)
            return found(*args)

        return call


class TestEvidenceSet(RerankerConformance):
    micro_batch = MICRO_BATCH

    @pytest.fixture
    def make(self, tmp_path, note_graph) -> Iterator[MakeReranker]:
        embedder = FakeEmbedder(name="en")
        store = NumpyDense(tmp_path, writable=True)
        known = candidates(130)
        vectors = embedder.embed_passages([f"{note.title} {note.text}" for note in known])
        feed(store, *(put(n.note_id, n.text, vectors={"en": v}) for n, v in zip(known, vectors, strict=True)))

        def make(*, delay_s: float = 0.0, error: str = "") -> EvidenceSetReranker:
            dense = Slowed(store, {"token_codes"}, delay_s, error)
            return EvidenceSetReranker(dense, note_graph, {"en": embedder}.get)

        yield make
        store.close()


class TestCrossEncoder(RerankerConformance):
    @pytest.fixture
    def make(self, cross_encoder_folder, note_graph) -> MakeReranker:
        def make(*, delay_s: float = 0.0, error: str = "") -> CrossEncoderReranker:
            model = Slowed(OnnxCrossEncoder(cross_encoder_folder, threads=2), {"logits"}, delay_s, error)
            return CrossEncoderReranker(model, note_graph)

        return make


class TestRemote(RerankerConformance):
    protocol = "cohere"

    @pytest.fixture
    def make(self, server, note_graph) -> Iterator[MakeReranker]:
        made: list[RemoteReranker] = []

        def make(*, delay_s: float = 0.0, error: str = "") -> RemoteReranker:
            server.delay_s = delay_s
            if error:
                server.answer = lambda handler, _: handler.send(500, {"error": error})
            protocol = RerankProtocol(self.protocol, server.url, "m", logits=False)
            made.append(RemoteReranker(protocol, note_graph, batch_size=8))
            return made[-1]

        yield make
        server.test_is_over.set()
        for reranker in made:
            reranker.close()

    def threads(self):
        return {thread for thread in super().threads() if "process_request" not in thread.name}


class TestRemoteTei(TestRemote):
    protocol = "tei"
