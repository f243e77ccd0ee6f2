"""Other ways to find and show passages of the same files, with the same questions and the same embedder.

- BM25 over whole paragraphs joined up to 900 characters: the floor, plain and without any package;
- LangChain: RecursiveCharacterTextSplitter, and an ensemble of BM25 and the vector store;
- LlamaIndex: SentenceSplitter, and reciprocal rank fusion of BM25 and the vector store.

All is as the packages have it by default. Each answers with its first three passages, and never declines. Passages are
embedded by the embedder that most of the store's notes have vectors of; the vectors are kept in the user's cache.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from theworld.errors import TheWorldError
from theworld.evaluation.documents.asking import DocumentAnswer, Watch
from theworld.evaluation.documents.floor import PassageBM25
from theworld.evaluation.documents.passages import DEFAULT_SPLITTERS, Passage, corpus_texts, cut, join_paragraphs
from theworld.evaluation.documents.question_set import QuestionSet
from theworld.evaluation.documents.report import DocumentsReport
from theworld.evaluation.metrics import first_occurrences
from theworld.evaluation.peers.comparison import run_worker
from theworld.evaluation.peers.material import common_embedder, write_notes
from theworld.evaluation.peers.protocols import PeerNote
from theworld.evaluation.peers.registry import PEERS
from theworld.models.bundle import Models
from theworld.models.protocols import Embedder, FloatArray
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import content_hash

FLOOR = "bm25"
RIVALS = {FLOOR: "BM25, 900 characters", "langchain": "LangChain defaults", "llamaindex": "LlamaIndex defaults"}
"""The systems by name, with what tables call them."""
GAINS = ("file recall@5", "fact in first 3 notes", "answer contained", "on the first screen")
"""Measures whose differences are tested."""
_SHOWN = 3
"""First passages that make a rival's answer."""
_NOTES, _FLOOR_DEPTH = 10, 60
_BATCH = 8
_TENANT = "default"


@dataclass(frozen=True, slots=True)
class Rivals:
    """What all rivals reached on one set."""

    reports: Mapping[str, DocumentsReport]
    """By name, in the order of RIVALS."""
    left_out: Mapping[str, str]
    """Why a rival is missing, by name."""

    def as_json(self, ours: DocumentsReport) -> dict[str, Any]:
        """Return figures by name, ours compared with each: mean difference, its 95 % interval and p."""
        figures: dict[str, Any] = {}
        for name, report in self.reports.items():
            gains = {measure: ours.gain(report, measure) for measure in GAINS if measure in ours.figures.shares}
            figures[name] = report.figures.as_json() | {"latency_ms": report.latency_ms()}
            figures[name]["theworld_gain"] = {
                measure: [round(number, 6) for number in (gain.mean, gain.low, gain.high, gain.p_value)]
                for measure, gain in gains.items()
            }
        return {"rivals": figures, "left_out": dict(self.left_out)}


def measure_rivals(questions: QuestionSet, store: KnowledgeStore, models: Models, watch: Watch) -> Rivals:
    """Measure every rival; one that is not installed or fails is named in `left_out`."""
    texts = corpus_texts(questions.corpus)
    reports = {FLOOR: DocumentsReport(questions, ask_floor(questions, cut(texts, join_paragraphs), watch))}
    left_out = {}
    for name in DEFAULT_SPLITTERS:
        try:
            embedder = common_embedder(store, models, _TENANT)
            reports[name] = DocumentsReport(questions, _ask_peer(name, questions, texts, embedder, watch))
        except TheWorldError as error:
            left_out[name] = str(error)
    return Rivals(reports, left_out)


def ask_floor(questions: QuestionSet, passages: Sequence[Passage], watch: Watch) -> list[DocumentAnswer]:
    """Answer all questions by BM25 over passages."""
    index = PassageBM25([passage.text for passage in passages])
    answers, step = [], watch(f"Asking {RIVALS[FLOOR]}", len(questions.questions))
    for question in questions.questions:
        begun = time.perf_counter()
        ranking = [passages[place] for place in index.rank(question.question, _FLOOR_DEPTH)]
        answers.append(_answer(question.id, ranking, (time.perf_counter() - begun) * 1000))
        step()
    return answers


def _ask_peer(
    name: str, questions: QuestionSet, texts: Sequence[tuple[str, str]], embedder: Embedder, watch: Watch
) -> list[DocumentAnswer]:
    """Cut and embed the files here; the peer indexes them and answers all questions in a process of its own."""
    PEERS[name].require()
    passages = cut(texts, DEFAULT_SPLITTERS[name]())
    vectors = _vectors(passages, embedder, watch, RIVALS[name])
    asked = [question.question for question in questions.questions]
    with tempfile.TemporaryDirectory(prefix="theworld-rivals-") as made:
        folder, step = Path(made), watch(f"Asking {RIVALS[name]}", 1)
        write_notes(folder, [PeerNote(str(i), passage.text, ()) for i, passage in enumerate(passages)], list(vectors))
        job = {"store": made, "tenant": _TENANT, "space": embedder.name, "questions": asked}
        (folder / "job.json").write_text(json.dumps(job, ensure_ascii=False), "utf-8")
        found = run_worker(name, folder)
        step()
    rows = zip(questions.questions, found["rankings"], found["elapsed_ms"], strict=True)
    return [_answer(question.id, [passages[int(i)] for i in ranking], ms) for question, ranking, ms in rows]


def _vectors(passages: Sequence[Passage], embedder: Embedder, watch: Watch, label: str) -> FloatArray:
    """Return the passages' unit vectors, shape (passages, dimension), from the cache where they were made before."""
    texts = [passage.text for passage in passages]
    file = user_cache_path("theworld") / "evaluation" / f"passages-{content_hash(embedder.name, *texts)}.npy"
    if file.is_file():
        known: FloatArray = np.load(file)
        return known
    made, step = [], watch(f"Embedding for {label}", len(texts))
    for start in range(0, len(texts), _BATCH):
        for embedded in embedder.embed_passages(texts[start : start + _BATCH]):
            made.append(embedded.vector)
            step()
    vectors = np.asarray(made, np.float32)
    file.parent.mkdir(parents=True, exist_ok=True)
    whole = file.with_suffix(".new.npy")
    np.save(whole, vectors)
    whole.replace(file)
    return vectors


def _answer(question_id: str, ranking: Sequence[Passage], elapsed_ms: float) -> DocumentAnswer:
    texts = [passage.text for passage in ranking]
    files = tuple(first_occurrences(passage.file for passage in ranking))
    return DocumentAnswer(
        question_id, "\n".join(texts[:_SHOWN]), "extractive", None, files, tuple(texts[:_NOTES]), elapsed_ms
    )
