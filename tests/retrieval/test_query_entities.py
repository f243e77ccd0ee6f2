"""Which known entities a query names."""

import pytest

from theworld.questions import read_question
from theworld.retrieval.graph import query_entities, seed_entities, seed_notes
from theworld.text import entity_key
from theworld.wikidata import NamedEntry

KNOWN = {
    entity_key(name): 3
    for name in ["New York", "New York Times", "Rush", "Steve Hillage", "北京大学", "北京", "清华", "The Who"]
}

CASES = [
    ("Who owns the New York Times?", ["New York Times"]),
    ("is steve hillage a musician", ["Steve Hillage"]),
    ("Which drummer left Rush?", ["Rush"]),
    ("why do people rush", []),
    ("Is New York larger than the New York Times?", ["New York Times", "New York"]),
    ("北京大学在哪里？", ["北京大学"]),
    ("北京和清华的关系", ["北京", "清华"]),
    ("Steve Hillage的老家在北京吗", ["Steve Hillage", "北京"]),
    ("who is who", []),
    ("", []),
]


@pytest.mark.parametrize(("query", "names"), CASES)
def test_names_are_found(query, names):
    found = query_entities(read_question(query), lambda keys: {k: KNOWN[k] for k in keys if k in KNOWN})
    assert sorted(found) == sorted(entity_key(name) for name in names)


def test_seeds_by_rank_and_rarity():
    assert seed_notes([["a", "b"], ["b"]]) == {"a": 1.0, "b": 1.5}
    weights = seed_entities({"rare": 1, "common": 100})
    assert weights["rare"] == 2.0
    assert weights["common"] < 0.5


ENTRIES = {
    "peking university": [("Peking University", "北京大学")],
    "nyt": [("The New York Times", "New York Times", "NYT")],
    "hillage": [("Steve Hillage",), ("Rush",)],
    "atlantis": [("Atlantis", "Poseidonis")],
    "清华": [("清华大学", "清华", "Tsinghua"), ("清华园",)],
    "rush": [("Rush", "The Who")],
}


class Names:
    def entries_named(self, keys):
        return {key: [NamedEntry("Q1", names) for names in ENTRIES[key]] for key in keys if key in ENTRIES}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Where is Peking University?", ["北京大学"]),
        ("Who owns the NYT?", ["New York Times"]),
        ("Is Hillage well known?", []),  # two entries of the store have that name
        ("Where was Atlantis?", []),
        ("Is New York near?", ["New York"]),
        ("Which drummer left Rush?", ["Rush", "The Who"]),  # both names are in the store: one entity, two seeds
        ("清华在哪里？", ["清华"]),  # two entries have that name
    ],
)
def test_an_entity_is_found_by_a_name_the_store_does_not_have(query, names):
    found = query_entities(read_question(query), lambda keys: {k: KNOWN[k] for k in keys if k in KNOWN}, Names())
    assert sorted(found) == sorted(entity_key(name) for name in names)
