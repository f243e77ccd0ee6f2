"""The optional judge: a language model, asked only for close calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from theworld.deadline import Deadline
from theworld.entities.candidates import ELLIPSIS, clean_text, format_candidates, shorten
from theworld.entities.judge import DeterministicJudge
from theworld.entities.replies import parse_llm_output
from theworld.entities.schema import REASON_UNREADABLE, CandidateLimits, JudgedEntity, JudgeOutput
from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, harmless, load_prompt
from theworld.state import ModelUsage
from theworld.text import detect_language

CONTEXT_BYTES = 2048
"""Context sent with a question to the model."""
LABEL_BYTES = 512
MAX_ASKED = 50
"""Candidates a model is asked about; more are more than any search gives."""
LEAST_TIME_S = 0.05
"""With less left of the request no call is made."""


class ModelJudge:
    """Asks a model where the deterministic judge is not sure; its failure leaves the deterministic judgement.

    `sure` is the confidence from which the deterministic judgement stands without a call.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        first: DeterministicJudge | None = None,
        sure: float = 0.85,
    ) -> None:
        self._model, self._first, self._sure = model, first or DeterministicJudge(), sure
        self._usage = ModelUsage()
        self._within: Deadline | None = None

    def within(self, timeout_s: float | None) -> ModelJudge:
        """Return this judge for one request that has so many seconds left; out of time no model is asked."""
        judge = ModelJudge(self._model, first=self._first, sure=self._sure)
        judge._within = None if timeout_s is None else Deadline.after(timeout_s * 1000)
        return judge

    def without_model(self) -> DeterministicJudge:
        """Return the judge whose judgement stands where no model may be asked."""
        return self._first

    @property
    def usage(self) -> ModelUsage:
        """Model calls so far."""
        return self._usage

    def judge(self, entity: JudgedEntity, context: str, candidates: Sequence[Mapping[str, Any]]) -> JudgeOutput:
        """Return the model's judgement for a close call, the deterministic one otherwise."""
        known = self._first.judge(entity, context, candidates)
        if not candidates or known.confidence >= self._sure:
            return known
        seconds = None if self._within is None else self._within.remaining_ms() / 1000
        if seconds is not None and seconds < LEAST_TIME_S:
            return known.model_copy(update={"reason": f"{known.reason}; no time left to ask {self._model.name}"})
        readable = format_candidates(candidates, CandidateLimits(max_candidates=MAX_ASKED))
        if not readable:
            return known
        language = detect_language(context)
        prompt = fill_prompt(
            load_prompt("disambiguate", language),
            context=_context_of(entity.label, context),
            payload=json.dumps(
                {
                    "entity": {
                        "label": shorten(clean_text(entity.label) or "", LABEL_BYTES),
                        "type_hint": shorten(clean_text(entity.type_hint) or "", LABEL_BYTES) or None,
                    },
                    "candidates": {"wikidata": readable},
                },
                ensure_ascii=False,
            ),
        )
        try:
            completion = self._model.complete([ChatMessage("user", prompt)], timeout_s=seconds)
        except ModelError as error:
            self._usage += usage_of(error)
            return known.model_copy(update={"reason": f"{known.reason}; {self._model.name} failed: {error}"})
        self._usage += completion.usage
        reply = parse_llm_output(
            completion.text, readable, label=entity.label, type_hint=entity.type_hint, model=self._model.name
        )
        if reply["reason"] == REASON_UNREADABLE:
            return known.model_copy(update={"reason": f"{known.reason}; {self._model.name}'s reply is unreadable"})
        return JudgeOutput.model_validate(reply)


def _context_of(label: str, context: str) -> str:
    """Return what the model sees of a context: its beginning, or the mention's surroundings where that lacks it.

    It cannot close the prompt's delimiters.
    """
    text = clean_text(context) or ""
    at = text.find(clean_text(label) or "")
    if at > 0 and len(text[:at].encode("utf-8")) > CONTEXT_BYTES // 2:
        text = ELLIPSIS + text[max(at - CONTEXT_BYTES // 8, 0) :]
    return harmless(shorten(text, CONTEXT_BYTES), "context")
