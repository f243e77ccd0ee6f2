from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker_suite import QUESTIONS, ask, candidate, candidates
from theworld.deadline import Deadline
from theworld.errors import ModelError, SettingsError
from theworld.models.cross_encoder_model import FastembedCrossEncoder, OnnxCrossEncoder, load_cross_encoder
from theworld.ranking import CrossEncoderReranker
from theworld.ranking.pointwise import sigmoid

from .conftest import write_cross_encoder

HUB_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
QUESTION, ANSWER = "Who discovered radium?", "Marie Curie discovered radium and polonium in Paris."


class Recorded:
    """A model that keeps what it was asked and finds later texts better."""

    name = "recorded"

    def __init__(self, logits=None):
        self.texts, self.batches, self._logits = [], [], logits

    def logits(self, query, texts):
        self.texts += texts
        self.batches.append(len(texts))
        return np.arange(len(texts), dtype=np.float32) if self._logits is None else self._logits(texts)


class NoLinks:
    def links(self, note_ids, *, tenant):
        raise AssertionError("without a bridge there is nothing to look up")


@pytest.mark.parametrize("labels", [1, 2])
def test_the_logit_is_what_the_model_computes(tmp_path: Path, labels: int) -> None:
    model = OnnxCrossEncoder(write_cross_encoder(tmp_path, labels=labels), threads=1)
    # "who", "discovered", "radium", "?": two of four are in the text.
    assert model.logits(QUESTION, [ANSWER, "", ANSWER]).tolist() == [0.0, -4.0, 0.0]
    assert model.logits(QUESTION, []).shape == (0,)
    assert model.name == f"onnx-{tmp_path.name}"


def test_scores_do_not_depend_on_batch_or_threads(cross_encoder_folder: Path) -> None:
    texts = [note.text for note in candidates(20)]
    once = OnnxCrossEncoder(cross_encoder_folder, threads=1).logits(QUESTION, texts)
    many = OnnxCrossEncoder(cross_encoder_folder, threads=4)
    assert np.array_equal(many.logits(QUESTION, texts), once)
    assert np.array_equal(many.logits(QUESTION, texts[::-1]), once[::-1])


def test_a_model_that_is_no_reranker_says_so(tmp_path: Path) -> None:
    model = OnnxCrossEncoder(write_cross_encoder(tmp_path, labels=3))
    with pytest.raises(ModelError, match=r"3 numbers for one pair.*one label"):
        model.logits(QUESTION, [ANSWER])


def test_a_folder_without_its_files_is_refused_before_any_question(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.onnx in this folder"):
        load_cross_encoder(f"onnx:{tmp_path}")
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"no tokenizer\.json in this folder"):
        load_cross_encoder(f"onnx:{tmp_path}")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with pytest.raises(ModelError, match="not a readable tokenizer"):
        load_cross_encoder(f"onnx:{tmp_path}").logits("a", ["b"])


@pytest.mark.parametrize("spec", ["", "onnx", "onnx:", "minilm", "fastembed:", "bge-reranker"])
def test_an_unknown_spec_names_the_choices(spec: str) -> None:
    with pytest.raises(SettingsError, match=r"rerank\.model: unknown cross-encoder .*onnx:DIR"):
        load_cross_encoder(spec)


@pytest.mark.slow
def test_fastembed_reads_a_local_folder_and_scores_the_same(tmp_path: Path, cross_encoder_folder: Path) -> None:
    folder = write_cross_encoder(tmp_path / "hub", where="onnx/model.onnx")
    files = {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 256, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), "utf-8")
    texts = [ANSWER, "half \ud800 a letter", "", *[note.text for note in candidates(12)]]
    found = load_cross_encoder(f"fastembed:{HUB_MODEL}={folder}").logits(QUESTION, texts)
    assert found.tolist() == OnnxCrossEncoder(cross_encoder_folder).logits(QUESTION, texts).tolist()


def test_an_unreachable_hub_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="the extra `fastembed` is not installed")

    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("the hub is unreachable")

    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    reranker = CrossEncoderReranker(FastembedCrossEncoder(HUB_MODEL), NoLinks())
    with pytest.raises(ModelError, match=r"Connect to the hub once.*onnx:DIR"):
        reranker.warm()
    found = ask(reranker, candidates(3))
    assert found.outcome == "error"
    assert "fastembed cannot load" in found.reason


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2))
def test_the_sigmoid_is_monotone_and_in_range(logits: list[float]) -> None:
    low, high = (sigmoid(logit) for logit in sorted(logits))
    assert 0.0 <= low <= high <= 1.0
    assert sigmoid(-logits[0]) == pytest.approx(1 - sigmoid(logits[0]))


def test_relevance_is_the_sigmoid_of_the_logit(cross_encoder_folder: Path) -> None:
    found = ask(
        CrossEncoderReranker(OnnxCrossEncoder(cross_encoder_folder), NoLinks()), candidates(10), "discovered radium"
    )
    assert found.ranked[0].relevance == pytest.approx(1 / (1 + math.exp(-4)))


def test_pairs_go_in_micro_batches() -> None:
    model = Recorded()
    ask(CrossEncoderReranker(model, NoLinks(), batch_size=4), candidates(10))
    assert model.batches == [4, 4, 2]


@pytest.mark.parametrize(
    ("logits", "reason"),
    [
        (lambda texts: [math.nan] * len(texts), "nan is no relevance"),
        (lambda texts: [1.0], "1 scores for 3 texts"),
        (lambda texts: None, "TypeError"),
    ],
)
def test_a_model_that_lies_leaves_the_fused_order(logits, reason: str) -> None:
    found = ask(CrossEncoderReranker(Recorded(logits), NoLinks()), candidates(3))
    assert (found.ranked, found.outcome) == ((), "error")
    assert reason in found.reason


def test_infinite_logits_are_certain() -> None:
    model = Recorded(lambda texts: np.array([-math.inf, 0, math.inf]))
    found = ask(CrossEncoderReranker(model, NoLinks()), candidates(3))
    assert [r.relevance for r in found.ranked] == [1.0, 0.5, 0.0]


def test_a_failure_after_the_top_was_scored_is_partial() -> None:
    def failing_later(texts):
        if len(model.batches) > 1:
            raise RuntimeError("out of memory")
        return np.zeros(len(texts))

    model = Recorded(failing_later)
    reranker = CrossEncoderReranker(model, NoLinks(), batch_size=5)
    found = reranker.rerank("q", candidates(12), top_k=5, tenant="default", deadline=Deadline.after(60_000))
    assert (found.outcome, len(found.ranked)) == ("partial", 5)
    assert "out of memory" in found.reason
    assert "5 of 12" in found.reason


@pytest.mark.parametrize(("question", "note_id"), QUESTIONS)
def test_both_languages_by_the_real_runtime(cross_encoder_folder: Path, question: str, note_id: str) -> None:
    found = ask(
        CrossEncoderReranker(load_cross_encoder(f"onnx:{cross_encoder_folder}"), NoLinks()), candidates(30), question
    )
    assert found.ranked[0].note_id == note_id
    assert found.ranked[0].relevance > found.ranked[1].relevance


def test_candidates_without_text_are_read_by_their_title() -> None:
    model = Recorded()
    ask(CrossEncoderReranker(model, NoLinks()), [candidate("a#0", "Title"), candidate("b#0", "", "text")])
    assert model.texts == ["Title\n", "text"]
