"""Accuracy and NIL of the deterministic judge on a file of mentions with candidates, against two baselines; times.

    python benchmarks/entities.py DEV.jsonl

The last lines hold the times against their budgets: 10 ms for a new text with known candidates, 3 ms for EFSA over
20 notes, 5 ms for a name in a snapshot (`benchmarks/wikidata.py` measures a large one).

Each line: {"mention", "context", "gold": "Q...", "candidates": [{"id", "label", "description"}, ...]}.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from efsa import NOTES
from environment import environment
from quality_measures.calibration import calibration_error

from theworld import efsa_answer
from theworld.entities import DeterministicJudge, JudgedEntity, JudgeOutput
from theworld.entities.identity import types_of
from theworld.entities.judge import popularity
from theworld.evaluation.datasets import read_lines
from theworld.evaluation.metrics import percentile
from theworld.models.taggers import SpacyTagger
from theworld.wikidata import Snapshot, build_snapshot
from wikidata import names, write_dump

SNAPSHOT_ENTITIES = 5_000


def judge_all(
    judge: DeterministicJudge, rows: list[dict[str, Any]], *, without_gold: bool = False
) -> list[tuple[JudgeOutput, str]]:
    """Return the judgement and the gold id of every row."""
    found = []
    for row in rows:
        candidates = [item for item in row["candidates"] if not (without_gold and item["id"] == row["gold"])]
        entity = JudgedEntity(label=row["mention"], type_hint=row.get("type"))
        output = judge.judge(entity, row["context"], candidates, row.get("mention_offset"))
        found.append((output, row["gold"]))
    return found


def is_right(output: JudgeOutput, gold: str) -> bool:
    """Return whether the gold entity was chosen."""
    return output.matched and output.selection is not None and output.selection.id == gold


def milliseconds(judge: DeterministicJudge, rows: list[dict[str, Any]]) -> str:
    """Return median and 95th percentile of one judgement."""
    taken = []
    for row in rows:
        began = time.perf_counter()
        judge_all(judge, [row])
        taken.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(taken):.2f} ms median, {percentile(taken, 0.95):.2f} ms p95"


def hold_against_budgets(rows: list[dict[str, Any]]) -> None:
    """Print median milliseconds of the processor for a judgement, EFSA and a search, and whether they are kept."""
    judge = DeterministicJudge()
    judge_all(judge, rows)
    with TemporaryDirectory() as folder:
        snapshot_file = Path(folder) / "snapshot.sqlite"
        write_dump(Path(folder) / "dump.json.gz", SNAPSHOT_ENTITIES)
        build_snapshot(Path(folder) / "dump.json.gz", snapshot_file)
        asked = [(name, language) for _, name, language in names(snapshot_file)]
        with Snapshot(snapshot_file) as snapshot:
            searches = [processor_ms(lambda a=a: snapshot.search(*a, 8)) for a in asked]
    judgements = [processor_ms(lambda row=row: judge_all(judge, [row])) for row in map(in_a_new_text, rows)]
    efsa = [
        processor_ms(lambda: efsa_answer(NOTES, "Who works with Entity 1?", "Entity 1", ["Entity 1", "Entity 2"]))
        for _ in range(100)
    ]
    for what, budget, taken in (
        ("one judgement in a new text, candidates known", 10.0, judgements),
        (f"EFSA over {len(NOTES)} notes", 3.0, efsa),
        (f"a name in a snapshot of {SNAPSHOT_ENTITIES} entries", 5.0, searches),
    ):
        middle, late = statistics.median(taken), percentile(taken, 0.95)
        kept = "kept" if late <= budget else "NOT kept"
        print(f"{what}: {middle:.2f} ms median, {late:.2f} ms p95 of processor time; budget {budget:g} ms {kept}")


def in_a_new_text(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose text no cache has, by a space before the mention; its candidates are as before."""
    at = row["mention_offset"]
    return row | {"context": f"{row['context'][:at]} {row['context'][at:]}", "mention_offset": at + 1}


def processor_ms(work: Callable[[], object]) -> float:
    """Return the milliseconds of processor time that some work takes."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def report(rows: list[dict[str, Any]]) -> None:
    """Print the judge's figures."""
    judge, forced = DeterministicJudge(), DeterministicJudge(min_confidence=0.0)
    judge_all(judge, rows[:1])
    print(f"  one judgement, first time     {milliseconds(judge, rows)}")
    print(f"  one judgement, again          {milliseconds(judge, rows)}")
    outputs, without = judge_all(judge, rows), judge_all(judge, rows, without_gold=True)
    matched = [(output.confidence, is_right(output, gold)) for output, gold in outputs if output.matched]
    print(f"  accuracy (NIL allowed)        {sum(is_right(*pair) for pair in outputs) / len(rows):.3f}")
    print(f"  accuracy (NIL forbidden)      {sum(is_right(*pair) for pair in judge_all(forced, rows)) / len(rows):.3f}")
    print(f"  NIL with gold removed         {sum(not output.matched for output, _ in without) / len(rows):.3f}")
    print(f"  calibration error (ECE)       {calibration_error(matched):.3f} over {len(matched)} matches")


def main(path: Path) -> None:
    """Print the figures of one file."""
    rows = [json.loads(line) for _, line in read_lines(path)]
    for row, tagged in zip(rows, SpacyTagger().tag([row["context"] for row in rows]), strict=True):
        row["type"] = types_of(tagged).get(row["mention"])
    popular = sum(max(row["candidates"], key=popularity)["id"] == row["gold"] for row in rows)
    first = sum(row["candidates"][0]["id"] == row["gold"] for row in rows)
    print(f"{environment()}\n{len(rows)} mentions")
    print(f"baseline: first                 {first / len(rows):.3f}")
    print(f"baseline: most popular          {popular / len(rows):.3f}")
    report(rows)
    hold_against_budgets(rows)
    print("Figures of the mentions the weights were fitted on are too good; benchmarks/fit_entities.py has fair ones.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mentions", type=Path, metavar="DEV.jsonl")
    main(parser.parse_args().mentions)
