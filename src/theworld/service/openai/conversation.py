"""A conversation as OpenAI's clients send it, as a question with its history; and the answer as they show it.

The last message, which must be the user's, is the question. Of an answer that this service gave, only what it said
comes back as history: without its links and tables, and of its passages the first, as `answers.said_text` has it,
since further ones would only offer more that a later "it" may mean.

In an answer a citation stands in the text as `[n]`. Below it stands a Markdown link definition for each,
`[n]: address "place"`, so that any renderer makes a link of it while the text stays what the graph said, and offsets
into it hold; a database's rows come last. `url_citation` annotations name places by offset, `sources` are Open WebUI's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theworld.models.chat import estimated_tokens
from theworld.service.api.access import Caller
from theworld.service.api.ask import ask_data
from theworld.service.api.passages import linked, tables_text
from theworld.service.api.replies import ApiError, Code
from theworld.service.api.schemas import MOST_MESSAGES, AskRequest, Said
from theworld.service.api.serving import RequestContext
from theworld.service.openai.schemas import ChatMessage, ChatRequest, InputItem, ResponsesRequest
from theworld.service.requests.running import Run
from theworld.state import Answer, ModelUsage
from theworld.state.query import MAX_QUESTION_CHARACTERS
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.api_keys import ANY_TENANT

MODEL = "theworld"
_MARK = re.compile(r"\[(\d{1,4})\]")
_TEXTS = frozenset({"text", "input_text", "output_text"})
_TABLE = r"\n\n\*\*[^\n]+\*\*\n(?:\n\|[^\n]*)+(?:\n\n…[^\n]*)?"
_LINKS = re.compile(rf"\s*(?:\n\[\d{{1,4}}\]: \S+ \"[^\n]*\")+(?:{_TABLE})*\s*\Z")
_SECOND_PASSAGE = re.compile(r"\n\n[^\n]+ \[(?:[2-9]|\d{2,})\]\n")


def for_tenant(caller: Caller, model: str, store: KnowledgeStore | None = None) -> Caller:
    """Return the caller for the tenant that a model's name chooses; ApiError for a model there is not.

    A foreign tenant's is told like one that nobody has: that the key does not name, without documents in the `store`.
    """
    name, slash, tenant = model.partition("/")
    if model == MODEL and caller.named:
        return caller
    allowed = caller.principal is None or caller.principal.may_act_for(tenant)
    possible = 1 <= len(tenant) <= 128 and tenant.isascii() and tenant.isprintable() and " " not in tenant
    listed = caller.principal is not None and tenant in caller.principal.tenants
    nobodys = store is not None and not listed and not store.has_notes(tenant=tenant)
    if name != MODEL or not slash or not allowed or not possible or nobodys:
        raise unknown_model(model, names(caller))
    return Caller(tenant, caller.principal)


def names(caller: Caller) -> list[str]:
    """Return the models a caller may chat with: the knowledge of its tenant, and of each tenant its key names."""
    tenants = caller.principal.tenants if caller.principal is not None else ()
    named = [tenant for tenant in tenants if tenant != ANY_TENANT]
    return [*([MODEL] if caller.named else []), *(f"{MODEL}/{tenant}" for tenant in named if len(named) > 1)]


def unknown_model(model: str, known: Sequence[str]) -> ApiError:
    """Return the error of a model there is not, with those there are."""
    what = f"there is no model {model[:100]!r} here; use one of {', '.join(known)}"
    return ApiError(Code.NOT_FOUND, what, details={"param": "model", "code": "model_not_found"})


def of_chat(body: ChatRequest) -> AskRequest:
    """Return the question of a chat; ApiError for what cannot be read."""
    for place, message in enumerate(body.messages):
        if message.role in {"tool", "function"} or message.tool_calls:
            raise _refused("no tools are called here: leave tool calls and their results out", f"messages.{place}")
    return _asked([_said(message, f"messages.{n}") for n, message in enumerate(body.messages)], "messages")


def of_responses(body: ResponsesRequest) -> AskRequest:
    """Return the question of a response; ApiError for what cannot be read."""
    said = [("system", body.instructions)] if body.instructions else []
    if isinstance(body.input, str):
        return _asked([*said, ("user", body.input)], "input")
    for place, item in enumerate(body.input):
        if item.type not in {"message", None} or item.role is None:
            raise _refused(f"items of type {item.type!r} cannot be read, only messages", f"input.{place}")
    return _asked([*said, *(_said(item, f"input.{n}") for n, item in enumerate(body.input))], "input")


def _said(message: ChatMessage | InputItem, where: str) -> tuple[str, str]:
    """Return role and text."""
    role = "system" if message.role == "developer" else str(message.role)
    if message.content is None or isinstance(message.content, str):
        return role, message.content or ""
    wrong = next((part for part in message.content if part.type not in _TEXTS), None)
    if wrong is not None:
        raise _refused(f"content of type {wrong.type!r} cannot be read, only text", f"{where}.content")
    return role, "\n".join(part.text for part in message.content if part.text)


def _asked(said: list[tuple[str, str]], param: str) -> AskRequest:
    last = max((place for place, (role, _) in enumerate(said) if role != "system"), default=-1)  # some end with one
    role, question = said[last] if last >= 0 else ("", "")
    if role != "user" or not question.strip():
        raise _refused("the last message must be the user's, with the question as its text", param)
    before = said[:last] + said[last + 1 :]
    history = []
    for role, text in before:
        without = _LINKS.sub("", text) if role == "assistant" else text  # another program's answer is left as it is
        history.append((role, text if without == text else _SECOND_PASSAGE.split(without, maxsplit=1)[0]))
    longest = max((len(text) for _, text in [*history, ("user", question)]), default=0)
    what = ""
    if len(history) > MOST_MESSAGES:
        what = f"at most {MOST_MESSAGES} earlier messages are read, not {len(history):,}"
    elif longest > MAX_QUESTION_CHARACTERS:
        what = f"a message has at most {MAX_QUESTION_CHARACTERS:,} characters, not {longest:,}"
    if what:
        raise ApiError(Code.INVALID, what, details={"param": param, "code": "context_length_exceeded"})
    return AskRequest(question=question, history=[Said.model_validate({"role": r, "content": t}) for r, t in history])


def _refused(what: str, param: str) -> ApiError:
    return ApiError(Code.INVALID, f"{param}: {what}", details={"param": param, "code": "unsupported_value"})


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer ready to be shown."""

    text: str
    annotations: list[dict[str, Any]]
    """Where citations stand in the text, as the responses API has it; chat completions hold it one level deeper."""
    sources: list[dict[str, Any]]
    """The quotes in the form of Open WebUI's `sources`, in the order of their numbers."""
    understood: str  # the question, references to earlier turns resolved
    usage: ModelUsage
    """Of the language model; without one, by estimate, of the messages as they were read and of `text`."""


def cited(current: RequestContext, run: Run) -> Cited:
    """Return a run's answer with its links."""
    data = ask_data(current, run)
    links: dict[int, tuple[str, str]] = {}
    sources = []
    for one in data.citations:
        at = linked(one, current.base)
        # A title stands on one line, without what would end it in Markdown.
        url, title = at["url"], " ".join(at["title"].replace('"', "'").replace("\\", "/").split())
        links[one.number] = url, title
        # Open WebUI numbers sources by `metadata.source`, so it must differ from note to note.
        place = {"source": url, "name": title, "start": one.start, "end": one.end}
        sources.append({"source": {"id": url, "name": title, "url": url}, "document": [one.quote], "metadata": [place]})
    text = data.answer
    found = list(_marks(text, data.result, links))
    if links and not found:  # an answer that cites as a whole
        text += " " + "".join(f"[{number}]" for number in links)
        found = list(_marks(text, None, links))
    annotations = [
        {"type": "url_citation", "start_index": start, "end_index": end, "url": links[n][0], "title": links[n][1]}
        for start, end, n in found
    ]
    definitions = [f'[{n}]: {links[n][0]} "{links[n][1]}"' for n in sorted({number for _, _, number in found})]
    text = "\n\n".join(filter(None, [text, "\n".join(definitions), tables_text(data.tables, data.language)]))
    read = (run.question.question, *(message.content or "" for message in run.question.history))
    estimate = ModelUsage(prompt_tokens=sum(map(estimated_tokens, read)), completion_tokens=estimated_tokens(text))
    return Cited(text, annotations, sources, data.query, data.usage if data.usage.prompt_tokens else estimate)


def _marks(text: str, result: Answer | None, links: dict[int, tuple[str, str]]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, number) of the citations in a text; a document's own `[1]` within a passage is none."""
    places = {passage.number: passage.place for passage in result.passages} if result is not None else {}
    for match in _MARK.finditer(text):
        number = int(match[1])
        before = f"{places[number]} " if number in places else ""
        if number in links and text.endswith(before, 0, match.start()):
            yield match.start(), match.end(), number
