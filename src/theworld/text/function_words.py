"""The function words of both languages (function_words.yaml), as words and as index tokens."""

from __future__ import annotations

from functools import cache
from importlib import resources

from theworld.text.tokens import tokens


@cache
def function_words() -> frozenset[str]:
    """Return the function words of English and Chinese, and their index tokens."""
    import yaml  # late: packages that stay light import `theworld.text`

    lists = yaml.safe_load(resources.files("theworld.text").joinpath("function_words.yaml").read_text("utf-8"))
    return frozenset(form for words in lists.values() for form in {*tokens(words), *words.split()})
