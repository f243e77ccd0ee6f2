"""Questions with a letter wrong, beside the same spelt right: `python benchmarks/misspelt.py SET=STORE ...`.

Of each question of a set (docs/evaluation.md) that has one, the longest Latin word of six letters or more that is no
name gets two letters exchanged, one lost, one doubled or one replaced, always the same. STORE: its documents.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from environment import environment

from theworld.evaluation.documents.question_set import QuestionSet, ask_questions, load_question_set
from theworld.evaluation.documents.scoring import declined, holds_fact
from theworld.graph import build_graph, open_resources
from theworld.settings import Settings


def misspelt(question: str, chance: random.Random) -> str | None:
    """Return a question with a letter of its longest word wrong, None where it has no long word."""
    found = re.findall(r"[A-Za-z]{6,}", question)
    words = [word for word in found if word.islower() or question.startswith(word)]
    if not words:
        return None
    word = max(words, key=len)
    at = chance.randrange(1, len(word) - 2)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    wrong = [after[0] + letter + after[1:], after, letter + letter + after, chance.choice("aeioustnrl") + after]
    return question.replace(word, before + chance.choice(wrong), 1)


def main() -> None:
    settings = Settings()
    print(environment(settings))
    figures: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for given in sys.argv[1:]:
        folder, _, store = given.partition("=")
        asked, chance = load_question_set(Path(folder)), random.Random(7)
        pairs = [(one, misspelt(one.question, chance)) for one in asked.questions]
        pairs = [(one, wrong) for one, wrong in pairs if wrong not in {None, one.question}]
        spelt = {
            "right": tuple(one for one, _ in pairs),
            "wrong": tuple(one.model_copy(update={"question": wrong}) for one, wrong in pairs),
        }
        with open_resources(settings.model_copy(update={"store": Path(store)})) as resources:
            graph = build_graph(resources)
            for name, questions in spelt.items():
                some: QuestionSet = replace(asked, questions=questions)
                answers = ask_questions(some, graph, lambda *_: lambda: None)
                for question, answer in zip(questions, answers, strict=True):
                    if question.answerable:
                        figures[name]["answer contained"].append(holds_fact(question, answer.text))
                        figures[name]["declined"].append(declined(answer))
                    else:
                        figures[name]["unanswerable handled"].append(declined(answer))
    for name, measures in figures.items():
        shown = ", ".join(f"{what} {100 * fmean(held):.1f} of {len(held)}" for what, held in measures.items())
        print(f"spelt {name}: {shown}")


if __name__ == "__main__":
    main()
