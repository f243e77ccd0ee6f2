"""The optional judge: a language model, asked only for close calls; and how its reply is read into a judgement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from theworld.deadline import Deadline
from theworld.entities.candidates import (
    ELLIPSIS,
    as_entry,
    clean_text,
    format_candidates,
    items_of,
    only_qid_in,
    readable,
    shorten,
)
from theworld.entities.judge import DeterministicJudge
from theworld.entities.schema import (
    REASON_MATCHED,
    REASON_NO_CANDIDATES,
    REASON_NOT_MATCHED,
    REASON_UNREADABLE,
    CandidateLimits,
    JudgedEntity,
    JudgeOutput,
    read_entity,
    read_text,
)
from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, ChatModel, usage_of
from theworld.prompts import fill_prompt, harmless, load_prompt
from theworld.state import ModelUsage
from theworld.structure import StructureParseError, parse_with_report
from theworld.structure.remedies import share_of
from theworld.text import detect_language

MAX_REPLY_CHARACTERS = 100_000
"""Longer replies are refused: a judgement is a few hundred characters."""
MAX_REASON_BYTES = 2048
_MEANT = dict.fromkeys("true yes 1 是 匹配".split(), True)
_MEANT |= dict.fromkeys("false no 0 none nil 否 不是 不匹配 未匹配".split(), False)
"""Words for whether an entry is meant."""


class JudgeReply(BaseModel):
    """The fields by which a judgement is known; values as they come."""

    model_config = ConfigDict(extra="allow")

    matched: Any = None
    confidence: Any = None
    reason: Any = None
    selection: Any = None
    choices: Any = None
    wikidata_uri: Any = None
    wikidata_qid: Any = None
    entity: Any = None
    source: Any = None
    model: Any = None


class StatedJudgement(NamedTuple):
    """What a reply states; without a confidence 0, without a reason none."""

    qid: str | None
    """The entry it names."""
    matched: bool | None
    """None when it does not say."""
    confidence: float
    reason: str


def read_reply(txt: Any) -> StatedJudgement | None:
    """Return what the object of a text states that fills most of a judgement's fields, repaired where it is broken.

    None when the text has no such object, or was cut off before it said which entry, or that none, is meant.
    """
    if not isinstance(txt, str) or len(txt) > MAX_REPLY_CHARACTERS:
        return None
    try:
        report = parse_with_report(str.__str__(txt), JudgeReply)
    except StructureParseError:
        return None
    reply = report.value.model_dump(exclude_unset=True)
    choices = reply.get("choices")
    choice = choices.get("wikidata") if isinstance(choices, Mapping) else None
    inner = choice if isinstance(choice, Mapping) else {}
    stated = reply | {name: value for name, value in inner.items() if value is not None}
    # The plainest statement first.
    named = [reply.get("selection"), inner.get("candidate"), inner.get("selection")]
    named += [stated.get("wikidata_qid"), stated.get("wikidata_uri")]
    qid, said = next((qid for value in named for qid in _qids_of(value)), None), stated.get("matched")
    matched = bool(said) if isinstance(said, (int, float)) else _MEANT.get((clean_text(said) or "").casefold())
    if report.truncated and matched is not False and (qid is None or txt.rstrip().endswith(qid)):
        return None
    reason = shorten(clean_text(stated.get("reason")) or "", MAX_REASON_BYTES)
    return StatedJudgement(qid, matched, share_of(stated.get("confidence")) or 0.0, reason)


def _qids_of(value: Any) -> Iterator[str]:
    """Yield the QIDs of one statement: a text, an entry, or a list of one of them."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    fields = [value.get(name) for name in ("id", "qid", "url", "uri")] if isinstance(value, Mapping) else [value]
    return filter(None, map(only_qid_in, fields))


def parse_llm_output(
    txt: str,
    candidates: Sequence[Mapping[str, Any]] | None,
    *,
    label: str = "",
    type_hint: str | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """Return the JudgeOutput dict a model's text means. Only a QID among `candidates` can be matched."""
    output = JudgeOutput(entity=read_entity(label, type_hint), model=read_text(model, "model"))
    reply = read_reply(txt)
    if reply is None:
        found: dict[str, Any] = {"reason": REASON_UNREADABLE}
    elif reply.qid is None or reply.matched is False:
        found = {"reason": reply.reason or REASON_NOT_MATCHED, "confidence": reply.confidence}
    elif chosen := next((item for item in map(readable, items_of(candidates)) if item.get("id") == reply.qid), None):
        found = {"matched": True, "confidence": reply.confidence, "reason": reply.reason or REASON_MATCHED}
        found["selection"] = as_entry(chosen)
    else:
        found = {"reason": f"所选实体 {reply.qid} 不在候选中" + (f"（{reply.reason}）" if reply.reason else "")}
    return output.model_copy(update=found).as_dict()


def fallback_zero_candidates(label: str, type_hint: str | None = None) -> dict[str, Any]:
    """Return the judgement for a mention without candidates; no model is asked."""
    return JudgeOutput(entity=read_entity(label, type_hint), reason=REASON_NO_CANDIDATES).as_dict()


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

    def __init__(self, model: ChatModel, *, first: DeterministicJudge | None = None, sure: float = 0.85) -> None:
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
        surroundings = clean_text(context) or ""
        at = surroundings.find(clean_text(entity.label) or "")
        if at > 0 and len(surroundings[:at].encode("utf-8")) > CONTEXT_BYTES // 2:  # its beginning lacks the mention
            surroundings = ELLIPSIS + surroundings[max(at - CONTEXT_BYTES // 8, 0) :]
        prompt = fill_prompt(
            load_prompt("disambiguate", language),
            context=harmless(shorten(surroundings, CONTEXT_BYTES), "context"),  # it cannot close the delimiters
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
