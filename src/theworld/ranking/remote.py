"""Reranking by a server: TEI's `/rerank`, or Cohere's `/v1/rerank` (vLLM, Jina, llama.cpp, ...)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import httpx
from pydantic import AliasChoices, BaseModel, Field, FiniteFloat, SecretStr, TypeAdapter, ValidationError
from tenacity import AsyncRetrying, retry_if_exception, wait_random_exponential

from theworld.deadline import Deadline, DeadlineExceededError
from theworld.errors import SettingsError
from theworld.models.endpoint import BrokenReplyError, retry_after
from theworld.models.onnx_encoder import encodable
from theworld.ranking.contract import Reranking
from theworld.ranking.pointwise import rerank_in_batches, sigmoid
from theworld.state import Candidate
from theworld.stores.protocols import GraphStore

T = TypeVar("T")
Kind: TypeAlias = Literal["cohere", "tei"]
_EXCERPT = 200


class _Result(BaseModel):
    index: Annotated[int, Field(ge=0)]
    score: FiniteFloat = Field(validation_alias=AliasChoices("relevance_score", "score"))


class _CohereReply(BaseModel):
    results: list[_Result]


_COHERE, _TEI = TypeAdapter(_CohereReply), TypeAdapter(list[_Result])


@dataclass(frozen=True, slots=True)
class RerankProtocol:
    """How one server is asked and how its answer is read."""

    kind: Kind
    base_url: str
    """With or without the version at its end."""
    model: str | None
    logits: bool
    """Whether raw scores are expected rather than relevances in [0, 1]."""

    @property
    def url(self) -> str:
        """Where requests go."""
        base = self.base_url.rstrip("/")
        if self.kind == "tei" or base.rsplit("/", maxsplit=1)[-1] in {"v1", "v2"}:
            return f"{base}/rerank"
        return f"{base}/v1/rerank"

    def body(self, query: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the JSON of one request; all texts are to be scored."""
        asked, told = encodable(query), [encodable(text) for text in texts]
        if self.kind == "tei":
            return {"query": asked, "texts": told, "raw_scores": self.logits, "truncate": True}
        return {"model": self.model, "query": asked, "documents": told, "top_n": len(told)}

    def scores(self, reply: bytes, expected: int) -> list[float]:
        """Return the scores in the order of the texts; BrokenReplyError when the reply is not one score for each."""
        try:
            results = _TEI.validate_json(reply) if self.kind == "tei" else _COHERE.validate_json(reply).results
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            excerpt = repr(reply[:_EXCERPT].decode("utf-8", "replace"))
            raise BrokenReplyError(f"unusable reply: {where}: {first['msg']}: {excerpt}") from error
        by_index = {result.index: result.score for result in results}
        if sorted(by_index) != list(range(expected)) or len(results) != expected:
            raise BrokenReplyError(f"{len(results)} scores, not one for each of {expected} texts")
        return [by_index[index] for index in range(expected)]


_HINTS = {
    401: "; check rerank.api_key",
    403: "; check rerank.api_key",
    404: "; check rerank.base_url and rerank.model",
    413: "; lower rerank.batch_size",
    422: "; check rerank.protocol, or lower rerank.batch_size",
}
"""What may help against a status."""
BATCH = 32
"""Texts in one request: what TEI takes at most as it comes."""
ATTEMPTS = 3
"""Requests for one batch at most, the first included."""
_TRANSIENT_STATUS = {408, 409, 425, 429}
_SHORTEST_KEY = 6
_LONGEST_REPLY = 10_000_000
_BACKOFF = wait_random_exponential(multiplier=0.05, max=1.0)


class RefusedError(Exception):
    """The server answered with a status that is no success."""

    def __init__(self, response: httpx.Response, reply: bytes) -> None:
        said = " ".join(reply[:_EXCERPT].decode("utf-8", "replace").split())
        super().__init__(f"HTTP {response.status_code}: {said}{_HINTS.get(response.status_code, '')}")
        self.response = response


class RemoteReranker:
    """Asks a rerank server, batch after batch, each within what is left of the deadline.

    408, 409, 425, 429, 5xx and broken connections are tried again with jitter, Retry-After honoured, while there is
    time. At the deadline the request is cut off. The key goes into one header and into no message. Thread-safe.
    """

    def __init__(
        self,
        protocol: RerankProtocol,
        graph: GraphStore,
        *,
        api_key: SecretStr | None = None,
        batch_size: int = BATCH,
    ) -> None:
        self._protocol, self._graph = protocol, graph
        self._key = api_key.get_secret_value().strip() if api_key else ""
        if not self._key.isascii() or not (self._key or "a").isprintable():
            remedy = "Give it as one line of ASCII."
            raise SettingsError("the key has characters that no key has.", where="rerank.api_key", remedy=remedy)
        self._batch_size = batch_size
        self._thread = LoopThread("remote-reranker")
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return f"remote-{self._protocol.model or self._protocol.kind}"

    def rerank(
        self, query: str, candidates: Sequence[Candidate], *, top_k: int, tenant: str, deadline: Deadline
    ) -> Reranking:
        """Return the candidates by relevance, as many as were scored in time."""

        def score(texts: Sequence[str]) -> list[float]:
            found = self._thread.run(lambda: self._ask(query, texts, deadline), deadline)
            return [sigmoid(logit) for logit in found] if self._protocol.logits else found

        found = rerank_in_batches(
            candidates, score, self._graph, tenant=tenant, top_k=top_k, deadline=deadline, batch_size=self._batch_size
        )
        masked = found.reason.replace(self._key, "***") if len(self._key) >= _SHORTEST_KEY else found.reason
        return Reranking(found.ranked, found.outcome, masked)

    def close(self) -> None:
        """Close the connections and end the thread; a later call opens them again."""
        self._thread.close(self._disconnect)

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
        retrying = AsyncRetrying(
            stop=lambda state: (
                state.attempt_number >= ATTEMPTS or state.upcoming_sleep * 1000 > deadline.remaining_ms()
            ),
            wait=lambda state: max(_BACKOFF(state), retry_after(state.outcome.exception() if state.outcome else None)),
            retry=retry_if_exception(is_transient),
            reraise=True,
        )
        reply: bytes = await retrying(self._post, self._protocol.body(query, texts))
        return self._protocol.scores(reply, len(texts))

    async def _post(self, body: dict[str, object]) -> bytes:
        if self._client is None:
            # No limit of the client's own: the deadline cancels the whole call, whatever it waits for.
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            self._client = httpx.AsyncClient(timeout=None, headers=headers)  # noqa: S113
        async with self._client.stream("POST", self._protocol.url, json=body) as response:
            reply = bytearray()
            async for chunk in response.aiter_bytes():
                reply += chunk
                if len(reply) > _LONGEST_REPLY:
                    raise ValueError(f"the reply is longer than {_LONGEST_REPLY} bytes")
            if not response.is_success:
                raise RefusedError(response, bytes(reply))
            return bytes(reply)


class LoopThread:
    """An event loop on a thread of its own, so that plain functions can wait for I/O that is cut off exactly.

    Runs coroutines for any thread; at its deadline one is cancelled, so that nothing outlives its request.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._running: tuple[asyncio.AbstractEventLoop, threading.Thread] | None = None

    def run(self, work: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Return what `work()` returns; DeadlineExceededError as soon as the deadline has passed."""

        async def limited() -> T:
            try:
                async with asyncio.timeout(deadline.remaining_ms() / 1000):
                    return await work()
            except TimeoutError as error:
                raise DeadlineExceededError(f"no complete answer within {deadline.budget_ms:.0f} ms") from error

        with self._lock:
            if self._running is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name=self._name, daemon=True)
                thread.start()
                self._running = loop, thread
            running, _ = self._running
        return asyncio.run_coroutine_threadsafe(limited(), running).result()

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """Cancel what is under way, run `last()`, end the thread; nothing happens when it never ran."""
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return
        loop, thread = running

        async def finish() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await last()

        asyncio.run_coroutine_threadsafe(finish(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def is_transient(error: BaseException) -> bool:
    """Return whether the same request may succeed a little later."""
    if isinstance(error, RefusedError):
        status = error.response.status_code
        return status in _TRANSIENT_STATUS or status >= 500
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
