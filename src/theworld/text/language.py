"""Which language a text is in: Chinese when more than 30 % of its non-space characters are CJK."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "zh"]

CJK_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_CJK = re.compile(f"[{CJK_RANGES}]")
CHINESE_SHARE = 0.3
MIXED_SHARE = 0.05
"""Share of CJK from which a text needs a model that knows Chinese, whatever its own language is."""


def cjk_share(text: str) -> float:
    """Return the share of CJK ideographs among the non-space characters, 0.0 for an empty text."""
    if text.isascii():
        return 0.0
    total = sum(map(len, text.split()))
    return len(_CJK.findall(text)) / total if total else 0.0


def has_ideographs(text: str) -> bool:
    """Return whether a text holds any Chinese character."""
    return not text.isascii() and _CJK.search(text) is not None


def detect_language(text: str) -> Language:
    """Return `zh` when the CJK share is above 0.3 (reference-resolver specification 3.7), else `en`."""
    return "zh" if cjk_share(text) > CHINESE_SHARE else "en"
