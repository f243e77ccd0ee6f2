"""Ontologies: classes, attributes, relations, capabilities and samples, and the graph they make with the notes."""

from theworld.ontology.files import to_json, to_yaml
from theworld.ontology.files.checking import Problem, find_problems
from theworld.ontology.files.reading import check_ontology, parse_ontology, read_ontology
from theworld.ontology.lookup import Lookup
from theworld.ontology.model import (
    Attribute,
    Capability,
    ClassTable,
    EntitySample,
    EnumValue,
    LabelColumns,
    Labels,
    Ontology,
    OntologyClass,
    Ref,
    Relation,
    RelationJoin,
    Roles,
    Words,
)

__all__ = [
    "Attribute",
    "Capability",
    "ClassTable",
    "EntitySample",
    "EnumValue",
    "LabelColumns",
    "Labels",
    "Lookup",
    "Ontology",
    "OntologyClass",
    "Problem",
    "Ref",
    "Relation",
    "RelationJoin",
    "Roles",
    "Words",
    "check_ontology",
    "find_problems",
    "parse_ontology",
    "read_ontology",
    "to_json",
    "to_yaml",
]
