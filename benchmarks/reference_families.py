"""What each family of rules of the references is worth: stand-alone questions with it and without it.

    python benchmarks/reference_families.py --canard FILE --threads SET/threads.jsonl [...] --dialogues FILE [...]

Each family is switched off in turn. Of the questions that this changes, the table says how many are right with it and
without it: in conversations by what a stand-alone question must hold (one that a person made stand alone must be left
as it is), on CANARD by the F1 with the person's rewriting (a question counts for the side whose F1 is higher). A family
stays where its side has 90 % of the changed questions and these are at least 1 % of a set that it was not written on.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from environment import environment

from theworld.evaluation.conversations import HISTORY_QUESTION, load_rewritings, load_threads, token_f1
from theworld.references import ReferenceResolver
from theworld.state import Message

PACKAGE = "theworld.references"
NONE: Callable[..., None] = lambda *_args, **_named: None  # noqa: E731
NEVER = re.compile("(?!)")
ENGLISH, CHINESE = "english.EnglishFollowUp", "chinese.ChineseFollowUp"
FAMILIES: dict[str, tuple[str, object]] = {
    "correction refills the frame": ("context.FollowUp.corrected", NONE),
    "value in its frame": ("context.refilled", NONE),
    "change of topic: words left out": ("resolver.topic_change", NONE),
    "the answer as context": ("context.answered", lambda *_: ""),
    "item of a list": ("context.FollowUp.item", NONE),
    "like in the place of like (en)": (f"{ENGLISH}.refill", NONE),
    "pronoun (en)": (f"{ENGLISH}._pronouns", NONE),
    "it stands for a clause (en)": ("english._EXPLETIVE", NEVER),
    "this, that (en)": ("english._DEMONSTRATIVE", NEVER),
    "and, but, what about (en)": ("english._CONTINUES", NEVER),
    "else, another (en)": ("english._ADDS", NEVER),
    "says little (en)": ("english.LONGEST_FRAGMENT", 0),
    "the answer's name (en)": (f"{ENGLISH}._name_given", NONE),
    "names side by side (en)": (f"{ENGLISH}._rivals", lambda *_: ()),
    "heading (en)": ("english.is_heading", lambda _: False),
    "X呢 (zh)": (f"{CHINESE}._about", NONE),
    "pronoun (zh)": (f"{CHINESE}._pronouns", NONE),
    "这种, 那一步 (zh)": ("chinese._POINTING", "(?!)"),
    "correction, sequel (zh)": ("chinese._SEQUEL", "(?!)"),
    "names side by side (zh)": (f"{CHINESE}._side_by_side", lambda _: ()),
}


@dataclass(frozen=True)
class Asked:
    """A question in its history, and how right a stand-alone question for it is, in [0, 1]."""

    question: str
    history: list[Message]
    right: Callable[[str], float]

    def alone(self, resolver: ReferenceResolver) -> str:
        return resolver.resolve(self.question, self.history).standalone_query or self.question


def of_threads(folder: Path) -> Iterator[Asked]:
    for thread in load_threads(folder)[1]:
        history: list[Message] = []
        for turn in thread.turns:
            if turn.refers != HISTORY_QUESTION:
                yield Asked(
                    turn.question, list(history), lambda text, t=turn: next(iter(t.rewriting(text).values()), 1.0)
                )
                if turn.standalone:
                    yield Asked(turn.standalone, list(history), lambda text, t=turn: float(text == t.standalone))
            history += [Message("user", turn.question), Message("assistant", turn.reply)]


def of_canard(file: Path, *, titled: bool) -> Iterator[Asked]:
    """The questions of a CANARD file; without their title and section, the first two messages, as of an open talk."""
    for row in load_rewritings(file):
        history = [Message("assistant" if i % 2 else "user", text) for i, text in enumerate(row.history)]
        if not titled:
            del history[:2]
        yield Asked(row.current, history, lambda text, gold=row.rewrite: token_f1(text, gold))


def of_dialogues(file: Path) -> Iterator[Asked]:
    """Chinese dialogues: a stand-alone question holds what it must, one that refers to nothing is left as it is."""
    for row in map(json.loads, file.read_text("utf-8").splitlines()):
        history = [Message("assistant" if i % 2 else "user", text) for i, text in enumerate(row["history"])]
        wanted, query = row.get("standalone_has", []), row["query"]
        left = row["type"] == "none"
        yield Asked(
            query,
            history,
            lambda text, q=query, w=wanted, left=left: float(text == q if left else all(one in text for one in w)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--canard", type=Path)
    parser.add_argument("--threads", type=Path, nargs="*", default=[])
    parser.add_argument("--dialogues", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    sets = {path.parent.name: list(of_threads(path.parent)) for path in options.threads}
    sets |= {path.stem: list(of_dialogues(path)) for path in options.dialogues}
    if options.canard:
        sets |= {"canard": list(of_canard(options.canard, titled=True))}
        sets |= {"canard without titles": list(of_canard(options.canard, titled=False))}
    resolver = ReferenceResolver()
    print(environment())
    print(
        "\n| family | set | asked | changed | right with it | without it | share of the changed that it decides well |"
    )
    print("|---|---|---|---|---|---|---|")
    whole = {name: [asked.alone(resolver) for asked in rows] for name, rows in sets.items()}
    for family, (place, instead) in FAMILIES.items():
        with patch(f"{PACKAGE}.{place}", instead):
            for name, rows in sets.items():
                pairs = [(a, kept, a.alone(resolver)) for a, kept in zip(rows, whole[name], strict=True)]
                changed = [(a.right(kept), a.right(without)) for a, kept, without in pairs if kept != without]
                if not changed:
                    continue
                better, worse = sum(w > o for w, o in changed), sum(w < o for w, o in changed)
                share = f"{100 * better / (better + worse):.0f} %" if better + worse else "-"
                ours, others = (100 * sum(side) / len(changed) for side in zip(*changed, strict=True))
                print(f"| {family} | {name} | {len(rows)} | {len(changed)} | {ours:.0f} | {others:.0f} | {share} |")


if __name__ == "__main__":
    main()
