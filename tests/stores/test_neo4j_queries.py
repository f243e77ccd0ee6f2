"""The Cypher of the graph on a server."""

from __future__ import annotations

import re

from theworld.stores.graph import neo4j_queries

TEXTS = {name: text for name, text in vars(neo4j_queries).items() if name.isupper() and isinstance(text, str)}


def test_all_values_come_in_one_map_so_that_the_size_of_a_list_is_no_reason_to_plan_anew() -> None:
    assert len(TEXTS) > 20
    for name, text in TEXTS.items():
        assert set(re.findall(r"\$\w+", text)) <= {"$given"}, name


def test_what_questions_ask_is_planned_before_they_ask() -> None:
    reading = {
        text for text in TEXTS.values() if "RETURN collect([" in text and not re.search("DELETE|SET|MERGE", text)
    }
    verifying = {neo4j_queries.HELD, neo4j_queries.COUNT_NOTES}
    parts = {text for name, text in TEXTS.items() if name.startswith("_")}
    assert reading - verifying - parts == set(neo4j_queries.QUERIES)
