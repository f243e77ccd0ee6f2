"""A conversation as OpenAI's clients send it, as a question with its history.

The last message, which must be the user's, is the question. Of an answer that this service gave, only what it said
comes back as history: its links are taken off, and of its passages the first stays, as `answers.said_text` has it,
since further ones would only offer more that a later "it" may mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from theworld.service.api.access import Caller
from theworld.service.api.envelope import Code
from theworld.service.api.errors import ApiError
from theworld.service.api.schemas import MOST_MESSAGES, AskRequest, Said
from theworld.service.openai.schemas import ChatMessage, ChatRequest, InputItem, ResponsesRequest
from theworld.state.query import MAX_QUESTION_CHARACTERS
from theworld.stores.ledger.api_keys import ANY_TENANT

MODEL = "theworld"
_TEXTS = frozenset({"text", "input_text", "output_text"})
_LINKS = re.compile(r"\s*(?:\n\[\d{1,4}\]: \S+ \"[^\n]*\")+\s*\Z")
_SECOND_PASSAGE = re.compile(r"\n\n[^\n]+ \[(?:[2-9]|\d{2,})\]\n")


def for_tenant(caller: Caller, model: str) -> Caller:
    """Return the caller for the tenant that a model's name chooses; ApiError for a model there is not.

    A foreign tenant's is told like one that nobody has.
    """
    name, slash, tenant = model.partition("/")
    if model == MODEL:
        return caller
    allowed = caller.principal is None or caller.principal.may_act_for(tenant)
    possible = 1 <= len(tenant) <= 128 and tenant.isascii() and tenant.isprintable() and " " not in tenant
    if name != MODEL or not slash or not allowed or not possible:
        raise unknown_model(model, names(caller))
    return Caller(tenant, caller.principal)


def names(caller: Caller) -> list[str]:
    """Return the models a caller may chat with: the knowledge of its tenant, and of each tenant its key names."""
    tenants = caller.principal.tenants if caller.principal is not None else ()
    named = [tenant for tenant in tenants if tenant != ANY_TENANT]
    return [MODEL, *(f"{MODEL}/{tenant}" for tenant in named if len(named) > 1)]


def unknown_model(model: str, known: Sequence[str]) -> ApiError:
    """Return the error of a model there is not, with those there are."""
    what = f"there is no model {model[:100]!r} here; use one of {', '.join(known)}"
    return ApiError(Code.NOT_FOUND, what, details={"param": "model", "code": "model_not_found"})


def of_chat(body: ChatRequest) -> AskRequest:
    """Return the question of a chat; ApiError for what cannot be read."""
    for place, message in enumerate(body.messages):
        if message.role in {"tool", "function"} or message.tool_calls:
            raise _refused("no tools are called here: leave tool calls and their results out", f"messages.{place}")
    return _asked([(_role(m), _text(m, f"messages.{n}")) for n, m in enumerate(body.messages)], "messages")


def of_responses(body: ResponsesRequest) -> AskRequest:
    """Return the question of a response; ApiError for what cannot be read."""
    said = [("system", body.instructions)] if body.instructions else []
    if isinstance(body.input, str):
        return _asked([*said, ("user", body.input)], "input")
    for place, item in enumerate(body.input):
        if item.type not in {"message", None} or item.role is None:
            raise _refused(f"items of type {item.type!r} cannot be read, only messages", f"input.{place}")
    return _asked([*said, *((_role(item), _text(item, f"input.{n}")) for n, item in enumerate(body.input))], "input")


def _role(message: ChatMessage | InputItem) -> str:
    return "system" if message.role == "developer" else str(message.role)


def _text(message: ChatMessage | InputItem, where: str) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    wrong = next((part for part in message.content if part.type not in _TEXTS), None)
    if wrong is not None:
        raise _refused(f"content of type {wrong.type!r} cannot be read, only text", f"{where}.content")
    return "\n".join(part.text for part in message.content if part.text)


def _asked(said: list[tuple[str, str]], param: str) -> AskRequest:
    last = max((place for place, (role, _) in enumerate(said) if role != "system"), default=-1)  # some end with one
    role, question = said[last] if last >= 0 else ("", "")
    if role != "user" or not question.strip():
        raise _refused("the last message must be the user's, with the question as its text", param)
    before = said[:last] + said[last + 1 :]
    history = [(role, _remembered(text) if role == "assistant" else text) for role, text in before]
    longest = max((len(text) for _, text in [*history, ("user", question)]), default=0)
    if len(history) > MOST_MESSAGES or longest > MAX_QUESTION_CHARACTERS:
        what = f"at most {MOST_MESSAGES} earlier messages of at most {MAX_QUESTION_CHARACTERS:,} characters each"
        raise ApiError(Code.INVALID, what, details={"param": param, "code": "context_length_exceeded"})
    return AskRequest(question=question, history=[Said.model_validate({"role": r, "content": t}) for r, t in history])


def _refused(what: str, param: str) -> ApiError:
    return ApiError(Code.INVALID, f"{param}: {what}", details={"param": param, "code": "unsupported_value"})


def _remembered(text: str) -> str:
    """Return what an answer said; another program's is left as it is."""
    without = _LINKS.sub("", text)
    return without if without == text else _SECOND_PASSAGE.split(without, maxsplit=1)[0]
