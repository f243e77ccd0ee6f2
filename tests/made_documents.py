"""Documents made up in Chinese and English, and whether a store that has them tells one thing in all its parts."""

from __future__ import annotations

from collections import Counter

import numpy as np

from theworld.models.protocols import Embedded, TokenVectors
from theworld.state import Mention, MentionType
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import DocumentRecord, NoteRecord, StoredNote, content_hash
from theworld.text import entity_key

NAMES = ["Marie Curie", "Warsaw", "Paris", "Stephen Hawking", "Oxford", "鲁迅", "绍兴", "北京", "莫言", "山东"]
_ENGLISH = "river mountain city battle film song born played science island company music novel".split()
_CHINESE = ["河流", "山脉", "城市", "战争", "电影", "歌曲", "出生", "科学", "岛屿", "公司", "音乐", "小说"]
_VOCABULARY = 500
_TYPES: dict[str, MentionType] = {name: "person" if i % 5 in (0, 3) else "place" for i, name in enumerate(NAMES)}


def make_document(
    number: int, version: int = 0, *, tenant: str = "default", notes: int = 2, dimension: int = 8, tokens: int = 3
) -> DocumentRecord:
    """Return document `number`; odd ones are Chinese. Another version has another text and perhaps fewer notes."""
    random = np.random.default_rng([number, version])
    title = f"第{number}号文件" if number % 2 else f"Paper {number}"
    count = notes if version == 0 else int(random.integers(1, notes + 2))
    identity = f"doc-{number:05d}"
    made = [_note(random, number, ordinal, (tokens, dimension)) for ordinal in range(count)]
    text = "\n\n".join(note.text for note in made)
    return DocumentRecord(
        id=identity,
        title=title,
        text=text,
        source=f"made/{identity}.txt",
        content_hash=content_hash(title, text, str(version)),
        aliases=(f"Alias {number}",),
        metadata={"year": 1990 + number % 10, "version": version, "tags": ["a", "b"] if number % 3 else ["c"]},
        notes=tuple(made),
        tenant=tenant,
    )


def _note(random: np.random.Generator, number: int, ordinal: int, shape: tuple[int, int]) -> NoteRecord:
    document, chinese = f"doc-{number:05d}", number % 2 == 1
    words = random.choice(_CHINESE if chinese else _ENGLISH, 12).tolist()
    others = [f"Paper {2 * some}" for some in random.integers(0, 5 + number // 2, 2).tolist()]
    names = list(dict.fromkeys([*random.choice(NAMES, 2, replace=False).tolist(), *others]))
    pieces = [*words[:6], names[0], *words[6:], *names[1:], f"unique{document}x{ordinal}"]
    text = ("，" if chinese else " ").join(pieces)
    places = [(name, text.index(name)) for name in names]
    mentions = tuple(
        Mention(surface=name, type=_TYPES.get(name, "work"), start=at, end=at + len(name), key=entity_key(name))
        for name, at in places
    )
    tokens, dimension = shape
    vector = random.normal(size=dimension).astype(np.float32)
    token_vectors = random.integers(-127, 128, (tokens, dimension)).astype(np.int8)
    ids = random.choice(_VOCABULARY, tokens).astype(np.int32)
    embedded = Embedded(vector / np.linalg.norm(vector), TokenVectors(ids, token_vectors))
    space = "space-zh" if chinese else "space-en"
    return NoteRecord(
        id=f"{document}#{ordinal}",
        ordinal=ordinal,
        text=text,
        start=0,
        end=len(text),
        language="zh" if chinese else "en",
        section=("附录", f"第{ordinal}节") if chinese and ordinal else (f"Part {ordinal}",) if ordinal else (),
        kind="list" if ordinal else "paragraph",
        lead=f"What part {ordinal} lists:" if ordinal else "",
        mentions=mentions,
        vectors={space: embedded},
    )


_ALL = 1_000_000


def assert_congruent(store: KnowledgeStore, tenant: str = "default") -> list[StoredNote]:
    """Compare every note of the ledger with each projection; return the notes."""
    notes = list(store.iter_notes(tenant))
    ids = sorted(note.id for note in notes)
    assert len(set(ids)) == len(ids), "the ledger has a note twice"
    lag = store.info()["lag"]
    assert not any(lag.values()), f"projections lag: {lag}"
    _check_sparse(store, tenant, notes)
    _check_dense(store, tenant, notes)
    _check_graph(store, tenant, notes)
    return notes


def _check_sparse(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    for note in notes:
        query = note.text.rsplit(maxsplit=1)[-1].rsplit("，", maxsplit=1)[-1]
        found = [hit.note_id for hit in store.sparse.search(query, tenant=tenant, filters={}, limit=5)]
        assert found.count(note.id) == 1, f"sparse has {note.id} {found.count(note.id)} times"
    words = " ".join(dict.fromkeys(word for note in notes for word in (note.title, *note.text.split())))
    found = [hit.note_id for hit in store.sparse.search(words, tenant=tenant, filters={}, limit=_ALL)]
    assert sorted(found) == sorted(note.id for note in notes)


def _check_dense(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    found: list[str] = []
    written = (change.note.vectors for change in store.ledger.changes(0, _ALL)[0] if change.note is not None)
    vectors = {space: made.vector for one in written for space, made in one.items()}
    for space, count in store.dense.spaces(tenant).items():
        hits = store.dense.search(space, np.ones_like(vectors[space]), tenant=tenant, filters={}, limit=_ALL).hits
        assert len(hits) == count
        found += [hit.note_id for hit in hits]
        tokens = store.dense.token_codes(space, [hit.note_id for hit in hits], tenant)
        assert all(some is not None and len(some.ids) for some in tokens)
    assert sorted(found) == sorted(note.id for note in notes)


def _check_graph(store: KnowledgeStore, tenant: str, notes: list[StoredNote]) -> None:
    naming: Counter[str] = Counter()
    aliases = {document: names for document, _, names in store.titles(tenant)}
    for note in notes:
        names = [note.title, *aliases[note.document_id]]
        naming.update({*(mention.key for mention in note.mentions), *(entity_key(name) for name in names)})
    assert store.graph.entities(list(naming), tenant=tenant) == dict(naming)
    assert {key: df for key, (_, _, df) in store.known_names(tenant).items()} == dict(naming)
