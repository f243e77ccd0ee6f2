"""What a question refers to in its conversation, and the question rewritten to stand alone; no model needed."""

from theworld.nodes.resolve_references.assistance import model_resolver
from theworld.nodes.resolve_references.config import ReferenceResolverConfig
from theworld.nodes.resolve_references.node import resolve_references
from theworld.nodes.resolve_references.resolver import ReferenceResolver, create_reference_resolver
from theworld.nodes.resolve_references.stances import extract_stances
from theworld.nodes.resolve_references.view import describe

__all__ = [
    "ReferenceResolver",
    "ReferenceResolverConfig",
    "create_reference_resolver",
    "describe",
    "extract_stances",
    "model_resolver",
    "resolve_references",
]
