from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from theworld.wikidata import ReplyCache

MakeCache = Callable[..., ReplyCache]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_cache(tmp_path: Path, clock: Clock) -> Iterator[MakeCache]:
    made: list[ReplyCache] = []

    def make(ttl_s: float = 60, max_bytes: int = 10_000) -> ReplyCache:
        made.append(ReplyCache(tmp_path / "deep" / "replies.sqlite", ttl_s=ttl_s, max_bytes=max_bytes, now=clock))
        return made[-1]

    yield make
    for cache in made:
        cache.close()


def test_values_come_back_as_they_were_also_in_the_next_process(make_cache: MakeCache) -> None:
    first = make_cache()
    first.put("名字", [{"label": "图灵", "aliases": ["Turing"]}])
    first.put("nobody", [])
    first.close()
    assert make_cache().get("名字") == [{"label": "图灵", "aliases": ["Turing"]}]
    assert make_cache().get("other") is None
    assert make_cache().get("nobody") == []


def test_old_values_are_not_given(make_cache: MakeCache, clock: Clock) -> None:
    cache = make_cache()
    cache.put("a", 1)
    clock.now += 59
    assert cache.get("a") == 1
    clock.now += 1
    assert cache.get("a") is None
    cache.put("a", 2)
    assert cache.get("a") == 2


def test_over_the_limit_the_oldest_go(make_cache: MakeCache, clock: Clock) -> None:
    cache = make_cache(max_bytes=1000)
    for number in range(50):
        clock.now += 0.1
        cache.put(f"k{number:02}", "x" * 90)
        assert cache.size() <= 1000
    assert cache.get("k49") == "x" * 90
    assert cache.get("k00") is None
    kept = [number for number in range(50) if cache.get(f"k{number:02}")]
    assert kept == list(range(kept[0], 50))


def test_a_value_over_the_limit_is_not_kept(make_cache: MakeCache) -> None:
    cache = make_cache(max_bytes=100)
    cache.put("a", "x" * 200)
    assert cache.get("a") is None
    assert cache.size() == 0


@pytest.mark.parametrize("deletable", [True, False])
def test_a_damaged_file_is_begun_anew_or_where_it_cannot_be_deleted_only_costs_the_saving(
    make_cache: MakeCache,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    deletable: bool,
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    path = tmp_path / "deep" / "replies.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 500)
    if not deletable:
        monkeypatch.setattr(Path, "unlink", refused)
    cache = make_cache()
    assert cache.get("a") is None
    assert "not usable" in caplog.text
    cache.put("a", 1)
    assert cache.get("a") == (1 if deletable else None)


def test_a_damaged_value_is_no_value(make_cache: MakeCache, tmp_path: Path) -> None:
    cache = make_cache()
    cache.put("a", 1)
    cache.close()
    connection = sqlite3.connect(tmp_path / "deep" / "replies.sqlite")
    with connection:
        connection.execute("UPDATE reply SET value = '{'")
    connection.close()
    assert make_cache().get("a") is None


def test_a_folder_that_cannot_be_written_only_costs_the_saving(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    cache = ReplyCache(tmp_path / "file" / "replies.sqlite", ttl_s=60, max_bytes=1000)
    cache.put("a", 1)
    assert cache.get("a") is None
    assert "not usable" in caplog.text


def test_threads_share_it(make_cache: MakeCache) -> None:
    cache = make_cache(max_bytes=10**6)

    def write(start: int) -> None:
        for number in range(start, start + 50):
            cache.put(f"k{number}", number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(0, 200, 50)))
    assert [cache.get(f"k{number}") for number in range(200)] == list(range(200))
