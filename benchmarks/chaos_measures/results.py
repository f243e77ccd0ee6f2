"""What rounds found, kept line by line in a file that grows from run to run, and shown as a table."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from chaos_measures.rounds import TOLD, WHOLE


class Results:
    """A file of JSON lines; each round is written as soon as it is over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, part: str, what: str, outcome: str, **more: object) -> None:
        """Keep one round and show it when it is not as it should be."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"part": part, "what": what, "outcome": outcome, **more}, ensure_ascii=False) + "\n")
        if outcome not in {WHOLE, TOLD}:
            print(f"{part}, {what}: {outcome} {more}", flush=True)

    def rows(self) -> list[dict[str, Any]]:
        """Return all rounds so far."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]

    def table(self) -> str:
        """Return a Markdown table of part, what was done, rounds, and how many ended in which way."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for row in self.rows():
            counts.setdefault((row["part"], row["what"]), Counter())[row["outcome"].partition(":")[0]] += 1
        lines = [f"| part | what | rounds | {WHOLE} | {TOLD} | anything else |", "|---|---|---|---|---|---|"]
        for (part, what), found in sorted(counts.items()):
            others = {name: count for name, count in found.items() if name not in {WHOLE, TOLD}}
            told = ", ".join(f"{name} {count}" for name, count in others.items()) or "none"
            lines.append(f"| {part} | {what} | {found.total()} | {found[WHOLE]} | {found[TOLD]} | {told} |")
        return "\n".join(lines)

    def sound(self) -> bool:
        """Return whether every round ended as it should."""
        return all(row["outcome"] in {WHOLE, TOLD} for row in self.rows())
