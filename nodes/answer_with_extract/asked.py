"""The words beside the question word: what is asked, as against what it is asked about."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations
from theworld.nodes.answer_with_entity.question.read_question import QUESTION_WORD
from theworld.nodes.answer_with_extract.question_tokens import said_tokens

BESIDE = 4
"""Content tokens on each side of the question word."""
SHORT_END = 25
"""Characters after a question word that leave its words before it: "starred in which 1932 film?"."""
_OPEN = re.compile(r"what|which|how", re.IGNORECASE)
_DESCRIBES = {
    "en": re.compile(
        r"(?<=\w\s)(?<!^at )(?<!^by )(?<!^in )(?<!^of )(?<!^on )(?:that|where|which|who|whose|whom|when|by)\b|"
        r"\bof (?:the|an?|his|her|its|their)\b|\w(?:['’]s|s['’])\s",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"的[^的，,。？?]{1,12}的|所[\u4e00-\u9fff]{1,4}的"),
}
"""Clauses and genitives by which a question tells a thing apart instead of naming it."""


def asked_weights(question: str, language: str | None, wanted: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the tokens beside the question word, scaled to sum to 1; none where there is none.

    In English the first what, which or how counts, else the first question word: who and where are often relative.
    """
    if language == "zh":
        match = QUESTION_WORD["zh"].search(question)
        end = match.start("unit") if match else 0
    else:
        matches = list(QUESTION_WORD["en"].finditer(question))
        match = next((found for found in matches if _OPEN.match(found.group())), next(iter(matches), None))
        end = match.start() + len(match.group().split()[0]) if match else 0
    if match is None:
        return {}
    before = [token for token in said_tokens(question[: match.start()]) if token in wanted][-BESIDE:]
    after = [token for token in said_tokens(question[end:]) if token in wanted][:BESIDE]
    if language != "zh" and len(question) - end >= SHORT_END:
        before = []
    beside = dict.fromkeys([*before, *after])
    total = math.fsum(wanted[token] for token in beside)
    return {token: wanted[token] / total for token in beside} if total else {}


def describes(question: str, language: str | None) -> bool:
    """Tell whether a question describes what it is about by another thing: "the film's director", "《X》的导演"."""
    chosen = "zh" if language == "zh" else "en"
    steps = sum(len(asked.relation.path) for asked in asked_relations(question, chosen))
    return bool(_DESCRIBES[chosen].search(question.strip())) or steps > 1
