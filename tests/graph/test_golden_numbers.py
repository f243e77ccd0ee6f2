"""Frozen numbers of every stage on the demo's questions: a changed weight or heuristic shows here, whatever it is.

`python tests/graph/test_golden_numbers.py` writes the file anew; review the difference like code.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

FILE = Path(__file__).with_name("golden_numbers.yaml")
GOLDEN: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text("utf-8")) if FILE.exists() else {}
TOLERANCE = 0.004
"""Models differ a little between processors; weights that matter change more."""
NOTES = 3
CONVERSATIONS = {
    "en-near": ["Who was the commander of Apollo 11?", "Neil Armstrong.", "Where was he born?"],
    "en-far": [
        *("Who was the commander of Apollo 11?", "Neil Armstrong.", "Which river does the River Cam join?"),
        *("The Great Ouse.", "How long is it?", "230 kilometres.", "And what did the commander say about the Moon?"),
    ],
    "zh-near": ["谁主持建造了天一阁？", "范钦主持建造了天一阁。", "他是哪里人？"],
    "zh-far": [
        *("谁主持建造了天一阁？", "范钦。", "钱塘江大桥是谁设计的？", "茅以升。"),
        *("它什么时候建成？", "1937 年。", "你之前怎么看那座藏书楼？"),
    ],
}


def asked() -> dict[str, dict[str, Any]]:
    """Return the graph's inputs by name: the demo's questions of the default tenant, and conversations."""
    from theworld.demo import load_questions

    questions = {
        one.id: {"question": one.question, "history": one.history, "stances": one.stances}
        for one in load_questions()
        if one.tenant == "default" and not one.filters
    }
    roles = ("user", "assistant")
    turns = {
        name: {"question": said[-1], "history": [{"role": roles[i % 2], "content": s} for i, s in enumerate(said[:-1])]}
        for name, said in CONVERSATIONS.items()
    }
    return questions | turns


def numbers(graph: CompiledStateGraph[Any, Any, Any, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what the stages computed for one question, rounded."""
    from theworld.state import Context, QueryState

    keys = ["query", "language", "reference", "route", "candidates", "evidence", "judgements", "result"]
    context = Context(use_model=False, deadline_ms=60_000)
    state = QueryState.model_validate(graph.invoke(given, context=context, output_keys=keys))
    answer = state.result
    found: dict[str, Any] = {
        "query": state.query,
        "reference": [str(state.reference.reference_type), _round(state.reference.confidence)],
        "route": [state.route.path, _round(state.route.confidence)],
        "notes": {
            note.note_id: {name: _round(hit.score) for name, hit in sorted(note.channels.items())}
            | {
                "fused": _round(note.fused_score),
                "relevance": _round(note.final_score),
                "covered": _round(note.covered),
            }
            for note in state.candidates[:NOTES]
        },
        "answer": [answer.kind, answer.short, _round(answer.confidence)] if answer else [],
        "judged": {
            one.label: [one.selection.id if one.selection else "", _round(one.confidence)]
            for one in state.judgements[:3]
        },
    }
    return found


def _round(value: float | None) -> float | None:
    return None if value is None else round(float(value), 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_are_as_frozen(name: str, graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
    differences = list(_differences(GOLDEN[name], numbers(graph, asked()[name]), name))
    assert not differences, "\n".join([*differences, "if meant: python tests/graph/test_golden_numbers.py"])


def test_the_frozen_questions_are_those_asked() -> None:
    assert list(GOLDEN) == list(asked())


@pytest.fixture(scope="module")
def graph(resources: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    from theworld.graph import build_graph

    return build_graph(resources)


def _differences(wanted: Any, got: Any, where: str) -> Any:
    if isinstance(wanted, dict) and isinstance(got, dict):
        if list(wanted) != list(got):
            yield f"{where}: {list(wanted)} became {list(got)}"
        for key in wanted.keys() & got.keys():
            yield from _differences(wanted[key], got[key], f"{where}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        for i, (one, other) in enumerate(zip(wanted, got, strict=True)):
            yield from _differences(one, other, f"{where}[{i}]")
    elif isinstance(wanted, float) and isinstance(got, float):
        if abs(wanted - got) > max(TOLERANCE, TOLERANCE * abs(wanted)):
            yield f"{where}: {wanted} became {got}"
    elif wanted != got:
        yield f"{where}: {wanted!r} became {got!r}"


def main() -> None:
    """Write the file anew, over a store made for it."""
    from theworld.demo import corpus_dir
    from theworld.graph import build_graph, open_resources
    from theworld.ingestion import ingest
    from theworld.models.registry import load_models
    from theworld.settings import Settings
    from theworld.stores.knowledge_store import KnowledgeStore

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=Path(folder) / "store", retrieval={"deadline_ms": 60_000})
        with KnowledgeStore.open(settings.store, create=True, read_only=False) as store:
            ingest([corpus_dir()], store, load_models(settings), settings)
        with open_resources(settings) as resources:
            graph = build_graph(resources)
            found = {name: numbers(graph, given) for name, given in asked().items()}
    lines = yaml.safe_dump(found, allow_unicode=True, sort_keys=False, width=160, default_flow_style=None)
    FILE.write_text(lines, "utf-8")


if __name__ == "__main__":
    main()
