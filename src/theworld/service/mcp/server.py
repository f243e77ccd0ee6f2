"""Tools and resources of the Model Context Protocol, by the official SDK.

`search` and `fetch` are the pair that chat products look for; `ask` gives the answer itself. What a tool returns is
both structured content and text. What goes wrong is the tool's error, in the words of the service's other endpoints.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Request
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import CallToolResult, ListResourcesResult, Resource, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from theworld import __version__
from theworld.service.api.access import Caller
from theworld.service.api.ask import ask_data
from theworld.service.api.envelope import Code, message_of
from theworld.service.api.errors import ApiError, as_api_error, must_exist
from theworld.service.api.links import base_url, document_url, linked, whole_text
from theworld.service.api.schemas import MOST_MESSAGES, AskRequest, Question, Said, SearchRequest, is_no_text
from theworld.service.api.serving import ClientGoneError, RequestContext, in_thread, moment
from theworld.service.mcp.results import AskAnswer, FetchedDocument, Found, Quote, SearchResults, Turn
from theworld.service.runtime import Service
from theworld.state import Answer, Candidate
from theworld.stores.ledger.catalog import StoredDocument

log = logging.getLogger(__name__)
DOCUMENTS = "theworld://documents/"
PAGE = 100
"""Resources told of at a time."""
LENGTH = 100_000
"""Characters of a document that `fetch` returns at a time, unless told."""
_INSTRUCTIONS = (
    "Knowledge from the user's own documents, in English and Chinese. `ask` answers a question with its sources; "
    "`search` finds the documents that answer it and `fetch` reads one of them."
)
_READING = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who calls a tool, and by which request over HTTP, where it is one."""

    caller: Caller
    request: Request | None = None


def make_server(service: Service, asker_of: Callable[[ServerRequestContext[Any, Any]], Asker]) -> MCPServer[Any]:
    """Return the server over an open service; `asker_of` says who sent a message."""
    faces = _Faces(service, asker_of)
    with _logging_untouched():
        server: MCPServer[Any] = MCPServer(
            "theworld", "TheWorld", instructions=_INSTRUCTIONS, version=__version__, middleware=[faces.list_documents]
        )
    for tool in (faces.search, faces.fetch, faces.ask):
        server.add_tool(tool, annotations=_READING)
    by_id = server.resource(
        DOCUMENTS + "{id}",
        name="document",
        description="The text of a document",
        security=ResourceSecurity(exempt_params={"id"}),  # an id is looked up, it is no path
    )
    by_id(faces.read_document)
    return server


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Undo what the SDK's server does to the log of the whole process."""
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = kept
        root.setLevel(level)


@dataclass(frozen=True, slots=True)
class _Faces:
    """The tools of one service."""

    service: Service
    asker_of: Callable[[ServerRequestContext[Any, Any]], Asker]

    async def search(
        self,
        ctx: Context[Any, Any],
        query: Question,
        limit: Annotated[int, Field(ge=1, le=50, description="Most documents")] = 10,
    ) -> SearchResults:
        """Find the documents that answer a question, each with its best passage."""
        async with self._current(ctx.request_context, "search", "evidence") as (current, base):
            search = SearchRequest(query=query)
            run = await current.run(search.question(), search.context(current.caller.tenant, moment()))
        best: dict[str, Candidate] = {}
        for candidate in run.state["candidates"]:
            best.setdefault(candidate.document_id, candidate)
        found = [Found(id=name, text=whole_text(one), **linked(one, base)) for name, one in best.items()]
        return SearchResults(results=found[:limit])

    async def fetch(
        self,
        ctx: Context[Any, Any],
        id: Annotated[str, Field(min_length=1, max_length=512, description="Id of a document, from `search`")],
        start: Annotated[int, Field(ge=0, description="Character to begin at, for a long document")] = 0,
        length: Annotated[int, Field(ge=1, le=1_000_000, description="Most characters")] = LENGTH,
    ) -> FetchedDocument:
        """Read a document: text, address and metadata."""
        asker = self.asker_of(ctx.request_context)
        with _told():
            found = await self._document(asker.caller, id)
        end = start + length
        facts = {"source": found.source, "characters": found.characters, "start": start, "notes": found.notes}
        more = {"next_start": end} if end < found.characters else {}
        return FetchedDocument(
            id=found.id,
            title=found.title or found.id,
            text=found.text[start:end],
            url=document_url(base_url(self.service.settings.service, asker.request), found.id),
            metadata={**found.metadata, **facts, **more},
        )

    async def ask(
        self,
        ctx: Context[Any, Any],
        question: Question,
        history: Annotated[
            list[Turn] | None, Field(max_length=MOST_MESSAGES, description="Earlier messages, oldest first")
        ] = None,
    ) -> Annotated[CallToolResult, AskAnswer]:
        """Answer a question from the documents, with the passages it rests on; says so when they do not answer it."""
        async with self._current(ctx.request_context, "ask", "answer") as (current, base):
            said = [Said(role=turn.role, content=turn.content) for turn in history or []]
            asked = AskRequest(question=question, history=said)
            run = await current.run(asked.asked(), asked.context(current.caller.tenant, moment()))
        data = ask_data(current, run)
        quotes = [
            Quote(number=one.number, id=one.document_id, text=one.quote, **linked(one, base)) for one in data.citations
        ]
        result = data.result or Answer()
        answer = AskAnswer(
            answer=data.answer,
            short=result.short,
            kind=data.kind,
            sureness=result.sureness,
            citations=quotes,
            understood=data.query,
        )
        sources = "\n".join(f"[{one.number}] {one.title}: {one.url}" for one in quotes)
        text = "\n\n".join(filter(None, [answer.answer, sources]))
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content=answer.model_dump(mode="json")
        )

    async def read_document(self, id: str, ctx: Context[Any, Any]) -> str:
        """Return the text of a document."""
        try:
            found = await self._document(self.asker_of(ctx.request_context).caller, id)
        except ApiError as error:
            raise ResourceNotFoundError(_message(error)) from error
        return found.text

    async def list_documents(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer `resources/list` with the documents of the caller, a page at a time; pass everything else on."""
        if ctx.method != "resources/list":
            return await call_next(ctx)
        after, tenant = str((ctx.params or {}).get("cursor") or ""), self.asker_of(ctx).caller.tenant
        store = self.service.resources.store
        page = await in_thread(lambda: store.documents(tenant=tenant, after=after, limit=PAGE))
        found = [
            Resource(uri=DOCUMENTS + quote(one.id, safe=""), name=one.id, title=one.title, mime_type="text/plain")
            for one in page.documents
        ]
        return ListResourcesResult(resources=found, next_cursor=page.next_after)

    async def _document(self, caller: Caller, document_id: str) -> StoredDocument:
        store, readable = self.service.resources.store, not is_no_text(document_id)
        found = await in_thread(lambda: store.document(document_id, tenant=caller.tenant) if readable else None)
        return must_exist(found, "there is no document of this id; `search` gives ids")

    @asynccontextmanager
    async def _current(
        self, ctx: ServerRequestContext[Any, Any], endpoint: str, until: Literal["evidence", "answer"]
    ) -> AsyncIterator[tuple[RequestContext, str]]:
        """Hold a place for one run and give the base of its links."""
        asker = self.asker_of(ctx)
        current = RequestContext(asker.request, asker.caller, endpoint, until, service=self.service)
        with _told():
            async with current.slot():
                yield current, base_url(self.service.settings.service, asker.request)


@contextmanager
def _told() -> Iterator[None]:
    """Turn what goes wrong into the tool's error, without internals."""
    try:
        yield
    except ValidationError as error:
        raise ToolError(str(error.errors()[0]["msg"])) from error
    except Exception as error:
        known = as_api_error(error)
        if known.code is Code.INTERNAL and not isinstance(error, ClientGoneError):
            log.exception("a tool failed", exc_info=error)
        raise ToolError(_message(known)) from error


def _message(error: ApiError) -> str:
    return message_of(error.code, "en", error.what)
