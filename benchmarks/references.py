"""Measure reference resolution: rewriting on a CANARD file, retrieval with the rewrites, Chinese dialogues, speed.

python benchmarks/references.py --canard canard-dev.jsonl --threads SET/threads.jsonl
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from environment import environment
from scipy.sparse import csr_matrix

from theworld.evaluation.datasets import read_lines
from theworld.references import ReferenceResolver
from theworld.state import Message
from theworld.text import tokens

K1, B = 0.9, 0.4
DIALOGUES = Path(__file__).parents[1] / "tests/references/data"
NO_ANSWER = "i don't know"


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for _, line in read_lines(path)]


def messages_of(row: dict[str, Any]) -> list[Message]:
    """Title and section as the first two messages, then questions and answers in turn."""
    return [Message("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(row["history"])]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower().replace("'s", " ").replace("’s", " "))


def token_f1(predicted: str, gold: str) -> float:
    a, b = Counter(words(predicted)), Counter(words(gold))
    same = sum((a & b).values())
    return 0.0 if not same else 2 * same / (sum(a.values()) + sum(b.values()))


class Bm25:
    """Plain BM25 over the project's own tokens."""

    def __init__(self, passages: Sequence[str]) -> None:
        bags = [Counter(tokens(p)) for p in passages]
        self.vocabulary = {t: i for i, t in enumerate(sorted({t for bag in bags for t in bag}))}
        lengths = np.array([sum(bag.values()) for bag in bags], dtype=float)
        rows, columns, values = [], [], []
        for i, bag in enumerate(bags):
            norm = K1 * (1 - B + B * lengths[i] / lengths.mean())
            for token, count in bag.items():
                rows.append(i)
                columns.append(self.vocabulary[token])
                values.append(count * (K1 + 1) / (count + norm))
        matrix = csr_matrix((values, (rows, columns)), shape=(len(bags), len(self.vocabulary)))
        found = np.asarray((matrix > 0).sum(axis=0)).ravel()
        self.matrix = matrix.multiply(np.log(1 + (len(bags) - found + 0.5) / (found + 0.5))).tocsc()

    def top(self, query: str, k: int) -> list[int]:
        columns = [self.vocabulary[t] for t in tokens(query) if t in self.vocabulary]
        scores = np.asarray(self.matrix[:, columns].sum(axis=1)).ravel()
        return [int(i) for i in np.argsort(-scores, kind="stable")[:k] if scores[i] > 0]


def passages_of(rows: list[dict[str, Any]], titled: bool) -> tuple[list[str], dict[tuple[str, int], int]]:
    """The answers of all dialogues as passages, and the passage that answers (dialogue, turn)."""
    longest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["turn"] >= longest.get(row["dialog_id"], {"turn": 0})["turn"]:
            longest[row["dialog_id"]] = row
    passages: list[str] = []
    where: dict[tuple[str, int], int] = {}
    for dialog, row in longest.items():
        history = row["history"]
        for position in range(3, len(history), 2):
            if not history[position].lower().startswith(NO_ANSWER):
                where[dialog, (position - 1) // 2] = len(passages)
                passages.append(f"{history[0]}. {history[position]}" if titled else history[position])
    return passages, where


def recall(
    rows: list[dict[str, Any]], query_of: Callable[[dict[str, Any]], str], index: Bm25, where: dict[Any, int]
) -> float:
    asked = [row for row in rows if (row["dialog_id"], row["turn"]) in where]
    hits = [where[row["dialog_id"], row["turn"]] in index.top(query_of(row), 5) for row in asked]
    return 100 * float(np.mean(hits))


def half(row: dict[str, Any]) -> int:
    return int(hashlib.sha256(row["dialog_id"].encode()).hexdigest(), 16) % 2


def changed_recall(rows: list[dict[str, Any]], index: Bm25, where: dict[Any, int]) -> dict[str, str]:
    """Of the questions changed, by antecedent and by context: found in the first five only then, only as typed."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        passage = where.get((row["dialog_id"], row["turn"]))
        if passage is not None and row["predicted"] != row["current"]:
            ours, raw = passage in index.top(row["predicted"], 5), passage in index.top(row["current"], 5)
            counts[row["changed by"]].update(asked=1, gained=ours and not raw, lost=raw and not ours)
    return {
        f"  {way} ({n['asked']}): gained / lost": f"{n['gained']} / {n['lost']}" for way, n in sorted(counts.items())
    }


def rewriting(rows: list[dict[str, Any]], resolver: ReferenceResolver, every: list[dict[str, Any]]) -> dict[str, Any]:
    for row in rows:
        found = resolver.resolve(row["current"], messages_of(row))
        row["predicted"] = found.standalone_query or row["current"]
        row["changed by"] = "context" if str(found.metadata["evidence"]).startswith("context") else "antecedent"
    figures: dict[str, Any] = {"questions": len(rows)}
    plain = {id(r): " ".join(words(r["rewrite"])) for r in rows}
    for name in ("current", "predicted"):
        figures[f"exact match {name}"] = 100 * float(np.mean([" ".join(words(r[name])) == plain[id(r)] for r in rows]))
        figures[f"token F1 {name}"] = 100 * float(np.mean([token_f1(r[name], r["rewrite"]) for r in rows]))
    same = [r for r in rows if " ".join(words(r["current"])) == plain[id(r)]]
    figures["self-contained (gold = question)"] = len(same)
    figures["  changed"] = 100 * float(np.mean([r["predicted"] != r["current"] for r in same]))
    golds = [resolver.resolve(r["rewrite"], messages_of(r)).standalone_query for r in rows]
    figures["gold rewrites changed"] = 100 * float(np.mean([g is not None for g in golds]))
    for titled in (False, True):
        passages, where = passages_of(every, titled)
        index = Bm25(passages)
        raw, ours, gold = (recall(rows, lambda r, n=n: r[n], index, where) for n in ("current", "predicted", "rewrite"))
        kind = "title + answer" if titled else "answer only"
        figures[f"recall@5 ({kind}) raw / ours / gold"] = f"{raw:.1f} / {ours:.1f} / {gold:.1f}"
        figures[f"  share of the gap closed ({kind})"] = 100 * (ours - raw) / (gold - raw)
        figures |= {f"{name} ({kind})": value for name, value in changed_recall(rows, index, where).items()}
    return figures


def dialogues(path: Path, resolver: ReferenceResolver) -> dict[str, Any]:
    """Chinese dialogues: type and scope, source turns (by turn, see tests), stand-alone query."""
    rows = read_jsonl(path)
    kinds, turns, alone, sure = [], [], [], []
    for row in rows:
        result = resolver.resolve(row["query"], messages_of({"history": row["history"]}))
        found, gold = {i // 2 for i in result.source_turns}, set(row["turns"])
        follows = row["type"] in {"referential", "continuation"} and row["scope"] == "last_1_3_turns"
        kinds.append((result.reference_type.value, result.scope.value) == (row["type"], row["scope"]))
        sure.append((result.metadata["evidence"], result.confidence, kinds[-1]))
        if row["type"] != "none":
            turns.append(bool(found and found <= gold) if follows else found == gold)
        text = result.standalone_query or ""
        alone.append(not text if row["type"] == "none" else all(w in text for w in row.get("standalone_has", [])))
    return {
        "dialogues": len(rows),
        "type and scope right": 100 * float(np.mean(kinds)),
        "source turns right": 100 * float(np.mean(turns)),
        "stand-alone query right": 100 * float(np.mean(alone)),
        "calibration": sure,
    }


def threads(path: Path, resolver: ReferenceResolver) -> dict[str, Any]:
    """Conversations with ideal replies: stand-alone queries that hold what they must, by kind, in per cent.

    A line holds `turns` of {question, reply, refers, standalone_must_contain: texts, or lists of alternatives}.
    """
    right: dict[str, list[bool]] = defaultdict(list)
    for thread in read_jsonl(path):
        history: list[Message] = []
        for turn in thread["turns"]:
            question, kind = turn["question"], turn["refers"]
            alone = resolver.resolve(question, history).standalone_query or question
            wanted = [one if isinstance(one, list) else [one] for one in turn["standalone_must_contain"]]
            if kind == "none":
                right["left untouched"].append(alone == question)
            elif kind != "history-question":
                held = all(any(text.casefold() in alone.casefold() for text in one) for one in wanted)
                right[f"right, {kind}"].append(held)
                right["right, all"].append(held)
            history += [Message("user", question), Message("assistant", turn["reply"])]
    return {f"{kind} ({len(held)})": 100 * float(np.mean(held)) for kind, held in sorted(right.items())}


def dependence(rows: list[dict[str, Any]], resolver: ReferenceResolver) -> list[tuple[str, float, bool]]:
    """(evidence, confidence, right) for each question and each gold rewrite: does it depend on its history?"""
    judged = []
    for row in rows:
        history = messages_of(row)
        asked, gold = resolver.resolve(row["current"], history), resolver.resolve(row["rewrite"], history)
        depends = token_f1(row["current"], row["rewrite"]) < (0.8 if not asked.matches else 1.0)
        judged.append((asked.metadata["evidence"], asked.confidence, bool(asked.matches) == depends))
        judged.append((gold.metadata["evidence"], gold.confidence, not gold.matches))
    return judged


def calibration(judged: list[tuple[str, float, bool]]) -> dict[str, Any]:
    """Share of right decisions by evidence, (right + 1) / (all + 2), and the expected calibration error."""
    figures: dict[str, Any] = {}
    error = 0.0
    for evidence in sorted({e for e, _, _ in judged}):
        right = [ok for e, _, ok in judged if e == evidence]
        stated = float(np.mean([c for e, c, _ in judged if e == evidence]))
        error += abs(float(np.mean(right)) - stated) * len(right)
        share = (sum(right) + 1) / (len(right) + 2)
        figures[evidence] = f"{share:.2f} of {len(right)}, stated {stated:.2f}"
    figures["expected calibration error"] = f"{error / len(judged):.3f}"
    return figures


def unrelated(path: Path, resolver: ReferenceResolver) -> dict[str, Any]:
    """Share of self-contained questions that are changed after an unrelated one; text, question_en or question_zh."""
    rows = read_jsonl(path)
    figures: dict[str, Any] = {}
    for key in ("text", "question_en", "question_zh"):
        asked = [row[key] for row in rows if row.get(key)]
        changed = [
            resolver.resolve(question, [Message("user", asked[i - 1]), Message("assistant", "42")]).standalone_query
            for i, question in enumerate(asked)
        ]
        if asked:
            figures[f"{key}: changed of {len(asked)}"] = 100 * float(np.mean([c is not None for c in changed]))
    return figures


def speed(resolver: ReferenceResolver) -> dict[str, Any]:
    """Least CPU milliseconds of a call."""
    figures: dict[str, Any] = {}
    for count in (50, 500, 5000):
        chinese = [
            Message(r, f"Redis第{i}个特性是主从复制，我建议开启。") for i in range(count) for r in ("user", "assistant")
        ]
        english = [
            Message(r, t)
            for i in range(count)
            for r, t in (
                ("user", f"When did Ada Lovelace meet guest {i}?"),
                ("assistant", f"She met Charles Babbage at party {i}."),
            )
        ]
        asked = [
            ("它支持集群吗？", chinese),
            ("刚才说的复制怎么配置？", chinese),
            ("你之前说的建议还有效吗？", chinese),
        ]
        asked += [
            ("When did she die?", english),
            ("what you said earlier", english),
            ("What is the capital of France?", english),
        ]
        for query, history in asked:
            best = float("inf")
            for _ in range(10):
                start = time.process_time()
                for _ in range(10):
                    resolver.resolve(query, history)
                best = min(best, (time.process_time() - start) * 100)
            figures[f"{count} turns, {query}"] = f"{best:.3f} ms"
    return figures


def show(title: str, figures: dict[str, Any]) -> None:
    print(f"\n{title}")
    for name, value in figures.items():
        print(f"  {name:52} {value if isinstance(value, str | int) else f'{value:.1f}'}")


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--canard", type=Path, help="CANARD jsonl: dialog_id, turn, history, current, rewrite")
    parser.add_argument("--threads", type=Path, nargs="*", default=[], help="jsonl files of conversations")
    parser.add_argument("--questions", type=Path, nargs="*", default=[], help="jsonl files of self-contained questions")
    parser.add_argument("--dialogues", type=Path, default=DIALOGUES, help="Folder of the Chinese dialogues")
    options = parser.parse_args(None if arguments is None else list(arguments))
    resolver = ReferenceResolver()
    print(environment())
    if options.canard:
        rows = read_jsonl(options.canard)
        for title, chosen in (("tuning half", 0), ("held-out half", 1)):
            show(f"CANARD, {title} of the dialogues", rewriting([r for r in rows if half(r) == chosen], resolver, rows))
        show("CANARD, all", rewriting(rows, resolver, rows))
        show("Confidence, CANARD tuning half", calibration(dependence([r for r in rows if half(r) == 0], resolver)))
        show("Confidence, CANARD held-out half", calibration(dependence([r for r in rows if half(r) == 1], resolver)))
    for path in sorted(options.dialogues.glob("dialogues_*.jsonl")):
        figures = dialogues(path, resolver)
        sure = figures.pop("calibration")
        show(path.stem, figures | calibration(sure))
    for path in options.threads:
        show(f"Conversations, {path.parent.name}", threads(path, resolver))
    for path in options.questions:
        show(f"Self-contained questions, {path.parent.name}", unrelated(path, resolver))
    show("Speed, least CPU time of a call", speed(resolver))


if __name__ == "__main__":
    main()
