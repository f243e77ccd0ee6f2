"""What can stand as an answer."""

import pytest

from theworld.nodes.answer_with_extract.options import is_prose


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("She was born in Vienna.", True),
        ("他出生于上海。", True),
        ("a | b is the union of both", True),
        ("## Who may import whom", False),
        ("| setting | default | allowed |", False),
        ("`k` | `K` | 60 | a number | the constant", False),
        ("```python", False),
        ("x" * 701, False),
    ],
)
def test_is_prose(text, prose):
    assert is_prose(text) is prose
