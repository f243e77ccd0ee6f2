"""Ontologies in files: read and written in every format, by the end of a file's name; checked and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from theworld.errors import OntologyError
from theworld.ontology.files.reading import ENDINGS, Format, read_ontology
from theworld.ontology.model import Ontology
from theworld.packages import import_package

if TYPE_CHECKING:
    from theworld.ontology.files.rdf_writing import Loss


def load_ontology(file: Path, *, terms: Path | None = None, losses: list[Loss] | None = None) -> Ontology:
    """Return the checked ontology in a file of any known format; raises OntologyError.

    Of RDF, `terms` names a YAML file with the predicates and classes of other vocabularies (rdf.Terms), and what of it
    was not used is added to `losses`. YAML and JSON lose nothing: what is not known there is an error.
    """
    kind = ENDINGS.get(file.suffix.lower())
    if kind is None:
        raise OntologyError(
            f"has an ending that is not known: {file.suffix or 'none'}.",
            where=str(file),
            remedy=f"Known are {', '.join(ENDINGS)}.",
        )
    if not file.is_file():
        raise OntologyError("is not a file.", where=str(file))
    if kind in {"yaml", "json"}:
        return read_ontology(file)
    import_package("rdflib", extra="ontology")  # which takes its time
    from theworld.ontology.files.rdf import read_rdf, read_terms

    return read_rdf(file, read_terms(terms) if terms is not None else None, losses)


def dump_ontology(ontology: Ontology, kind: Format) -> str:
    """Return an ontology in a format."""
    if kind in {"yaml", "json"}:
        return to_yaml(ontology) if kind == "yaml" else to_json(ontology)
    import_package("rdflib", extra="ontology")
    from theworld.ontology.files.rdf_writing import to_rdf

    return to_rdf(ontology, kind)


def to_yaml(ontology: Ontology) -> str:
    """Return the YAML form, without what is default; reading it again gives the same ontology."""
    plain = ontology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return str(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=120, default_flow_style=None))


def to_json(ontology: Ontology) -> str:
    """Return the JSON form, without what is default; reading it again gives the same ontology."""
    plain = ontology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
