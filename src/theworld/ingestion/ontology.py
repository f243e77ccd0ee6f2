"""An ontology file into a store, with vectors of its elements, so that they are recognised by meaning too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from theworld.models.protocols import FloatArray
from theworld.ontology import Ontology, Words
from theworld.ontology.storing import EmbedElements, ImportReport, import_ontology
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.text import Language

if TYPE_CHECKING:
    from theworld.models.registry import Models

BATCH = 32


def ingest_ontology(
    ontology: Ontology,
    store: KnowledgeStore,
    models: Models,
    *,
    tenant: str = "default",
    progress: Callable[[int, int], None] | None = None,
) -> ImportReport:
    """Put a checked ontology into a store with vectors in every language's space; see `import_ontology`."""
    return import_ontology(store, ontology, tenant=tenant, embed=element_embedder(models), progress=progress)


def element_embedder(models: Models) -> EmbedElements:
    """Return what makes vectors of elements: one space a language, from the texts in that language."""

    def embed(texts: Sequence[Words]) -> dict[str, FloatArray]:
        languages: tuple[Language, ...] = ("en", "zh")
        by_space: dict[str, FloatArray] = {}
        for language in languages:
            embedder = models.embedder_for(language)
            if embedder.name not in by_space:
                own = [text.of(language) for text in texts]
                batches = [own[i : i + BATCH] for i in range(0, len(own), BATCH)]
                vectors = [one.vector for batch in batches for one in embedder.embed_passages(batch)]
                by_space[embedder.name] = np.stack(vectors)
        return by_space

    return embed
