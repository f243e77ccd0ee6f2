"""The channels of a request tokenize side by side: each word's stem is its own."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from theworld.text.tokens import stem

WORDS = [
    f"{start}{end}" for start in ("relat", "nation", "generous", "hop") for end in ("ing", "ed", "s", "ness", "ly")
]


def test_threads_do_not_meet_in_the_stemmer():
    uncached = stem.__wrapped__
    alone = [uncached(word) for word in WORDS]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(uncached, WORDS * 50))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone * 50
