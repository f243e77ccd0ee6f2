"""How long a server asks to wait: the `Retry-After` header (RFC 9110, section 10.2.3), in seconds or as a date."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_to_wait(value: str | None) -> float | None:
    """Return the seconds a header's value asks to wait, never negative; None when it asks for nothing that is a time.

    Fractions of a second, which the standard does not know, are read too: model servers send them.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _until(value)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
