"""Questions of several parts: where the parts need different ways, they are asked one by one and answers are joined."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise

from theworld.routing.features import DatabaseReader
from theworld.settings import Settings
from theworld.state import Answer, Candidate, Citation, Context, QueryState, Update
from theworld.text import cjk_share
from theworld.text.folding import simplified

FindParts = Callable[[str, Context], list[str]]
"""Says the parts of a question, [] for one that stays whole."""
MOST_PARTS = 4
_SHORTEST_ZH, _SHORTEST_EN = 4, 3
"""Characters or words that a part must have."""
_ASKS = re.compile(
    r"(?i)[谁哪什几吗呢]|多少|如何|怎么|怎样|为何|是否|何时|何处|多大|多久|总额|合计|平均|趋势|变化|波动|关系"
    r"|\b(?:who|whom|whose|what|which|where|when|why|how|is|are|was|were|does|do|did|list|show|total|average|explain|describe)\b"
)
_BETWEEN = re.compile(
    r"[？?；;]\s*|[，,]\s*(?=(?:以及|并且|并|同时|另外|还有|而|且|then\b|and\b|also\b))|[，,]\s*(?=(?:它|他|她|其|该)?[^，,]{0,12}[谁哪什几多])"
    r"|[，,]\s*(?:and\s+)?(?=(?:who|whom|what|which|where|when|why|how)\b)|(?<!\s)\s+and\s+(?=(?:who|whom|what|which|where|when|why|how)\b)",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[(\d{1,9})\]")
_LEADING = re.compile(r"(?i)^(?:以及|并且|并|同时|另外|还有|而且|而|且|and|also|then)[，,]?\s*")


def split_parts(question: str) -> list[str]:
    """Return the parts of a question in order, [] when it is one: each part must ask something by itself."""
    between = [match.span() for match in _BETWEEN.finditer(simplified(question))]
    places = pairwise((0, *(place for span in between for place in span), len(question)))
    pieces = [_without_lead(question[start:end].strip(" ，,。.")) for start, end in islice(places, 0, None, 2)]
    parts = [piece for piece in pieces if piece]
    if not 1 < len(parts) <= MOST_PARTS or not all(_is_question(part) for part in parts):
        return []
    return parts


def _without_lead(piece: str) -> str:
    lead = _LEADING.match(simplified(piece))
    return piece[lead.end() if lead else 0 :].strip()


def _is_question(part: str) -> bool:
    long = len(part) >= _SHORTEST_ZH if cjk_share(part) > 0.3 else len(part.split()) >= _SHORTEST_EN
    return long and _ASKS.search(simplified(part)) is not None


def parts_finder(settings: Settings, database: DatabaseReader | None) -> FindParts:
    """Return what says the parts of a question of which some are for the database and some for the documents.

    [] leaves a question whole, as always without a database: parts that are all searched find more together.
    """

    def find(query: str, context: Context) -> list[str]:
        enabled = settings.router.enabled if context.router is None else context.router
        if database is None or not enabled or context.channels is not None or context.database is False:
            return []
        parts = split_parts(query)
        understood = {database(part, context).understood for part in parts}
        return parts if len(understood) > 1 else []

    return find


def join_parts(parts: Sequence[str], states: Sequence[QueryState]) -> Update:
    """Return the update with the parts' answers in order, citations numbered through, candidates and tables together.

    Without any answered part there is no result; beside an answered one, a part says what kept it from an answer.
    """
    answers = [state.result or Answer() for state in states]
    update: Update = {
        "candidates": _distinct([c for state in states for c in state.candidates]),
        "evidence": _distinct([c for state in states for c in state.evidence]),
        "paths": [path for state in states for path in state.paths],
        "tables": [table for state in states for table in state.tables],
        "judgements": [judgement for state in states for judgement in state.judgements],
        "stages": [stage for state in states for stage in state.stages],
        "degradations": [degradation for state in states for degradation in state.degradations],
        "result": None,
    }
    if all(answer.kind == "none" for answer in answers):
        return update
    texts, citations = [], list[Citation]()
    for part, answer in zip(parts, answers, strict=True):
        text = answer.text
        numbers = {citation.number: len(citations) + i for i, citation in enumerate(answer.citations, start=1)}
        text = _renumbered(text, numbers)
        citations += [c.model_copy(update={"number": numbers[c.number]}) for c in answer.citations]
        texts.append(f"{part}\n{text}")
    kinds = {answer.kind for answer in answers if answer.kind != "none"}
    order = ("generated", "extractive", "entity", "computed")
    return update | {
        "result": Answer(
            text="\n\n".join(texts),
            kind=next(kind for kind in order if kind in kinds),
            confidence=min(answer.confidence for answer in answers),
            citations=tuple(citations),
            reason="; ".join(f"part {i}: {answer.reason}" for i, answer in enumerate(answers, start=1)),
        )
    }


def _renumbered(text: str, numbers: Mapping[int, int]) -> str:
    return _MARK.sub(lambda mark: f"[{numbers.get(int(mark[1]), mark[1])}]", text)


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    found: dict[str, Candidate] = {}
    for candidate in candidates:
        known = found.get(candidate.note_id)
        if known is None or candidate.final_score > known.final_score:
            found[candidate.note_id] = candidate
    return sorted(found.values(), key=lambda c: (-c.final_score, c.note_id))
