"""Which Wikidata entry a mention refers to, or none: candidates, judges and their nodes, usable outside the graph."""

from theworld.nodes.disambiguate_entities.identity import Identities, entry_of, identities, same_names
from theworld.nodes.disambiguate_entities.judging.judge import DeterministicJudge
from theworld.nodes.disambiguate_entities.judging.model_judge import ModelJudge
from theworld.nodes.disambiguate_entities.knowledge import (
    EntityKnowledge,
    SnapshotKnowledge,
    make_knowledge,
    open_knowledge,
)
from theworld.nodes.disambiguate_entities.link_answer import link_answer
from theworld.nodes.disambiguate_entities.node import (
    EntityJudge,
    accept_no_candidates,
    find_entity_candidates,
    judge_entities,
)
from theworld.nodes.disambiguate_entities.parser import (
    fallback_zero_candidates,
    format_candidates,
    parse_llm_output,
)
from theworld.nodes.disambiguate_entities.schema import CandidateLimits, InvalidMentionError, JudgedEntity, JudgeOutput

__all__ = [
    "CandidateLimits",
    "DeterministicJudge",
    "EntityJudge",
    "EntityKnowledge",
    "InvalidMentionError",
    "Identities",
    "JudgeOutput",
    "JudgedEntity",
    "ModelJudge",
    "SnapshotKnowledge",
    "accept_no_candidates",
    "entry_of",
    "fallback_zero_candidates",
    "find_entity_candidates",
    "format_candidates",
    "identities",
    "judge_entities",
    "link_answer",
    "make_knowledge",
    "open_knowledge",
    "parse_llm_output",
    "same_names",
]
