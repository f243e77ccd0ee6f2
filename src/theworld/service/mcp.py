"""The Model Context Protocol, by the official SDK: tools, documents as resources, and `POST /mcp`.

`search` and `fetch` are the pair that chat products look for; `ask` gives the answer itself. What a tool returns is
both structured content and text. What goes wrong is the tool's error, in the words of the service's other endpoints.

Over streamable HTTP, with the service's keys and tenants, nothing is kept between requests and every reply is one JSON
object, so that any process of the service answers any request. A page of another origin is refused, since a browser on
this machine needs no key to get here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Request, Response
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, ListResourcesResult, Resource, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError
from starlette.types import Message, Receive, Scope, Send

from theworld import __version__
from theworld.service.api.access import Caller, Visiting, refuse_foreign_page
from theworld.service.api.ask import ask_data
from theworld.service.api.passages import DOCUMENTS, document_url, linked, tables_text
from theworld.service.api.replies import ApiError, Code, as_api_error, message_of, must_exist
from theworld.service.api.schemas import MOST_MESSAGES, AskRequest, Question, Said, SearchRequest, is_no_text
from theworld.service.api.serving import ClientGoneError, RequestContext
from theworld.service.openai.schemas import described, failing
from theworld.service.requests.running import Until
from theworld.service.runtime import Service
from theworld.state import Answer, Candidate
from theworld.stores.ledger.catalog import StoredDocument

log = logging.getLogger(__name__)
PAGE = 100
"""Resources told of at a time."""
LENGTH = 100_000
"""Characters of a document that `fetch` returns at a time, unless told."""
_INSTRUCTIONS = (
    "Knowledge from the user's own documents, in English and Chinese. `ask` answers a question with its sources; "
    "`search` finds the documents that answer it and `fetch` reads one of them."
)
_READING = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class Found(BaseModel):
    """A document that was found."""

    id: str = Field(description="Its id, for `fetch`")
    title: str = Field(description="Title, file and headings of the best passage")
    url: str = Field(description="Where a person reads it; where no page is served, its resource here")
    text: str = Field(description="The best passage")


class SearchResults(BaseModel):
    """Documents, best first."""

    results: list[Found]


class FetchedDocument(BaseModel):
    """A document, or a stretch of a long one."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any] = Field(description="Source, characters in all, `next_start` when there is more")


class Quote(Found):
    """A passage that an answer rests on."""

    number: int = Field(description="Its number in the answer")


class AskAnswer(BaseModel):
    """An answer and what it rests on."""

    answer: str = Field(description="The answer, below it the rows of a database that give it")
    short: str = Field(description="The short answer by itself, where there is one")
    kind: str = Field(description="entity, extractive, generated, computed; none: the documents do not answer it")
    sureness: str = Field(description="sure, likely, unsure; none where it is not weighed so: computed, generated")
    citations: list[Quote]
    understood: str = Field(description="The question as understood, references to earlier turns resolved")


class Turn(BaseModel):
    """An earlier message."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=20_000)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who calls a tool, and by which request over HTTP, where it is one."""

    caller: Caller
    request: Request | None = None


def make_server(service: Service, asker_of: Callable[[ServerRequestContext[Any, Any]], Asker]) -> MCPServer[Any]:
    """Return the server over an open service; `asker_of` says who sent a message."""
    faces = _Faces(service, asker_of)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    server = _Server(
        "theworld", "TheWorld", instructions=_INSTRUCTIONS, version=__version__, middleware=[faces.list_documents]
    )
    root.handlers[:] = handlers  # the SDK's server changes the log of the whole process
    root.setLevel(level)
    for tool in (faces.search, faces.fetch, faces.ask):
        server.add_tool(tool, annotations=_READING)
    server.resource(
        DOCUMENTS + "{id}",
        name="document",
        description="The text of a document",
        security=ResourceSecurity(exempt_params={"id"}),  # an id is looked up, it is no path
    )(faces.read_document)
    return server


class _Server(MCPServer[Any]):
    """The SDK's server, whose word on wrong arguments is a sentence instead of a validator's report."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = error.__cause__.errors()[0]
            said = "is missing" if wrong["type"] == "missing" else f"is not valid: {wrong['msg']}"
            raise ToolError(f"the argument {wrong['loc'][0]!r} {said}") from error


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
        current = self._current(ctx.request_context, "search", "evidence")
        with _told():
            run = await current.answered(SearchRequest(query=query))
        best: dict[str, Candidate] = {}
        for candidate in run.state["candidates"]:
            best.setdefault(candidate.document_id, candidate)
        found = [Found(id=name, text=one.whole_text, **linked(one, current.base)) for name, one in best.items()]
        return SearchResults(results=found[:limit])

    async def fetch(
        self,
        ctx: Context[Any, Any],
        id: Annotated[str, Field(min_length=1, max_length=512, description="Id of a document, from `search`")],
        start: Annotated[int, Field(ge=0, description="Character to begin at, for a long document")] = 0,
        length: Annotated[int, Field(ge=1, le=1_000_000, description="Most characters")] = LENGTH,
    ) -> FetchedDocument:
        """Read a document: text, address and metadata."""
        current = self._current(ctx.request_context, "fetch", "evidence")
        with _told():
            found = await self._document(current.caller, id)
        end = start + length
        facts = {"source": found.source, "characters": found.characters, "start": start, "notes": found.notes}
        more = {"next_start": end} if end < found.characters else {}
        url, metadata = document_url(current.base, found.id), {**found.metadata, **facts, **more}
        title, text = found.title or found.id, found.text[start:end]
        return FetchedDocument(id=found.id, title=title, text=text, url=url, metadata=metadata)

    async def ask(
        self,
        ctx: Context[Any, Any],
        question: Question,
        history: Annotated[
            list[Turn] | None, Field(max_length=MOST_MESSAGES, description="Earlier messages, oldest first")
        ] = None,
    ) -> Annotated[CallToolResult, AskAnswer]:
        """Answer a question from the documents, with the passages it rests on; says so when they do not answer it."""
        current = self._current(ctx.request_context, "ask", "answer")
        with _told():
            said = [Said(role=turn.role, content=turn.content) for turn in history or []]
            run = await current.answered(AskRequest(question=question, history=said))
        data, base = ask_data(current, run), current.base
        cited = data.citations
        quotes = [Quote(number=one.number, id=one.document_id, text=one.quote, **linked(one, base)) for one in cited]
        result = data.result or Answer()
        whole = "\n\n".join(filter(None, [data.answer, tables_text(data.tables, data.language)]))
        made = {"answer": whole, "short": result.short, "kind": data.kind, "sureness": result.sureness}
        answer = AskAnswer(**made, citations=quotes, understood=data.query)
        sources = "\n".join(f"[{one.number}] {one.title}: {one.url}" for one in quotes)
        text = TextContent(type="text", text="\n\n".join(filter(None, [whole, sources])))
        return CallToolResult(content=[text], structured_content=answer.model_dump(mode="json"))

    async def read_document(self, id: str, ctx: Context[Any, Any]) -> str:
        """Return the text of a document."""
        try:
            found = await self._document(self.asker_of(ctx.request_context).caller, id)
        except ApiError as error:
            raise ResourceNotFoundError(message_of(error.code, "en", error.what)) from error
        return found.text

    async def list_documents(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer `resources/list` with the documents of the caller, a page at a time; pass everything else on."""
        if ctx.method != "resources/list":
            return await call_next(ctx)
        after, tenant = str((ctx.params or {}).get("cursor") or ""), self.asker_of(ctx).caller.tenant
        store = self.service.resources.store
        page = await asyncio.to_thread(store.documents, tenant=tenant, after=after, limit=PAGE)
        found = [
            Resource(uri=document_url("", one.id), name=one.id, title=one.title, mime_type="text/plain")
            for one in page.documents
        ]
        return ListResourcesResult(resources=found, next_cursor=page.next_after)

    async def _document(self, caller: Caller, document_id: str) -> StoredDocument:
        store, found = self.service.resources.store, None
        if not is_no_text(document_id):
            found = await asyncio.to_thread(store.document, document_id, tenant=caller.tenant)
        return must_exist(found, "there is no document of this id; `search` gives ids")

    def _current(self, ctx: ServerRequestContext[Any, Any], endpoint: str, until: Until) -> RequestContext:
        """Return what runs a message's question."""
        asker = self.asker_of(ctx)
        return RequestContext(asker.request, asker.caller, endpoint, until, service=self.service)


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
        raise ToolError(message_of(known.code, "en", known.what)) from error


router = APIRouter(tags=["MCP"], default_response_class=Response)
_ERRORS = failing({"type": "object"}, 400, 401, 403, 404, 406, 413, 415, 429, 500, 503)
_ASKER = "mcp_asker"


@asynccontextmanager
async def mcp_running(app: FastAPI, service: Service) -> AsyncIterator[None]:
    """Run the protocol's server beside the application."""
    server = make_server(service, lambda ctx: ctx.request.scope["state"][_ASKER])  # type: ignore[union-attr]
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.settings.service.max_body_bytes,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # decided below
    )
    async with server.session_manager.run():
        app.state.mcp = server.session_manager
        yield


@router.post(
    "/mcp",
    summary="Model Context Protocol",
    responses={200: described("JSONRPCMessage", "jsonrpc"), 202: {"description": "Accepted"}, **_ERRORS},
)
async def mcp(request: Request, caller: Visiting) -> Response:
    """Answer one JSON-RPC message; tools `search`, `fetch` and `ask`, documents as resources."""
    refuse_foreign_page(request)
    if "json" not in request.headers.get("content-type", "").lower():
        raise ApiError(Code.NOT_JSON)
    return _Reply(request.app.state.mcp, Asker(caller, request), await request.body())


class _Reply(Response):
    """Lets the SDK answer a message that was read before; what the request brings next is that its client went."""

    def __init__(self, manager: StreamableHTTPSessionManager, asker: Asker, message: bytes) -> None:
        super().__init__(message)
        self._manager, self._asker = manager, asker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        read = iter([{"type": "http.request", "body": self.body}])

        async def again() -> Message:
            return next(read, None) or await receive()

        scope["state"][_ASKER] = self._asker
        await self._manager.handle_request(scope, again, send)
