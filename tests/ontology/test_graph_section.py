"""The retrieval specification's section on GraphRAG, sentence by sentence; each test names its sentence."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from theworld.ontology import Ref
from theworld.ontology.descriptions import UNREAD
from theworld.ontology.retrieval import OntologyIndex, find, starting_nodes
from theworld.ontology.storing import to_edges, to_nodes
from theworld.ontology.walking import HOPS, walk
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.graph_tables import SHARES, mixed

EXAMPLE = "关联企业近30天授信变化与交易波动"
NOW = datetime(2024, 12, 31, 12, tzinfo=UTC)


def labels(index: OntologyIndex, nodes: list[int]) -> set[str]:
    return {index.graph.refs[node].key for node in nodes}


def test_4_1_1_nodes_are_class_attribute_relation_capability_and_sample(credit_store: KnowledgeStore) -> None:
    """节点：OntologyClass, Attribute, Relation, Capability, EntitySample。"""
    kinds = {node.kind for node in credit_store.ledger.graph.elements("default")}
    assert kinds - {"Ontology"} == {"OntologyClass", "Attribute", "Relation", "Capability", "EntitySample"}


def test_4_1_2_edges_are_inherits_has_attribute_has_relation_has_capability_refers_to(
    credit_store: KnowledgeStore,
) -> None:
    """边：INHERITS, HAS_ATTRIBUTE, HAS_RELATION, HAS_CAPABILITY, REFERS_TO。"""
    graph = credit_store.ledger.graph
    ends = {
        (edge.kind, edge.source[0], edge.target[0])
        for edge in graph.whole("default").edges + graph.whole("default").links
    }
    assert {kind for kind, _, _ in ends} == {"INHERITS", "HAS_ATTRIBUTE", "HAS_RELATION", "HAS_CAPABILITY", "REFERS_TO"}
    assert {("REFERS_TO", "Relation", "OntologyClass"), ("REFERS_TO", "EntitySample", "OntologyClass")} <= ends
    assert ("REFERS_TO", "Note", "EntitySample") in ends


def test_4_1_3_edge_weight_is_mixed_from_co_occurrence_rule_strength_and_human_confidence(
    credit_store: KnowledgeStore,
) -> None:
    """边权：基于共现频率、业务规则强度、人工置信度。"""
    assert set(SHARES) == {"co_occurrence", "rule", "confidence"}
    edges = credit_store.ledger.graph.whole("default").edges
    assert all(edge.weight == mixed(edge.parts) for edge in edges)
    together = {(e.source[1], e.target[1]): e.parts for e in edges}
    known = together["company_reedbank_packaging", "region_farcape"]
    assert set(known) == {"co_occurrence", "rule", "confidence"}
    assert 0 < known["co_occurrence"] < 1


def test_4_2_1_entities_and_constraints_are_taken_from_the_query(index: OntologyIndex) -> None:
    """从 query 抽取实体与约束。"""
    found = index.matcher.match("远帆银行给评级为BB的企业近30天额度超过5000万元的授信", now=NOW)
    keys = {match.ref.key: match.value for match in found.matches}
    assert "bank_farsail" in keys
    assert keys["rating.grade"] == "BB"
    assert found.ranges[0].attribute == Ref("Attribute", "credit_line.limit_amount")
    assert found.times[0].start == datetime(2024, 12, 2, tzinfo=UTC)


def test_4_2_2_the_walk_starts_at_attributes_and_ontology_elements(index: OntologyIndex) -> None:
    """定位起始节点（属性/本体）。"""
    starts = starting_nodes(index, index.matcher.match("企业的注册资本和交易金额"))
    assert {"company.registered_capital", "transaction.amount", "company"} <= labels(
        index, [node for node, _ in starts]
    )
    documents = starting_nodes(index, index.matcher.match(EXAMPLE))
    wanted = {"affiliated_with", "credit_change", "transaction_volatility"}
    assert wanted <= labels(index, [node for node, _ in documents])


def test_4_2_3_k_hop_is_2_by_default(index: OntologyIndex) -> None:
    """进行 K-Hop 遍历（默认 2-Hop）。"""
    assert HOPS == 2
    start = index.graph.number[Ref("OntologyClass", "credit_change")]
    reached = {hops: walk(index.graph, start, hops) for hops in range(4)}
    assert reached[0].nodes.tolist() == [start]
    for hops, one in reached.items():
        lengths = [len(one.way_to(node)) for node in one.nodes.tolist()]
        assert max(lengths) <= hops
        if hops:
            assert set(reached[hops - 1].nodes.tolist()) < set(one.nodes.tolist())


def test_4_2_3_the_walk_goes_both_ways(index: OntologyIndex) -> None:
    """进行 K-Hop 遍历: a relation is reached from its range class, a class from its attribute."""
    bank = walk(index.graph, index.graph.number[Ref("OntologyClass", "bank")], 1)
    assert "granted_by" in labels(index, bank.nodes.tolist())
    limit = walk(index.graph, index.graph.number[Ref("Attribute", "credit_line.limit_amount")], 1)
    assert "credit_line" in labels(index, limit.nodes.tolist())


def test_4_2_3_what_a_class_inherits_is_reached_in_one_hop(index: OntologyIndex) -> None:
    """Inherited capabilities count as the class's own, and are told as inherited."""
    start = index.graph.number[Ref("OntologyClass", "company")]
    one = walk(index.graph, start, 1)
    diligence = index.graph.number[Ref("Capability", "due_diligence")]
    (way,) = one.way_to(diligence)
    assert index.graph.steps[index.graph.step_of[way.edge]].inherited


@pytest.mark.parametrize(
    ("question", "language", "capability", "words"),
    [
        (EXAMPLE, "zh", "transaction_volatility", "授信变化 —具备能力→ 额度重检"),
        (
            "credit changes and transaction volatility of affiliated companies in the last 30 days",
            "en",
            "transaction_volatility",
            "credit change —is a→ event",
        ),
    ],
)
def test_4_2_4_path_evidence_and_candidate_capabilities_are_returned(
    index: OntologyIndex, question: str, language: str, capability: str, words: str
) -> None:
    """返回路径证据（path evidence）与候选能力。"""
    found = find(index, index.matcher.match(question), "zh" if language == "zh" else "en")
    assert found.capabilities[0].key == capability
    assert [one.score for one in found.capabilities] == sorted((c.score for c in found.capabilities), reverse=True)
    assert words in [path.text for path in found.paths]
    assert all(0 < path.weight <= 1 and path.steps for path in found.paths)
    assert found.note_paths
    assert all(path.text.endswith(path.note_id) for path in found.note_paths)


def test_10_1_1_the_walk_is_bounded_and_cannot_go_in_circles(index: OntologyIndex) -> None:
    """图遍历边界与环路控制。"""
    start = index.graph.number[Ref("EntitySample", "company_starraft_precision")]
    far = walk(index.graph, start, 6)
    for node in far.nodes.tolist():
        passed = [start, *(way.target for way in far.way_to(node))]
        assert len(set(passed)) == len(passed)


def test_10_2_2_the_graph_helps_with_questions_across_classes(index: OntologyIndex) -> None:
    """图检索增强对跨本体问题有效性: the guarantor's grade stands in a note that the question's words do not name."""
    for question, language, note in [
        ("苇岸包装的担保人评级有什么变化", "zh", "zh/palepine-call#0"),
        ("How did the grade of the company that guarantees Reedbank Packaging change?", "en", "en/palepine-call#0"),
    ]:
        found = find(index, index.matcher.match(question), "zh" if language == "zh" else "en")
        assert note in [id_ for id_, _ in found.notes[:10]]


def test_what_a_question_means_without_naming_it_is_known_from_facts(index: OntologyIndex) -> None:
    """A described company is where the walk begins too, so that notes about it come in."""
    question = "What is the guarantor of Foxbell Retail building?"
    reading = index.descriptions.read(question, "en")
    matches = index.matcher.match(question)
    begun = {index.graph.refs[node].key for node, _ in starting_nodes(index, matches, reading)}
    assert "company_tidegate_terminals" in begun
    assert "company_tidegate_terminals" not in {
        index.graph.refs[node].key for node, _ in starting_nodes(index, matches)
    }
    with_it, without = (find(index, matches, "en", reading=one).notes for one in (reading, UNREAD))
    about = [dict(notes).get("en/tidegate#0", 0.0) for notes in (with_it, without)]
    assert about[0] > about[1]


def test_the_graph_of_the_store_is_the_ontologys(credit_store: KnowledgeStore, index: OntologyIndex) -> None:
    nodes = list(to_nodes(index.lookup.ontology))
    assert credit_store.ledger.graph.elements("default") == nodes
    assert len(credit_store.ledger.graph.whole("default").edges) == len(list(to_edges(index.lookup.ontology)))
