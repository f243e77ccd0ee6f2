"""The node: one call of the language model over the evidence, checked, or a fallback that is named."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langgraph.config import get_stream_writer
from langgraph.runtime import Runtime

from theworld.answers.generated import (
    NO_ANSWER,
    AnswerStream,
    CheckedText,
    Shown,
    answer_part,
    check_citations,
    citations_behind,
    clean,
    declines,
    no_answer_because,
    pack_evidence,
    short_answer,
    with_citation,
)
from theworld.deadline import Deadline, DeadlineExceededError, iterate_within
from theworld.degrading import degrading
from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, ChatModel, Completion, usage_of
from theworld.prompts import fill_prompt, load_prompt
from theworld.retrieval.channel import request_deadline
from theworld.settings import AnswerSettings, ModelSettings
from theworld.state import (
    EVIDENCE_NOTES,
    Answer,
    Candidate,
    Citation,
    Context,
    Degradation,
    QueryState,
    Update,
    context_of,
)
from theworld.text import well_formed

STAGE = "generate_answer"
CITED_CONFIDENCE = 0.7
"""Confidence in an answer that cites its notes; there is no probability to be had from the model."""
UNCITED_CONFIDENCE = 0.3
"""Confidence in an answer for which the model cites nothing."""

TIMEOUT_S = ModelSettings().timeout_s  # where no total deadline is given
MODEL_SHARE = 0.95
"""Of the time there is, what the model is given: one that keeps to it says itself what it has used."""
LEAST_TIME_S = 0.05
"""With less left of the request's budget no call is made."""


def generate_answer(
    state: QueryState,
    runtime: Runtime[Context],
    *,
    model: ChatModel,
    settings: AnswerSettings,
    timeout_s: float = TIMEOUT_S,
) -> Update:
    """Set `result` to an answer of kind `generated`, or to None with a Degradation when the model fails.

    Answer tokens are streamed as custom events {"type": "token", "text": ...}; {"type": "restart"} says that those
    before were not the answer. The whole call, retries included, must fit into what is left of the context's
    `total_deadline_ms`, without one into `timeout_s`; a model that takes longer is left. In a strict context a failing
    model raises ModelError.
    """
    began = time.perf_counter()
    context = context_of(runtime)
    language = context.language or state.language
    packed = pack_evidence(state.evidence[:EVIDENCE_NOTES], settings.evidence_tokens)
    if not packed.shown:
        return {"result": None, "degradations": [_degradation("no note fits the token budget", began)]}
    template = load_prompt("answer", language)
    prompt = fill_prompt(template, notes=packed.text, question=clean(state.query), no_answer=NO_ANSWER[language])
    notes = [state.evidence[index] for index in packed.shown]
    texts = [f"{note.title}\n{note.text}" for note in notes]
    shown = AnswerStream(texts)
    noted: list[Degradation] = []
    instead = "passages are shown instead"
    with degrading(STAGE, context, noted, f"{instead} of an answer", catching=ModelError) as generating:
        deadline = request_deadline(state, context) or Deadline.after(timeout_s * 1000 / MODEL_SHARE)
        completion = _stream(model, prompt, deadline, shown)
    if isinstance(generating.error, ModelError):
        return {"result": None, "usage": usage_of(generating.error), "degradations": noted}
    text = answer_part(well_formed(completion.text))
    update: Update = {"usage": completion.usage, "result": None}
    problems = ["the model's answer was cut off at the token limit"] if completion.truncated else []
    checked = check_citations(text, len(notes))
    if not text or declines(text):
        reason = "the model found no answer in the notes" if text else "the model's answer was empty"
        problems.append(f"{reason}; {instead}")
    else:
        if checked.invented:
            numbers = ", ".join(f"[{number}]" for number in checked.invented)
            problems.append(f"the model cited notes that do not exist ({numbers}); the citations were removed")
        if reason := no_answer_because(checked.text, state.query, texts, template):
            problems.append(f"the model's answer {reason}; {instead}")
        else:
            update["result"] = _answer(checked, notes, texts, model.name)
    update["degradations"] = [_degradation(problem, began) for problem in problems]
    return update


def _stream(model: ChatModel, prompt: str, deadline: Deadline, shown: AnswerStream) -> Completion:
    """Return the whole completion, its answer written to the stream.

    Raises ModelError when time is up, or too short for a call to be worth beginning.
    """
    write, timeout_s = _writer(), deadline.remaining_ms() / 1000 * MODEL_SHARE
    if timeout_s < LEAST_TIME_S:
        raise ModelError(f"no time left of the request's {deadline.budget_ms} ms.", where=model.name)
    call = partial(model.stream, [ChatMessage("user", prompt)], timeout_s=timeout_s)
    try:
        for piece in iterate_within(deadline, call, name=STAGE):
            if isinstance(piece, Completion):
                _tell(write, shown.end())
                return piece
            _tell(write, shown.feed(piece))
        raise _failed("the stream ended without a completion.", model)
    except Exception as error:  # whatever a model raises, what was shown of it is not the answer
        _tell(write, Shown("", restart=True))
        if isinstance(error, DeadlineExceededError):
            raise _failed(f"no complete answer within {timeout_s:g} s.", model) from error
        raise


def _failed(what: str, model: ChatModel) -> ModelError:
    error = ModelError(what, where=model.name)
    error.calls = 1
    return error


def _tell(write: Callable[[Any], None], shown: Shown) -> None:
    if shown.restart:
        write({"type": "restart"})
    if shown.text:
        write({"type": "token", "text": shown.text})


def _writer() -> Callable[[Any], None]:
    """Return the graph's stream writer, or one that drops everything outside a graph run."""
    try:
        return get_stream_writer()
    except RuntimeError:
        return lambda _event: None


def _answer(checked: CheckedText, notes: list[Candidate], texts: list[str], name: str) -> Answer:
    text = with_citation(citations_behind(checked.text), texts)
    said = f"{len(checked.cited)} of {len(notes)} notes cited" if checked.cited else "no note cited"
    cited = check_citations(text, len(notes)).cited
    return Answer(
        text=text,
        short=short_answer(text),
        kind="generated",
        confidence=CITED_CONFIDENCE if checked.cited else UNCITED_CONFIDENCE,
        citations=tuple(Citation.of(number, notes[number - 1]) for number in cited),
        reason=f"generated by {name}, {said}" + (f"; [{cited[0]}] holds its words" if cited != checked.cited else ""),
    )


def _degradation(reason: str, began: float) -> Degradation:
    return Degradation(stage=STAGE, reason=reason, elapsed_ms=(time.perf_counter() - began) * 1000)
