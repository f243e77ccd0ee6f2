"""The generated answer: a language model over numbered notes, its citations checked."""

from theworld.nodes.generate_answer.citations import CheckedText, check_citations
from theworld.nodes.generate_answer.evidence import PackedEvidence, estimate_tokens, pack_evidence
from theworld.nodes.generate_answer.node import generate_answer

__all__ = ["CheckedText", "PackedEvidence", "check_citations", "estimate_tokens", "generate_answer", "pack_evidence"]
