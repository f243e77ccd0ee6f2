"""Pictures of an ontology: well-formed whatever the labels are, and only of as many classes as a picture holds."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from theworld.errors import OntologyError
from theworld.ontology.files.drawing import MOST_DRAWN, to_svg
from theworld.ontology.model import Ontology

NASTY = 'a\n  click c0 href "javascript:x"\n<script>&\x0b\x01]'


def ontology(count: int, label: str = "class") -> Ontology:
    classes = [
        {"id": f"c{i}", "labels": {"en": f"{label} {i}"}, "inherits": [f"c{i - 1}"] if i else []} for i in range(count)
    ]
    relation = {"id": "r", "labels": {"en": label}, "source": "c0", "target": "c0"}
    return Ontology.model_validate({"id": "o", "description": label, "classes": classes, "relations": [relation]})


def test_an_svg_is_well_formed_whatever_the_labels_are() -> None:
    root = ElementTree.fromstring(to_svg(ontology(3, NASTY)))
    texts = ["".join(part.itertext()) for part in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("<script>&" in text for text in texts)


def test_around_leaves_neighbours_by_hops() -> None:
    drawn = to_svg(ontology(6), around=["c3"], hops=1)
    assert [i for i in range(6) if f">class {i}<" in drawn] == [2, 3, 4]


def test_too_many_classes_for_a_picture_are_told() -> None:
    many = ontology(MOST_DRAWN + 1)
    with pytest.raises(OntologyError, match="--around"):
        to_svg(many)
    assert len(to_svg(many, around=["c9"])) < 10_000
