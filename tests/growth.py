"""How the work of a function grows with its input: told by ratios, repeated, so that a busy machine fails no test."""

import time
from collections.abc import Callable

ATTEMPTS = 5


def grows_linearly(
    run: Callable[[int], None], short: int, long: int, *, slack: float = 3.0, floor_s: float = 0.02
) -> bool:
    """Return whether ``run(long)`` took at most ``slack`` times a linear share of ``run(short)`` once in five tries.

    Processor time of this process counts. Quadratic work takes ``long / short`` times that share every time, so choose
    the ratio well above ``slack``; noise does not strike every attempt. Times under ``floor_s`` seconds count as that.
    """
    for _ in range(ATTEMPTS):
        base = max(min(_seconds(run, short) for _ in range(2)), floor_s)
        if _seconds(run, long) < slack * long / short * base:
            return True
    return False


def _seconds(run: Callable[[int], None], size: int) -> float:
    began = time.process_time()
    run(size)
    return time.process_time() - began
