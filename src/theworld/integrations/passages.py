"""What every integration is a face of: a question in, ranked passages with their metadata out.

The graph runs as far as its evidence (references, routing, channels, fusion, reranking); no answer is made and no
language model is called. Routing never keeps a question from being searched: whoever asks a retriever wants passages.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from theworld.state import PATH_SEPARATOR, Candidate, Context, QueryInput

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph


_SAME = {"note_id", "document_id", "title", "source", "start", "end", "kind", "language", "channels", "hop", "bridge"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A note that was found."""

    id: str
    """Its note id."""
    text: str
    """What is shown: a table's header or a list's introduction where the note lacks it, then the note."""
    score: float
    """Relevance in [0, 1]."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Plain JSON values: `document_id`, `title`, `section_path`, `source`, `start`, `end` (characters of the document),
    `kind`, `language`, `rank` (from 1), `score`, `channels` (name -> {rank, score}), `hop`, `bridge`."""

    @classmethod
    def of(cls, candidate: Candidate, rank: int) -> Self:
        """Return a candidate of the graph as a passage."""
        path = PATH_SEPARATOR.join(part for part in (candidate.title, *candidate.section) if part)
        metadata = candidate.model_dump(include=_SAME)
        metadata |= {"section_path": path, "rank": rank, "score": candidate.final_score}
        return cls(candidate.note_id, candidate.whole_text, candidate.final_score, metadata)


class PassageSearch(AbstractContextManager["PassageSearch"]):
    """Finds passages over a compiled graph, or over a store by its folder, which is opened with the first question.

    Thread-safe. Close it, or use it as a context manager, where it opened the store itself.
    """

    def __init__(self, source: CompiledGraph | Path | str, context: Context | None = None) -> None:
        """Take a graph of `theworld.build_graph`, or a store's folder; `context` says whose knowledge and how."""
        self._source, self._context = source, context or Context()
        self._opening = threading.Lock()
        self._stack = ExitStack()
        self._graph: CompiledGraph | None = None

    def find(self, question: str, k: int, filters: Mapping[str, Any] | None = None) -> list[Passage]:
        """Return the best k passages, best first; `filters` are added to those of the context, which stay.

        InvalidQuestionError for an empty or too long question, SettingsError for a k or filters that cannot be,
        StoreError where there is no store.
        """
        from theworld.service.requests.running import run_graph

        wanted = {**(filters or {}), **self._context.filters}
        asked = Context(top_k=k, filters=wanted, use_model=False, router=False, database=False)
        context = self._context.model_copy(update=asked.model_dump(exclude_unset=True))
        run = run_graph(self._opened(), QueryInput(question=question), context, until="evidence")
        if run.error is not None:
            raise run.error
        found = run.state["candidates"][:k]
        return [Passage.of(candidate, rank) for rank, candidate in enumerate(found, start=1)]

    def _opened(self) -> CompiledGraph:
        with self._opening:
            if self._graph is not None:
                return self._graph
            graph = self._source
            if isinstance(graph, str | Path):
                from theworld.graph import build_graph, open_resources
                from theworld.graph.resources import warm_up
                from theworld.settings import Settings

                resources = self._stack.enter_context(open_resources(Settings.load(store=Path(graph))))
                graph = build_graph(resources)
                warm_up(graph, resources)  # else the first question would pay for loading, and lose its reranking to it
            self._graph = graph
            return graph

    def close(self) -> None:
        """Close the store, where it was opened here."""
        with self._opening:
            self._graph = None
            self._stack.close()

    def __exit__(self, *_error: object) -> None:
        self.close()
