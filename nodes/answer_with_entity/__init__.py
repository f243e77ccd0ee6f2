"""The entity answer: EFSA with an expected answer type, silent when unsure."""

from theworld.nodes.answer_with_entity.arguments import InvalidNoteError
from theworld.nodes.answer_with_entity.efsa import (
    EfsaTrace,
    EntityScore,
    compute_cov_cons,
    efsa_answer,
    efsa_answer_with_fallback,
    trace_efsa,
)
from theworld.nodes.answer_with_entity.node import answer_with_entity

__all__ = [
    "EfsaTrace",
    "EntityScore",
    "InvalidNoteError",
    "answer_with_entity",
    "compute_cov_cons",
    "efsa_answer",
    "efsa_answer_with_fallback",
    "trace_efsa",
]
