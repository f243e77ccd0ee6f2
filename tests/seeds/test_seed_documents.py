"""What the five seed documents show and state, one case a statement: `cases/DOCUMENT.yaml`.

A case names its `section`, what it `states`, what is done (`do`, Python run with the names of `SCOPE`), and what each
expression `gives` afterwards; or with `raises` the error's name. Enumerations compare as their values.
"""

from __future__ import annotations

import asyncio
import inspect
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field

import theworld
from theworld import Message

CASES = Path(__file__).parent / "cases"
DOCUMENTS = ("efsa", "reference-resolver", "retrieval-m4", "structured-output", "wikidata-disambiguation")


def turns(count: int, user: str = "q", assistant: str = "a") -> list[Message]:
    """Return so many questions with answers: q0, a0, q1, ..."""
    return [
        Message(role, f"{word}{i}") for i in range(count) for role, word in (("user", user), ("assistant", assistant))
    ]


SCOPE: dict[str, Any] = {name: getattr(theworld, name) for name in theworld.__all__} | {
    "theworld": theworld,
    "turns": turns,
    "BaseModel": BaseModel,
    "Field": Field,
    "asyncio": asyncio,
    "SORTING": [
        Message(role="user", content="有什么好的排序算法？"),
        Message(role="assistant", content="推荐使用快速排序..."),
        Message(role="user", content="还有呢？"),
        Message(role="assistant", content="归并排序也不错..."),
    ],
}


class Case(BaseModel):
    """One statement of a document."""

    model_config = ConfigDict(extra="forbid")

    section: str
    states: str
    do: str = ""
    gives: dict[str, Any] = {}
    raises: str = ""
    document: Literal[DOCUMENTS] = "efsa"  # type: ignore[valid-type]


def cases() -> list[Any]:
    """Return every case of every table, named by document, section and statement."""
    found = []
    for document in DOCUMENTS:
        rows = yaml.safe_load((CASES / f"{document}.yaml").read_text(encoding="utf-8"))
        for row in rows:
            case = Case(document=document, **row)
            found.append(pytest.param(case, id=f"{document} {case.section}: {case.states}"))
    return found


def run(source: str, names: dict[str, Any]) -> None:
    """Run statements, which may await at their top, with these names."""
    result = eval(compile(source, "case", "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    if inspect.iscoroutine(result):
        asyncio.run(result)


@pytest.mark.parametrize("case", cases())
def test_the_document_holds(case: Case) -> None:
    names = dict(SCOPE)
    if case.raises:
        with pytest.raises(Exception) as caught:
            run(case.do, names)
        assert case.raises in [kind.__name__ for kind in type(caught.value).__mro__]
        return
    run(case.do, names)
    assert {expression: eval(expression, names) for expression in case.gives} == case.gives


def test_every_case_can_fail() -> None:
    for param in cases():
        case: Case = param.values[0]
        assert case.gives or case.raises, f"{param.id} checks nothing"
