"""Entities by name and what stands around them; classes of the ontology; another tenant's are unknown."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from service_cases import LOCAL, settings_over
from theworld.demo.credit import load_credit_ontology
from theworld.ontology.storing import import_ontology
from theworld.service.app import create_app
from theworld.service.runtime import open_service
from theworld.stores.knowledge_store import KnowledgeStore

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("name", "label"), [("fritz lang", "Fritz Lang"), ("范钦", "范钦")])
def test_a_name_leads_to_notes_and_neighbours(call, name, label):
    (first, *_) = call(f"/api/v1/graph/entities?name={name}")["entities"]
    assert first["label"] == label
    found = call(f"/api/v1/graph/around?key={first['key']}&entities=5&notes=3")
    assert found["entity"]["notes"] == first["notes"]
    assert 0 < len(found["neighbours"]) <= 5
    shown = {note["id"] for note in found["notes"]}
    assert 0 < len(shown) <= 3
    assert {key for note in found["notes"] for key in note["entities"]} <= {one["key"] for one in found["neighbours"]}


def test_what_nobody_names_is_unknown(client):
    assert client.get("/api/v1/graph/around?key=nobody%20at%20all").status_code == 404
    other = {"X-Tenant-Id": "other"}
    assert client.get("/api/v1/graph/entities?name=Fritz%20Lang", headers=other).json()["data"] == {"entities": []}
    assert client.get("/api/v1/graph/around?key=fritz%20lang", headers=other).status_code == 404
    assert client.get("/api/v1/graph/classes").json()["data"]["classes"] == []
    assert client.get("/api/v1/graph/classes?around=river").status_code == 404


def test_classes_of_an_ontology_and_a_picture_around_one(copy_of_demo):
    store = copy_of_demo()
    with KnowledgeStore.open(store, read_only=False) as opened:
        import_ontology(opened, load_credit_ontology())
    with (
        open_service(settings_over(store), bound_to="127.0.0.1") as own,
        TestClient(create_app(own), **LOCAL) as client,
    ):
        for language in ("en", "zh"):
            found = client.get(f"/api/v1/graph/classes?language={language}").json()["data"]
            assert found["drawing"] is None
            one = found["classes"][0]
            around = client.get(f"/api/v1/graph/classes?around={one['id']}&language={language}").json()["data"]
            assert around["drawing"].startswith("<svg")
            assert one["label"] in around["drawing"]
        assert client.get("/api/v1/graph/classes?around=nothing").status_code == 404
