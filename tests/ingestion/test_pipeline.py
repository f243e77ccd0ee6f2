"""From files to the store, with instant models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fsspec
import pytest

from theworld.errors import IngestionError, ModelError, ModelMismatchError
from theworld.ingestion import IngestReport, ingest, plan
from theworld.ingestion.engines import batches
from theworld.ingestion.notes import NoteSpan
from theworld.ingestion.plan import PlannedDocument, folders_of_namesakes
from theworld.ingestion.readers import SourceDocument
from theworld.ingestion.report import PROJECTED, TIMED
from theworld.models.protocols import Embedded
from theworld.models.registry import Models
from theworld.settings import NoteSettings, Settings
from theworld.stores.knowledge_store import KnowledgeStore
from theworld.stores.records import StoredNote, embedded_text
from theworld.testing import FakeEmbedder, FakeTagger


class Ingestor:
    """Ingests one folder again and again, and looks at the store."""

    def __init__(self, folder: Path, store: KnowledgeStore, models: Models, settings: Settings) -> None:
        self.folder, self.store, self.models, self.settings = folder, store, models, settings

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def __call__(self, *paths: Path, **options: Any) -> IngestReport:
        return ingest(list(paths) or [self.folder], self.store, self.models, self.settings, **options)

    def notes(self, tenant: str = "default") -> dict[str, StoredNote]:
        return {note.id: note for note in self.store.iter_notes(tenant)}

    def links(self, note_id: str) -> list[str]:
        return [mention.surface for mention in self.notes()[note_id].mentions if mention.titled]


@pytest.fixture
def world(folder: Path, store: KnowledgeStore, models: Models, settings: Settings) -> Ingestor:
    return Ingestor(folder, store, models, settings)


def test_documents_reach_every_projection(world: Ingestor) -> None:
    world.write("en/ada.md", "---\naliases: [Countess]\ntopic: computing\n---\n# Ada Lovelace\n\nBorn in London.")
    world.write("zh/tianyi.md", "# 天一阁\n\n天一阁由范钦主持建造，位于宁波。")
    report = world()
    assert (report.documents, report.notes, report.failed, report.unchanged) == (2, 2, [], 0)
    note = world.notes()["en/ada.md#0"]
    assert (note.title, note.text, note.metadata) == ("Ada Lovelace", "Born in London.", {"topic": "computing"})
    assert note.source == str(world.folder / "en/ada.md")
    assert Path(note.source).read_text("utf-8")[note.start : note.end] == note.text
    assert [(m.surface, m.type, m.titled) for m in world.notes()["zh/tianyi.md#0"].mentions] == [
        ("天一阁", "other", True),
        ("范钦", "person", False),
        ("宁波", "place", False),
    ]
    assert world.store.sparse.search("London", tenant="default", filters={}, limit=5)[0].note_id == "en/ada.md#0"
    assert world.store.dense.spaces("default") == {"fake-en": 1, "fake-zh": 1}
    assert world.store.graph.entities(["范钦", "london", "countess"], tenant="default") == {
        "范钦": 1, "london": 1, "countess": 1,
    }  # fmt: skip


def test_one_path_may_be_a_plain_text(world: Ingestor) -> None:
    path = world.write("a.md", "Text.")
    assert ingest(str(path), world.store, world.models, world.settings).documents == 1
    assert ingest(path, world.store, world.models, world.settings).unchanged == 1


def test_second_run_does_nothing(world: Ingestor) -> None:
    world.write("a.md", "# A title\n\nText.")
    world()
    before = world.store.ledger.sequence()
    report = world()
    assert (report.documents, report.unchanged, report.notes, report.linked) == (0, 1, 0, 0)
    assert world.store.ledger.sequence() == before


@pytest.mark.parametrize(
    "text",
    ["# B title\n\nText.", "# A title\n\nOther.", "---\naliases: [X]\n---\n# A title\n\nText.", "x\n\n# A title\n"],
)
def test_any_change_replaces_the_document(world: Ingestor, text: str) -> None:
    world.write("a.md", "# A title\n\nText.\n\n# Two\n\nMore.")
    world.write("b.md", "Same")
    world()
    world.write("a.md", text)
    report = world()
    assert (report.documents, report.unchanged) == (1, 1)
    assert {note.document_id for note in world.notes().values()} == {"a.md", "b.md"}


def test_settings_and_models_are_part_of_the_hash(world: Ingestor) -> None:
    world.write("a.md", "Text.")
    world.write("b.md", "天一阁由范钦主持建造。")
    world()
    world.settings = world.settings.model_copy(update={"notes": NoteSettings(max_characters_en=500)})
    assert world().documents == 2
    renamed = FakeTagger({})
    renamed.name = "another tagger"
    world.models.taggers["zh"] = renamed
    assert world().documents == 1


def test_other_embedder_needs_consent(world: Ingestor) -> None:
    world.write("a.md", "Text.")
    world()
    world.models.embedders["en"] = FakeEmbedder(name="newer", dimension=32)
    with pytest.raises(ModelMismatchError, match="--reembed"):
        world()
    assert world(reembed=True).documents == 1
    assert world.store.dense.spaces("default") == {"newer": 1}


def test_reembed_makes_everything_anew(world: Ingestor) -> None:
    world.write("a.md", "Text.")
    world()
    before = world.store.ledger.sequence()
    report = world(reembed=True)
    assert (report.documents, report.unchanged) == (1, 0)
    assert world.store.ledger.sequence() > before
    assert list(world.notes()) == ["a.md#0"]


@pytest.mark.slow
def test_bad_sources_are_named_and_the_rest_goes_on(world: Ingestor) -> None:
    world.write("good.md", "Text.")
    world.write("empty.txt", "")
    world.write("blank.md", " \n ")
    world.write("todo.md", "# To be written\n")
    (world.folder / "binary.txt").write_bytes(b"\x00\x01\x02" * 100)
    (world.folder / "russian.txt").write_bytes("Привет, как дела?".encode("koi8-r"))
    (world.folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    world.write("corpus/corpus.jsonl", '{"_id": "1", "text": "x"}\n{"_id": "1", "text": "again"}\nnonsense\n')
    world.write("picture.png", "x")
    report = world()
    assert (report.documents, report.skipped, report.skipped_kinds) == (2, 1, {".png": 1})
    assert report.kinds == {".txt": 3, ".md": 3, ".pdf": 1, ".jsonl": 1}
    reasons = {Path(failure.path).name: failure.reason for failure in report.failed}
    assert reasons["empty.txt"] == "the file is empty"
    assert reasons["blank.md"] == "there is no text in it"
    assert reasons["todo.md"] == "there is no text in it but headings"
    assert "binary" in reasons["binary.txt"]
    assert "iconv" in reasons["russian.txt"]
    assert "damaged" in reasons["broken.pdf"]
    assert "already taken" in reasons["corpus.jsonl"]
    assert "not valid JSON" in reasons["corpus.jsonl:3"]


def test_unreadable_file(world: Ingestor, monkeypatch: pytest.MonkeyPatch) -> None:
    world.write("a.md", "Text.")
    world.write("locked.md", "Text.")
    real = Path.read_bytes

    def refusing(path: Path) -> bytes:
        if path.name == "locked.md":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", refusing)
    report = world()
    assert report.documents == 1
    assert report.failed[0].reason == "it cannot be read: Permission denied. Check its permissions."


def test_binary_file_is_skipped_in_a_folder_and_refused_by_name(world: Ingestor) -> None:
    world.write("README", "Text.")
    path = world.folder / "a.xyz"
    path.write_bytes(bytes(range(256)))
    report = world()
    assert (report.documents, report.skipped_kinds) == (1, {".xyz": 1})
    assert "Supported" in world(path).failed[0].reason


@pytest.mark.parametrize("first", ["ada.md", "engine.md"])
def test_links_in_both_orders_of_arrival(world: Ingestor, first: str) -> None:
    texts = {
        "ada.md": "# Ada\n\nShe wrote on the Analytical Engine.",
        "engine.md": "# Analytical Engine\n\nAda knew it.",
    }
    world.write(first, texts.pop(first))
    world()
    ((second, text),) = texts.items()
    world.write(second, text)
    assert world().linked == 1
    assert world.links("ada.md#0") == ["Analytical Engine"]
    assert world.links("engine.md#0") == ["Ada"]


@pytest.mark.parametrize("first", ["tian.md", "fan.md"])
def test_chinese_links_in_both_orders_of_arrival(world: Ingestor, first: str) -> None:
    texts = {"tian.md": "# 天一阁\n\n由范钦主持建造。", "fan.md": "# 范钦\n\n他建造了天一阁。"}
    world.write(first, texts.pop(first))
    world()
    ((second, text),) = texts.items()
    world.write(second, text)
    assert world().linked == 1
    assert [(m.surface, m.type, m.titled) for m in world.notes()["tian.md#0"].mentions] == [("范钦", "person", True)]
    assert world.links("fan.md#0") == ["天一阁"]


def test_a_listing_is_told_apart_when_its_second_name_arrives(world: Ingestor) -> None:
    world.models.taggers["en"] = FakeTagger({"Ada and Babbage": "person"})
    world.write("a.md", "# Ada\n\nText.")
    world.write("c.md", "# Engines\n\nBy Ada and Babbage.")
    world()
    assert world.links("c.md#0") == []
    world.write("b.md", "# Babbage\n\nText.")
    assert world().linked == 1
    assert world.links("c.md#0") == ["Ada", "Babbage"]


def test_ambiguity_arriving_later_changes_the_keys_of_older_notes(world: Ingestor) -> None:
    world.write("a.md", "---\naliases: [JPL]\n---\n# Jet Propulsion Laboratory\n\nA laboratory.")
    world.write("b.md", "# Probe\n\nBuilt at JPL.")
    world()
    assert [m.key for m in world.notes()["b.md#0"].mentions] == ["jet propulsion laboratory"]
    world.write("c.md", "---\naliases: [JPL]\n---\n# Journal of Plant Life\n\nA journal.")
    world()
    assert [m.key for m in world.notes()["b.md#0"].mentions] == ["jpl"]


def test_the_title_of_a_file_whose_name_and_title_come_again_tells_its_folder(world: Ingestor) -> None:
    text = "# Backup\n\nPress the key."
    world.write("mac/backup.md", text)
    world.write("mac/index.md", "# Manual\n\nIt has pages.")
    world()
    assert [title for _, title, _ in world.store.titles("default")] == ["Backup", "Manual"]
    world.write("linux/backup.md", text)
    world.write("linux/index.md", "# Guide\n\nIt has pages.")
    world.write("mac/keys.md", "# Keys\n\nOf a computer.")
    world.write("linux/keys.md", "# 按键\n\nOf a computer.")
    world()
    titles = {document: title for document, title, _ in world.store.titles("default")}
    assert titles == {
        "linux/backup.md": "Backup (linux)",
        "linux/index.md": "Guide",
        "linux/keys.md": "按键",
        "mac/backup.md": "Backup (mac)",
        "mac/index.md": "Manual",
        "mac/keys.md": "Keys",
    }


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        (["a.md", "b.md", "x/index.md", "y/index.md", "x/README.md", "README.md"], {}),
        (["v1/x/index.md", "v2/x/index.md"], {"v1/x/index.md": "v1/x", "v2/x/index.md": "v2/x"}),
        (["a.md", "b/a.md", "c/b/a.md"], {"a.md": "", "b/a.md": "b", "c/b/a.md": "c/b"}),
        (["v1/how/a.md", "v2/how/a.md"], {"v1/how/a.md": "v1/how", "v2/how/a.md": "v2/how"}),
        (["安卓/安装.md", "苹果/安装.md"], {"安卓/安装.md": "安卓", "苹果/安装.md": "苹果"}),
    ],
)
def test_folders_of_namesakes(files: list[str], folders: dict[str, str]) -> None:
    assert folders_of_namesakes(files) == folders


def test_bare_title_becomes_an_alias(world: Ingestor) -> None:
    world.write("a.md", "# Mercury (planet)\n\nA planet.")
    world.write("b.md", "---\ntitle: 红高粱（电影）\n---\n一部电影。")
    world()
    assert world.store.titles("default") == [
        ("a.md", "Mercury (planet)", ("Mercury",)),
        ("b.md", "红高粱（电影）", ("红高粱",)),
    ]


def test_links_to_a_renamed_title_go(world: Ingestor) -> None:
    world.write("a.md", "# Analytical Engine\n\nA machine.")
    world.write("b.md", "# Babbage\n\nHe designed the Analytical Engine with Ada Lovelace.")
    world.write("c.md", "# Ada Lovelace\n\nA mathematician.")
    world()
    assert world.links("b.md#0") == ["Analytical Engine", "Ada Lovelace"]
    world.write("a.md", "# Difference Engine\n\nA machine.")
    (world.folder / "c.md").unlink()
    report = world(prune=True)
    assert (report.linked, report.pruned) == (1, 1)
    assert [(m.surface, m.titled) for m in world.notes()["b.md#0"].mentions] == [("Ada Lovelace", False)]


def test_prune_takes_only_what_is_gone_from_the_given_roots(world: Ingestor, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "other.md").write_text("Elsewhere.")
    world.write("a.md", "A.")
    world.write("b.md", "B.")
    world.write("c.jsonl", '{"_id": "1", "text": "x"}\n{"_id": "2", "text": "y"}\n')
    world(world.folder, elsewhere)
    (elsewhere / "other.md").unlink()
    (world.folder / "a.md").unlink()
    world.write("b.md", "")
    world.write("c.jsonl", '{"_id": "1", "text": "x"}\n')
    assert world().pruned == 0
    report = world(prune=True)
    assert report.pruned == 2
    assert {note.document_id for note in world.notes().values()} == {"b.md", "1", "other.md"}


def test_a_file_replaces_no_other_one_of_its_name_that_is_still_there(world: Ingestor, tmp_path: Path) -> None:
    first, second = tmp_path / "all/one", tmp_path / "all/two"
    for folder, text in ((first, "From one."), (second, "From two.")):
        folder.mkdir(parents=True)
        (folder / "a b.md").write_text(text, "utf-8")
        (folder / "c.jsonl").write_text('{"_id": "1", "text": "of its own id"}\n', "utf-8")
    world(first)
    report = world(second)
    assert (report.documents, [failure.path for failure in report.failed]) == (1, [str(second / "a b.md")])
    assert report.failed[0].reason == (
        f"the document id 'a b.md' is already taken by {first / 'a b.md'}; to keep both, ingest a folder above them; "
        "to replace it, theworld delete 'a b.md' first"
    )
    assert {note.text for note in world.notes().values()} == {"From one.", "of its own id"}

    (tmp_path / "link").symlink_to(first)  # the same file by another path
    assert (world(tmp_path / "link").failed, world.store.document_sources("default")["a b.md"]) == (
        [],
        str(tmp_path / "link/a b.md"),
    )
    assert world(first).failed == []
    assert world(tmp_path / "link", first, second, reembed=True).failed[-1].path.startswith(str(second))

    (first / "a b.md").unlink()  # moved, or cloned anew
    assert world(second).failed == []
    assert "From two." in {note.text for note in world.notes().values()}

    (first / "a b.md").write_text("From one.", "utf-8")
    world(tmp_path / "all", prune=True)
    assert set(world.store.document_sources("default")) == {"1", "one/a b.md", "two/a b.md"}


def test_failed_lines_keep_the_corpus(world: Ingestor) -> None:
    world.write("c.jsonl", '{"_id": "1", "text": "x"}\n{"_id": "2", "text": "y"}\n')
    world()
    world.write("c.jsonl", '{"_id": "1", "text": "x"}\n{"_id": "2", "te\n')
    assert world(prune=True).pruned == 0


def test_tenants_are_apart(world: Ingestor) -> None:
    world.write("a.md", "# Ada\n\nText.")
    world()
    world.write("b.md", "# B\n\nAda was here.")
    report = world(world.folder / "b.md", tenant="other")
    assert (report.documents, list(world.notes("other"))) == (1, ["b.md#0"])
    assert world.notes("other")["b.md#0"].mentions == ()
    assert list(world.notes()) == ["a.md#0"]


class ChokingTagger(FakeTagger):
    """Fails on one word."""

    def tag(self, texts: Sequence[str]) -> Any:
        if any("poison" in text for text in texts):
            raise RuntimeError("cannot digest this")
        return super().tag(texts)


def test_a_document_a_model_chokes_on_is_left_out(world: Ingestor) -> None:
    for name, text in (("a.md", "Good."), ("b.md", "Some poison."), ("c.md", "Good too.")):
        world.write(name, text)
    world.models.taggers["en"] = ChokingTagger({})
    report = world()
    assert report.documents == 2
    assert [Path(f.path).name for f in report.failed] == ["b.md"]
    assert "RuntimeError: cannot digest this" in report.failed[0].reason


def test_a_mistake_in_what_reads_a_file_leaves_that_file_out(world: Ingestor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.md", "b.md", "c.md"):
        world.write(name, f"Text of {name}.")

    def mistaken(document: SourceDocument, limits: NoteSettings) -> Iterator[NoteSpan]:
        yield from divided(document, limits)
        if "b.md" in document.text:
            raise IndexError("no such line")

    divided = plan.divided
    monkeypatch.setattr(plan, "divided", mistaken)
    report = world()
    assert report.documents == 2
    assert [Path(failure.path).name for failure in report.failed] == ["b.md"]
    assert "IndexError (no such line)" in report.failed[0].reason


class MissingEmbedder(FakeEmbedder):
    """Is not there when it is needed."""

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        raise ModelError("the weights are missing")


def test_a_missing_model_is_an_error(world: Ingestor) -> None:
    world.write("a.md", "Text.")
    world.models.embedders["en"] = MissingEmbedder()
    with pytest.raises(ModelError, match="weights"):
        world()


def test_what_an_earlier_version_made_is_made_anew_and_told(world: Ingestor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.ingestion.plan.PROCESSING", "notes-0")
    world.write("a.md", "Text.")
    world.write("b.md", "More.")
    assert (world().documents, world().remade) == (2, 0)
    monkeypatch.undo()
    world.write("c.md", "New.")
    report = world()
    assert (report.documents, report.remade, report.unchanged) == (3, 2, 0)
    world.write("a.md", "Other text.")
    report = world()
    assert (report.documents, report.remade, report.unchanged) == (1, 0, 2)


class Recorder:
    """Keeps what a progress bar would be told."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.steps: dict[str, int] = {}

    def start(self, part: str, total: int) -> None:
        self.totals[part] = total

    def advance(self, part: str, steps: int) -> None:
        self.steps[part] = self.steps.get(part, 0) + steps


def test_progress_adds_up(world: Ingestor) -> None:
    world.write("c.jsonl", "".join(json.dumps({"_id": str(i), "text": f"Text {i}."}) + "\n" for i in range(600)))
    world.write("a.md", "Text.")
    seen = Recorder()
    report = world(progress=seen)
    size = sum(path.stat().st_size for path in world.folder.iterdir())
    assert seen.totals["read"] == seen.steps["read"] == size
    assert seen.totals["notes"] == seen.steps["notes"] == report.notes == 601
    assert seen.totals["index"] == seen.steps["index"] > 0


def test_report_says_where_the_time_went(world: Ingestor) -> None:
    world.write("a.md", "Text.")
    report = world()
    assert set(report.seconds) == {*TIMED, "total"}
    assert report.seconds["total"] >= report.seconds["models"] >= max(report.seconds["embed"], report.seconds["tag"])
    assert report.seconds["write"] >= sum(report.seconds[part] for part in ("ledger", *PROJECTED)) > 0
    assert report.rates["total"] > 0
    assert report.overhead > 0
    assert IngestReport().overhead == 0.0
    assert IngestReport().rates == {}


def test_batches_never_divide_a_document() -> None:
    def planned(name: str, notes: int) -> PlannedDocument:
        span: Any = ("x", 0, 1, "en")
        return PlannedDocument(name, name, SourceDocument(name, "x"), (span,) * notes, "")

    documents = [planned("a", 3), planned("b", 3), planned("c", 20), planned("d", 1), planned("e", 9)]
    assert [[d.id for d in batch] for batch in batches(documents, 10)] == [["a", "b"], ["c"], ["d", "e"]]
    assert list(batches([], 10)) == []


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Up (film)", "A film called up.", "A film called up."),
        ("Zürich", "ZURICH is a city.", "ZURICH is a city."),
        ("天一阁", "由范钦建造。", "天一阁\n由范钦建造。"),
        ("", "Text.", "Text."),
    ],
)
def test_what_is_embedded(title: str, text: str, expected: str) -> None:
    assert embedded_text(title, (), "", text) == expected


def test_title_is_embedded_with_notes_that_lack_it(world: Ingestor) -> None:
    world.write("a.md", "# Zanzibar\n\nText without the name.")
    world()
    query = world.models.embedders["en"].embed_query("zanzibar").vector
    world.write("b.md", "# Other\n\nText without the name.")
    world()
    hits = world.store.dense.search("fake-en", query, tenant="default", filters={}, limit=2).hits
    assert [hit.note_id for hit in hits] == ["a.md#0", "b.md#0"]


def test_documents_at_a_url_are_read_kept_and_pruned_as_those_of_a_folder(world: Ingestor) -> None:
    files = fsspec.filesystem("memory")
    root = "memory://handbook"
    files.pipe("/handbook/en/ada.md", b"# Ada Lovelace\n\nBorn in London.")
    files.pipe("/handbook/rows.jsonl", b'{"_id": "a", "text": "One."}\nnot JSON\n')
    files.pipe("/handbook/picture.png", b"\x89PNG")
    try:
        first = ingest(root, world.store, world.models, world.settings)
        assert (first.documents, first.skipped_kinds) == (2, {".png": 1})
        assert [failure.path for failure in first.failed] == [f"{root}/rows.jsonl:2"]
        assert world.notes()["en/ada.md#0"].source == f"{root}/en/ada.md"
        files.pipe("/handbook/en/ada.md", b"# Ada Lovelace\n\nBorn in Paris.")
        files.rm("/handbook/rows.jsonl")
        second = ingest(root, world.store, world.models, world.settings, prune=True)
        assert (second.documents, second.unchanged, second.pruned) == (1, 0, 1)
        assert {note.text for note in world.notes().values()} == {"Born in Paris."}
    finally:
        files.rm("/handbook", recursive=True)


@pytest.mark.parametrize("url", ["nothing-known://bucket/folder", "memory://not-there"])
def test_a_url_that_cannot_be_read_is_named(world: Ingestor, url: str) -> None:
    with pytest.raises(IngestionError, match=url):
        ingest(url, world.store, world.models, world.settings)
