"""Text that UTF-8 can carry, whatever JSON escapes it came from."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Return a text whose surrogate pairs are characters and whose lone surrogates are U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def begun_pair(text: str) -> str:
    """Return the first half of a surrogate pair that a text ends with, else nothing: the next piece may complete it."""
    return text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
