"""What a question refers to in its conversation, and the question rewritten to stand alone; no model needed."""

from theworld.references.assistance import describe, model_resolver
from theworld.references.config import ReferenceResolverConfig
from theworld.references.recall import extract_stances
from theworld.references.resolver import ReferenceResolver, create_reference_resolver

__all__ = [
    "ReferenceResolver",
    "ReferenceResolverConfig",
    "create_reference_resolver",
    "describe",
    "extract_stances",
    "model_resolver",
]
