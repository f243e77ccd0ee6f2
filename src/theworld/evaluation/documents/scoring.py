"""What one answer to a question about documents is worth.

A string is in a text when it stands there as whole words and numbers once case, width, mark-up and white space are
folded: `60` is in neither `160` nor `60.5`. A text holds a question's fact when it holds one string of each list
needed. An answer is declined when its kind is `none` or its confidence is below LOW.

The measures of a question, each 0 or 1 but for recall:

- `file recall@K`: share of the files needed (or others that say the same) among the first K files;
- `all files@5`: whether all are among the first five, where several are needed;
- `fact in first note`, `fact in first 3 notes`: whether the notes, as they are shown, hold it;
- `answer contained`: whether the answer holds it; `on the first screen`: whether as much of it does as FIRST_SCREEN;
- `answerable declined`, `unanswerable handled`: whether it was declined, which is right for the latter only.

Why a question failed: one cause each, from what was found and what was shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any, Literal

from theworld.evaluation.documents.question_set import DocumentAnswer, DocumentQuestion, QuestionSet
from theworld.evaluation.metrics import PairedDifference, paired_difference, percentiles
from theworld.text.tokens import detect_language

LOW = 0.3
"""Least confidence of an answer that counts as given."""
FIRST_SCREEN: Mapping[str, int] = {"en": 1600, "zh": 700}
"""Characters of an answer, by its language, that a reader sees at once: long answers hold more, and show less."""
RECALL_DEPTHS = (1, 5, 10)
CHOSEN = 3
"""First notes that an answer can be made of."""
MEASURES = {
    **{f"file recall@{k}": f"file@{k}" for k in RECALL_DEPTHS},
    "all files@5": "files@5",
    "fact in first note": "note@1",
    "fact in first 3 notes": "note@3",
    "answer contained": "answer",
    "on the first screen": "screen",
    "unanswerable handled": "handled",
    "answerable declined": "declined",
}
"""The measures, each with the head of its column in tables."""
_MARKUP = re.compile(r"[`*_\\]")
_CJK = "\u3000-\u9fff\uf900-\ufaff"
_SPACED_CJK = re.compile(rf" ?([{_CJK}]) ?")


def fold(text: str) -> str:
    """Return the text in one case and width, without mark-up, white space as one space and none beside Chinese."""
    plain = _MARKUP.sub("", unicodedata.normalize("NFKC", text).casefold())
    return _SPACED_CJK.sub(r"\1", " ".join(plain.split()))


def holds_fact(question: DocumentQuestion, *texts: str) -> bool:
    """Return whether texts together hold one string of each list that the question needs."""
    folded = fold("\n".join(texts))
    return all(any(_stands_in(folded, fold(string)) for string in strings) for strings in question.needed)


def _stands_in(text: str, string: str) -> bool:
    """Return whether a string stands in a text, both folded, not within a longer word or number."""
    before = "(?<![0-9a-z])" if re.match("[0-9a-z]", string) else ""
    before += "(?<![0-9][.,])" if re.match("[0-9]", string) else ""
    after = "(?![0-9a-z])" if re.search("[0-9a-z]$", string) else ""
    after += "(?![.,][0-9])" if re.search("[0-9]$", string) else ""
    return re.search(before + re.escape(string) + after, text) is not None


def declined(answer: DocumentAnswer) -> bool:
    """Return whether nothing was answered, or only with low confidence."""
    return answer.kind == "none" or (answer.confidence is not None and answer.confidence < LOW)


def files_found(question: DocumentQuestion, files: Sequence[str]) -> list[bool]:
    """Return for each file needed whether it, or one that says the same, is among the files."""
    return [not accepted.isdisjoint(files) for accepted in question.accepted_files]


def score(question: DocumentQuestion, answer: DocumentAnswer) -> dict[str, float]:
    """Return the measures that the question has, in the order of MEASURES."""
    if not question.answerable:
        return {"unanswerable handled": float(declined(answer))}
    scores: dict[str, float] = {}
    if question.files:
        for depth in RECALL_DEPTHS:
            found = files_found(question, answer.files[:depth])
            scores[f"file recall@{depth}"] = sum(found) / len(found)
    if len(question.files) > 1:
        scores["all files@5"] = float(all(files_found(question, answer.files[:5])))
    screen = answer.text[: FIRST_SCREEN[detect_language(answer.text)]]
    return scores | {
        "fact in first note": float(holds_fact(question, *answer.notes[:1])),
        "fact in first 3 notes": float(holds_fact(question, *answer.notes[:CHOSEN])),
        "answer contained": float(holds_fact(question, answer.text)),
        "on the first screen": float(holds_fact(question, screen)),
        "answerable declined": float(declined(answer)),
    }


Cause = Literal[
    "not retrieved", "retrieved, not chosen", "chosen, not shown", "silent", "answered although unanswerable"
]
CAUSES: dict[Cause, str] = {
    "not retrieved": "no candidate holds the fact",
    "retrieved, not chosen": "candidates hold it, but not the first three",
    "chosen, not shown": "the first three hold it, the answer does not",
    "silent": "nothing was answered, or only with low confidence",
    "answered although unanswerable": "the documents do not say it, and it was answered",
}


@dataclass(frozen=True, slots=True)
class DocumentFailure:
    """One failed question."""

    id: str
    question: str
    cause: Cause
    note_rank: int | None
    """How many of the first notes it takes to hold the fact; None when all of them do not."""
    file_rank: int | None
    """How many of the first files it takes to hold every file needed; None when all of them do not."""
    kind: str
    confidence: float | None
    answer: str


def explain_failure(question: DocumentQuestion, answer: DocumentAnswer) -> DocumentFailure | None:
    """Return why a question failed, None when it did not.

    An answerable question fails when its answer does not hold the fact, or is declined; an unanswerable one when it is
    answered. `silent` goes before the other causes; the ranks tell whether the fact was found then.
    """
    note_rank = file_rank = None
    if not question.answerable:
        cause: Cause | None = None if declined(answer) else "answered although unanswerable"
    else:
        notes, files = range(1, len(answer.notes) + 1), range(1, len(answer.files) + 1)
        note_rank = next((k for k in notes if holds_fact(question, *answer.notes[:k])), None)
        file_rank = next((k for k in files if all(files_found(question, answer.files[:k]))), None)
        if declined(answer):
            cause = "silent"
        elif holds_fact(question, answer.text):
            cause = None
        elif note_rank is None:
            cause = "not retrieved"
        else:
            cause = "chosen, not shown" if note_rank <= CHOSEN else "retrieved, not chosen"
    if cause is None:
        return None
    shown = (answer.kind, answer.confidence, answer.text)
    return DocumentFailure(question.id, question.question, cause, note_rank, file_rank, *shown)


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over some questions."""

    asked: int
    characters: float
    """Median length of their answers."""
    shares: Mapping[str, float]
    """Mean of each measure that any of the questions has, in [0, 1]."""
    counts: Mapping[str, int]
    """How many questions have the measure."""

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        measures = {name: {"share": round(self.shares[name], 6), "of": self.counts[name]} for name in self.shares}
        return {"asked": self.asked, "median_characters": self.characters, "measures": measures}


@dataclass(frozen=True)
class DocumentsReport:
    """What one system answered to all questions of a set; the answers are in the order of the questions."""

    questions: QuestionSet
    answers: Sequence[DocumentAnswer]
    ingest: Mapping[str, Any] = field(default_factory=dict)
    """What making the store took."""

    @cached_property
    def scores(self) -> list[dict[str, float]]:
        """The measures of every question."""
        return list(map(score, self.questions.questions, self.answers))

    @cached_property
    def figures(self) -> Figures:
        """The figures over all questions."""
        return self._figures(range(len(self.answers)))

    def groups(self) -> Iterator[tuple[str, str, Figures]]:
        """Yield field, value and figures of every group that is not the whole set, in a fixed order."""
        groups: dict[str, dict[str, list[int]]] = {"kind": {}, "lang": {}, "cross": {}, "tag": {}}
        for place, question in enumerate(self.questions.questions):
            facets = [("kind", question.kind), ("lang", question.lang), ("cross", "yes" if question.cross else "no")]
            for name, value in dict.fromkeys((*facets, *(("tag", tag) for tag in question.tags))):
                if value:
                    groups[name].setdefault(value, []).append(place)
        for name, group in groups.items():
            for value, places in sorted(group.items()):
                if len(places) < len(self.answers):
                    yield name, value, self._figures(places)

    def _figures(self, places: Sequence[int]) -> Figures:
        values = {name: [self.scores[i][name] for i in places if name in self.scores[i]] for name in MEASURES}
        return Figures(
            len(places),
            median(len(self.answers[i].text) for i in places),
            {name: fmean(found) for name, found in values.items() if found},
            {name: len(found) for name, found in values.items() if found},
        )

    def latency_ms(self) -> dict[str, float]:
        """Return the nearest-rank percentiles 50 and 95 of the time a question took."""
        return percentiles([answer.elapsed_ms for answer in self.answers], 50, 95)

    def failures(self) -> dict[Cause, list[DocumentFailure]]:
        """Return the failed questions by cause, in the order of CAUSES."""
        explained = map(explain_failure, self.questions.questions, self.answers)
        failed = [failure for failure in explained if failure is not None]
        found = {cause: [failure for failure in failed if failure.cause == cause] for cause in CAUSES}
        return {cause: some for cause, some in found.items() if some}

    def gain(self, over: DocumentsReport, measure: str) -> PairedDifference:
        """Compare with another system question by question; ValueError when no question has the measure."""
        pairs = [pair for pair in zip(self.scores, over.scores, strict=True) if measure in pair[0]]
        return paired_difference([mine[measure] for mine, _ in pairs], [other[measure] for _, other in pairs])

    def as_json(self) -> dict[str, Any]:
        """Return the documented JSON object; shares are in [0, 1]."""
        groups: dict[str, dict[str, Any]] = {}
        for name, value, figures in self.groups():
            groups.setdefault(name, {})[value] = figures.as_json()
        return {
            "set": self.questions.name,
            **self.figures.as_json(),
            "latency_ms": self.latency_ms(),
            "groups": groups,
            "failures": {cause: [asdict(one) for one in some] for cause, some in self.failures().items()},
            "ingest": dict(self.ingest),
        }
