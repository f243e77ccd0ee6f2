"""Made-up documents in Chinese and English with vectors and mentions, the same for the same number and version."""

from __future__ import annotations

import numpy as np

from theworld.models.protocols import Embedded, TokenVectors
from theworld.state import Mention, MentionType
from theworld.stores.records import DocumentRecord, NoteRecord, content_hash
from theworld.text import entity_key

NAMES: list[str] = [
    "Marie Curie",
    "Warsaw",
    "Paris",
    "Stephen Hawking",
    "Oxford",
    "鲁迅",
    "绍兴",
    "北京",
    "莫言",
    "山东",
]
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
    identity = _identity(number)
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


def _identity(number: int) -> str:
    return f"doc-{number:05d}"


def _note(random: np.random.Generator, number: int, ordinal: int, shape: tuple[int, int]) -> NoteRecord:
    document, chinese = _identity(number), number % 2 == 1
    words = random.choice(_CHINESE if chinese else _ENGLISH, 12).tolist()
    others = [f"Paper {2 * some}" for some in random.integers(0, 5 + number // 2, 2).tolist()]
    names = list(dict.fromkeys([*random.choice(NAMES, 2, replace=False).tolist(), *others]))
    pieces = [*words[:6], names[0], *words[6:], *names[1:], f"unique{document}x{ordinal}"]
    text = ("，" if chinese else " ").join(pieces)
    mentions = tuple(
        Mention(
            surface=name,
            type=_TYPES.get(name, "work"),
            start=text.index(name),
            end=text.index(name) + len(name),
            key=entity_key(name),
        )
        for name in names
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
