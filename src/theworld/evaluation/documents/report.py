"""The figures of one system on one question set: overall and by kind, language and tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any

from theworld.evaluation.documents.question_set import DocumentAnswer, QuestionSet
from theworld.evaluation.documents.scoring import CAUSES, MEASURES, Cause, DocumentFailure, explain_failure, score
from theworld.evaluation.metrics import PairedDifference, paired_difference, percentiles


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over some questions."""

    asked: int
    """Number of questions."""
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
