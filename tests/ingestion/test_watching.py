"""A folder that is watched: what is saved, renamed and deleted there is so in the store, whatever comes between."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from theworld.errors import IngestionError, SettingsError, StoreLockedError, TheWorldError
from theworld.ingestion.sources import TICK_MS, check_watchable, watch

WAIT_S = 60.0


class Runs:
    """Counts runs, and waits for the next."""

    def __init__(self) -> None:
        self.count, self.busy = 0, 0
        self.away: list[str] = []
        self.locked = False
        self._changed = threading.Condition()

    def __call__(self) -> None:
        if self.locked:
            raise StoreLockedError("another process writes.", where="store")
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def postponed(self, error: TheWorldError) -> None:
        with self._changed:
            if isinstance(error, IngestionError):
                self.away.append(str(error))
            else:
                self.busy += 1
            self._changed.notify_all()

    def until(self, reached: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(reached, WAIT_S)


@contextmanager
def watching(folder: Path, store: Path) -> Iterator[Runs]:
    runs, stop = Runs(), threading.Event()
    options = {"store": store, "stop": stop, "on_busy": runs.postponed}
    thread = threading.Thread(target=watch, args=([folder], runs), kwargs=options)
    thread.start()
    try:
        runs.until(lambda: runs.count == 1)
        yield runs
    finally:
        stop.set()
        thread.join(WAIT_S)
    assert not thread.is_alive()


@pytest.mark.slow
def test_every_burst_is_one_run_and_what_does_not_matter_none(tmp_path: Path) -> None:
    folder, store = tmp_path / "docs", tmp_path / "docs" / "my.store"
    store.mkdir(parents=True)
    with watching(folder, store) as runs:
        (store / "ledger.sqlite").write_text("changes with every run", "utf-8")
        (folder / ".git").mkdir()
        (folder / ".git" / "index").write_text("x", "utf-8")
        (folder / "a.md").write_text("# A", "utf-8")
        runs.until(lambda: runs.count == 2)
        (folder / "a.md").rename(folder / "b.md")
        runs.until(lambda: runs.count == 3)
        (folder / "b.md").unlink()
        runs.until(lambda: runs.count == 4)


@pytest.mark.slow
def test_a_locked_store_is_tried_again(tmp_path: Path) -> None:
    with watching(tmp_path, tmp_path / "my.store") as runs:
        runs.locked = True
        (tmp_path / "a.md").write_text("# A", "utf-8")
        runs.until(lambda: runs.busy >= 2)
        runs.locked = False
        runs.until(lambda: runs.count == 2)


@pytest.mark.slow
def test_a_folder_that_is_away_is_waited_for(tmp_path: Path) -> None:
    folder, store = tmp_path / "docs", tmp_path / "my.store"
    folder.mkdir()
    (folder / "a.md").write_text("# A", "utf-8")
    with watching(folder, store) as runs:
        folder.rename(tmp_path / "elsewhere")
        runs.until(lambda: bool(runs.away))
        folder.mkdir()  # where a disk was mounted: the folder below is another one, and empty
        time.sleep(3 * TICK_MS / 1000)
        assert runs.count == 1, "nothing is taken for deleted"
        assert runs.away == [
            f"{folder}: this watched folder is away. Its documents stay as they are; watching goes on when it is back."
        ]
        folder.rmdir()
        (tmp_path / "elsewhere").rename(folder)
        runs.until(lambda: runs.count == 2)
        (folder / "b.md").write_text("# B", "utf-8")
        runs.until(lambda: runs.count == 3)


@pytest.mark.slow
def test_a_folder_that_is_replaced_is_watched_on(tmp_path: Path) -> None:
    folder, store = tmp_path / "docs", tmp_path / "my.store"
    folder.mkdir()
    with watching(folder, store) as runs:
        for number in (2, 3):
            new = tmp_path / "new"
            new.mkdir()
            (new / "a.md").write_text(f"# A {number}", "utf-8")
            shutil.rmtree(folder)
            new.rename(folder)
            runs.until(lambda number=number: runs.count == number)
        (folder / "b.md").write_text("# B", "utf-8")
        runs.until(lambda: runs.count == 4)
    assert runs.away == []


def test_what_cannot_be_watched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        check_watchable([tmp_path / "none"])
    monkeypatch.setattr("theworld.ingestion.sources.find_spec", lambda _name: None)
    with pytest.raises(SettingsError, match="watchfiles"):
        check_watchable([tmp_path])
