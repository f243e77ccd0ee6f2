"""The graph on disk: what is joined to it, against a plain construction from all notes; damage, crashes, readers."""

from __future__ import annotations

import logging
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_documents import assert_congruent, make_document
from theworld.errors import StoreError
from theworld.stores import array_folder, opening
from theworld.stores.array_folder import Arrays
from theworld.stores.files import read_json, write_atomically
from theworld.stores.graph import MappedGraph, MemoryGraph, RankingParameters, embedded
from theworld.stores.graph.columns import Lists, NoteFacts, joined, note_facts
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.protocols import NoteChange
from theworld.testing.conformance.documents import TENANT, feed, gone, put
from theworld.testing.conformance.twins import assert_graph_twins

NAMES = ["Ada", "ADA", "Bell Labs", "the Moon", "MOON", "鲁迅", "绍兴", "C", "Déjà", "\ud800 lone", "Hub", "hub"]
PARAMETERS = RankingParameters(most=4)


def plainly(facts: dict[str, NoteFacts], parameters: RankingParameters) -> dict[str, object]:
    """Return by id what a graph of these notes tells, computed note by note."""
    titled = {note: {key for key, _ in fact.names} for note, fact in facts.items()}
    mentioned = {note: {key for key, _ in fact.mentions} - titled[note] for note, fact in facts.items()}
    titles: dict[str, set[str]] = {}
    named: Counter[str] = Counter()
    surfaces: dict[str, Counter[str]] = {}
    for note, fact in facts.items():
        named.update(titled[note] | mentioned[note])
        for key, name in fact.names:
            titles.setdefault(key, set()).add(name)
        for key, surface in fact.mentions:
            surfaces.setdefault(key, Counter())[surface] += 1
    labels = {
        key: min(titles[key]) if key in titles else min(surfaces[key], key=lambda s: (-surfaces[key][s], s))
        for key in named
    }
    rarity = {
        key: parameters.rarity(count) if parameters.fewest <= count <= parameters.most else 0.0
        for key, count in named.items()
    }
    edges: dict[tuple[str, str], float] = {}
    for note in facts:
        for key in titled[note]:
            edges[note, key] = edges[key, note] = parameters.title_weight
        for key in mentioned[note]:
            shared = parameters.shared_weight * rarity[key]
            edges[note, key] = parameters.title_weight if key in titles else shared
            edges[key, note] = shared
    total: Counter[str] = Counter()
    for (source, _), weight in edges.items():
        total[source] += weight
    walk = {ends: pytest.approx(weight / total[ends[0]]) for ends, weight in edges.items() if weight}
    return {"titled": titled, "mentioned": mentioned, "labels": labels, "rarity": rarity, "walk": walk, "facts": facts}


def told(arrays: Arrays, parameters: RankingParameters) -> dict[str, object]:
    """Return the same from the arrays."""
    graph = embedded.Bipartite(arrays, parameters)
    notes, keys = list(graph.note_ids), list(graph.keys)
    nodes = notes + keys
    starts, targets, weights = (arrays[f"walk.{name}"] for name in ("starts", "targets", "weights"))
    sources = np.repeat(np.arange(len(nodes)), np.diff(starts))
    for here, there in (("titled", "titles"), ("mentioned", "mentions")):
        forth = {(note, key) for note in range(len(notes)) for key in getattr(graph, here)[note]}
        assert forth == {(note, key) for key in range(len(keys)) for note in getattr(graph, there)[key]}
    return {
        "titled": {note: {keys[key] for key in graph.titled[row]} for row, note in enumerate(notes)},
        "mentioned": {note: {keys[key] for key in graph.mentioned[row]} for row, note in enumerate(notes)},
        "labels": {key: graph.label(row) for row, key in enumerate(keys)},
        "rarity": {key: graph.rarity(row) for row, key in enumerate(keys)},
        "walk": {
            (nodes[source], nodes[target]): float(weight)
            for source, target, weight in zip(sources, targets, weights, strict=True)
        },
        "facts": {note: facts_of(graph, row) for row, note in enumerate(notes)},
    }


def facts_of(graph: embedded.Bipartite, note: int) -> NoteFacts:
    def named(name: str) -> tuple[tuple[str, str], ...]:
        of = graph.arrays
        keys, texts = (Lists(of[f"{name}.starts"], of[f"{name}.{one}"])[note] for one in ("keys", "texts"))
        return tuple((graph.keys[key], graph.texts[text]) for key, text in zip(keys, texts, strict=True))

    return NoteFacts(
        document_id=graph.document_of(note),
        title=graph.title_of(note),
        names=named("name"),
        mentions=named("mention"),
        terms=frozenset(graph.terms[term] for term in graph.terms_of[note]),
    )


def changes() -> st.SearchStrategy[NoteChange]:
    ids = st.sampled_from([f"n{number}#0" for number in range(9)])
    some = st.lists(st.sampled_from(NAMES), max_size=6)
    kinds = st.sampled_from([{}, {"kind": "a"}, {"kind": ["a", "b"], "year": 3}])
    return st.one_of(
        st.builds(
            lambda note, title, aliases, names, kind: put(
                note, title=title, aliases=aliases, names=names, metadata=kind
            ),
            ids,
            st.sampled_from(["", *NAMES]),
            st.lists(st.sampled_from(NAMES), max_size=1),
            some,
            kinds,
        ),
        st.builds(gone, ids),
    )


@settings(max_examples=100)
@given(st.lists(st.lists(changes(), max_size=8), max_size=4))
def test_joining_batch_by_batch_tells_what_all_notes_tell(batches: list[list[NoteChange]]) -> None:
    facts: dict[str, NoteFacts] = {}
    arrays = joined(None, {}, PARAMETERS)
    for batch in batches:
        latest = {change.note_id: note_facts(change) for change in batch}
        arrays = joined(arrays, latest, PARAMETERS)
        facts = {note: fact for note, fact in (facts | latest).items() if fact is not None}
    assert told(arrays, PARAMETERS) == plainly(facts, PARAMETERS)
    at_once = joined(None, facts, PARAMETERS)
    assert {name: array.tolist() for name, array in arrays.items()} == {n: a.tolist() for n, a in at_once.items()}


def test_files_and_memory_are_twins(tmp_path: Path) -> None:
    assert_graph_twins(MappedGraph(tmp_path / "graph", writable=True), MemoryGraph(), seed=7, tolerance=0.0)


NOTES = [
    put("ada#0", title="Ada", names=["Bell Labs", "the Moon"]),
    put("bell#0", title="Bell Labs", names=["Ada"]),
    put("moon#0", title="Moon", names=["Bell Labs"], tenant="other"),
]


def ranked(graph: MappedGraph, tenant: str = TENANT) -> list[str]:
    seeds = {change.note_id: 1.0 for change in NOTES}
    return [hit.note_id for hit in graph.rank(notes=seeds, entities={}, tenant=tenant, filters={}, limit=9)]


def written(folder: Path, changes: Sequence[NoteChange] = NOTES) -> Path:
    """Write a graph and return its folder."""
    graph = MappedGraph(folder, writable=True)
    feed(graph, *changes)
    graph.close()
    return folder


def test_a_reader_sees_what_is_settled_and_files_of_other_tenants_stay(tmp_path: Path) -> None:
    reader = MappedGraph(written(tmp_path / "graph"))
    assert (ranked(reader), ranked(reader, "other"), reader.applied) == (["ada#0", "bell#0"], ["moon#0"], 3)
    before = {path.name for path in reader_files(tmp_path)}
    writer = MappedGraph(tmp_path / "graph", writable=True)
    writer.apply([gone("bell#0")], 4)
    reader.refresh()
    assert (reader.applied, ranked(reader)) == (3, ["ada#0", "bell#0"])
    writer.settle()
    assert len(before & {path.name for path in reader_files(tmp_path)}) == 1
    assert ranked(reader) == ["ada#0", "bell#0"]
    reader.refresh()
    assert (reader.applied, ranked(reader)) == (4, ["ada#0"])
    writer.apply([gone("moon#0", tenant="other")], 5)
    writer.settle()
    assert len(reader_files(tmp_path)) == 1
    reader.apply([gone("ada#0")], 6)
    with pytest.raises(StoreError, match="opened for reading"):
        reader.settle()


def reader_files(folder: Path) -> list[Path]:
    return sorted((folder / "graph").glob("*.arrays"))


def test_arrays_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    reader = MappedGraph(written(tmp_path / "graph"))
    arrays = reader._saved.arrays[TENANT,]
    for name, array in arrays.items():
        assert not array.flags.writeable, name
        assert not array.flags.owndata, name
        assert array.ctypes.data % array.itemsize == 0, name


def test_a_damaged_graph_is_told_and_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = written(tmp_path / "graph")
    for path in folder.glob("*.arrays"):
        path.write_bytes(path.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING):
        writer = MappedGraph(folder, writable=True)
        assert (writer.applied, MappedGraph(folder).applied) == (0, 0)
        assert re.search(r"is damaged \(.+\) and will be built from the ledger", caplog.text)
    feed(writer, *NOTES)
    writer.close()
    assert ranked(MappedGraph(folder)) == ["ada#0", "bell#0"]
    assert len(list(folder.glob("*.arrays"))) == 2


def test_another_format_is_told_and_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    manifest = written(tmp_path / "graph") / "manifest.json"
    write_atomically(manifest, read_json(manifest) | {"format": 0})
    with caplog.at_level(logging.WARNING):
        assert MappedGraph(tmp_path / "graph").applied == 0
    assert "has format 0" in caplog.text


@pytest.mark.parametrize("where", ["write_arrays", "write_atomically"])
def test_a_crash_at_any_step_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def crash(*_: object) -> None:
        raise OSError("power cut")

    folder = written(tmp_path / "graph")
    writer = MappedGraph(folder, writable=True)
    writer.apply([gone("bell#0")], 4)
    with monkeypatch.context() as patched:
        patched.setattr(array_folder, where, crash)
        with pytest.raises(OSError, match="power cut"):
            writer.settle()
    reader = MappedGraph(folder)
    assert (reader.applied, ranked(reader)) == (3, ["ada#0", "bell#0"])
    again = MappedGraph(folder, writable=True)
    assert len(list(folder.glob("*.arrays"))) == 2
    again.apply([gone("bell#0")], 4)
    assert ranked(again) == ["ada#0"]
    writer.settle()
    assert ranked(writer) == ["ada#0"]


def test_what_is_held_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_MOST_PENDING", 2)
    writer = MappedGraph(tmp_path / "graph", writable=True)
    for number, change in enumerate(NOTES, start=1):
        writer.apply([change], number)
    assert MappedGraph(tmp_path / "graph").applied == 2
    writer.close()
    assert MappedGraph(tmp_path / "graph").applied == 3


def test_a_graph_written_with_other_weights_is_told_and_built_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(tmp_path / "graph")
    assert MappedGraph(tmp_path / "graph", replace(PARAMETERS, most=50, restart=0.5)).applied == 3
    with caplog.at_level(logging.WARNING):
        assert MappedGraph(tmp_path / "graph", PARAMETERS).applied == 0
    assert re.search("has format .+ weights 1.0 0.2 2 50, this program knows .+ weights 1.0 0.2 2 4", caplog.text)


def test_a_store_without_its_graph_has_it_built_by_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store"
    with KnowledgeStore.open(path, create=True) as store:
        store.put([make_document(number) for number in range(3)])
    shutil.rmtree(path / "graph")
    with monkeypatch.context() as patched:
        # As on a system that lies on a disk for reading only.
        patched.setattr(opening, "recover", lambda *_: False)
        patched.setattr("theworld.stores.opening.os.access", lambda *_: False)
        with KnowledgeStore.open(path) as reader:
            assert_congruent(reader)
            assert isinstance(reader.graph, MemoryGraph)
    assert "it is built in memory" in caplog.text
    assert not list(path.glob("graph/*.arrays"))
    with KnowledgeStore.open(path) as reader:
        assert_congruent(reader)
        assert not isinstance(reader.graph, MemoryGraph)
    assert len(list(path.glob("graph/*.arrays"))) == 1
