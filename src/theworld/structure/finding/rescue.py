"""For texts without a usable fragment: scalars, tables, calls written as text, and json-repair under supervision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from theworld.structure.finding.tables import read_tables
from theworld.structure.finding.textcalls import read_text_calls
from theworld.structure.fitting.provenance import lost_words
from theworld.structure.fitting.targets import Target
from theworld.structure.reading.bare import CONSTANTS, literal
from theworld.structure.reading.fragments import answer_start, find_fences
from theworld.structure.report import Repair

Result = tuple[Any, tuple[Repair, ...]]
LONGEST_FOR_JSON_REPAIR = 8_000
"""json-repair takes quadratic time on some texts."""
_NOTHING = [word for word, value in CONSTANTS.items() if value is None]


def last_resorts(text: str, target: Target) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Yield named attempts, cheapest first."""
    answer = text[answer_start(text) :]
    for index, call in enumerate(read_text_calls(answer)):
        yield f"tool_text_{index}", partial(_given, call.arguments, call.repairs)
    for index, rows in enumerate(read_tables(answer)):
        note = (Repair("table", "rows of a markdown table"),)
        yield f"table_{index}", partial(_given, rows, note)
    if target.kind == "other":
        yield from _scalars(answer)
    if "{" in answer or "[" in answer:
        yield "json_repair", partial(_json_repair, answer)


def _has_text(value: Any, text: str) -> bool:
    """Tell whether a text is among the values inside plain data."""
    pending = [value]
    while pending:
        item = pending.pop()
        if item == text:
            return True
        pending.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
    return False


def _given(value: Any, repairs: tuple[Repair, ...]) -> Result:
    return value, repairs


def _scalars(answer: str) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Yield the whole answer, and what stands in fences, as single values."""
    texts = [answer, *(answer[fence.start : fence.end] for fence in find_fences(answer))]
    for index, text in enumerate(texts):
        yield f"scalar_{index}", partial(_given, literal(text.strip().strip("\"'`*").strip())[0], ())


def _json_repair(text: str) -> Result:
    """Let json-repair try; refuse a result that dropped keys or text."""
    if len(text) > LONGEST_FOR_JSON_REPAIR:
        raise ValueError(f"longer than {LONGEST_FOR_JSON_REPAIR} characters: not given to json-repair")
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True)
    except Exception as error:  # it trips over its own assertions on some texts
        raise ValueError(f"json-repair failed: {type(error).__name__}: {error}") from error
    if not isinstance(value, (dict, list)):
        raise ValueError("json-repair found no object or array")
    lost = lost_words(text, value)
    if lost:
        raise ValueError(f"json-repair dropped text: {', '.join(lost[:5])}")
    for word in _NOTHING:
        if re.search(rf"[:\[,]\s*+{word}\s*+[,}}\]]", text) and _has_text(value, word):
            raise ValueError(f"json-repair made a text of {word}, which stands for nothing")
    return value, (Repair("json-repair", "mended by json-repair; every word of the input is kept"),)
