"""What every ledger must do: what is put comes back, is told to followers once, and is nobody else's.

Two ledgers that get the same random writes are compared whole, and random operations look for what a tenant is shown
of another's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made_documents import make_document
from theworld.errors import StoreError
from theworld.models.protocols import Embedded
from theworld.state import Mention
from theworld.stores.ledger import Ledger, NoteParts
from theworld.stores.ledger.graph_tables import GraphEdgeRecord, GraphNodeRecord
from theworld.stores.protocols import NoteChange
from theworld.stores.records import DocumentRecord
from theworld.stores.token_codes import encode_tokens
from theworld.testing.conformance.leaks import HOSTILE

Make = Callable[..., Ledger]
TENANT = "default"
INJECTION = "'; DROP TABLE note; -- %s %(x)s :x \\ \" 🦉 租户"
_NODES = [GraphNodeRecord("OntologyClass", "river", "River", {"preferred": ["river"]}), GraphNodeRecord("A", "b", "B")]
_EDGES = [GraphEdgeRecord(("OntologyClass", "river"), ("A", "b"), "HAS_ATTRIBUTE", 0.5, {"rule": 0.5})]


def all_changes(ledger: Ledger, after: int = 0, batch: int = 3) -> list[NoteChange]:
    """Return the changes after a number, read in small batches."""
    found: list[NoteChange] = []
    while after < ledger.sequence():
        changes, after = ledger.changes(after, batch)
        found += changes
    return found


class LedgerConformance:
    """Subclass it and give the fixture `make`: `make(writable=True)` opens one ledger, also several times at once.

    The tables are there already, and empty.
    """

    @pytest.fixture
    def ledger(self, make: Make) -> Iterator[Ledger]:
        """Return the ledger, open for writing."""
        with make(writable=True) as opened:
            yield opened

    def test_a_document_comes_back_whole(self, ledger: Ledger, make: Make) -> None:
        documents = [make_document(number) for number in range(3)]
        assert ledger.put(documents) == 3
        for opened in (ledger, make(writable=False)):
            notes = opened.notes(["doc-00001#1", "nope#0", "doc-00000#0"], tenant=TENANT)
            assert set(notes) == {"doc-00000#0", "doc-00001#1"}
            note, record = notes["doc-00001#1"], documents[1].notes[1]
            assert (note.text, note.language, note.ordinal, note.end) == (record.text, "zh", 1, record.end)
            assert (note.section, note.kind, note.lead) == (("附录", "第1节"), "list", "What part 1 lists:")
            assert (note.mentions, note.metadata) == (record.mentions, documents[1].metadata)
            assert (note.title, note.source, note.tenant) == (documents[1].title, documents[1].source, TENANT)
            assert opened.titles(TENANT) == [(d.id, d.title, d.aliases) for d in documents]
            assert opened.document_hashes(TENANT) == {d.id: d.content_hash for d in documents}
            assert [note.id for note in opened.iter_notes(TENANT)] == [n.id for d in documents for n in d.notes]
            plain = [replace(note, mentions=()) for note in opened.iter_notes(TENANT)]
            assert list(opened.iter_notes(TENANT, mentions=False)) == plain
            assert opened.counts()[TENANT]["spaces"] == {"space-en": 4, "space-zh": 2}
            assert opened.database.bytes() > 0
            if opened is not ledger:
                opened.close()

    def test_vectors_and_token_codes_are_exact(self, ledger: Ledger) -> None:
        document = make_document(4)
        ledger.put([document])
        for change, record in zip(all_changes(ledger), document.notes, strict=True):
            assert change.note is not None
            ((space, embedded),) = record.vectors.items()
            assert np.array_equal(change.note.vectors[space].vector, embedded.vector)
            assert embedded.tokens is not None
            expected = encode_tokens(embedded.tokens)
            assert np.array_equal(change.note.codes[space].ids, expected.ids)
            assert np.array_equal(change.note.codes[space].codes, expected.codes)
            place = change.note.section, change.note.kind, change.note.lead
            assert place == (record.section, record.kind, record.lead)
        (bare, _) = ledger.changes(0, 9, NoteParts(text=False, mentions=False, vectors=False))
        assert all(c.note is not None and not (c.note.text or c.note.section or c.note.lead) for c in bare)
        assert all(c.note is not None and not (c.note.mentions or c.note.vectors) for c in bare)

    @pytest.mark.parametrize("text", [INJECTION, "\\u0000", "é\u0301 ﷽ \u202e", "%(tenant)s", "{}", "$1"])
    def test_any_text_is_only_text(self, ledger: Ledger, text: str) -> None:
        plain = make_document(2)
        mentions = (Mention(surface=text, key=text),)
        note = replace(plain.notes[0], id=f"{text}#0", text=text, section=(text, text), lead=text, mentions=mentions)
        metadata = {text: [text], "n": 1, "f": 0.1, "b": True}
        hostile = replace(
            plain, id=text, title=text, tenant=text, text=text, aliases=(text,), metadata=metadata, notes=(note,)
        )
        ledger.put([plain, hostile])
        found = ledger.notes([f"{text}#0"], tenant=text)[f"{text}#0"]
        assert (found.text, found.title, found.metadata) == (text, text, metadata)
        assert (found.section, found.lead) == ((text, text), text)
        assert ledger.text(text, 1, 3, tenant=text) == text[1:3], "offsets are characters"
        assert ledger.titles(text) == [(text, text, (text,))]
        assert ledger.delete([text], tenant=text) == 1
        assert (ledger.titles(text), len(ledger.titles(TENANT))) == ([], 1)

    @pytest.mark.parametrize("text", ["\ud800", "a\x00b"])
    def test_what_cannot_be_stored_is_refused_and_never_found(self, ledger: Ledger, text: str) -> None:
        ledger.put([make_document(0)])
        with pytest.raises(StoreError, match=r"surrogates|control"):
            ledger.put([replace(make_document(1), tenant=text)])
        for place in ({"section": ("Leave", text)}, {"lead": text}):
            with pytest.raises(StoreError, match="surrogates"):
                ledger.put([_with(replace(make_document(4).notes[0], **place))])
        assert ledger.notes(["doc-00000#0"], tenant=text) == {}
        assert ledger.notes([text], tenant=TENANT) == {}
        assert ledger.text("doc-00000", 0, 9, tenant=text) == ledger.text(text, 0, 9, tenant=TENANT) == ""
        assert (ledger.titles(text), ledger.document_hashes(text), ledger.known_names(text)) == ([], {}, {})
        assert list(ledger.iter_notes(text)) == []
        assert (ledger.delete(["doc-00000"], tenant=text), ledger.delete([text], tenant=TENANT)) == (0, 0)
        assert ledger.set_mentions(text, {"doc-00000#0": ()}) == ledger.set_mentions(TENANT, {text: ()}) == 0

    def test_a_title_of_any_length_is_kept(self, ledger: Ledger) -> None:
        title = "".join(chr(0x4E00 + (number * number) % 20_000) for number in range(8000))
        document = replace(make_document(2), title=title, aliases=("Short",))
        ledger.put([document])
        assert ledger.titles(TENANT) == [(document.id, title, ("Short",))]
        assert "short" in ledger.known_names(TENANT)
        assert all_changes(ledger)[0].title == title
        assert ledger.delete([document.id], tenant=TENANT) == 1
        assert ledger.known_names(TENANT) == {}

    def test_lists_are_ordered_by_code_points(self, ledger: Ledger) -> None:
        names = ["b", "B", "a", "_", "é", "Z", "文", "ä", "10", "9"]
        ledger.put([replace(make_document(n), id=name, notes=()) for n, name in enumerate(names)])
        assert [id_ for id_, _, _ in ledger.titles(TENANT)] == sorted(names)
        assert list(ledger.known_names(TENANT)) == sorted(ledger.known_names(TENANT))

    def test_every_change_is_told_once_in_order(self, ledger: Ledger) -> None:
        ledger.put([make_document(number) for number in range(4)])
        seen = all_changes(ledger)
        assert [change.sequence for change in seen] == list(range(1, 9))
        assert ledger.put([make_document(number) for number in range(4)]) == 0
        assert all_changes(ledger, 8) == []
        ledger.put([make_document(0, version=1)])
        ledger.delete(["doc-00001"], tenant=TENANT)
        later = all_changes(ledger, 8)
        assert [c.sequence for c in later] == sorted({c.sequence for c in later})
        assert {c.note_id for c in later if c.note is None} >= {"doc-00001#0", "doc-00001#1"}
        assert later[-1].sequence == ledger.sequence()
        left = {c.note_id for c in all_changes(ledger) if c.note is not None}
        assert left == {note.id for note in ledger.iter_notes(TENANT)}

    def test_a_write_that_fails_leaves_nothing(self, ledger: Ledger) -> None:
        ledger.put([make_document(0)])
        before = ledger.sequence(), ledger.counts()
        thief = replace(make_document(2), notes=(replace(make_document(2).notes[0], id="doc-00000#0"),))
        wrong = replace(make_document(4).notes[0], vectors={"space-en": Embedded(np.ones(3, np.float32))})
        unknown: dict[str, Any] = {"kind": "poem"}
        for documents, message in (
            ([make_document(1), thief], "another document"),
            ([_with(wrong)], "8 finite numbers"),
            ([_with(replace(make_document(4).notes[0], **unknown))], "'poem' is none"),
        ):
            with pytest.raises(StoreError, match=message):
                ledger.put(documents)
            assert (ledger.sequence(), ledger.counts()) == before

    def test_what_nothing_names_any_more_is_gone(self, ledger: Ledger) -> None:
        ledger.put([make_document(number) for number in range(6)])
        names = ledger.known_names(TENANT)
        assert names["alias 2"] == ("Alias 2", "other", 2)
        mention = Mention(surface="黑洞", type="concept", key="黑洞", qid="Q589")
        assert ledger.set_mentions(TENANT, {"doc-00001#0": [mention], "nope#0": [mention]}) == 1
        assert ledger.known_names(TENANT)["黑洞"] == ("黑洞", "concept", 1)
        assert ledger.notes(["doc-00001#0"], tenant=TENANT)["doc-00001#0"].mentions == (mention,)
        assert ledger.delete([f"doc-{number:05d}" for number in range(6)], tenant=TENANT) == 6
        assert (ledger.known_names(TENANT), ledger.counts()) == ({}, {})

    def test_tenants_are_apart(self, ledger: Ledger) -> None:
        ledger.put([make_document(1), make_document(1, version=2, tenant="other"), make_document(2, tenant="other")])
        assert ledger.notes(["doc-00002#0"], tenant=TENANT) == {}
        assert ledger.delete(["doc-00001", "doc-00002"], tenant=TENANT) == 1
        assert list(ledger.counts()) == ["other"]
        assert (ledger.has_notes("other"), ledger.has_notes(TENANT), ledger.has_notes("a\x00b")) == (True, False, False)
        assert {note.metadata["version"] for note in ledger.iter_notes("other")} == {0, 2}

    def test_a_reader_sees_writes_and_refuses_to_write(self, ledger: Ledger, make: Make) -> None:
        with make(writable=False) as reader:
            assert reader.identity() == ledger.identity()
            ledger.put([make_document(0)])
            assert reader.sequence() == ledger.sequence() == 2
            assert len(list(reader.iter_notes(TENANT))) == 2
            with pytest.raises(StoreError, match="read"):
                reader.put([make_document(1)])

    def test_an_ontology_is_kept_and_follows_the_notes(self, ledger: Ledger) -> None:
        graph = ledger.graph
        assert (graph.version(), graph.applied()) == (0, None)
        ledger.put([make_document(0)])
        graph.replace(TENANT, _NODES, _EDGES)
        assert (graph.elements(TENANT), graph.whole(TENANT).edges, graph.tenants()) == (_NODES, _EDGES, [TENANT])
        note, river = ("Note", "doc-00000#0"), ("OntologyClass", "river")
        changes = {TENANT: {note[1]: [GraphEdgeRecord(note, river, "REFERS_TO", 0.7, {"rule": 1.0})]}}
        version = graph.version()
        assert graph.apply(changes, after=0, upto=2, version=version, weigh=True) == graph.version()
        assert [edge.source for edge in graph.whole(TENANT).links] == [note]
        none: dict[str, dict[str, list[GraphEdgeRecord]]] = {TENANT: {"doc-00000#0": []}}
        # Late: another writer was first, or the ontology was replaced.
        assert graph.apply(none, after=1, upto=9, version=graph.version(), weigh=True) is None
        assert graph.apply(none, after=2, upto=9, version=version, weigh=True) is None
        assert (graph.applied(), len(graph.whole(TENANT).links)) == (2, 1)
        ledger.delete(["doc-00000"], tenant=TENANT)
        assert graph.whole(TENANT).links == []
        with pytest.raises(StoreError, match="no node"):
            graph.replace(TENANT, _NODES[:1], _EDGES)
        assert graph.elements("other") == []
        graph.replace(TENANT, [], [])
        assert graph.applied() is None


def _with(note: Any) -> DocumentRecord:
    return replace(make_document(4), notes=(note,))


LEDGER_TENANTS = ("default", "租户", "Other")


def assert_ledger_twins(one: Ledger, other: Ledger, *, rounds: int, seed: int) -> None:
    """Write the same to both, and compare everything that can be read from them."""
    chance = random.Random(seed)
    for _ in range(rounds):
        tenant, number = chance.choice(LEDGER_TENANTS), chance.randrange(9)
        documents = [make_document(chance.randrange(9), chance.randrange(3), tenant=tenant) for _ in range(4)]
        kind = chance.random()
        for ledger in (one, other):
            if kind < 0.6:
                ledger.put(documents)
            elif kind < 0.8:
                ledger.delete([f"doc-{number:05d}"], tenant=tenant)
            else:
                ledger.set_mentions(tenant, {f"doc-{number:05d}#0": documents[0].notes[0].mentions})
        assert everything(one) == everything(other)


def everything(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger tells, as plain values in the order told."""
    changes, last = ledger.changes(0, 1_000_000)
    return {
        "sequence": (ledger.sequence(), last),
        "counts": ledger.counts(),
        "changes": [
            (c.sequence, c.tenant, c.note_id, c.document_id, c.title, c.aliases, c.metadata, _note(c.note))
            for c in changes
        ],
        "tenants": {
            tenant: (
                list(ledger.iter_notes(tenant)),
                ledger.titles(tenant),
                ledger.document_hashes(tenant),
                ledger.known_names(tenant),
            )
            for tenant in LEDGER_TENANTS
        },
        "spaces": [ledger.other_spaces(language, "space-en") for language in ("en", "zh")],
    }


def _note(note: Any) -> Any:
    if note is None:
        return None
    vectors = {space: embedded.vector.tobytes() for space, embedded in note.vectors.items()}
    codes = {space: (np.asarray(c.ids).tobytes(), c.codes.tobytes()) for space, c in note.codes.items()}
    return note.id, note.ordinal, note.text, note.mentions, vectors, codes


def leaks_of_ledger(ledger: Ledger, *, operations: int, seed: int) -> list[str]:
    """Return what was shown of other tenants in so many random writes and reads; nothing is as it must be.

    Every note's text names its owner, and what is shown is compared with what that owner has.
    """
    chance = random.Random(seed)
    owned: dict[str, dict[str, str]] = {tenant: {} for tenant in HOSTILE}
    found: list[str] = []
    for _ in range(operations):
        tenant = chance.choice(HOSTILE)
        if chance.random() < 0.1:
            _write(ledger, chance, tenant, owned[tenant])
        else:
            found += _look(ledger, chance, tenant, owned[tenant])
    changes, _ = ledger.changes(0, 1_000_000)
    held = ((change.tenant, change.note_id) for change in changes if change.note is not None)
    return found + [f"{tenant!r} has {note_id}" for tenant, note_id in held if note_id not in owned[tenant]]


def _write(ledger: Ledger, chance: random.Random, tenant: str, mine: dict[str, str]) -> None:
    number = chance.randrange(12)
    if chance.random() < 0.3:
        ledger.delete([f"doc-{number:05d}", *chance.sample(HOSTILE, 2)], tenant=tenant)
        mine.pop(f"doc-{number:05d}#0", None)
        return
    plain = make_document(number, notes=1)
    secret = f"of {HOSTILE.index(tenant)}: {chance.random()}"
    note = replace(plain.notes[0], text=secret)
    try:
        ledger.put([replace(plain, tenant=tenant, title=secret, notes=(note,), content_hash=secret)])
    except StoreError:
        if tenant != "\ud800":
            raise
        return
    mine[note.id] = secret


def _look(ledger: Ledger, chance: random.Random, tenant: str, mine: dict[str, str]) -> list[str]:
    ids = [f"doc-{number:05d}#0" for number in range(12)]
    way = chance.randrange(5)
    if way == 0:
        shown = {id_: note.text for id_, note in ledger.notes([*ids, *HOSTILE], tenant=tenant).items()}
    elif way == 1:
        shown = {note.id: note.text for note in ledger.iter_notes(tenant)}
    elif way == 2:
        shown = {f"{id_}#0": title for id_, title, _ in ledger.titles(tenant)}
    elif way == 3:
        shown = {f"{id_}#0": said for id_, said in ledger.document_hashes(tenant).items()}
    else:
        own = set(mine.values())
        named = {label for label, _, _ in ledger.known_names(tenant).values() if label.startswith("of ")}
        return [f"{tenant!r} was shown the name {label!r}" for label in sorted(named - own)]
    wrong = {id_: text for id_, text in shown.items() if mine.get(id_) != text}
    missing = sorted(set(mine) - set(shown))
    return [f"{tenant!r} was shown {item}" for item in sorted(wrong.items())] + [f"{id_} is gone" for id_ in missing]
