"""A folder that is watched: what is saved, renamed and deleted there is so in the store, whatever comes between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from theworld.errors import SettingsError, StoreLockedError
from theworld.ingestion.sources import check_watchable, watch

WAIT_S = 60.0


class Runs:
    """Counts runs, and waits for the next."""

    def __init__(self) -> None:
        self.count, self.busy = 0, 0
        self.locked = False
        self._changed = threading.Condition()

    def __call__(self) -> None:
        if self.locked:
            raise StoreLockedError("another process writes.", where="store")
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def postponed(self, _error: StoreLockedError) -> None:
        with self._changed:
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


def test_what_cannot_be_watched_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="no such folder"):
        check_watchable([tmp_path / "none"])
    monkeypatch.setattr("theworld.ingestion.sources.find_spec", lambda _name: None)
    with pytest.raises(SettingsError, match="watchfiles"):
        check_watchable([tmp_path])
