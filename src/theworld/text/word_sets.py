"""Word lists of word_sets.yaml as index tokens."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml

from theworld.text.tokens import tokens


@cache
def word_set(name: str) -> frozenset[str]:
    """Return the tokens of one list."""
    file = resources.files("theworld.text").joinpath("word_sets.yaml")
    words: str = yaml.safe_load(file.read_text(encoding="utf-8"))[name]
    return frozenset(tokens(words)) | frozenset(words.split())
