"""Ontologies: classes, attributes, relations, capabilities and samples, and the graph they make with the notes."""

from theworld.ontology.files.checking import Problem
from theworld.ontology.files.formats import to_json, to_yaml
from theworld.ontology.files.reading import check_ontology, parse_ontology, read_ontology
from theworld.ontology.lookup import Lookup
from theworld.ontology.model import (
    Attribute,
    ClassTable,
    EntitySample,
    Labels,
    Ontology,
    OntologyClass,
    Ref,
    Relation,
    Words,
)

__all__ = [
    "Attribute",
    "ClassTable",
    "EntitySample",
    "Labels",
    "Lookup",
    "Ontology",
    "OntologyClass",
    "Problem",
    "Ref",
    "Relation",
    "Words",
    "check_ontology",
    "parse_ontology",
    "read_ontology",
    "to_json",
    "to_yaml",
]
