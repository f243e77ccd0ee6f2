"""What was found, and one place where a failing check becomes a finding."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from theworld.errors import TheWorldError

Status = Literal["ok", "off", "warning", "failed"]
"""`off`: not configured, nothing is missing; `warning`: it works, but will not for long or not as meant."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    """What: ledger, sparse, disk, ..."""
    status: Status
    said: str
    """What was found, in one line."""
    remedy: str = ""
    """How to fix it; empty when nothing is wrong."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same as plain values, for programs."""
    elapsed_ms: float = 0.0


Check = Callable[[], Iterator[Finding]]


def findings_of(subject: str, check: Check, *, remedy: str) -> Iterator[Finding]:
    """Yield what a check finds; one that raises is a finding too, with its own remedy or this one."""
    begun = time.perf_counter()
    try:
        for found in check():
            yield replace(found, elapsed_ms=(time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
    except TheWorldError as error:
        said = f"{error.where}: {error.what}" if error.where else error.what
        yield Finding(subject, "failed", said, error.remedy or remedy, elapsed_ms=(time.perf_counter() - begun) * 1000)
    except Exception as error:  # whatever is broken, the other checks must run
        said = f"unexpected {type(error).__name__}: {error}"
        yield Finding(subject, "failed", said, remedy, elapsed_ms=(time.perf_counter() - begun) * 1000)
