"""Conformance of graph stores: ranking, links and paths over notes and the entities they name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from theworld.stores.protocols import GraphStore
from theworld.stores.records import Filters
from theworld.testing.conformance.documents import NONE, TENANT, ProjectionConformance, feed, gone, put

NOTES = [
    put("film#0", title="Inception", names=["Christopher Nolan", "Leonardo DiCaprio"], metadata={"kind": "film"}),
    put("nolan#0", title="Christopher Nolan", names=["London", "Inception"], metadata={"kind": "person"}),
    put("ship#0", title="Titanic", aliases=["泰坦尼克号"], names=["Leonardo DiCaprio"], metadata={"kind": "film"}),
    put("london#0", title="London", names=["Thames"], metadata={"kind": "place"}),
    put("lu#0", title="鲁迅", names=["绍兴", "浙江"], metadata={"kind": "person"}),
    put("shao#0", title="绍兴", names=["浙江"], metadata={"kind": "place"}),
    put("alone#0", title="Nobody", names=["Nothing"]),
]
HUB = [put(f"h{i:03d}#0", title=f"Hub {i}", names=["Common Thing", "Known Title"]) for i in range(60)]


class GraphConformance(ProjectionConformance[GraphStore]):
    """Subclass it and give the fixture `make`."""

    notes = NOTES

    def found(
        self,
        store: GraphStore,
        *notes: str,
        entities: Sequence[str] = (),
        filters: Filters = NONE,
        tenant: str = TENANT,
        limit: int = 9,
    ) -> list[str]:
        """Return the ids of the notes ranked from equal seeds."""
        named = dict.fromkeys(entities or (() if notes else ("river", "london")), 1.0)
        seeds = dict.fromkeys(notes, 1.0)
        hits = store.rank(notes=seeds, entities=named, tenant=tenant, filters=filters, limit=limit)
        return [hit.note_id for hit in hits]

    def test_entities_count_notes_that_mention_or_are_titled(self, filled: GraphStore) -> None:
        keys = ["christopher nolan", "leonardo dicaprio", "泰坦尼克号", "浙江", "thames", "unknown"]
        assert filled.entities(keys, tenant=TENANT) == {
            "christopher nolan": 2,
            "leonardo dicaprio": 2,
            "泰坦尼克号": 1,
            "浙江": 2,
            "thames": 1,
        }

    def test_a_name_in_both_scripts_of_chinese_is_one_entity(self, store: GraphStore) -> None:
        feed(store, put("a#0", title="天一閣", names=["寧波"]), put("b#0", title="宁波", names=["天一阁"]))
        assert store.entities(["天一阁", "宁波"], tenant=TENANT) == {"天一阁": 2, "宁波": 2}
        assert set(self.found(store, entities=("天一阁",))) == {"a#0", "b#0"}
        joined = {(link.source, link.target, link.titled) for link in store.links(["a#0", "b#0"], tenant=TENANT)}
        assert joined == {("a#0", "b#0", True), ("b#0", "a#0", True)}

    def test_the_walk_goes_over_titles_and_shared_entities(self, filled: GraphStore) -> None:
        ranked = self.found(filled, "film#0")
        assert ranked[0] == "film#0"
        assert set(ranked) == {"film#0", "nolan#0", "ship#0", "london#0"}
        assert ranked.index("nolan#0") < ranked.index("london#0")
        assert self.found(filled, "lu#0") == ["lu#0", "shao#0"]

    def test_entities_are_seeds_too(self, filled: GraphStore) -> None:
        assert set(self.found(filled, entities=("绍兴",))) == {"shao#0", "lu#0"}
        assert self.found(filled, entities=("泰坦尼克号",))[0] == "ship#0"
        assert self.found(filled, entities=("thames",)) == []

    def test_weights_of_seeds_count(self, filled: GraphStore) -> None:
        heavy = filled.rank(notes={"lu#0": 1, "film#0": 9}, entities={}, tenant=TENANT, filters={}, limit=9)
        assert heavy[0].note_id == "film#0"
        scores = [hit.score for hit in heavy]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) > 0

    def test_unknown_and_worthless_seeds_are_ignored(self, filled: GraphStore) -> None:
        assert self.found(filled, "nope#0", entities=("nope",)) == []
        assert self.found(filled, "lu#0", "nope#0", entities=("nope",)) == ["lu#0", "shao#0"]
        worthless = {"lu#0": 0.0, "film#0": -1.0, "ship#0": float("nan")}
        assert filled.rank(notes=worthless, entities={}, tenant=TENANT, filters={}, limit=9) == []

    def test_filters_come_before_the_limit_but_after_the_walk(self, filled: GraphStore) -> None:
        assert self.found(filled, "film#0", filters={"kind": "place"}, limit=1) == ["london#0"]
        assert self.found(filled, "film#0", filters={"kind": "none"}) == []
        assert self.found(filled, "film#0", filters={"document_id": "london"}, limit=1) == ["london#0"]
        one_of: Filters = {"document_id": ["london", "ship", "lu"]}
        assert set(self.found(filled, "film#0", filters=one_of)) == {"london#0", "ship#0"}

    def test_a_document_is_known_by_its_id_whatever_its_metadata_say(self, store: GraphStore) -> None:
        feed(store, put("a#0", names=["Ann Bee"]), put("b#0", names=["Ann Bee"], metadata={"document_id": "a"}))
        assert self.found(store, "a#0", "b#0", filters={"document_id": "a"}) == ["a#0"]

    def test_links_put_titles_first_and_each_pair_once_per_entity(self, filled: GraphStore) -> None:
        links = filled.links(["ship#0", "film#0", "nolan#0", "alone#0", "nope#0", "film#0"], tenant=TENANT)
        found = [(link.source, link.target, link.via, link.titled, link.weight) for link in links]
        assert found == [
            ("film#0", "nolan#0", "Christopher Nolan", True, 1.0),
            ("nolan#0", "film#0", "Inception", True, 1.0),
            ("film#0", "ship#0", "Leonardo DiCaprio", False, 1.0),
        ]

    def test_notes_of_one_document_are_not_linked_by_its_title(self, store: GraphStore) -> None:
        feed(store, put("d#0", title="Long One", names=["Ann Bee"]), put("d#1", title="Long One", names=["Ann Bee"]))
        assert [link.via for link in store.links(["d#0", "d#1"], tenant=TENANT)] == ["Ann Bee"]

    def test_rarer_entities_weigh_more(self, store: GraphStore) -> None:
        feed(
            store, *(put(f"n{i}#0", title=f"N {i}", names=["Wide", "Narrow"] if i < 2 else ["Wide"]) for i in range(8))
        )
        weights = {link.via: link.weight for link in store.links(["n0#0", "n1#0"], tenant=TENANT)}
        assert weights == {"Narrow": pytest.approx(1.0), "Wide": pytest.approx(1 / (1 + 1.3862943611), rel=1e-6)}

    def test_hubs_join_nothing_except_what_they_title(self, store: GraphStore) -> None:
        feed(store, *HUB, put("known#0", title="Known Title"))
        assert set(self.found(store, "h000#0")) == {"h000#0", "known#0"}
        assert store.links(["h000#0", "h001#0"], tenant=TENANT) == []
        assert [link.target for link in store.links(["h000#0", "known#0"], tenant=TENANT)] == ["known#0"]
        assert store.entities(["common thing"], tenant=TENANT) == {"common thing": 60}

    def test_paths_are_shortest_first_and_name_their_edges(self, filled: GraphStore) -> None:
        paths = filled.paths(
            ["london#0", "nolan#0", "alone#0", "nope#0"], notes=["film#0", "nope#0"], entities=[], tenant=TENANT
        )
        steps = [[(step.source, step.relation, step.target) for step in path.steps] for path in paths]
        to_nolan = [
            ("Inception", "mentions", "Christopher Nolan"),
            ("Christopher Nolan", "title_of", "Christopher Nolan"),
        ]
        assert [path.note_id for path in paths] == ["nolan#0", "london#0"]
        assert steps[0] in (
            to_nolan,
            [("Inception", "has_title", "Inception"), ("Inception", "mentioned_in", "Christopher Nolan")],
        )
        assert steps[1][-2:] == [("Christopher Nolan", "mentions", "London"), ("London", "title_of", "London")]
        assert len(steps[1]) == 4
        assert [path.weight for path in paths] == [pytest.approx(1.0), pytest.approx(1.0)]

    def test_paths_begin_at_entities_too_and_stop_at_max_hops(self, filled: GraphStore) -> None:
        paths = filled.paths(["shao#0", "lu#0"], notes=[], entities=["绍兴", "unknown"], tenant=TENANT)
        assert [(path.note_id, path.steps[0].relation) for path in paths] == [
            ("lu#0", "mentioned_in"),
            ("shao#0", "title_of"),
        ]
        assert filled.paths(["london#0"], notes=["film#0"], entities=[], tenant=TENANT, max_hops=1) == []
        assert filled.paths([], notes=["film#0"], entities=[], tenant=TENANT) == []

    def test_tenants_are_apart(self, filled: GraphStore) -> None:
        feed(filled, put("film#0", title="Inception", tenant="other"), put("x#0", names=["Inception"], tenant="other"))
        assert filled.entities(["inception", "london"], tenant="other") == {"inception": 2}
        assert set(self.found(filled, "film#0", tenant="other")) == {"film#0", "x#0"}
        assert "x#0" not in self.found(filled, "film#0")
        assert self.found(filled, "film#0", tenant="unknown") == []
        assert filled.links(["film#0", "nolan#0"], tenant="other") == []

    def test_an_update_replaces_and_a_removal_removes(self, filled: GraphStore) -> None:
        feed(filled, put("film#0", title="Inception", names=["绍兴"]), gone("ship#0"), gone("nolan#0"))
        assert set(self.found(filled, "film#0")) == {"film#0", "shao#0", "lu#0"}
        assert filled.entities(["titanic", "leonardo dicaprio", "christopher nolan"], tenant=TENANT) == {}
        assert filled.entities(["绍兴"], tenant=TENANT) == {"绍兴": 3}

    def test_neither_order_nor_replay_changes_anything(self, filled: GraphStore) -> None:
        def everything() -> object:
            ranks = filled.rank(
                notes={"film#0": 1.0, "lu#0": 0.3}, entities={"london": 0.2}, tenant=TENANT, filters={}, limit=9
            )
            ids = [change.note_id for change in NOTES]
            return (
                ranks,
                filled.links(ids, tenant=TENANT),
                filled.paths(ids, notes=["ship#0"], entities=[], tenant=TENANT),
            )

        before = everything()
        shuffled = [*reversed(NOTES[1:4]), *NOTES[4:], NOTES[0]]
        filled.apply(NOTES, filled.applied)
        feed(filled, *shuffled, gone("unknown#0"), NOTES[0])
        assert everything() == before
