"""Texts of models, mutated: for fuzzing here and in benchmarks."""

from __future__ import annotations

import random

SEEDS = [
    '{"name": "Alice \\"x\\" Li", "age": 25, "items": [{"title": "foo, bar", "price": 1234.5, "mode": "refund"}, '
    '{"title": "q", "sold": true}], "label": "it\'s: {fine} [ok]", "children": []}',
    "Sure! Here:\n```json\n{'name': '张三，“好”', 'age': '1,234', 'items': [], // c\n}\n```\nbye {x}",
    '<think>{"name":"t"}</think> {name: Bob Lee, age: 3, title: True story, items: [{title: a b, price: $5}]}',
    '{"label": "a", "children": [{"label": "b", "children": []}, {"label": "c"}]}',
    "| name | age |\n|---|---|\n| a | 1 |\n| 李四 | 31岁 |",
    "name: Bob\nage: 5\nitems:\n  - title: x\n    price: 2\n",
    '<tool_call>{"name": "User", "arguments": {"name": "z", "age": 7}}</tool_call>',
    '[User(name="a", age=3)]',
    '{"title":"张三","day":"2024年1月5日","tags":"他说："你好"，走了。","sold":是}',
    '[{"title": "A", "price": "1,200"}, {"title": "B"}]',
]
BITS = [
    *"{}[]()\",:'\\/#*`|<>=+-.…\n\t ，：“”‘’｛｝0123eEnutfxyz中\x00\ud800",
    "//", "/*", "*/", "```", "```json\n", "</think>", "<think>", "null", "True", "...", "\\u12", '\\"', "1e999", '"""',
    '{"', '":', '"}', "&a", "*a", "!!python/object", "---\n", "<tool_call>", "<function=f>", "<parameter=a>", "f(a=",
]  # fmt: skip


def mutated(rng: random.Random) -> str:
    """Return a seed text after one to six random changes."""
    text = rng.choice(SEEDS)
    for _ in range(rng.randint(1, 6)):
        text = _changed(text, rng)
    return text


def _changed(text: str, rng: random.Random) -> str:
    """Insert, delete, cut, double or splice somewhere."""
    at, other = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    kind = rng.random()
    if kind < 0.35:
        return text[:at] + rng.choice(BITS) + text[at:]
    if kind < 0.65:
        return text[:at] + text[at + rng.randint(1, 6) :]
    if kind < 0.75:
        return text[:other]
    if kind < 0.85:
        return text[:at] + text[at:other] * 2 + text[other:]
    donor = rng.choice(SEEDS)
    start = rng.randint(0, len(donor))
    return text[:at] + donor[start : start + rng.randint(1, 30)] + text[at:] if kind < 0.95 else text[at:]
