"""All models of one process, made from the settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from theworld.errors import ModelError
from theworld.models.across_languages import AcrossLanguages
from theworld.models.cached import CachedEmbedder
from theworld.models.protocols import ChatModel, Embedder, Tagger
from theworld.models.registry import load_embedder, load_taggers
from theworld.settings import Settings
from theworld.text import Language


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

    def embedder_for(self, language: Language) -> Embedder:
        """Return the embedder of notes in a language."""
        return self.embedders[language]

    def tagger_for(self, language: Language) -> Tagger:
        """Return the tagger of notes in a language."""
        return self.taggers[language]

    def space_of(self, language: Language) -> str:
        """Return the name of the space in which notes of a language lie."""
        return self.embedders[language].name

    def by_space(self, name: str) -> Embedder | None:
        """Return the embedder of a space, None when no configured (and installed) model makes such vectors."""
        return next((embedder for embedder in self.embedders.values() if _named(embedder, name)), None)

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
    return Models(embedders, load_taggers(settings), _chat(settings), partial(load_models, single))


def _chat(settings: Settings) -> ChatModel | None:
    if settings.model.name is None:
        return None
    from theworld.models.chat import OpenAIChatModel

    return OpenAIChatModel(settings.model)


def _named(embedder: Embedder, name: str) -> bool:
    try:
        return embedder.name == name
    except ModelError:
        return False
