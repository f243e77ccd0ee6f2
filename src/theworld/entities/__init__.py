"""Which Wikidata entry a mention refers to, or none: candidates and judges, usable outside the graph."""

from theworld.entities.candidates import format_candidates
from theworld.entities.identity import entry_of, same_names
from theworld.entities.judge import DeterministicJudge
from theworld.entities.judging import EntityJudge
from theworld.entities.knowledge import EntityKnowledge, SnapshotKnowledge, make_knowledge, open_knowledge
from theworld.entities.model_judge import ModelJudge, fallback_zero_candidates, parse_llm_output
from theworld.entities.schema import CandidateLimits, InvalidMentionError, JudgedEntity, JudgeOutput

__all__ = [
    "CandidateLimits",
    "DeterministicJudge",
    "EntityJudge",
    "EntityKnowledge",
    "InvalidMentionError",
    "JudgeOutput",
    "JudgedEntity",
    "ModelJudge",
    "SnapshotKnowledge",
    "entry_of",
    "fallback_zero_candidates",
    "format_candidates",
    "make_knowledge",
    "open_knowledge",
    "parse_llm_output",
    "same_names",
]
