"""What a question asks one after the other: "who wrote it and when was it published?"."""

from __future__ import annotations

import re
from itertools import islice, pairwise

from theworld.text import cjk_share
from theworld.text.folding import simplified

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
