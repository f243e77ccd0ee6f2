"""EFSA's functions with everything wrong: a clear error or an answer, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hostile_values import HOSTILE
from theworld import compute_cov_cons, efsa_answer, efsa_answer_with_fallback
from theworld.answers.efsa_input import InvalidNoteError

FIELDS = ("entities", "final_score", "hop_no", "doc_id", "paragraph_idxs", "title", "content", "text")
PARAMETERS = ("query", "bridge_entity", "path_entities", "topN", "aliases", "min_share", "min_margin")


def note(**fields: Any) -> dict[str, Any]:
    return {"entities": ["A"], "final_score": 0.5, "content": "B and A"} | fields


def answered(function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Run, and let only a clear and short error pass."""
    said = ""
    try:
        answer, support = function(*arguments, **named)
        assert answer is None or isinstance(answer, str)
        assert isinstance(support, list)
    except InvalidNoteError as error:
        said = str(error)
    assert len(said) < 300


@pytest.mark.slow
@pytest.mark.parametrize("bad", HOSTILE.values(), ids=list(HOSTILE))
def test_anything_anywhere(bad: Any) -> None:
    answered(efsa_answer, bad, "q")
    answered(efsa_answer_with_fallback, bad, "q")
    answered(efsa_answer, [note(), bad], "q")
    for field in FIELDS:
        answered(efsa_answer, [note(**{field: bad})], "q", "B", ["A"])
        answered(efsa_answer, [note(**{field: [bad]})], "q", "B", ["A"])
    for name in PARAMETERS:
        answered(efsa_answer, [note()], **{"query": "q"} | {name: bad})
    answered(efsa_answer, [note()], "q", aliases={"A": bad})
    for arguments in ((bad, ["A"]), (note(), bad), (note(entities=bad), ["A"]), (note(content=bad), ["A"])):
        try:
            coverage, consistency = compute_cov_cons(*arguments)
        except InvalidNoteError:
            continue
        assert 0 <= coverage <= 1
        assert consistency in {0, 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": None}, r"`query` must be text, not NoneType"),
        ({"query": "q", "bridge_entity": 3}, r"`bridge_entity` must be a list of names, not int"),
        ({"query": "q", "path_entities": ["A", 3]}, r"`path_entities\[1\]` must be text, not int"),
        ({"query": "q", "topN": "20"}, r"`topN` must be a whole number, not str"),
        ({"query": "q", "aliases": ["A"]}, r"`aliases` must be a dict"),
        ({"query": "q", "min_share": float("nan")}, r"`min_share` must be finite"),
        ({"query": "q", "allowed": "person"}, r"`allowed` must be a function"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidNoteError, match=said):
        efsa_answer([note()], **arguments)


def test_the_gates_own_error_is_its_own() -> None:
    def gate(_key: str, _name: str) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        efsa_answer([note()], "q", allowed=gate)
