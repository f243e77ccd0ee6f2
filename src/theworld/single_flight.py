"""Something is made once, however many threads ask for it at the same time: one value, or the last results by key."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


class SingleFlightCache(Generic[K, V]):
    """The results of the last keys asked for; concurrent callers of one key wait for one computation.

    A failure reaches everyone who waited and is not remembered.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, Future[V]] = OrderedDict()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return what is known for a key, else what `compute` returns."""
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
            else:
                mine = self._kept[key] = Future[V]()
                if len(self._kept) > self._size:
                    self._kept.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            made = compute()
        except BaseException as error:
            with self._lock:
                if self._kept.get(key) is mine:
                    del self._kept[key]
            mine.set_exception(error)
            raise
        mine.set_result(made)
        return made


class Lazy(Generic[T]):
    """A value made on first use by exactly one thread; a failure is raised and tried again next time."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    def get(self) -> T:
        """Return the value, making it first where needed."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = (self._make(),)
        return self._made[0]
