"""The knowledge around a name, and the ontology: bounded, tenant by tenant, drawn without overlap."""

from __future__ import annotations

from itertools import pairwise

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from theworld.demo.credit import load_credit_ontology
from theworld.ontology.storing import import_ontology
from theworld.service.app import create_app
from theworld.service.runtime import open_service
from theworld.stores.knowledge_store import open_store


@pytest.mark.parametrize(
    ("name", "label", "beside", "note"),
    [
        ("fritz LANG", "Fritz Lang", "Metropolis", "en/fritz-lang.md"),
        ("天一閣", "天一阁", "宁波", "zh/tianyi-pavilion.md"),
    ],
)
def test_notes_and_entities_around_a_name(call, name, label, beside, note):
    found = call(f"/api/v1/graph?name={name}")
    assert found["entity"]["label"] == label
    assert beside in [one["label"] for one in found["entities"]]
    assert (found["notes"][0]["note"]["document_id"], found["notes"][0]["titled"]) == (note, True)
    keys = {one["key"] for one in found["entities"]}
    assert all(set(one["names"]) <= keys for one in found["notes"])
    shown = found["notes"][0]["note"]
    text = call(f"/api/v1/documents/{shown['document_id']}")["text"][shown["start"] : shown["end"]]
    assert text.startswith(shown["text"])
    for column in (found["entities"], found["notes"]):
        rows = [one["y"] for one in column]
        assert all(below - above >= 1 - 1e-3 for above, below in pairwise(rows))
        assert all(-0.5 <= row <= found["height"] - 0.5 for row in rows)
    assert call(f"/api/v1/graph?name={name}") == found


def test_sizes_are_bounded(call, client):
    found = call("/api/v1/graph?name=中国&limit=2")
    assert len(found["notes"]) == len(found["entities"]) == 2
    assert found["entity"]["notes"] > 2
    for wrong in ("limit=0", "limit=51", f"name={'x' * 501}", "name=%00", "language=fr"):
        assert client.get(f"/api/v1/graph?{wrong}").status_code == 422, wrong


@pytest.mark.parametrize(
    ("name", "near"), [("Metropolys", "Metropolis"), ("天一门", "天一阁"), ("lang fritz", "Fritz Lang")]
)
def test_an_unknown_name_gets_near_names(call, name, near):
    found = call(f"/api/v1/graph?name={name}")
    assert found["entity"] is None
    assert found["notes"] == found["entities"] == []
    assert near in found["near"]


def test_no_name_gets_the_commonest_and_nonsense_nothing(call):
    assert "London" in call("/api/v1/graph")["near"]
    assert call("/api/v1/graph?name=%25_%25")["near"] == []
    assert call("/api/v1/graph?name=qqqqqqqqqqqqqqqqqqq")["near"] == []


def test_another_tenants_graph_is_unknown(call):
    found = call("/api/v1/graph?name=Fritz Lang", X_Tenant_Id="other")
    assert (found["entity"], found["near"], found["notes"]) == (None, [], [])
    assert call("/api/v1/graph", X_Tenant_Id="other")["near"] == []


def test_without_an_ontology_there_are_no_classes(call, client):
    assert call("/api/v1/ontology")["id"] is None
    assert client.get("/api/v1/ontology/OntologyClass/company").status_code == 404


@pytest.mark.slow
def test_the_classes_of_an_ontology_and_what_they_are_tied_to(copy_of_demo):
    settings = settings_over(copy_of_demo())
    ontology = load_credit_ontology()
    with open_store(settings, read_only=False) as store:
        import_ontology(store, ontology)
    with open_service(settings, bound_to="127.0.0.1") as service, TestClient(create_app(service), **LOCAL) as client:

        def get(path: str, **headers: str) -> dict:
            return client.get(f"/api/v1/{path}", headers=headers).json()["data"]

        listed = get("ontology?language=zh")
        assert [one["key"] for one in listed["classes"]] == [one.id for one in ontology.classes]
        assert listed["classes"][0]["label"] == ontology.classes[0].labels.preferred("zh")
        assert get("ontology", **{"X-Tenant-Id": "other"})["id"] is None
        assert len(get("ontology?limit=1")["classes"]) == 1
        for one in listed["classes"]:
            found = get(f"ontology/OntologyClass/{one['key']}?language=zh&limit=3")
            assert len(found["ties"]) == min(3, found["tied"])
            weights = [tie["weight"] for tie in found["ties"]]
            assert weights == sorted(weights, reverse=True)
            for tie in found["ties"]:
                other = get(f"ontology/{tie['other']['kind']}/{tie['other']['key']}?limit=100")
                assert one["key"] in {back["other"]["key"] for back in other["ties"]}, "every tie leads back"
        label = ontology.classes[0].labels.preferred("en")
        named = get(f"graph?name={label}")["elements"]
        assert {"kind": "OntologyClass", "key": ontology.classes[0].id, "label": label} in named
