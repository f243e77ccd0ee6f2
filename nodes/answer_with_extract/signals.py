"""What speaks for a sentence holding the answer, and for two sentences answering together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theworld.nodes.answer_with_entity.clauses.relations import asked_relations, states_relation
from theworld.nodes.answer_with_entity.one_entity import names_in
from theworld.nodes.answer_with_entity.question.amounts import asked_amount, notes_stating
from theworld.nodes.answer_with_entity.question.answer_type import expected_answer_type
from theworld.nodes.answer_with_entity.question.counted import asked_count
from theworld.nodes.answer_with_entity.question.topics import compared_topics, named_topics
from theworld.nodes.answer_with_entity.spans.typed_spans import open_spans
from theworld.nodes.answer_with_entity.stated.chain import COMPARES
from theworld.nodes.answer_with_extract.asked import asked_weights
from theworld.nodes.answer_with_extract.options import Option
from theworld.nodes.answer_with_extract.question_tokens import said_tokens
from theworld.state import Candidate
from theworld.text import entity_key, without_qualifier

Floats = NDArray[np.float64]

SENTENCE_SIGNALS: Mapping[str, str] = {
    "covers": "share of the question's weighted tokens in the sentence or its title",
    "own": "the same for the sentence alone",
    "asked": "share of the tokens beside the question word in the sentence",
    "typed": "1 with a span of the expected type that the question does not name, or the amount it asks for",
    "asked_typed": "asked * typed",
    "rank": "1 / the note's place in the evidence",
    "relevance": "the note's relevance",
    "topic": "1 when the question names the note",
    "compared": "1 in a note that a question for one of two things compares",
    "bridged": "1 when the note was reached over another one",
    "bridged_typed": "typed, in a note that a named note mentions",
    "bridged_cue": "1 with a clause of an asked relation, in a note that a named note mentions",
    "opening": "1 for the first sentence of a note",
    "later": "the sentence's place in its note, 1 from the sixth on",
    "length": "logarithm of its characters, over 6",
    "best_of_note": "1 when no sentence of the note has more of the question",
}
"""Each is about in [0, 1]."""

PAIR_SIGNALS: Mapping[str, str] = {
    "together": "share of the question's weighted tokens that both cover together",
    "asked_of": "the greater `asked` of the two",
    "rest": "share of what one leaves uncovered that the other says itself",
    "linked_rest": "rest, where the first names the other's note",
    "linked_new": "share of the question that the other adds, where the first names its note",
    "linked_typed": "linked_rest, where the other has a span of the expected type",
    "same_note": "1 when both stand in one note",
    "both_compared": "1 when each stands in one of the two notes that a question for one of two things compares",
    "next": "1 when one follows the other",
    "next_refers": "next, where the later begins with a word that points back",
}
"""Of two sentences, in either order."""

_POINTS_BACK = re.compile(
    r"^(?:(?:he|she|it|they|his|her|its|their|this|these|those|such|the (?:former|latter|same))\b|"
    r"(?:[在為为對对從从由據据以與与至]|由[於于]|[關关][於于]|除|因)?(?:他|她|它|其|此|這|这|該|该)|"
    r"有了|取而代之|隨後|随后|之後|之后|後來|后来|[同次翌隔]年|同時|同时|當時|当时|因而|所以|[於于]是|共有|[結结]果|然而|不過|不过|但|"
    r"[並并且也亦還还又])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Signals:
    """The signals of n sentences, and what coverage is reckoned from."""

    sentence: Floats
    """Shape (n, len(SENTENCE_SIGNALS))."""
    pair: Floats
    """Shape (len(PAIR_SIGNALS), n, n), symmetric."""
    wanted: Floats
    """Token weights, shape (m,); they sum to 1."""
    covers: Floats
    """1 where a sentence or its title has the token, shape (n, m)."""
    linked: Floats
    """1 where one of two sentences names the other's note, shape (n, n), symmetric."""

    def only(self, numbers: Sequence[int]) -> Signals:
        """Return the signals of some of the sentences."""
        if len(numbers) == len(self.sentence):
            return self
        pair = self.pair[:, numbers][:, :, numbers]
        linked = self.linked[numbers][:, numbers]
        return Signals(self.sentence[numbers], pair, self.wanted, self.covers[numbers], linked)


def read_signals(
    question: str,
    language: str | None,
    evidence: Sequence[Candidate],
    options: Sequence[Option],
    wanted: Mapping[str, float],
) -> Signals:
    """Return the signals of all sentences; `wanted` are the question's token weights."""
    amount = asked_amount(question, language)
    stating = notes_stating(amount, question, evidence)
    states = [
        any(option.start <= start and end <= option.end for start, end in stating.get(option.note, []))
        for option in options
    ]
    asks = {token for asking in (amount.tokens if amount else ()) for token in said_tokens(asking)}
    words = [{*said_tokens(option.text), *(asks if says else ())} for option, says in zip(options, states, strict=True)]
    titles = [set(said_tokens(note.title)) for note in evidence]
    both = [has | titles[option.note] for has, option in zip(words, options, strict=True)]
    weights = np.array(list(wanted.values()))
    own = np.array([[float(token in has) for token in wanted] for has in words])
    covers = np.array([[float(token in has) for token in wanted] for has in both])
    near = asked_weights(question, language, wanted)
    asked = np.array([math.fsum(weight for token, weight in near.items() if token in has) for has in words])
    typed = np.array(states, dtype=float) if any(states) else _typed(question, language, evidence, options)
    compared = _compared(question, evidence, options)
    single = _sentence_signals(question, language, evidence, options, typed) | {
        "covers": covers @ weights,
        "own": own @ weights,
        "asked": asked,
        "typed": typed,
        "asked_typed": asked * typed,
        "compared": (compared >= 0).astype(float),
        "best_of_note": _best_of_note(own @ weights, options),
    }
    names = _names(evidence, options)
    pairs = _pair_signals(options, own, covers, weights, typed, asked, names)
    pairs["both_compared"] = ((compared[:, None] != compared[None, :]) & _both(compared >= 0)).astype(float)
    return Signals(
        np.stack([single[name] for name in SENTENCE_SIGNALS], axis=1),
        np.stack([np.maximum(pairs[name], pairs[name].T) for name in PAIR_SIGNALS]),
        weights,
        covers,
        np.maximum(names, names.T),
    )


def _sentence_signals(
    question: str, language: str | None, evidence: Sequence[Candidate], options: Sequence[Option], typed: Floats
) -> dict[str, Floats]:
    asked = asked_relations(question, language)
    topics = {topic.note for topic in named_topics(question, evidence)}
    mentioned = _mentioned_by(topics or {0}, evidence) - topics
    notes = [evidence[option.note] for option in options]
    cue = [
        any(states_relation(item.relation, option.text, note.language) for item in asked)
        for option, note in zip(options, notes, strict=True)
    ]
    bridged = np.array([float(option.note in mentioned) for option in options])
    return {
        "rank": np.array([1 / (1 + option.note) for option in options]),
        "relevance": np.array([min(max(note.final_score, 0.0), 1.0) for note in notes]),
        "topic": np.array([float(option.note in topics) for option in options]),
        "bridged": np.array([float(note.hop > 1) for note in notes]),
        "bridged_typed": bridged * typed,
        "bridged_cue": bridged * np.array(cue, dtype=float),
        "opening": np.array([float(option.place == 0) for option in options]),
        "later": np.array([min(option.place, 5) / 5 for option in options]),
        "length": np.array([math.log(len(option.text) + 1) / 6 for option in options]),
    }


def _pair_signals(  # noqa: PLR0917
    options: Sequence[Option],
    own: Floats,
    covers: Floats,
    weights: Floats,
    typed: Floats,
    asked: Floats,
    names: Floats,
) -> dict[str, Floats]:
    """Return signals of (first, other); the caller takes the better of both orders."""
    new = np.clip(own[None, :, :] - covers[:, None, :], 0.0, 1.0) @ weights
    rest = new / np.maximum(1.0 - covers @ weights, 0.05)[:, None]
    note = np.array([option.note for option in options])
    place = np.array([option.place for option in options])
    refers = np.array([float(bool(_POINTS_BACK.match(option.text))) for option in options])
    same = note[:, None] == note[None, :]
    follows = (same & (place[None, :] == place[:, None] + 1)).astype(float)
    return {
        "together": np.maximum(covers[:, None, :], covers[None, :, :]) @ weights,
        "asked_of": np.maximum(asked[:, None], asked[None, :]),
        "rest": rest,
        "linked_rest": rest * names,
        "linked_new": new * names,
        "linked_typed": rest * names * typed[None, :],
        "same_note": same.astype(float),
        "next": follows,
        "next_refers": follows * refers[None, :],
    }


def _typed(question: str, language: str | None, evidence: Sequence[Candidate], options: Sequence[Option]) -> Floats:
    expected, asked = expected_answer_type(question, language), names_in(question)
    counted = asked_count(question)
    spans = [open_spans(note, expected, asked, counted) for note in evidence]
    return np.array(
        [
            float(any(option.start <= start and end <= option.end for start, end in spans[option.note]))
            for option in options
        ]
    )


def _compared(question: str, evidence: Sequence[Candidate], options: Sequence[Option]) -> NDArray[np.int64]:
    """Return 0 or 1 for the sentences of the two notes a choice is between, -1 for all others."""
    topics = compared_topics(question, evidence) if COMPARES.search(question) else []
    side = {topic.note: number for number, topic in enumerate(topics)} if len(topics) == 2 else {}
    return np.array([side.get(option.note, -1) for option in options], dtype=np.int64)


def _both(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    pairs: NDArray[np.bool_] = mask[:, None] & mask[None, :]
    return pairs


def _best_of_note(own: Floats, options: Sequence[Option]) -> Floats:
    most: dict[int, float] = {}
    for option, share in zip(options, own, strict=True):
        most[option.note] = max(float(share), most.get(option.note, 0.0))
    return np.array([float(share >= most[option.note] - 1e-9) for option, share in zip(options, own, strict=True)])


def _names(evidence: Sequence[Candidate], options: Sequence[Option]) -> Floats:
    """Return 1 where the first sentence names the title of the other's note, which is not that of its own."""
    titles = [entity_key(without_qualifier(note.title)) for note in evidence]
    named = np.array([[_named(has, title) for title in titles] for has in (names_in(one.text) for one in options)])
    note = np.array([option.note for option in options])
    other = np.array([[left != right for right in titles] for left in titles])
    links: Floats = (named[:, note] & other[note[:, None], note[None, :]]).astype(np.float64)
    return links


def _named(has: Callable[[str], bool], title: str) -> bool:
    """Tell whether a text names a title, in the plural as well: "scorpions" leads to "Scorpion"."""
    return has(title) or (title.isascii() and has(f"{title}s"))


def _mentioned_by(topics: set[int], evidence: Sequence[Candidate]) -> set[int]:
    """Return the notes whose titles the given notes mention."""
    named = {index: names_in(evidence[index].text) for index in topics if index < len(evidence)}
    titles = [entity_key(without_qualifier(note.title)) for note in evidence]
    return {
        index
        for index, title in enumerate(titles)
        if any(_named(has, title) for other, has in named.items() if other != index)
    }
