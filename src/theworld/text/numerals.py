"""Whole numbers as digits and in words, folded: Chinese numerals, computed from their characters, and English words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from theworld.packages import load_table

quantity_table = partial(load_table, "theworld.text", "quantities.yaml")
"""Words of scales and units."""
CHINESE_DIGITS = "零〇○一二三四五六七八九"
"""Digits of numerals written out, folded; 两 is a two that is only counted with."""
CHINESE_NUMERAL = f"{CHINESE_DIGITS}两十百千万亿廿卅"
_DIGIT_OF = {character: max(0, place - 2) for place, character in enumerate(CHINESE_DIGITS)} | {"两": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
MYRIADS: Mapping[str, int] = {"万": 10**4, "亿": 10**8}
"""Scales that numerals are grouped by."""
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS_EN = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ENGLISH_NUMBERS: Mapping[str, int] = {word: n for n, word in enumerate(_ONES)} | {
    word: 10 * n for n, word in enumerate(_TENS_EN, 2)
}
"""English number words below a hundred."""


def read_numeral(written: str) -> int | None:
    """Return the number that digits, English words or simplified Chinese numerals write; None for anything else."""
    folded = " ".join(written.lower().replace("-", " ").split())
    if folded.isdecimal():
        return int(folded)
    if not folded.isascii():
        return _chinese(folded)
    words, scales, total, part = folded.split(), quantity_table()["scales"], 0, 0
    if not words or words[0] == "and":
        return None
    for word in words:
        if word in ENGLISH_NUMBERS:
            part += ENGLISH_NUMBERS[word]
        elif word == "hundred":
            part = (part or 1) * 100
        elif word in scales:
            total, part = total + (part or 1) * scales[word], 0
        elif word != "and":
            return None
    return total + part


def _chinese(numeral: str) -> int | None:
    """Return a Chinese numeral: 二十六, 廿六, 一九四五, 三千万, 一万亿, 两百零五; 元 is the first year of an era."""
    if numeral == "元":
        return 1
    numeral = numeral.replace("廿", "二十").replace("卅", "三十")
    if not numeral or any(c not in CHINESE_NUMERAL for c in numeral):
        return None
    if all(c in _DIGIT_OF for c in numeral):
        return int("".join(str(_DIGIT_OF[c]) for c in numeral))
    total = section = digit = 0
    for character in numeral:
        if character in _DIGIT_OF:
            digit = digit * 10 + _DIGIT_OF[character]
        elif character in _TENS:
            section, digit = section + (digit or 1) * _TENS[character], 0
        else:
            unit = MYRIADS[character]
            part = (section + digit) or (0 if total else 1)
            total = (total + part) * unit if total < unit else total + part * unit
            section = digit = 0
    return total + section + digit
