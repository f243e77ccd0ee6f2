"""Documents of plain paragraphs, and those of the sample domain, for tests of the ontology and its channel."""

from __future__ import annotations

from theworld.demo.credit import notes_dir
from theworld.stores.records import DocumentRecord, NoteRecord, content_hash


def plain_document(id_: str, title: str, paragraphs: list[str], tenant: str = "default") -> DocumentRecord:
    """A document of paragraphs, one note each, without vectors and mentions."""
    text = "\n\n".join(paragraphs)
    notes, start = [], 0
    for i, paragraph in enumerate(paragraphs):
        language = "zh" if "\u4e00" <= paragraph[0] <= "\u9fff" else "en"
        notes.append(NoteRecord(f"{id_}#{i}", i, paragraph, start, start + len(paragraph), language))
        start += len(paragraph) + 2
    hash_ = content_hash(title, text)
    return DocumentRecord(
        id_, title, text, f"{id_}.md", hash_, metadata={"folder": id_[:2]}, notes=tuple(notes), tenant=tenant
    )


def sample_documents() -> list[DocumentRecord]:
    documents = []
    for file in sorted(notes_dir().rglob("*.md")):
        title, *paragraphs = file.read_text("utf-8").strip().split("\n\n")
        documents.append(plain_document(f"{file.parent.name}/{file.stem}", title.removeprefix("# "), paragraphs))
    return documents
