"""Structured output side by side with its peers: values, silent losses, time; growing inputs; a fuzz run.

    python benchmarks/structured_output.py values DEV.jsonl     # broken JSON with the value it means
    python benchmarks/structured_output.py valid                # valid JSON against model_validate_json
    python benchmarks/structured_output.py fuzz 100000          # mutated inputs

Rows: {"input", "expected_value"}. The peers need `pip install -e ".[benchmarks]"`; one that is missing is left out
and named. A loss is silent when the value is not the expected one and nothing says so: peers report nothing, ours is
silent when the report has no repair, no truncation and no alternative.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic
from pydantic import BaseModel, RootModel, TypeAdapter

from theworld.evaluation.datasets import read_lines
from theworld.structure import StructureParseError, extract_json_from_text, parse_structured_output, parse_with_report
from theworld.structure.reading.provenance import invented

ROUNDS = 5
ANYTHING = RootModel[Any]
Parser = Callable[[str], Any]


class Person(BaseModel):
    """A small object."""

    name: str
    age: int


class Entry(BaseModel):
    """One of many."""

    title: str
    price: float = 0.0
    tags: list[str] = []


class Catalogue(BaseModel):
    """A large object."""

    entries: list[Entry]


def ours(text: str) -> Any:
    """Parse with this project."""
    return parse_structured_output(text, ANYTHING).root


def peers() -> tuple[dict[str, Parser], list[str]]:
    """Return the parsers that are installed, ours first, and the names of those that are not."""
    found: dict[str, Parser] = {"theworld": ours, "json.loads": json.loads}
    missing = []
    for name, module, build in (
        ("json_repair", "json_repair", _json_repair),
        ("langchain parse_json_markdown", "langchain_core", _langchain),
        ("instructor style", "instructor", _instructor),
        ("partial-json-parser", "partial_json_parser", _partial_json),
    ):
        if importlib.util.find_spec(module):
            found[name] = build()
        else:
            missing.append(name)
    return found, missing


def _json_repair() -> Parser:
    import json_repair

    return json_repair.loads


def _langchain() -> Parser:
    from langchain_core.utils.json import parse_json_markdown

    return parse_json_markdown


def _instructor() -> Parser:
    from instructor.utils import extract_json_from_codeblock

    return lambda text: json.loads(extract_json_from_codeblock(text), strict=False)


def _partial_json() -> Parser:
    import partial_json_parser

    return partial_json_parser.loads


def outcome(parse: Parser, text: str) -> tuple[bool, Any]:
    """Return whether a parser gave a value, and the value."""
    try:
        return True, parse(text)
    except Exception:
        return False, None


def is_told(text: str) -> bool:
    """Return whether our report says that something was done to the text."""
    report = parse_with_report(text, ANYTHING)
    return bool(report.repairs or report.truncated or report.alternatives)


def values(path: Path) -> None:
    """Print exact values, silent losses and time of every parser on rows of broken JSON."""
    rows = [json.loads(line) for _, line in read_lines(path)]
    rows = [row for row in rows if row.get("expected_parses", True)]
    found, missing = peers()
    print(f"{len(rows)} rows of {path.name}; not installed: {', '.join(missing) or 'none'}")
    print(f"{'parser':32} {'exact':>7} {'raised':>7} {'wrong':>7} {'silent':>7} {'us/row':>9}")
    for name, parse in found.items():
        results = [outcome(parse, row["input"]) for row in rows]
        exact = sum(done and value == row["expected_value"] for (done, value), row in zip(results, rows, strict=True))
        raised = sum(not done for done, _ in results)
        bad = [r["input"] for (d, v), r in zip(results, rows, strict=True) if d and v != r["expected_value"]]
        silent = sum(not is_told(text) for text in bad) if name == "theworld" else len(bad)
        print(f"{name:32} {exact / len(rows):7.1%} {raised:7} {len(bad):7} {silent:7} {spent(parse, rows):9.1f}")


def spent(parse: Parser, rows: list[dict[str, Any]]) -> float:
    """Return the best of several rounds, in microseconds of CPU time per row."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for row in rows:
            outcome(parse, row["input"])
        rounds.append(time.process_time() - began)
    return min(rounds) / len(rows) * 1e6


def best(function: Callable[[], Any], number: int) -> float:
    """Return the median of several rounds, in seconds of CPU time per call."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(number):
            function()
        rounds.append((time.process_time() - began) / number)
    return statistics.median(rounds)


def valid() -> None:
    """Print our time on valid JSON as a multiple of pydantic's own, and on large broken JSON of json_repair's."""
    big = json.dumps({"entries": [{"title": f"t{i}", "price": i, "tags": ["x", "y"]} for i in range(1000)]})
    for name, model, text, number in (
        ("small", Person, '{"name": "Alice", "age": 25}', 20_000),
        ("large", Catalogue, big, 50),
    ):
        plain = best(lambda model=model, text=text: model.model_validate_json(text), number)
        own = best(lambda model=model, text=text: parse_structured_output(text, model), number)
        print(f"valid, {name}: model_validate_json {plain * 1e6:.2f} us, ours {own / plain:.2f} times that")
    if importlib.util.find_spec("json_repair"):
        import json_repair

        broken = big.replace('"title"', "title")[:20_000]
        theirs = best(lambda: json_repair.loads(broken), 2)
        print(f"broken, 20 kB: json_repair {theirs * 1e3:.1f} ms, ours", end=" ")
        print(f"{best(lambda: extract_json_from_text(broken), 2) / theirs:.2f} times that")


def fuzz(count: int, seed: int = 7) -> None:
    """Parse mutated texts: no exception but StructureParseError, values that validate and come from the text."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "structure"))
    from mutation import mutated

    rng = random.Random(seed)
    shapes: list[Any] = [Person, Entry, Catalogue, list[Entry], dict[str, Any], Any]
    parsed, strange, slowest, began = 0, 0, 0.0, time.perf_counter()
    for _ in range(count):
        text, shape = mutated(rng), rng.choice(shapes)
        start = time.perf_counter()
        try:
            report = parse_with_report(text, shape)
        except StructureParseError:
            continue
        finally:
            slowest = max(slowest, time.perf_counter() - start)
        parsed += 1
        adapter: TypeAdapter[Any] = TypeAdapter(shape)
        adapter.validate_python(report.value)
        plain = adapter.dump_python(report.value, mode="json", exclude_unset=True)
        new = [item for _, item in invented(plain, text) if not str(item).startswith(("{", "["))]
        if new:
            strange += 1
            print(f"not from the text: {new} in {text!r}")
    print(f"{count} mutated texts, {parsed} parsed, {strange} with words not in the text,", end=" ")
    print(f"slowest {slowest * 1e3:.0f} ms, {time.perf_counter() - began:.0f} s; no other exception")


def main() -> None:
    """Run one part."""
    print(f"Python {platform.python_version()}, pydantic {pydantic.VERSION}, {platform.machine()}")
    part, *rest = sys.argv[1:] or [""]
    if part == "values" and rest:
        values(Path(rest[0]))
    elif part == "valid":
        valid()
    elif part == "fuzz":
        fuzz(*(int(number) for number in rest or ["100000"]))
    else:
        print(__doc__)


if __name__ == "__main__":
    main()
