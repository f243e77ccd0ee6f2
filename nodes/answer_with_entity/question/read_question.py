"""A question as its answer's surroundings are compared with it: tokens, their weights, what is beside its word."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from theworld.nodes.answer_with_entity.words import word_set
from theworld.state import Candidate
from theworld.text import tokens

QUESTION_WORD = {
    "en": re.compile(
        r"\b(?:who|whom|whose|when|where|how (?:many|much|long|far|tall|old)|in (?:what|which)|what|which)\b"
        r"(?:\s+(?P<unit>[a-z]+))?",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:誰|谁|何人|何時|何时|什[麼么]時候|什么时候|何[處处地]|哪[裡里]|哪邊|多少|多[大高長长遠远深寬宽久]|為何|(?:哪|幾|几|何|什麼|什么)(?:一|個|个|位|種|种|座|家|所|部|本|條|条|間|间|名)?)"
        r"(?P<unit>[\u4e00-\u9fff]{0,2})"
    ),
}


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """What rank_spans knows of a question."""

    tokens: tuple[str, ...]
    weights: Mapping[str, float]
    total: float
    left: frozenset[str]
    right: frozenset[str]
    unit: frozenset[str]

    @classmethod
    def of(cls, question: str, language: str, evidence: Sequence[Candidate]) -> ReadQuestion:
        """Weigh a question's tokens over the evidence."""
        texts = [set(tokens(f"{note.title} {note.text}")) for note in evidence]
        count = len(texts)
        weights = {}
        for token in dict.fromkeys(tokens(question)):
            if language != "zh" and token in word_set("function"):
                continue
            found = sum(token in text for text in texts)
            if found:
                weights[token] = math.log(1 + (count - found + 0.5) / (found + 0.5)) + 0.1
        match = QUESTION_WORD[language if language == "zh" else "en"].search(question)
        before, after = (question[: match.start()], question[match.end() :]) if match else ("", question)
        return cls(
            tuple(token for token in dict.fromkeys(tokens(question)) if token not in word_set("function")),
            weights,
            sum(weights.values()) or 1.0,
            frozenset(tokens(before)[-5:]),
            frozenset(tokens(after)[:6]),
            frozenset(tokens(match.group("unit") or "")) if match else frozenset(),
        )

    def grounded(self, found: frozenset[str]) -> float:
        """Return the share of all the question's tokens found, those that no note has included."""
        return sum(token in found for token in self.tokens) / max(1, len(self.tokens))

    def share(self, found: AbstractSet[str]) -> float:
        """Return the weighted share of the question's tokens found."""
        return sum(weight for token, weight in self.weights.items() if token in found) / self.total
