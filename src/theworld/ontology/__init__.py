"""Ontologies: classes, attributes, relations, capabilities and samples, and the graph they make with the notes."""

from theworld.ontology.checking import Problem, find_problems
from theworld.ontology.lookup import Lookup
from theworld.ontology.model import (
    Attribute,
    Capability,
    ClassTable,
    EntitySample,
    EnumValue,
    Labels,
    Ontology,
    OntologyClass,
    Ref,
    Relation,
    RelationJoin,
    Words,
)
from theworld.ontology.reading import check_ontology, parse_ontology, read_ontology
from theworld.ontology.writing import to_json, to_yaml

__all__ = [
    "Attribute",
    "Capability",
    "ClassTable",
    "EntitySample",
    "EnumValue",
    "Labels",
    "Lookup",
    "Ontology",
    "OntologyClass",
    "Problem",
    "Ref",
    "Relation",
    "RelationJoin",
    "Words",
    "check_ontology",
    "find_problems",
    "parse_ontology",
    "read_ontology",
    "to_json",
    "to_yaml",
]
