"""LangChain: a retriever, and a tool that answers."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import ConfigDict, Field

from theworld.errors import InvalidQuestionError
from theworld.integrations.passages import PassageSearch
from theworld.state import Context, QueryInput, QueryOutput

if TYPE_CHECKING:
    from theworld.graph.build import CompiledGraph

_ASKS = "Answers a question from the user's own documents, with numbered sources. Ask one whole question at a time."


class TheWorldRetriever(BaseRetriever):
    """The passages of a store, or of a graph of one's own, as LangChain documents.

    `TheWorldRetriever(store="my.store", k=5).invoke("...")`. `ainvoke` runs in a thread, as LangChain does with any
    retriever whose work is not asynchronous. Metadata: see `passages.Passage`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, ignored_types=(cached_property,))

    store: str | Path | None = Field(default=None, description="Folder of the store, opened with the first question")
    graph: Any = Field(default=None, exclude=True, description="A compiled graph, in place of a store")
    k: int = Field(default=10, ge=1, le=1000, description="Documents returned; `invoke(question, k=...)` overrides it")
    context: Context = Field(default_factory=Context, description="Tenant, filters, channels, deadline")

    def model_post_init(self, _context: Any) -> None:
        """Refuse what names no knowledge, or two."""
        if (self.store is None) == (self.graph is None):
            raise ValueError("give either `store`, a folder made by `theworld ingest`, or `graph`, a compiled graph")

    @cached_property
    def _search(self) -> PassageSearch:
        return PassageSearch(self.store if self.store is not None else self.graph, self.context)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        found = self._search.find(query, self.k if k is None else k)
        return [Document(id=passage.id, page_content=passage.text, metadata=passage.metadata) for passage in found]

    def close(self) -> None:
        """Close the store."""
        self._search.close()


def ask_tool(graph: CompiledGraph, context: Context | None = None, *, name: str = "ask_documents") -> BaseTool:
    """Return a tool for agents that answers by the graph; its artifact is the whole QueryOutput.

    The text ends with one line a source: `[1] handbook.md › Leave`.
    """

    def ask(question: str) -> tuple[str, QueryOutput]:
        try:
            found = graph.invoke(QueryInput(question=question), context=context or Context())
        except InvalidQuestionError as error:  # the model reads what was wrong, and asks again
            raise ToolException(str(error)) from error
        output = QueryOutput.model_validate(found)
        sources = "\n".join(f"[{citation.number}] {citation.place}" for citation in output.citations)
        return f"{output.answer}\n\n{sources}".strip(), output

    return StructuredTool.from_function(
        ask, name=name, description=_ASKS, response_format="content_and_artifact", handle_tool_error=True
    )
