"""OWL, RDFS and SKOS in Turtle, RDF/XML and JSON-LD."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from theworld.demo.credit import load_credit_ontology
from theworld.errors import OntologyError
from theworld.ontology import Labels, Lookup, Ontology, Words
from theworld.ontology.files import load_ontology
from theworld.ontology.files.rdf import read_rdf
from theworld.ontology.files.rdf_writing import Loss, to_rdf

DATA = Path(__file__).parent / "data"
TURTLE = """
@prefix : <http://example.org/firm#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Party a owl:Class ; rdfs:label "Partei"@de .
:Company a owl:Class ; rdfs:subClassOf :Party, [ a owl:Restriction ] ;
  rdfs:label "company"@en-GB, "企业"@zh-Hans ; skos:altLabel "firm"@en, "公司" ; rdfs:comment "A firm."@en .
:Bank a rdfs:Class ; rdfs:subClassOf :Party ; skos:prefLabel "bank"@en .
:LoanKind a skos:Concept ; skos:prefLabel "loan kind"@en ; skos:related :Bank .
:Revolver a skos:Concept ; skos:broader :LoanKind ; skos:prefLabel "循环贷款"@zh .
:capital a owl:DatatypeProperty ; rdfs:domain :Company ; rdfs:range xsd:decimal ; rdfs:label "capital"@en .
:founded a rdf:Property ; rdfs:domain :Company ; rdfs:range xsd:date .
:lendsTo a owl:ObjectProperty ; rdfs:domain :Bank ; rdfs:range :Company ; rdfs:label "lends to"@en .
:partner a owl:ObjectProperty, owl:SymmetricProperty ; rdfs:domain [ owl:unionOf :ring ] ; rdfs:range :Company .
:ring rdf:first :Company ; rdf:rest :ring .
:nothing a owl:ObjectProperty ; rdfs:domain owl:Thing ; rdfs:range :Company .
:stone a :Bank ; rdfs:label "石桥银行"@zh ; :lendsTo :acme ; :nothing :acme .
:acme a owl:NamedIndividual, :Company ; rdfs:label "Acme"@en ; :capital 1.0E16 .
"""


def read(tmp_path: Path, text: str, name: str = "firm.ttl") -> Ontology:
    (tmp_path / name).write_text(text, "utf-8")
    return read_rdf(tmp_path / name)


def test_owl_rdfs_and_skos_become_an_ontology(tmp_path: Path) -> None:
    ontology = read(tmp_path, TURTLE)
    lookup = Lookup(ontology)
    assert ontology.id == "firm"
    assert set(lookup.classes) == {"Party", "Company", "Bank", "LoanKind", "Revolver"}
    company = lookup.classes["Company"]
    assert company.labels == Labels(zh=("企业", "公司"), en=("company", "firm"))
    assert company.inherits == ("Party",)
    assert company.description.en == "A firm."
    assert company.iri == "http://example.org/firm#Company"
    assert {one.id: one.type for one in company.attributes} == {"capital": "number", "founded": "date"}
    assert lookup.classes["Party"].labels.en == ("party",)  # German is neither; the name in the IRI stands in
    assert lookup.classes["Revolver"].inherits == ("LoanKind",)
    ends = {one.id: (one.source, one.target, one.symmetric) for one in ontology.relations}
    assert ends == {
        "lendsTo": ("Bank", "Company", False),
        "partner": ("Company", "Company", True),
        "related_LoanKind_Bank": ("LoanKind", "Bank", False),
    }
    assert lookup.samples["stone"].facts == {"lendsTo": ("acme",)}
    acme = lookup.samples["acme"]
    assert (acme.of, acme.values) == ("Company", {"capital": 1e16})


def test_names_that_end_alike_get_numbers(tmp_path: Path) -> None:
    ontology = read(tmp_path, TURTLE + "<http://other.org/Bank> a owl:Class .")
    assert [one.id for one in ontology.classes if one.id.startswith("Bank")] == ["Bank", "Bank_2"]


@pytest.mark.parametrize(("kind", "name"), [("turtle", "a.ttl"), ("xml", "a.owl"), ("json-ld", "a.jsonld")])
def test_export_and_import_again_give_the_same_ontology(tmp_path: Path, kind: str, name: str) -> None:
    """Triples have no order, so the lists are compared sorted; nothing else is lost."""

    def sorted_form(value: object) -> object:
        if isinstance(value, dict):
            return {key: sorted_form(item) for key, item in sorted(value.items())}
        if isinstance(value, list | tuple):
            return sorted((sorted_form(item) for item in value), key=repr)
        return value

    ontology = load_credit_ontology()
    (tmp_path / name).write_text(to_rdf(ontology, kind), "utf-8")
    again = read_rdf(tmp_path / name)
    assert sorted_form(again.model_dump(mode="json")) == sorted_form(ontology.model_dump(mode="json"))
    assert {e.labels.preferred("zh") for _, e in again.elements()} == {
        e.labels.preferred("zh") for _, e in ontology.elements()
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.ttl", "@prefix : <x> .\n:a :b", "is not turtle"),
        ("a.owl", "<rdf>", "is not xml"),
        ("a.jsonld", "{", "is not json-ld"),
        ("a.ttl", "<urn:a> <urn:b> <urn:c> .", "holds no owl:Class"),
        (
            "a.ttl",
            "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> . "
            "<urn:A> a owl:Class ; r:subClassOf <urn:B> . <urn:B> a owl:Class ; r:subClassOf <urn:A> .",
            "INHERITS goes in a circle: A -> B -> A",
        ),
        (
            "a.ttl",
            "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> . "
            "<urn:A> a owl:Class . <urn:p> a owl:ObjectProperty ; r:domain <urn:A> ; r:range <urn:Ghost> .",
            "relation p: dangling: its target is the unknown class 'Ghost'",
        ),
        ("a.jsonld", '{"@context": "http://127.0.0.1:9/c", "@id": "urn:A"}', "its @context is elsewhere"),
        ("a.jsonld", '[{"a": {"@context": [{}, "other.jsonld"]}}]', "its @context is elsewhere"),
        ("a.jsonld", '{"@context": {"@import": "http://127.0.0.1:9/c"}}', "its @context is elsewhere"),
        *(
            (
                "a.ttl",
                f"<urn:A> a <http://www.w3.org/2002/07/owl#Class> ; <urn:theworld:ontology#form> '{form}' .",
                said,
            )
            for form, said in (
                ("{", "tw:form of urn:A"),
                ("[1]", "tw:form of urn:A"),
                ("[" * 9999, "tw:form of urn:A"),
                ('{"id": [1]}', "tw:form of urn:A"),
                ('{"size": 1}', "class A: classes.size: unknown name"),
            )
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_element(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(OntologyError) as caught:
        read(tmp_path, text, name)
    assert said in str(caught.value)
    assert name in str(caught.value)
    assert "line 0" not in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OntologyError, match=r"none\.ttl: cannot be read: there is no such file\. Name an"):
        read_rdf(tmp_path / "none.ttl")


@pytest.mark.slow
def test_many_individuals_are_read_in_time(tmp_path: Path) -> None:
    """Each was once looked for among all: 3,000 took 16 s."""
    head = (
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "<urn:C> a owl:Class . <urn:p> a owl:ObjectProperty ; r:domain <urn:C> ; r:range <urn:C> .\n"
    )
    lines = [f"<urn:i{i}> a <urn:C> ; <urn:p> <urn:i{i * 7 % 2000}> ." for i in range(2000)]
    began = time.process_time()
    assert len(read(tmp_path, head + "\n".join(lines)).samples) == 2000
    assert time.process_time() - began < 10


@pytest.fixture(scope="module")
def harbour() -> tuple[Ontology, list[Loss]]:
    losses: list[Loss] = []
    return read_rdf(DATA / "harbour.ttl", losses=losses), losses


def test_lists_of_values_are_no_classes(harbour: tuple[Ontology, list[Loss]]) -> None:
    classes = Lookup(harbour[0]).classes
    assert set(classes) == {"Vessel", "Tug", "Berth", "Port"}
    values = {
        f"{one.id}.{attribute.id}": [(value.labels.preferred("en"), value.stored) for value in attribute.values]
        for one in classes.values()
        for attribute in one.attributes
        if attribute.type == "enum"
    }
    assert values == {
        "Vessel.state": [("moored", 10), ("under way", 20)],
        "Vessel.cargo": [("grain", "GR"), ("timber", None)],
        "Vessel.flag": [("Sweden", None)],
        "Berth.side": [("", "port"), ("", "starboard")],
    }


def test_units_unions_and_restrictions(harbour: tuple[Ontology, list[Loss]]) -> None:
    lookup = Lookup(harbour[0])
    for owner in ("Vessel", "Berth"):
        (length,) = [one for one in lookup.classes[owner].attributes if one.id == "length"]
        assert (length.type, length.unit) == ("number", Words(en="M"))
    ends = {(one.id, one.source, one.target) for one in harbour[0].relations}
    assert ends == {("serves", "Tug", "Berth"), ("liesAt", "Vessel", "Berth"), ("liesAt_2", "Vessel", "Port")}


def test_capabilities_by_class_and_by_what_points_to_them(harbour: tuple[Ontology, list[Loss]]) -> None:
    found = {one.id: (one.inputs, one.outputs) for one in harbour[0].capabilities}
    assert found == {"route": (("Port",), ("Berth",)), "weigh": ((), ())}
    offered = {one.id: one.capabilities for one in harbour[0].classes if one.capabilities}
    assert offered == {"Vessel": ("route",), "Tug": ("weigh",)}


def test_instances_have_keys_values_and_facts(harbour: tuple[Ontology, list[Loss]]) -> None:
    samples = Lookup(harbour[0]).samples
    anna = samples["anna"]
    assert (anna.of, anna.key, anna.facts) == ("Tug", "T-7", {"liesAt": ("b1",), "liesAt_2": ("oslo",)})
    assert anna.values == {"length": 32.5, "state": "moored"}
    assert (samples["b1"].key, samples["b1"].values) == (1, {"side": "port"})


def test_what_is_not_used_is_told(harbour: tuple[Ontology, list[Loss]]) -> None:
    found = {(loss.what, loss.count, loss.serious) for loss in harbour[1]}
    assert found == {
        ("properties", 1, True),
        ("values", 2, True),
        ("instances of :Phantom", 1, True),
        ("statements of :flag", 1, True),
        ("statements of :tonnage", 1, False),
        ("texts of rdfs:label in de", 1, False),
        ("statements of owl:disjointWith", 1, False),
    }
    assert [loss.serious for loss in harbour[1]] == sorted((loss.serious for loss in harbour[1]), reverse=True)


def test_a_vocabulary_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "terms.yaml").write_text(
        "units: ['urn:x:measured']\nkeys: ['urn:x:number']\ncapabilities: ['urn:x:Skill']\n", "utf-8"
    )
    (tmp_path / "a.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "<urn:x:Skill> a owl:Class . <urn:x:A> a owl:Class . <urn:x:do> a <urn:x:Skill> ; <urn:x:of> <urn:x:A> .\n"
        "<urn:x:w> a owl:DatatypeProperty ; r:domain <urn:x:A> ; <urn:x:measured> '公斤' .\n"
        "<urn:x:i> a <urn:x:A> ; <urn:x:number> 5 .",
        "utf-8",
    )
    losses: list[Loss] = []
    ontology = load_ontology(tmp_path / "a.ttl", terms=tmp_path / "terms.yaml", losses=losses)
    (only,) = ontology.classes
    assert (only.id, only.capabilities, only.attributes[0].unit) == ("A", ("do",), Words(zh="公斤"))
    assert (ontology.samples[0].key, losses) == (5, [])
    (tmp_path / "terms.yaml").write_text("unit: x", "utf-8")
    with pytest.raises(OntologyError, match=r"terms\.yaml: holds no terms"):
        load_ontology(tmp_path / "a.ttl", terms=tmp_path / "terms.yaml")


def test_a_file_of_concepts_alone_is_a_hierarchy(tmp_path: Path) -> None:
    ontology = read(
        tmp_path,
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> . <urn:s> a skos:ConceptScheme .\n"
        "<urn:a> a skos:Concept ; skos:inScheme <urn:s> .\n"
        "<urn:b> a skos:Concept ; skos:inScheme <urn:s> ; skos:broader <urn:a> .",
    )
    assert {one.id: one.inherits for one in ontology.classes} == {"a": (), "b": ("a",)}
