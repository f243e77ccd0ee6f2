"""The store as a whole: what goes in comes out, of the ledger and of every projection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, event

from made_documents import assert_congruent, make_document
from theworld.errors import ModelMismatchError, StoreError
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.token_codes import encode_tokens


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KnowledgeStore]:
    with KnowledgeStore.open(tmp_path / "store", create=True) as opened:
        yield opened


def sparse_ids(store: KnowledgeStore, query: str, tenant: str = "default") -> list[str]:
    return [hit.note_id for hit in store.sparse.search(query, tenant=tenant, filters={}, limit=10)]


def test_what_was_put_comes_back_in_the_order_asked_for(store: KnowledgeStore) -> None:
    documents = [make_document(number) for number in range(6)]
    assert store.put(documents) == 6
    record, document = documents[3].notes[1], documents[3]
    for _ in range(2):
        asked = ["doc-00003#1", "nope#0", "doc-00000#0", "doc-00003#1"]
        found = store.notes(asked, tenant="default")
        bare = store.notes(asked, tenant="default", mentions=False)
        assert any(note.mentions for note in found)
        assert bare == [replace(note, mentions=()) for note in found]
        assert store.remembered(asked, tenant="default") == found
        assert store.remembered(asked, tenant="default", mentions=False) == bare
        assert [note.id for note in found] == ["doc-00003#1", "doc-00000#0", "doc-00003#1"]
    note = found[0]
    assert (note.text, note.language, note.ordinal) == (record.text, "zh", 1)
    assert (note.document_id, note.title, note.source) == (document.id, document.title, document.source)
    assert note.metadata == document.metadata
    assert note.mentions == record.mentions
    assert store.titles("default")[3] == (document.id, document.title, document.aliases)
    assert store.document_hashes("default") == {d.id: d.content_hash for d in documents}


def test_an_unchanged_document_is_left_alone(store: KnowledgeStore) -> None:
    documents = [make_document(number) for number in range(4)]
    store.put(documents)
    before = store.ledger.sequence()
    assert store.put(documents) == 0
    assert store.ledger.sequence() == before
    assert store.put([*documents[:3], make_document(3, version=1)]) == 1
    assert store.ledger.sequence() > before


def test_a_changed_document_is_replaced_as_a_whole(store: KnowledgeStore) -> None:
    store.put([make_document(1, notes=5)])
    store.catch_up()
    store.put([make_document(1, version=1, notes=1)])
    store.catch_up()
    notes = assert_congruent(store)
    assert 1 <= len(notes) <= 2
    assert {note.metadata["version"] for note in notes} == {1}


def test_of_one_id_in_a_batch_the_last_stands(store: KnowledgeStore) -> None:
    assert store.put([make_document(1), make_document(1, version=3)]) == 1
    assert {note.metadata["version"] for note in store.iter_notes("default")} == {3}


def test_deleting_leaves_nothing_behind(store: KnowledgeStore) -> None:
    documents = [make_document(number) for number in range(8)]
    store.put(documents)
    store.catch_up()
    names = store.known_names("default")
    assert names["第3号文件"] == ("第3号文件", "other", 2)
    assert names["alias 2"][2] == 2
    assert store.delete(["doc-00002", "doc-00003", "nope"], tenant="default") == 2
    store.catch_up()
    assert len(assert_congruent(store)) == 12
    assert not {"alias 2", "第3号文件"} & set(store.known_names("default"))
    assert store.delete([d.id for d in documents], tenant="default") == 6
    store.catch_up()
    assert assert_congruent(store) == []
    assert store.known_names("default") == {}
    assert store.info()["tenants"] == {}


def test_tenants_are_apart(store: KnowledgeStore) -> None:
    store.put([make_document(1), make_document(2), make_document(1, version=2, tenant="other")])
    store.catch_up()
    assert len(assert_congruent(store)) == 4
    assert {note.metadata["version"] for note in assert_congruent(store, "other")} == {2}
    assert store.delete(["doc-00001"], tenant="other") == 1
    store.catch_up()
    assert assert_congruent(store, "other") == []
    assert len(assert_congruent(store)) == 4
    assert store.notes(["doc-00001#0"], tenant="other") == []


def test_mentions_are_set_without_touching_the_vectors(store: KnowledgeStore) -> None:
    store.put([make_document(number) for number in range(4)])
    store.catch_up()
    before = store.ledger.sequence()
    mention = Mention(surface="黑洞", type="concept", start=0, end=2, key="黑洞", qid="Q589", titled=True)
    assert store.set_mentions("default", {"doc-00001#0": (mention,), "doc-00001#1": (), "nope#0": (mention,)}) == 2
    assert store.ledger.sequence() == before + 2
    assert store.notes(["doc-00001#0"], tenant="default")[0].mentions == (mention,)
    store.catch_up()
    assert store.known_names("default")["黑洞"] == ("黑洞", "concept", 1)
    assert store.graph.entities(["黑洞"], tenant="default") == {"黑洞": 1}
    assert_congruent(store)


def test_an_entity_is_typed_by_the_first_mention_that_knows(store: KnowledgeStore) -> None:
    document = make_document(0)
    store.put([document])
    plain = Mention(surface="Ada", key="ada")
    store.set_mentions("default", {"doc-00000#0": [plain, plain.model_copy(update={"type": "person", "qid": "Q7259"})]})
    assert store.known_names("default")["ada"] == ("Ada", "person", 1)
    assert {mention.qid for mention in store.notes(["doc-00000#0"], tenant="default")[0].mentions} == {"Q7259"}


def test_a_thousand_notes_are_iterated_once_each(store: KnowledgeStore) -> None:
    store.put([make_document(number, notes=3) for number in range(400)])
    ids = [note.id for note in store.iter_notes("default")]
    assert len(ids) == len(set(ids)) == 1200


def test_readers_see_what_was_written_after_refresh(store: KnowledgeStore) -> None:
    with KnowledgeStore.open(store.path) as reader:
        assert reader.read_only
        store.put([make_document(0)])
        store.catch_up()
        reader.refresh()
        assert sparse_ids(reader, "uniquedoc-00000x1")[0] == "doc-00000#1"
        assert len(assert_congruent(reader)) == 2
        assert reader.notes(["doc-00000#0"], tenant="default")[0].metadata["version"] == 0
        store.put([make_document(0, version=4)])
        reader.refresh()
        assert reader.notes(["doc-00000#0"], tenant="default")[0].metadata["version"] == 4
        store.refresh()
        reader.refresh()
        assert_congruent(reader)


def test_a_reader_refuses_to_write(store: KnowledgeStore) -> None:
    with KnowledgeStore.open(store.path) as reader:
        for write in (
            lambda: reader.put([make_document(0)]),
            lambda: reader.delete(["x"], tenant="default"),
            lambda: reader.set_mentions("default", {}),
        ):
            with pytest.raises(StoreError, match="read_only=False"):
                write()
        with pytest.raises(StoreError, match="read"):
            reader.ledger.put([make_document(0)])


def test_refresh_is_cheap_when_nothing_changed(store: KnowledgeStore) -> None:
    store.put([make_document(number) for number in range(50)])
    store.catch_up()
    statements: list[str] = []

    def count(*seen: object) -> None:
        statements.append(str(seen[2]))

    event.listen(Engine, "before_cursor_execute", count)
    try:
        store.refresh()
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert sum("SELECT" in statement for statement in statements) <= 1, statements


def test_a_closing_writer_leaves_nothing_to_catch_up(tmp_path: Path) -> None:
    with KnowledgeStore.open(tmp_path / "s", create=True) as store:
        store.put([make_document(0)])
    with KnowledgeStore.open(tmp_path / "s") as reader:
        assert_congruent(reader)


def test_the_next_open_finishes_what_was_left_undone(tmp_path: Path) -> None:
    def put_and_fail() -> None:
        with KnowledgeStore.open(tmp_path / "s", create=True) as store:
            store.put([make_document(0), make_document(1)])
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        put_and_fail()
    with KnowledgeStore.open(tmp_path / "s") as reader:
        assert len(assert_congruent(reader)) == 4


def test_progress_is_told(store: KnowledgeStore) -> None:
    store.put([make_document(number, notes=3) for number in range(200)])
    told: list[tuple[int, int]] = []
    store.catch_up(lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == 1800
    assert told == sorted(told)


def test_info_counts(store: KnowledgeStore) -> None:
    store.put([make_document(number) for number in range(3)])
    assert store.info()["lag"] == {"sparse": 6, "dense": 6, "graph": 6, "ontology": 0}
    store.catch_up()
    info = store.info()
    assert info["tenants"] == {
        "default": {
            "documents": 3,
            "notes": 6,
            "languages": {"en": 4, "zh": 2},
            "spaces": {"space-en": 4, "space-zh": 2},
        }
    }
    assert info["sequence"] == 6
    assert set(info["lag"].values()) == {0}
    assert all(size > 0 for size in info["bytes"].values())


def test_another_embedder_is_refused(store: KnowledgeStore) -> None:
    store.put([make_document(number) for number in range(3)])
    store.check_embedders({"en": "space-en", "zh": "space-zh", "fr": "whatever"})
    with pytest.raises(ModelMismatchError, match=r"4 notes in 'space-en'.*--reembed"):
        store.check_embedders({"en": "new", "zh": "space-zh"})
    document = make_document(2, version=1)
    both = tuple(replace(n, vectors={**n.vectors, "new": n.vectors["space-en"]}) for n in document.notes)
    store.put([replace(document, notes=both)])
    with pytest.raises(ModelMismatchError, match=r"2 notes in 'space-en'"):
        store.check_embedders({"en": "new"})


@pytest.mark.slow
def test_threads_query_while_one_writes(store: KnowledgeStore) -> None:
    store.put([make_document(number) for number in range(20)])
    store.catch_up()
    failures: list[BaseException] = []
    stop = threading.Event()
    vector = np.ones(8, np.float32)

    def query() -> None:
        try:
            while not stop.is_set():
                store.refresh()
                hits = store.dense.search("space-en", vector, tenant="default", filters={"tags": "a"}, limit=5).hits
                store.dense.token_codes("space-en", [hit.note_id for hit in hits], "default")
                store.notes([hit.note_id for hit in hits] + sparse_ids(store, "river 河流"), tenant="default")
                store.graph.rank(notes={"doc-00001#0": 1.0}, entities={}, tenant="default", filters={}, limit=5)
        except BaseException as error:  # whatever it is, the test must fail with it
            failures.append(error)

    threads = [threading.Thread(target=query) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(5):
        store.put([make_document(number, version=1), make_document(20 + number)])
        store.delete([f"doc-{number + 5:05d}"], tenant="default")
        store.catch_up()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert_congruent(store)


def test_token_vectors_coded_before_are_kept_as_those_coded_here(store: KnowledgeStore) -> None:
    document = make_document(2)
    given = document.notes[0]
    tokens = given.vectors["space-en"].tokens
    assert tokens is not None
    coded = replace(
        given,
        vectors={"space-en": Embedded(given.vectors["space-en"].vector)},
        codes={"space-en": encode_tokens(tokens)},
    )

    def kept() -> bytes:
        store.catch_up()
        (found,) = store.dense.token_codes("space-en", ["doc-00002#0"], "default")
        assert found is not None
        return found.ids.tobytes() + found.codes.tobytes()

    store.put([document])
    before = kept()
    store.delete([document.id], tenant="default")
    store.put([replace(document, notes=(coded, *document.notes[1:]))])
    assert kept() == before


@pytest.mark.parametrize("writable", [True, False])
def test_projections_of_an_earlier_format_are_built_anew_without_a_complaint(tmp_path: Path, writable: bool) -> None:
    with KnowledgeStore.open(tmp_path, create=True) as store:
        store.put([make_document(2), make_document(4)])
        store.catch_up()
    for name in ("sparse/applied.json", "dense/manifest.json", "graph/manifest.json"):
        state = json.loads((tmp_path / name).read_text())
        (tmp_path / name).write_text(json.dumps({**state, "format": 1}))
    with KnowledgeStore.open(tmp_path, read_only=not writable) as store:
        store.catch_up()
        assert store.troubles == {}
        assert_congruent(store)
        chosen = store.sparse.search("paper", tenant="default", filters={"document_id": "doc-00004"}, limit=5)
        assert {hit.note_id.partition("#")[0] for hit in chosen} == {"doc-00004"}
