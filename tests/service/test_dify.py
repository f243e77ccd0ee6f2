"""Dify's external knowledge API by its documented request, and its error codes."""

from __future__ import annotations

import pytest

from service_cases import CHINESE, TWO_HOP
from service_process import fetch
from theworld.service.api.replies import ApiError
from theworld.service.dify import Conditions, _filters


def condition(name, operator, value):
    return {"name": name, "comparison_operator": operator, "value": value}


@pytest.mark.parametrize(
    ("joined", "conditions", "filters"),
    [
        ("and", [], {}),
        ("and", [condition("kind", "is", "film")], {"kind": ["film"]}),
        ("and", [condition(["kind"], "=", 3), condition("year", "in", ["1926", "1927"])],
         {"kind": ["3"], "year": ["1926", "1927"]}),
        ("or", [condition("kind", "is", "film"), condition("kind", "is", "book")], {"kind": ["film", "book"]}),
    ],
)  # fmt: skip
def test_conditions_that_filters_can_say(joined, conditions, filters):
    assert _filters(Conditions(logical_operator=joined, conditions=conditions)) == filters


@pytest.mark.parametrize(
    ("joined", "conditions"),
    [
        ("and", [condition("kind", "contains", "film")]),
        ("and", [condition("kind", "is not", "film")]),
        ("and", [condition("kind", "empty", None)]),
        ("and", [condition("kind", "is", None)]),
        ("and", [condition("kind", "in", [])]),
        ("and", [condition(["kind", "year"], "is", "x")]),
        ("and", [condition("kind", "is", "film"), condition("kind", "is", "book")]),
        ("or", [condition("kind", "is", "film"), condition("year", "is", "1927")]),
    ],
)
def test_others_are_refused_by_name(joined, conditions):
    with pytest.raises(ApiError) as refused:
        _filters(Conditions(logical_operator=joined, conditions=conditions))
    assert "metadata_condition" in refused.value.what


def documented(**changed):
    setting = {"top_k": 2, "score_threshold": 0.01}
    return {"knowledge_id": "default", "query": TWO_HOP, "retrieval_setting": setting, **changed}


@pytest.mark.slow
class TestOverHttp:
    @pytest.mark.parametrize("question", [TWO_HOP, CHINESE])
    def test_the_documented_request(self, live, question):
        reply = fetch(
            "POST", f"{live}/dify/retrieval", json=documented(query=question), headers={"Authorization": "Bearer x"}
        )
        records = reply.raise_for_status().json()["records"]
        assert 1 <= len(records) <= 2
        for record in records:
            assert set(record) == {"content", "score", "title", "metadata"}
            assert record["content"]
            assert isinstance(record["metadata"], dict)
            assert 0.01 <= record["score"] <= 1
        high = documented(retrieval_setting={"top_k": 2, "score_threshold": 1.0})
        assert fetch("POST", f"{live}/dify/retrieval", json=high).json() == {"records": []}

    def test_filters_are_kept_to(self, live):
        none = {"conditions": [condition("kind", "is", "nothing of this kind")]}
        reply = fetch("POST", f"{live}/dify/retrieval", json=documented(metadata_condition=none))
        assert reply.json() == {"records": []}

    def test_its_error_codes(self, guarded):
        url, _, keys = guarded

        def code(authorization, **changed):
            headers = {"Authorization": authorization} if authorization else {}
            reply = fetch("POST", f"{url}/dify/retrieval", json=documented(**changed), headers=headers)
            assert set(reply.json()) == {"error_code", "error_msg"}
            return reply.status_code, reply.json()["error_code"]

        good = f"Bearer {keys['default']}"
        assert code(None) == code("Basic eDp5") == code("Bearer") == (403, 1001)
        assert code("Bearer none") == code(good[:-1] + "!") == (403, 1002)
        assert code(good, knowledge_id="other") == code(good, knowledge_id="unknown") == (404, 2001)
        assert code(good, knowledge_id="") == (404, 2001)
        assert code(good, query="") == (422, 422)
        assert code(good, retrieval_setting={"top_k": 0}) == (422, 422)
        assert code(good, metadata_condition={"conditions": [condition("a", "contains", "b")]}) == (422, 422)
        check = fetch("POST", f"{url}/dify/retrieval", headers={"Authorization": good})
        assert check.status_code == 422, "Dify's own check asks without a body, and takes 403 and 404 for failures"
