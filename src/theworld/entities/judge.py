"""The deterministic judge: features of name, text, description and popularity, and the right to say "none".

A conditional logit over the candidates and "none", fitted by `benchmarks/fit_entities.py`. An embedder beside the
words, and the candidates of the text's other mentions, gained nothing on mentions not fitted on, and cost 40 ms a
question.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from theworld.entities.candidates import as_entry, readable
from theworld.entities.mention import (
    CLOSE,
    FUNCTION_WORDS,
    MentionInText,
    holds_office,
    lacks_head,
    name_match,
    name_words,
    qualifier_of,
    refers,
)
from theworld.entities.schema import REASON_NO_CANDIDATES, JudgedEntity, JudgeOutput
from theworld.entities.words import entry_tokens, fits_type, is_page, topics_of, type_named, type_of_head
from theworld.state import ModelUsage
from theworld.text import tokens

UNQUALIFIED = 0.85
"""Fit of a name whose qualifier the text does not have."""

MANY_SPORT_WORDS = 3
"""From here a text certainly speaks of sport."""

MAX_HINT = 100
"""Characters of a type hint that are read."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one candidate."""

    name: float
    """Fit of the names in [0, 1]; 1 is the same name."""
    close: float
    """1 when the names are the same but for form: acronym, demonym, word order."""
    description: float
    """Description words near the mention, over the root of their number."""
    popularity: float
    """How well known, in [0, 1]."""
    case: float
    """-1 when one of label and mention begins with a capital and the other does not."""
    topic: float
    """1 when the text has words of the description's topics, -1 when it has none, 0 when that has no topic."""
    common: float
    """1 when the label is a common noun, and the mention has a capital within a sentence."""
    lacks_head: float
    """1 when the mention's last word, which says what it is, is nowhere in the candidate."""
    refers: float
    """1 when "the country" or "its" may refer to the candidate."""
    office: float
    """1 for a certain office where the mention is a title before a name."""
    team: float
    """How much the text near the mention speaks of sport, in [0, 1], for a team that has more in its name: Argentina in
    "the captain of Argentina"."""
    type: float
    """1 when the description says the mention's type, -1 when it says another, 0 when either is unknown."""
    namesake: float
    """The same for a candidate of the mention's own name, where the type has to decide; 0 for others."""
    class_noun: float
    """1 for a common noun of another type than a mention with a capital: the film Metropolis is no metropolis."""
    page: float
    """1 for disambiguation pages, family names and lists."""
    apposed: float
    """Share of what narrows the mention down in the text that the candidate's texts have."""


def features_of(mention: MentionInText, candidate: Mapping[str, Any], type_hint: str | None) -> Features:
    """Return the features of one candidate."""
    label, description = candidate.get("label") or "", candidate.get("description") or ""
    facts = f"{description}; {candidate.get('key_props_excerpt') or ''}"
    described = set(entry_tokens(description)) - set(tokens(mention.label)) - FUNCTION_WORDS
    foreign = not set(tokens(qualifier_of(label))) <= mention.all_words
    fit = max(name_match(name, candidate) for name in mention.names)
    fit = min(fit, UNQUALIFIED) if foreign and fit < 1 else fit
    topics, wanted = topics_of(entry_tokens(description)), type_named((type_hint or "")[:MAX_HINT])
    said = type_of_head(facts)
    agreement = 0.0 if wanted is None or said is None else 1.0 if fits_type(wanted, said) else -1.0
    is_team = type_of_head(description) == "organization"
    plays = all((is_team, "sport" in topics, mention.own_words < name_words(label)))
    return Features(
        name=fit,
        close=float(fit >= CLOSE),
        description=len(described & mention.near_words) / math.sqrt(max(1, len(described))),
        popularity=popularity(candidate),
        case=-float(mention.label[:1].isupper() != (label[:1] or " ").isupper()),
        topic=0.0 if not topics else -1.0 if mention.topics.isdisjoint(topics) else 1.0,
        common=float(mention.has_capital and label[:1].islower()),
        lacks_head=0.0 if fit >= CLOSE else lacks_head(mention, candidate),
        refers=refers(mention, candidate),
        office=holds_office(mention, label),
        team=min(mention.sport_words, MANY_SPORT_WORDS) / MANY_SPORT_WORDS if plays else 0.0,
        type=agreement,
        namesake=agreement if fit >= CLOSE else 0.0,
        class_noun=float(mention.has_capital and label[:1].islower() and agreement < 0),
        page=float(is_page(facts)),
        apposed=len(mention.apposed & set(entry_tokens(f"{label} {facts}"))) / max(1, len(mention.apposed)),
    )


def popularity(candidate: Mapping[str, Any]) -> float:
    """Return how well known an entry is: by its sitelinks where given, else by its QID, as well-known ones came first.

    Both give about .8 to a large country, .5 to a large university and .15 to what few know.
    """
    if (sitelinks := candidate.get("sitelinks")) is not None:
        return min(max(0.17 * math.log1p(sitelinks) - 0.16, 0.0), 1.0)
    qid = candidate["id"]
    return 1 - math.log10(int(qid[1:]) + 1) / 9 if re.fullmatch(r"Q\d{1,9}", qid) else 0.0


class Calibration(NamedTuple):
    """Platt scaling: confidence = sigmoid(slope * logit(probability) + offset)."""

    slope: float
    offset: float

    def confidence(self, probability: float) -> float:
        """Return how often a choice of this probability is right."""
        bounded = min(max(probability, 1e-9), 1 - 1e-9)
        return 1 / (1 + math.exp(-(self.slope * math.log(bounded / (1 - bounded)) + self.offset)))


class Weights(NamedTuple):
    """What was fitted, from `data/weights.json`, which says where it comes from."""

    none: float
    """Score of "none of these"."""
    features: Mapping[str, float]
    """Feature -> weight, those set by hand too; one that is left out weighs nothing."""
    calibration: Calibration
    min_confidence: float
    """Below this the judgement is "none of these"."""

    def probabilities(self, candidates: Sequence[Features]) -> list[float]:
        """Return P(candidate is meant) for each; what is missing to 1 is "none of these"."""
        scores = [math.fsum(w * getattr(one, name) for name, w in self.features.items()) for one in candidates]
        highest = max([self.none, *scores])
        parts = [math.exp(value - highest) for value in scores]
        total = math.fsum([math.exp(self.none - highest), *parts])
        return [part / total for part in parts]


@cache
def _weights() -> Weights:
    file = resources.files("theworld.entities").joinpath("data/weights.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    by_hand = {name: float(entry["weight"]) for name, entry in content["by_hand"].items()}
    fitted = content["scorer"]
    calibration = Calibration(**content["calibration"])
    return Weights(fitted["none"], {**fitted["weights"], **by_hand}, calibration, content["min_confidence"])


class DeterministicJudge:
    """Judges without a language model: the same input gives the same judgement anywhere."""

    def __init__(self, *, min_confidence: float | None = None) -> None:
        self._weights = _weights()
        self._min_confidence = self._weights.min_confidence if min_confidence is None else min_confidence

    @property
    def usage(self) -> ModelUsage:
        """No language model is called."""
        return ModelUsage()

    def judge(
        self, entity: JudgedEntity, context: str, candidates: Sequence[Mapping[str, Any]], start: int | None = None
    ) -> JudgeOutput:
        """Return the best candidate, or that none fits, with the features that decided.

        `start` is where the mention stands in the text, where known; its first place otherwise.
        """
        candidates = list(filter(None, map(readable, candidates)))
        if not candidates:
            return JudgeOutput(entity=entity, reason=REASON_NO_CANDIDATES)
        mention = MentionInText.find(entity.label, context, start)
        features = [features_of(mention, candidate, entity.type_hint) for candidate in candidates]
        probabilities = self._weights.probabilities(features)
        best = max(range(len(candidates)), key=lambda index: (round(probabilities[index], 9), -index))
        confidence = self._weights.calibration.confidence(probabilities[best])
        shown = [f"{name} {value:.2f}" for name, value in asdict(features[best]).items() if abs(value) >= 0.005]
        entry = f"{candidates[best].get('id')} {candidates[best].get('label') or ''}"
        reason = f"{entry}: {', '.join(shown)} (probability {probabilities[best]:.2f})"
        if confidence < self._min_confidence:
            return JudgeOutput(entity=entity, confidence=1.0 - confidence, reason=f"none fits; closest: {reason}")
        selection = as_entry(candidates[best])
        return JudgeOutput(entity=entity, matched=True, confidence=confidence, reason=reason, selection=selection)
