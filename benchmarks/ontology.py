"""What the ontology graph adds on the sample domain, and how fast it is walked when it is large.

    python benchmarks/ontology.py quality            recall@20 and first answers against the frozen baseline
    python benchmarks/ontology.py speed              10,000 classes and 1,000,000 edges: K-hop, matching, loading

`quality` asks the questions across classes of theworld.demo.credit, Chinese and English. Four arms answer them through
the same graph: the M3 baseline (dense + sparse, min-max, 0.55 / 0.45, no graph, no reranking), the default without the
ontology, the default with it, and that without reranking. A question counts as answered when its first answer says
what is right.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from environment import environment

from theworld.demo.credit import CreditQuestion, load_credit_ontology, load_credit_questions, notes_dir
from theworld.evaluation.metrics import paired_difference, percentile
from theworld.evaluation.retrieval import DEPTH, m3_baseline
from theworld.graph import build_graph, make_resources
from theworld.ingestion import ingest
from theworld.models.registry import Models, load_models
from theworld.ontology import Lookup, parse_ontology
from theworld.ontology.matching import Match, Matcher, QueryMatches
from theworld.ontology.retrieval import OntologyIndex, find
from theworld.ontology.storing import import_ontology, to_edges, to_nodes
from theworld.ontology.walking import OntologyGraph, walk
from theworld.retrieval.channel import nearest
from theworld.settings import Settings
from theworld.state import Context, QueryOutput
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.ledger.graph_tables import GraphEdgeRecord
from theworld.text import fold

K = 20
ARMS = {
    "m3 baseline": {
        "rerank": {"kind": "none"},
        "retrieval": {
            "graph": False,
            "deadline_ms": 60_000,
        },
    },
    "without ontology": {"ontology": {"enabled": False}, "retrieval": {"deadline_ms": 60_000}},
    "with ontology": {"retrieval": {"deadline_ms": 60_000}},
    "  not reranked": {"retrieval": {"deadline_ms": 60_000}, "rerank": {"kind": "none"}},
}
GROUPS: Mapping[str, Callable[[CreditQuestion], bool]] = {
    "all": lambda _: True,
    "zh": lambda question: question.language == "zh",
    "en": lambda question: question.language == "en",
    "tuned on": lambda question: not question.held_back and not question.apart,
    "held back": lambda question: question.held_back,
    "apart": lambda question: question.apart,
}
"""`held back`: a third by a hash; `apart`: written apart from the code and before anyone saw what it makes of them."""


def quality(folder: Path, options: argparse.Namespace) -> None:
    models = load_models(Settings())
    questions = load_credit_questions()
    with sample_store(folder / "store", models) as store:
        known = {note.id for note in store.iter_notes("default")}
        missing = {note for question in questions for note in question.notes} - known
        assert not missing, missing
        print(f"{len(known)} notes, {len(questions)} questions\n{environment()}\n")
        results = {name: ask(name, store, models, questions) for name in ARMS}
    measured = {
        title: {name: [row[column] for row in rows] for name, rows in results.items()}
        for column, title in enumerate(("recall@20", "of its own language", "first answer right"))
    }
    for title, values in measured.items():
        print(f"{title:20}" + "".join(f" {name:>9}" for name in GROUPS))
        for name, numbers in values.items():
            pairs = list(zip(numbers, questions, strict=True))
            means = (statistics.fmean(v for v, q in pairs if belongs(q)) for belongs in GROUPS.values())
            print(f"  {name:18}" + "".join(f" {mean:9.3f}" for mean in means))
        for group, belongs in GROUPS.items():
            own = [i for i, question in enumerate(questions) if belongs(question)]
            base = [values["m3 baseline"][i] for i in own]
            difference = paired_difference([values["with ontology"][i] for i in own], base)
            print(
                f"  with ontology - baseline, {group} ({len(own)}): {difference.mean:+.3f} "
                f"[{difference.low:+.3f}, {difference.high:+.3f}], "
                f"relative {difference.mean / statistics.fmean(base):+.1%}, p {difference.p_value:.4f}"
            )
    if options.details:
        for i, question in enumerate(questions):
            rows = {name: results[name][i] for name in ARMS}
            said = {name: f"{row[0]:.2f} {row[2]:.0f} {row[3][:60]!r}" for name, row in rows.items()}
            print(json.dumps({"id": question.id, **said}, ensure_ascii=False))


@contextmanager
def sample_store(path: Path, models: Models) -> Iterator[KnowledgeStore]:
    settings = Settings(store=path)
    with KnowledgeStore.open(path, create=True) as store:
        report = ingest([notes_dir()], store, models, settings)
        assert not report.failed, report.failed
        import_ontology(store, load_credit_ontology())
        yield store


def ask(
    arm: str, store: KnowledgeStore, models: Models, questions: Sequence[CreditQuestion]
) -> list[tuple[float, float, float, str]]:
    """Return recall@20, the same of the question's language, whether the first answer is right, and the answer."""
    resources = make_resources(Settings(store=store.path, **ARMS[arm]), store, models)
    graph = build_graph(resources)
    rows = []
    for question in questions:
        is_baseline = arm == "m3 baseline"
        context = Context(use_model=False, top_k=100, channels=["sparse", "dense"] if is_baseline else None)
        output = QueryOutput.model_validate(graph.invoke({"question": question.question}, context=context))
        ranking = baseline(store, models, question) if is_baseline else [c.note_id for c in output.candidates]
        if is_baseline:
            # The arm's answers are made from the frozen baseline's candidates: the same ones, in the same order.
            assert [c.note_id for c in output.candidates][:5] == ranking[:5], question.id
        own = [note for note in question.notes if note.startswith(question.language)]
        recall, own_recall = (len(set(ranking[:K]) & set(notes)) / len(notes) for notes in (question.notes, own))
        right = output.kind != "none" and any(fold(answer) in fold(output.answer) for answer in question.answers)
        rows.append((recall, own_recall, float(right), output.answer))
    return rows


def baseline(store: KnowledgeStore, models: Models, question: CreditQuestion) -> list[str]:
    near, _ = nearest(
        question.question, dense=store.dense, embedder_of=models.by_space, tenant="default", filters={}, limit=DEPTH
    )
    lexical = store.sparse.search(question.question, tenant="default", filters={}, limit=DEPTH)
    fused = m3_baseline([(h.note_id, h.score) for h in near.hits], [(h.note_id, h.score) for h in lexical])
    return [note.note_id for note in fused]


def speed(options: argparse.Namespace) -> None:
    """Walk a generated ontology: a tree of classes with random relations and inherited attributes."""
    rng = random.Random(7)
    classes, relations = options.classes, options.classes * 2
    print(environment())
    begun = time.perf_counter()
    ontology = parse_ontology(json.dumps(made_ontology(rng, classes, relations)))
    print(f"read and check {classes} classes, {relations} relations: {time.perf_counter() - begun:.1f} s")
    lookup = Lookup(ontology)
    begun = time.perf_counter()
    edges = made_edges(rng, lookup, options.edges)
    graph = OntologyGraph(lookup, edges)
    print(f"graph of {len(edges)} edges ({len(graph.targets)} ways): {time.perf_counter() - begun:.1f} s")
    begun = time.perf_counter()
    matcher = Matcher(lookup)
    print(f"matcher: {time.perf_counter() - begun:.1f} s")
    starts = [rng.randrange(len(graph.refs)) for _ in range(options.queries)]
    hubs = sorted(range(len(graph.refs)), key=lambda n: graph.starts[n] - graph.starts[n + 1])[:20]
    for name, nodes in (("random starts", starts), ("the 20 largest hubs", hubs * (options.queries // 20))):
        for hops in (1, 2, 3):
            times, sizes = [], []
            for node in nodes:
                begun = time.perf_counter()
                found = walk(graph, node, hops)
                times.append((time.perf_counter() - begun) * 1000)
                sizes.append(len(found.nodes))
            print(f"{hops}-hop from {name}: {percentiles(times)}, {statistics.fmean(sizes):.0f} nodes reached")
    index = OntologyIndex(list(to_nodes(ontology)), edges, made_links(rng, lookup, options.links))
    for name, nodes in (("random starts", starts), ("the 20 largest hubs", hubs * (options.queries // 20))):
        times = []
        for node in nodes:
            ref = graph.refs[node]
            label = lookup.elements[ref].labels.preferred("en")
            matches = QueryMatches((Match(ref, "label", 1.0, 0, len(label), label),))
            begun = time.perf_counter()
            found = find(index, matches, "en")
            times.append((time.perf_counter() - begun) * 1000)
            assert found.starts
        print(f"notes, paths and capabilities of a 2-hop walk from {name}: {percentiles(times)}")
    times = []
    for _ in range(options.queries):
        names = [lookup.ontology.classes[rng.randrange(classes)].labels.en[0] for _ in range(3)]
        begun = time.perf_counter()
        matches = matcher.match(f"how is {names[0]} related to {names[1]} and {names[2]}?")
        times.append((time.perf_counter() - begun) * 1000)
        assert len({match.ref for match in matches.matches}) >= 3
    print(f"matching a question: {percentiles(times)}")


def percentiles(times: Sequence[float]) -> str:
    return f"P50 {statistics.median(times):.1f} ms, P95 {percentile(times, 0.95):.1f} ms, max {max(times):.1f} ms"


def made_ontology(rng: random.Random, classes: int, relations: int) -> dict[str, object]:
    words = "amber basin cedar delta ember fjord grove harbor islet jetty kelp lagoon marsh notch orchid".split()
    return {
        "id": "made",
        "classes": [
            {
                "id": f"c{i}",
                "labels": {"en": f"{rng.choice(words)} {rng.choice(words)} {i}", "zh": f"类别{i}"},
                "inherits": [f"c{(i - 1) // 8}"] if i else [],
                "attributes": [{"id": "a", "labels": {"en": f"size {i}"}}] if i % 10 == 0 else [],
            }
            for i in range(classes)
        ],
        "relations": [
            {
                "id": f"r{i}",
                "labels": {"en": f"link {i}"},
                "source": f"c{rng.randrange(classes)}",
                "target": f"c{int(classes * rng.random() ** 3)}",
            }
            for i in range(relations)
        ],
    }


def made_edges(rng: random.Random, lookup: Lookup, count: int) -> list[GraphEdgeRecord]:
    """Return the ontology's own edges and more relations' ranges, a few classes being hubs, up to a number."""
    edges = list(to_edges(lookup.ontology))
    known = {(edge.source, edge.target, edge.kind) for edge in edges}
    classes, relations = lookup.ontology.classes, lookup.ontology.relations
    while len(edges) < count:
        relation, one = relations[rng.randrange(len(relations))], classes[int(len(classes) * rng.random() ** 3)]
        edge = GraphEdgeRecord(("Relation", relation.id), ("OntologyClass", one.id), "REFERS_TO", rng.random())
        if (edge.source, edge.target, edge.kind) not in known:
            known.add((edge.source, edge.target, edge.kind))
            edges.append(edge)
    return edges


def made_links(rng: random.Random, lookup: Lookup, count: int) -> list[GraphEdgeRecord]:
    """Return notes that name three random elements each."""
    refs = list(lookup.elements)
    return [
        GraphEdgeRecord(("Note", f"n{i}"), tuple(ref), "REFERS_TO", rng.random())
        for i in range(count)
        for ref in rng.sample(refs, 3)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("--store", type=Path, help="keep the sample store in this folder")
    parser.add_argument("--details", action="store_true", help="print every question")
    parser.add_argument("--classes", type=int, default=10_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--links", type=int, default=30_000, help="notes that name elements")
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    if options.what == "speed":
        speed(options)
    elif options.store:
        quality(options.store, options)
    else:
        with tempfile.TemporaryDirectory() as folder:
            quality(Path(folder), options)


if __name__ == "__main__":
    main()
