"""What OpenAI's clients send. Unknown fields are passed over, as clients send many that have no meaning here.

What would change the answer and cannot be done is refused by name: several choices, forced tools, answers in a JSON
schema, log probabilities, audio. Sampling (`temperature`, `seed`, `max_tokens`, ...) is passed over: what writes the
answer is the graph, and a language model, where one is configured, has its own settings.

At the end: how the OpenAPI document describes the replies of clients' own forms.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from theworld.service.api.schemas import MOST_CANDIDATES, Body, examples
from theworld.service.api.serving import EVENTS
from theworld.state.query import MAX_QUESTION_CHARACTERS

MOST_ITEMS = 10_000
"""Messages a body may hold before their number is even looked at."""
MOST_INPUTS = 2048
"""Texts embedded in one request, as OpenAI has it."""
Name = Annotated[str, Field(min_length=1, max_length=512)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]


class Lenient(Body, extra="ignore"):
    """Base of these bodies."""


class Part(Lenient):
    """A piece of a message; only text can be read."""

    type: str = Field(max_length=64, description="`text`, `input_text` or `output_text`")
    text: str = Field(default="", description="The text")


class ChatMessage(Lenient):
    """One message of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(description="Who spoke")
    content: str | list[Part] | None = Field(default=None, description="What was said")
    tool_calls: list[Any] | None = Field(default=None, description="Refused: no tools are called here")


class Asking(Lenient):
    """What chat and responses share."""

    model: Name = Field(description="`theworld`, or `theworld/TENANT` for one of the tenants the key is for")
    stream: bool | None = Field(default=False, description="True: server-sent events")
    tool_choice: Any = Field(default=None, description="`auto` and `none` are passed over; a tool cannot be forced")

    @field_validator("tool_choice")
    @classmethod
    def _none_forced(cls, value: Any) -> Any:
        if value not in (None, "auto", "none"):
            raise ValueError("no tools are called here; leave it out, or send auto or none")
        return value


class StreamOptions(Lenient):
    """How a stream ends."""

    include_usage: bool | None = Field(default=False, description="A last chunk without choices has the usage")


class Format(Lenient):
    """The form of the answer."""

    type: Literal["text"] = Field(default="text", description="Answers are text")


class ChatRequest(Asking):
    """A chat completion: the last message is the question, those before it are the history."""

    model_config = examples({"model": "theworld", "messages": [{"role": "user", "content": "天一阁是由谁建造的？"}]})

    messages: list[ChatMessage] = Field(min_length=1, max_length=MOST_ITEMS, description="The conversation")
    n: Literal[1] | None = Field(default=1, description="One answer is given")
    stream_options: StreamOptions | None = Field(default=None, description="How the stream ends")
    response_format: Format | None = Field(default=None, description="Answers are text")
    logprobs: Literal[False] | None = Field(default=None, description="There are none")
    modalities: list[Literal["text"]] | None = Field(default=None, description="Answers are text")


class InputItem(Lenient):
    """A message of the input."""

    type: str | None = Field(default="message", max_length=64, description="`message`; other items are refused")
    role: Literal["system", "developer", "user", "assistant"] | None = Field(default=None, description="Who spoke")
    content: str | list[Part] | None = Field(default=None, description="What was said")


class ResponseText(Lenient):
    """The form of the answer."""

    format: Format | None = Field(default=None, description="Answers are text")


class ResponsesRequest(Asking):
    """A response: the last message of the input is the question."""

    model_config = examples({"model": "theworld", "input": "Who directed Metropolis?", "stream": True})

    input: Text | Annotated[list[InputItem], Field(min_length=1, max_length=MOST_ITEMS)] = Field(
        description="The question, or the conversation"
    )
    instructions: str | None = Field(default=None, max_length=MAX_QUESTION_CHARACTERS, description="Goes into history")
    previous_response_id: None = Field(default=None, description="Refused: send the conversation")
    background: Literal[False] | None = Field(default=None, description="Answers are made at once")
    text: ResponseText | None = Field(default=None, description="The form of the answer")


class EmbeddingRequest(Lenient):
    """Texts to be embedded."""

    model_config = examples({"model": "theworld-en", "input": ["Metropolis is a film."]})

    model: Name = Field(description="`theworld-en`, `theworld-zh`, or the name of an embedder of this service")
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_INPUTS)] = Field(description="The texts")
    encoding_format: Literal["float", "base64"] | None = Field(
        default="float", description="Numbers, or little-endian float32 in base64"
    )
    dimensions: int | None = Field(default=None, ge=1, description="Only the embedder's own")
    input_type: Literal["query", "document"] = Field(
        default="document", description="`query` for texts that search, where the embedder distinguishes them"
    )

    @field_validator("input", mode="before")
    @classmethod
    def _no_tokens(cls, value: Any) -> Any:
        if isinstance(value, list) and any(isinstance(item, int | list) for item in value):
            raise ValueError("token arrays are not understood, send text")
        return value


class Document(Lenient):
    """A text to be ranked."""

    text: Text = Field(description="The text")


class RankRequest(Lenient):
    """Texts to be ranked by a query, as Cohere and Jina have it."""

    model_config = examples(
        {
            "query": "Who directed Metropolis?",
            "documents": ["The Danube is a river.", "Fritz Lang directed Metropolis."],
            "top_n": 1,
        }
    )

    model: Name = Field(default="theworld", description="`theworld`, or the name of the reranker")
    query: Text = Field(description="The query")
    documents: list[Text | Document] = Field(min_length=1, max_length=MOST_CANDIDATES, description="The texts")
    top_n: int | None = Field(default=None, ge=1, description="Results returned; default: all")
    return_documents: bool | None = Field(default=False, description="Repeat the texts in the results")


class TeiRankRequest(Lenient):
    """Texts to be ranked by a query, as Text Embeddings Inference has it."""

    model_config = examples({"query": "Who directed Metropolis?", "texts": ["Fritz Lang directed Metropolis."]})

    query: Text = Field(description="The query")
    texts: list[Text] = Field(min_length=1, max_length=MOST_CANDIDATES, description="The texts")
    raw_scores: bool | None = Field(default=False, description="The reranker's own scores instead of those in [0, 1]")
    return_text: bool | None = Field(default=False, description="Repeat the texts in the results")


_TEXT, _TEXT_OR_NULL = {"type": "string"}, {"type": ["string", "null"]}
_ERROR = {
    "type": "object",
    "required": ["message", "type", "param", "code"],
    "properties": {"message": _TEXT, "type": _TEXT, "param": _TEXT_OR_NULL, "code": _TEXT_OR_NULL},
}
_STATUSES = (400, 401, 403, 404, 413, 415, 429, 500, 503, 504)


def described(name: str, *required: str, stream: str = "", array: bool = False) -> dict[str, Any]:
    """Return a reply's description: an object (or an `array` of them) with its fields, and how it streams."""
    schema: dict[str, Any] = {"type": "object", "title": name, "required": list(required)}
    content: dict[str, Any] = {"application/json": {"schema": {"type": "array", "items": schema} if array else schema}}
    if stream:
        content[EVENTS] = {"itemSchema": {"type": "object", "description": f"data: {stream} ... data: [DONE]"}}
    return {"description": name, "content": content}


def failing(schema: dict[str, Any], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of error replies that share a form."""
    content = {"application/json": {"schema": schema}}
    return {status: {"description": "Error", "content": content} for status in statuses}


ERRORS = failing({"type": "object", "required": ["error"], "properties": {"error": _ERROR}}, *_STATUSES)
