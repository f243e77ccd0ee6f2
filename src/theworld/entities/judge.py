"""The deterministic judge: features of name, text, description and popularity, and the right to say "none"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from theworld.entities.features import Features, features_of, with_similarities
from theworld.entities.mention import MentionInText
from theworld.entities.replies import judged, unmatched
from theworld.entities.schema import REASON_NO_CANDIDATES, JudgedEntity, JudgeOutput
from theworld.entities.similarity import ContextSimilarity
from theworld.entities.weights import Weights, load_weights
from theworld.errors import ModelError
from theworld.models.embedders import MiniLMEmbedder
from theworld.models.protocols import Embedder
from theworld.state import EntityCandidate, ModelUsage
from theworld.text import detect_language

SHORTLIST = 6
"""Best candidates by words whose descriptions are embedded."""
HOPELESS, SURE = 0.05, 0.7
"""Outside of these the probability by words decides, and nothing is embedded."""

MAX_FIELD = 2_000
"""Characters of a candidate's field that are read."""
MAX_ALIASES_READ = 50

Candidates = Sequence[Mapping[str, Any]]


class DeterministicJudge:
    """Judges without a language model: the same input gives the same judgement anywhere.

    English texts and descriptions are compared by `embedder` (default: the bundled one, loaded at the first close
    call); None leaves the comparison of words. Chinese is judged by words: its bundled embedder takes too long.
    """

    def __init__(
        self, *, min_confidence: float | None = None, embedder: Embedder | Literal["bundled"] | None = "bundled"
    ) -> None:
        self._weights: Weights = load_weights()
        self._min_confidence = self._weights.min_confidence if min_confidence is None else min_confidence
        self.embedder = MiniLMEmbedder() if isinstance(embedder, str) else embedder
        self._similarity = ContextSimilarity(self.embedder) if self.embedder is not None else None

    @property
    def usage(self) -> ModelUsage:
        """No language model is called."""
        return ModelUsage()

    def judge(self, entity: JudgedEntity, context: str, candidates: Candidates) -> JudgeOutput:
        """Return the best candidate, or that none fits, with the features that decided."""
        return self.judge_among(entity, context, candidates, ())

    def judge_among(
        self,
        entity: JudgedEntity,
        context: str,
        candidates: Candidates,
        others: Sequence[Candidates],
        start: int | None = None,
    ) -> JudgeOutput:
        """Judge like `judge`; `others` are the candidates of the text's other mentions, which should fit together.

        `start` is where the mention stands in the text, where known; its first place otherwise.
        """
        candidates = [read for candidate in candidates if (read := readable(candidate))]
        if not candidates:
            return unmatched(entity, REASON_NO_CANDIDATES)
        mention = MentionInText.find(entity.label, context, start)
        chosen, probability, features, note = self.rank(
            mention,
            candidates,
            entity.type_hint,
            [[read for other in found if (read := readable(other))] for found in others],
        )
        confidence = self._weights.calibration.confidence(probability)
        reason = _explain(candidates[chosen], features, probability) + note
        if confidence < self._min_confidence:
            return unmatched(entity, f"none fits; closest: {reason}", 1.0 - confidence)
        return judged(entity, candidates[chosen], confidence, reason)

    def rank(
        self,
        mention: MentionInText,
        candidates: Candidates,
        type_hint: str | None = None,
        others: Sequence[Candidates] = (),
    ) -> tuple[int, float, Features, str]:
        """Return the best candidate's index, its uncalibrated probability and features, and what went wrong if so."""
        features = features_of(mention, candidates, type_hint=type_hint, others=others)
        probabilities = self._weights.lexical.probabilities(features)
        order = best_first(probabilities)
        best = order[0]
        known = best, probabilities[best], features[best], ""
        if self._similarity is None or not HOPELESS <= probabilities[best] < SURE:
            return known
        if detect_language(mention.context) != "en":
            return known
        shortlist = order[:SHORTLIST]
        try:
            similarities = self._similarity.of(mention, [candidates[index] for index in shortlist])
        except ModelError as error:
            return (*known[:3], f"; descriptions were not embedded: {error}")
        features = with_similarities([features[index] for index in shortlist], similarities)
        probabilities = self._weights.embedded.probabilities(features)
        best = best_first(probabilities)[0]
        return shortlist[best], probabilities[best], features[best], ""


def readable(candidate: Any) -> dict[str, Any]:
    """Return the fields of a candidate that are of their kind, cut to MAX_FIELD; {} for what is no candidate."""
    try:
        given = {name: candidate[name] for name in (*EntityCandidate.model_fields, "sitelinks") if name in candidate}
    except Exception:
        return {}
    found: dict[str, Any] = {name: value[:MAX_FIELD] for name, value in given.items() if isinstance(value, str)}
    if isinstance(given.get("aliases"), (list, tuple)):
        found["aliases"] = [name[:MAX_FIELD] for name in given["aliases"][:MAX_ALIASES_READ] if isinstance(name, str)]
    if isinstance(given.get("sitelinks"), int):
        found["sitelinks"] = given["sitelinks"]
    return found if "id" in found else {}


def best_first(probabilities: Sequence[float]) -> list[int]:
    """Return the indices by falling probability, ties in the order given."""
    return sorted(range(len(probabilities)), key=lambda index: (-round(probabilities[index], 9), index))


def _explain(candidate: Mapping[str, Any], features: Features, probability: float) -> str:
    parts = ", ".join(f"{name} {value:.2f}" for name, value in asdict(features).items() if abs(value) >= 0.005)
    return f"{candidate.get('id')} {candidate.get('label') or ''}: {parts} (probability {probability:.2f})"
