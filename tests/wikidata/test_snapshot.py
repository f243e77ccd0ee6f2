"""Names found in a snapshot, in both languages; files that are no snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theworld.entities import format_candidates
from theworld.errors import StoreError, StoreVersionError
from theworld.wikidata import Snapshot, build_snapshot
from theworld.wikidata.snapshot_file import word, words


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("snapshot") / "wikidata.sqlite"
    build_snapshot(Path(__file__).with_name("data") / "entities.jsonl", out)
    return out


@pytest.fixture(scope="module")
def snapshot(path: Path) -> Iterator[Snapshot]:
    with Snapshot(path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "language", "qids"),
    [
        ("Alan Turing", "en", ["Q7251"]),
        ("alan  TURING", "en", ["Q7251"]),
        ("Ａｌａｎ Ｔｕｒｉｎｇ", "en", ["Q7251"]),
        ("Turing", "en", ["Q7251"]),
        ("Turing Alan", "en", ["Q7251"]),
        ("Mathison", "en", ["Q7251"]),
        ("Alan Tur", "en", ["Q7251"]),
        ("Paris", "en", ["Q90", "Q167646", "Q830149"]),
        ("Mercury", "en", ["Q308", "Q925"]),
        ("quicksilver", "en", ["Q925"]),
        ("Canton", "en", ["Q16572"]),
        ("computer scientists", "en", ["Q82594"]),
        ("图灵", "zh", ["Q7251"]),
        ("圖靈", "zh", ["Q7251"]),
        ("艾伦图灵", "zh", ["Q7251"]),
        ("艾伦·图灵", "zh", ["Q7251"]),
        ("凯撒", "zh", ["Q1048"]),
        ("尤利", "zh", ["Q1048"]),
        ("巴黎", "zh", ["Q90"]),
        ("北京", "zh", ["Q956"]),
        ("廣州市", "zh", ["Q16572"]),
        ("水", "zh", ["Q308", "Q925"]),
        ("水银", "zh", ["Q925"]),
        ("水銀", "zh", ["Q925"]),
        ("凱撒", "zh", ["Q1048"]),
        ("艾倫·圖靈", "zh", ["Q7251"]),
        ("广州市", "zh", ["Q16572"]),
        ("Zzyzx", "en", []),
        ("魑魅魍魎", "zh", []),
        ("", "en", []),
        ("!?", "en", []),
    ],
)
def test_names_are_found(snapshot: Snapshot, name: str, language: str, qids: list[str]) -> None:
    assert [item["id"] for item in snapshot.search(name, language, 5)] == qids


def test_the_same_name_comes_before_names_with_more_words(snapshot: Snapshot) -> None:
    assert [item["id"] for item in snapshot.search("human", "en", 5)] == ["Q5"]
    assert snapshot.search("Caesar", "en", 1)[0]["id"] == "Q1048"


@pytest.mark.parametrize("limit", [-1, 0, 1, 2, 3, 100])
def test_no_more_than_asked(snapshot: Snapshot, limit: int) -> None:
    assert len(snapshot.search("Paris", "en", limit)) == max(0, min(limit, 3))


def test_entries_fit_the_formatter_with_types_in_words(snapshot: Snapshot) -> None:
    (english,) = format_candidates(snapshot.search("Turing", "en", 5))
    assert english["key_props_excerpt"].startswith("instance of: human; country of citizenship: United Kingdom; ")
    (chinese,) = format_candidates(snapshot.search("图灵", "zh", 5))
    assert chinese["label"] == "艾伦·图灵"
    assert chinese["key_props_excerpt"].startswith("性质: 人类; 国籍: 英国; 职业: 计算机科学家; ")
    assert english["url"] == chinese["url"] == "https://www.wikidata.org/wiki/Q7251"


@given(st.text(max_size=60))
def test_any_name_may_be_asked(snapshot: Snapshot, name: str) -> None:
    assert isinstance(snapshot.search(name, "en", 3), list)


@pytest.mark.parametrize(
    "name", ['" OR "', "NEAR(a b)", "a* AND NOT b", "names:x", "'; DROP TABLE entity; --", "\x00", "\ud800"]
)
def test_queries_are_names_not_commands(snapshot: Snapshot, name: str) -> None:
    assert snapshot.search(name, "en", 3) == []


def test_very_long_names_are_cut(snapshot: Snapshot) -> None:
    assert snapshot.search("x " * 1_000_000, "en", 3) == []


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_words_of_the_index_keep_beginnings(start: str, end: str) -> None:
    if not start.isascii():
        assert word(start + end).startswith(word(start))
    assert all(found.isascii() and found.isalnum() for found in words([start, end]))


def test_threads_share_it(snapshot: Snapshot) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: snapshot.search("图灵", "zh", 1)[0]["id"], range(80)))
    assert found == ["Q7251"] * 80


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such file") as caught:
        Snapshot(tmp_path / "none.sqlite")
    assert "wikidata build" in caught.value.remedy
    assert not (tmp_path / "none.sqlite").exists()


@pytest.mark.parametrize("content", [b"", b"hello" * 1000, b"SQLite format 3\x00" + b"x" * 5000])
def test_what_is_no_snapshot_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.sqlite"
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"cannot be read|no Wikidata snapshot") as caught:
        Snapshot(file)
    assert caught.value.where == str(file)


def test_another_database_is_told(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.sqlite")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(StoreError, match="no Wikidata snapshot"):
        Snapshot(tmp_path / "other.sqlite")


@pytest.mark.parametrize(
    ("version", "error", "said"),
    [
        (1, StoreVersionError, r"version 1,.*\. Make it again with: theworld wikidata build DUMP"),
        (3, StoreVersionError, r"version 3,.*\. Update theworld, or make it again with: theworld wikidata build DUMP"),
        (0, StoreError, "not finished"),
    ],
)
def test_other_versions_are_told(path: Path, tmp_path: Path, version: int, error: type[StoreError], said: str) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(path.read_bytes())
    connection = sqlite3.connect(copy)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    with pytest.raises(error, match=said):
        Snapshot(copy)


def test_a_file_damaged_inside_is_told(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    copy.write_bytes(data)
    with Snapshot(copy) as snapshot, pytest.raises(StoreError, match="cannot be read"):
        snapshot.search("Paris", "en", 3)


def test_damaged_entries_are_told(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "damaged.sqlite"
    copy.write_bytes(path.read_bytes())
    connection = sqlite3.connect(copy)
    with connection:
        connection.execute("UPDATE entity SET data = x'00'")
    connection.close()
    with Snapshot(copy) as damaged:
        for ask in (lambda: damaged.search("Paris", "en", 3), lambda: damaged.entries_named(["paris"])):
            with pytest.raises(StoreError, match=r"cannot be read.*wikidata build"):
                ask()


def test_all_names_of_the_entries_of_a_name(snapshot: Snapshot) -> None:
    found = snapshot.entries_named(["quicksilver", "mercury", "zzyzx", "", "\x00", "quicksilver"])
    assert set(found) == {"quicksilver", "mercury"}
    assert len(found["mercury"]) == 2
    (entry,) = found["quicksilver"]
    assert {"mercury", "水银"} <= {name.casefold() for name in entry.names}
    assert entry.id.startswith("Q")
    assert "element" in entry.said
    assert snapshot.entries_named([]) == {}
    assert snapshot.entries_named([f"name {number}" for number in range(5_000)]) == {}
