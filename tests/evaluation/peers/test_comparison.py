"""All peers over one small store; those that are not installed must be named, never passed over in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import peers
import pytest
from peer_measures.comparison import METRICS, Comparison, PeerResult, compare_peers, write_material
from peer_measures.pagerank import EntityPageRank
from peer_measures.worker import ENTITIES, OURS, PAGERANK

from theworld.errors import TheWorldError
from theworld.evaluation.datasets import Dataset
from theworld.evaluation.documents.retrievers import RETRIEVERS, Material, read_work
from theworld.evaluation.documents.rivals import common_embedder
from theworld.graph import Resources, open_resources
from theworld.ingestion import ingest
from theworld.models.registry import load_models
from theworld.packages import install_command
from theworld.settings import Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.evaluations import Query

CORPUS = {
    "rush": ("Rush", "Rush was a Canadian rock band formed in 1968. Its drummer was Neil Peart."),
    "peart": ("Neil Peart", "Neil Peart was born in Hamilton, Ontario."),
    "light": ("Old Light", "The Old Light is a lighthouse on Lundy built by Ada Grey."),
}
QUERIES = (
    Query("q1", "Where was the drummer of Rush born?", grades={"rush": 1, "peart": 1}),
    Query("q2", "Who built the Old Light?", grades={"light": 1}),
)
PEERS = [*RETRIEVERS, PAGERANK]
MISSING = [name for name, one in RETRIEVERS.items() if not all(any(distributions(name=d)) for d in one.requires)]
INSTALLED = [name for name in PEERS if name not in MISSING]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    corpus = tmp_path_factory.mktemp("beir") / "corpus.jsonl"
    rows = [{"_id": name, "title": title, "text": text} for name, (title, text) in CORPUS.items()]
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return Dataset("small", corpus, frozenset(CORPUS), "0", QUERIES)


@pytest.fixture(scope="module")
def resources(dataset: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resources]:
    settings = Settings(store=tmp_path_factory.mktemp("store") / "s")
    with KnowledgeStore.open(settings.store, create=True) as store:
        ingest([dataset.corpus], store, load_models(settings), settings)
    with open_resources(settings) as opened:
        yield opened


@pytest.fixture
def entities(resources: Resources, tmp_path: Path) -> list[list[str]]:
    write_material(tmp_path, resources, ["Who?"])
    return json.loads((tmp_path / ENTITIES).read_text("utf-8"))


@pytest.fixture
def material(entities: list[list[str]], tmp_path: Path) -> Material:
    material, questions = read_work(tmp_path)
    assert (len(entities), questions) == (3, ["Who?"])
    return material


def test_the_material_is_the_store_s(material: Material, entities: list[list[str]], resources: Resources) -> None:
    assert [note_id for note_id, _ in material.notes] == ["light#0", "peart#0", "rush#0"]
    assert material.notes[2][1] == "Rush\n" + CORPUS["rush"][1]
    assert "neil peart" in entities[2]
    hits = resources.store.dense.search(
        material.embedder.name, material.vectors[1], tenant="default", filters={}, limit=1
    ).hits
    assert (hits[0].note_id, hits[0].score) == ("peart#0", pytest.approx(1.0, abs=1e-5))
    assert material.embed_notes([material.notes[0][1]])[0] == pytest.approx(material.vectors[0].tolist())


def test_a_tenant_without_notes_is_refused(resources: Resources) -> None:
    with pytest.raises(TheWorldError, match="holds no vectors"):
        common_embedder(resources.store, resources.models, "nobody")


def test_our_pagerank_needs_no_package(material: Material, entities: list[list[str]]) -> None:
    assert EntityPageRank(material, entities).retrieve("Who built the Old Light?")[0] == "light#0"


@pytest.mark.slow
def test_all_are_measured_or_named(dataset: Dataset, resources: Resources, capsys: pytest.CaptureFixture[str]) -> None:
    heard = []
    found = compare_peers(dataset, resources, on_peer=heard.append)
    assert len(heard) == 1 + len(PEERS)
    assert [result.name for result in found.results] == [OURS, *INSTALLED]
    assert set(found.left_out) == set(MISSING)
    assert all(install_command("benchmarks") in reason for reason in found.left_out.values())
    for result in found.results:
        assert all(set(ranking) <= set(CORPUS) for ranking in result.rankings)
        assert found.mean(result, "recall@5") == 1.0
        assert all(0 < ranked <= whole for ranked, whole in zip(result.elapsed_ms, result.total_ms, strict=True))
        assert result.memory_mb is None or 50 < result.memory_mb < 5000
    figures = json.loads(json.dumps(found.as_json()))
    assert (figures["notes"], list(figures["retrievers"])) == (3, [OURS, *INSTALLED])
    assert figures["retrievers"]["pagerank"]["theworld_recall@5_gain"] == [0.0, 0.0, 0.0]
    peers.show(found)
    assert "TheWorld over HippoRAG-style PageRank, recall@5: +0.0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_peer_that_fails_is_named_and_the_rest_goes_on(
    dataset: Dataset, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker's process does not know this name, so it ends with an error.
    monkeypatch.setattr("peer_measures.comparison.LABELS", {OURS: "TheWorld", "nothing": "Nothing"})
    found = compare_peers(dataset, resources, limit=1)
    assert [result.name for result in found.results] == [OURS]
    assert "Nothing: failed:" in found.left_out["nothing"]
    assert "KeyError" in found.left_out["nothing"]


def comparison() -> Comparison:
    queries = (Query("1", "?", grades={"a": 1, "b": 1}), Query("2", "?", grades={"c": 1}))
    ours = PeerResult(OURS, (("a", "b"), ("c",)), (10.0, 20.0), (12.0, 25.0), 1.0, 400.0)
    other = PeerResult("pagerank", (("a", "x"), ("x", "c")), (5.0, 6.0), (5.0, 6.0), 0.5, None)
    return Comparison("small", queries, 4, "space", (ours, other), {"haystack": "not installed"})


def test_figures_by_hand() -> None:
    figures = comparison().as_json()
    ours, other = figures["retrievers"].values()
    assert [ours[metric] for metric in METRICS] == [1.0, 1.0, 1.0, 1.0, 1.0]
    assert [other[metric] for metric in METRICS] == [0.75, 0.75, 0.75, 0.75, 0.5]
    assert (ours["latency_ms"], ours["whole_ms"]) == ({"p50": 10.0, "p95": 20.0}, {"p50": 12.0, "p95": 25.0})
    assert other["theworld_recall@5_gain"][0] == 0.25
    assert other["memory_mb"] is None
    assert figures["left_out"] == {"haystack": "not installed"}
