"""Other ways to find and show passages of the same files, with the same questions and the same embedder.

- BM25 over whole paragraphs joined up to 900 characters: the floor, plain and without any package;
- LangChain: RecursiveCharacterTextSplitter, and an ensemble of BM25 and the vector store;
- LlamaIndex: SentenceSplitter, and reciprocal rank fusion of BM25 and the vector store;
- Haystack: DocumentSplitter, and reciprocal rank fusion of BM25 and the in-memory vectors;
- LightRAG: its windows of tokens, and its vector store alone, which is all that it has without a language model.

All is as the packages have it by default. Each answers with its first three passages, and never declines. Passages are
embedded by the embedder that most of the store's notes have vectors of; the vectors are kept in the user's cache.
"""

from __future__ import annotations

import math
import re
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theworld.errors import IngestionError, StoreError, TheWorldError
from theworld.evaluation.documents.question_set import DocumentAnswer, QuestionSet, Watch
from theworld.evaluation.documents.retrievers import RETRIEVERS, Split, default_splitter, run_worker, write_work
from theworld.evaluation.documents.scoring import DocumentsReport
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.readers.document import read_text
from theworld.models.protocols import Embedder, FloatArray
from theworld.models.registry import Models
from theworld.packages import cache_folder
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import content_hash

FLOOR = "bm25"
RIVALS = {FLOOR: "BM25, 900 characters"} | {name: retriever.label for name, retriever in RETRIEVERS.items()}
"""The systems by name, with what tables call them."""
GAINS = ("file recall@5", "fact in first 3 notes", "answer contained", "on the first screen")
"""Measures whose differences are tested."""
_SHOWN = 3
"""First passages that make a rival's answer."""
_NOTES, _FLOOR_DEPTH = 10, 60
_BATCH = 8
_TENANT = "default"
_K1, _B = 1.2, 0.75
_WORD = re.compile("[a-z0-9]+")
_CJK_RUN = re.compile("[\u3000-\u9fff\uf900-\ufaff]+")
_TEXT = frozenset({".md", ".mdx", ".rst", ".txt", ".html"})
_PARAGRAPH_END = re.compile(r"\n\s*\n")
_LONGEST_JOINED = 900


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file."""

    file: str
    """Relative to the corpus."""
    text: str


@dataclass(frozen=True, slots=True)
class Rivals:
    """What all rivals reached on one set."""

    reports: Mapping[str, DocumentsReport]
    """By name, in the order of RIVALS."""
    left_out: Mapping[str, str]
    """Why a rival is missing, by name."""

    def as_json(self, ours: DocumentsReport) -> dict[str, Any]:
        """Return figures by name, ours compared with each: mean difference, its 95 % interval and p, if any."""
        figures: dict[str, Any] = {}
        for name, report in self.reports.items():
            gains = {measure: ours.gain(report, measure) for measure in GAINS if measure in ours.figures.shares}
            figures[name] = report.figures.as_json() | {"latency_ms": report.latency_ms()}
            figures[name]["theworld_gain"] = {
                measure: [
                    None if number is None else round(number, 6)
                    for number in (gain.mean, gain.low, gain.high, gain.p_value)
                ]
                for measure, gain in gains.items()
            }
        return {"rivals": figures, "left_out": dict(self.left_out)}


def measure_rivals(questions: QuestionSet, store: KnowledgeStore, models: Models, watch: Watch) -> Rivals:
    """Measure every rival; one that is not installed or fails is named in `left_out`."""
    texts = corpus_texts(questions.corpus)
    reports = {FLOOR: DocumentsReport(questions, ask_floor(questions, cut(texts, join_paragraphs), watch))}
    left_out = {}
    for name in [name for name in RIVALS if name != FLOOR]:
        try:
            embedder = common_embedder(store, models, _TENANT)
            RETRIEVERS[name].require()
            passages = cut(texts, default_splitter(name))
            vectors = _vectors(passages, embedder, watch, RIVALS[name])
            notes = [(str(place), passage.text) for place, passage in enumerate(passages)]
            asked = [question.question for question in questions.questions]
            # The files are cut and embedded here; the package indexes them and answers all in a process of its own.
            with tempfile.TemporaryDirectory(prefix="theworld-rivals-") as made:
                folder, step = Path(made), watch(f"Asking {RIVALS[name]}", 1)
                write_work(folder, notes, list(vectors), embedder.name, asked)
                found = run_worker(["-m", "theworld.evaluation.documents.retrievers"], folder, name, RIVALS[name])
                step()
            rows = zip(questions.questions, found["rankings"], found["elapsed_ms"], strict=True)
            answers = [_answer(question.id, [passages[int(i)] for i in ranking], ms) for question, ranking, ms in rows]
            reports[name] = DocumentsReport(questions, answers)
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


def common_embedder(store: KnowledgeStore, models: Models, tenant: str) -> Embedder:
    """Return the embedder that most of the tenant's notes have vectors of; StoreError when none is configured."""
    spaces = store.dense.spaces(tenant)
    embedder = models.by_space(max(spaces, key=lambda name: (spaces[name], name), default=""))
    if embedder is None:
        raise StoreError("holds no vectors of a configured embedder.", where=str(store.path), remedy="Ingest anew.")
    return embedder


def _vectors(passages: Sequence[Passage], embedder: Embedder, watch: Watch, label: str) -> FloatArray:
    """Return the passages' unit vectors, shape (passages, dimension), from the cache where they were made before."""
    texts = [passage.text for passage in passages]
    file = cache_folder() / "evaluation" / f"passages-{content_hash(embedder.name, *texts)}.npy"
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
    files = tuple(dict.fromkeys(passage.file for passage in ranking))
    shown = "\n".join(texts[:_SHOWN])
    return DocumentAnswer(question_id, shown, "extractive", None, files, tuple(texts[:_NOTES]), elapsed_ms)


def corpus_texts(corpus: Path) -> list[tuple[str, str]]:
    """Return path below the corpus and text of its files: text as it is, other formats as our readers give them.

    Files without an ending, and those that cannot be read, are left out.
    """
    found = []
    for path in sorted(corpus.rglob("*")):
        if path.suffix and path.is_file():
            try:
                if path.suffix in _TEXT:
                    text = read_text(path)
                else:
                    text = "\n\n".join(one.text for one in read_source(path) if isinstance(one, SourceDocument))
            except IngestionError:
                continue
            found.append((path.relative_to(corpus).as_posix(), text))
    return found


def cut(texts: Sequence[tuple[str, str]], split: Split) -> list[Passage]:
    """Return the passages of all files, in order."""
    return [Passage(file, text) for file, whole in texts for text in split(whole)]


def join_paragraphs(text: str) -> list[str]:
    """Return paragraphs joined as long as they have at most 900 characters together; longer ones stay whole."""
    blocks = [""]
    for paragraph in _PARAGRAPH_END.split(text):
        if blocks[-1] and len(blocks[-1]) + len(paragraph) > _LONGEST_JOINED:
            blocks.append("")
        blocks[-1] += paragraph + "\n\n"
    return blocks if blocks[-1].strip() else blocks[:-1]


def tokens(text: str) -> list[str]:
    """Return runs of Latin letters and digits, then pairs of neighbouring Chinese characters."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    pairs = [run[i : i + 2] for run in _CJK_RUN.findall(folded) for i in range(max(len(run) - 1, 1))]
    return _WORD.findall(folded) + pairs


class PassageBM25:
    """BM25 in its plainest form, which any retriever of passages should beat.

    k1 = 1.2, b = 0.75, and the idf of Lucene, which is never negative; each term of a question counts once.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(tokens(text)) for text in texts]
        self._lengths = [count.total() for count in counts]
        self._mean = sum(self._lengths) / max(len(texts), 1) or 1.0
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for term, number in count.items():
                self._postings.setdefault(term, []).append((place, number))

    def rank(self, question: str, depth: int) -> list[int]:
        """Return the places of the best passages; of equal ones, also those that share no term, the first first."""
        scores = [0.0] * len(self._lengths)
        for term in dict.fromkeys(tokens(question)):
            found = self._postings.get(term, ())
            idf = math.log(1 + (len(scores) - len(found) + 0.5) / (len(found) + 0.5))
            for place, number in found:
                norm = _K1 * (1 - _B + _B * self._lengths[place] / self._mean)
                scores[place] += idf * number * (_K1 + 1) / (number + norm)
        return sorted(range(len(scores)), key=lambda place: -scores[place])[:depth]
