"""What a question describes without naming it, and what that stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from theworld.ontology.facts import Fact

MOST_DESCRIBED = 5
"""Samples that a description may stand for; more are not meant one by one."""


class Described(NamedTuple):
    """A description and what it stands for."""

    text: str
    """Its words in the question, inner descriptions already named."""
    samples: tuple[str, ...]
    """Ids of the samples it fits, at most `MOST_DESCRIBED`."""
    facts: tuple[Fact, ...]
    """One for each sample."""
    asked: bool
    """Whether it is what the question asks for."""
    attribute: str = ""
    """The attribute whose value is asked for, as `class.attribute`; then the sample is what has it."""


class Reading(NamedTuple):
    """A question read by the facts."""

    question: str
    """With names in the place of descriptions."""
    described: tuple[Described, ...] = ()
    """From the inside out."""
    answered: bool = False
    """Whether the last description is all that is asked, so that its samples are the answer."""


UNREAD = Reading("")
"""Nothing described."""


def described_samples(reading: Reading) -> Iterator[str]:
    """Yield the samples that descriptions stand for, each once, inner ones first."""
    yield from dict.fromkeys(id_ for one in reading.described for id_ in one.samples)
