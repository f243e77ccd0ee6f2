"""What a question asks one after the other: "who wrote it and when was it published?"."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from theworld.text import cjk_share
from theworld.text.folding import simplified

MOST_PARTS = 4
_AROUND = " ，,。.？?；;"
_SHORTEST_ZH, _SHORTEST_EN = 4, 3
"""Characters or words that a part must have."""
_ASKS_ZH = r"谁|[哪什几]|多少|如何|怎么|怎样|为何|是否|何时|何处|多大|多久|多长|(?P<verb>[能会要可是有])[不没](?P=verb)"
_AUXILIARY = "is|are|was|were|do|does|did|can|could|may|might|will|would|should|shall|must|has|have|had"
_ASKS = re.compile(
    rf"(?i){_ASKS_ZH}|[吗呢]|总额|合计|平均|趋势|变化|波动|关系"
    rf"|\b(?:who|whom|whose|what|which|how|why|total|average)\b|\b(?:when|where)\s+(?:{_AUXILIARY})\b"
    rf"|^(?:where|{_AUXILIARY}|list|show|explain|describe)\b"
)
"""When and where otherwise only name a time and a place: "When I open it, what is shown?"."""
_BETWEEN = re.compile(
    r"[？?；;。]\s*|(?<=\w\w)\.\s+|[，,]\s*(?=(?:以及|并且|并|同时|另外|还有|而|且|then\b|and\b|also\b))"
    rf"|[，,]\s*(?=[^，,？?。]*?(?:{_ASKS_ZH}))"
    r"|[，,]\s*(?:and\s+)?(?=(?:who|whom|what|which|where|when|why|how)\b)|(?<!\s)\s+and\s+(?=(?:who|whom|what|which|where|when|why|how)\b)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\([^()]*\)|（[^（）]*）")
_LEADING = re.compile(r"(?i)^(?:以及|并且|并|同时|另外|还有|而且|而|且|and|also|then)[，,]?\s*")


def split_parts(question: str) -> list[str]:
    """Return the parts of a question in order, [] when it is one: each asks something, with what is said before it."""
    # What stands in brackets, as the context of a follow-up does, is one with what it stands behind.
    whole = _BRACKETS.sub(lambda inside: "_" * len(inside[0]), simplified(question))
    between = [match.span() for match in _BETWEEN.finditer(whole)]
    places = pairwise((0, *(place for span in between for place in span), len(question)))
    parts: list[tuple[int, int]] = []
    begin = 0
    for start, end in islice(places, 0, None, 2):
        piece = _without_lead(question[start:end].strip(_AROUND))
        long = len(piece) >= _SHORTEST_ZH if cjk_share(piece) > 0.3 else len(piece.split()) >= _SHORTEST_EN
        if long and _ASKS.search(simplified(piece)):
            parts.append((begin, end))
            begin = end
    if not 1 < len(parts) <= MOST_PARTS:
        return []
    parts[-1] = (parts[-1][0], len(question))  # what is said last may be about it
    return [_without_lead(question[start:end].strip(_AROUND)) for start, end in parts]


def _without_lead(piece: str) -> str:
    lead = _LEADING.match(simplified(piece))
    return piece[lead.end() if lead else 0 :].strip()
