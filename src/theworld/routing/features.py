"""What the router looks at: a question's words and structure, the database's vocabulary, and the budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from theworld.questions import read_question
from theworld.questions.names import IDENTIFIER, QUOTED
from theworld.settings import Settings
from theworld.state import Context
from theworld.text import Language, cjk_share
from theworld.text.phrases import is_small_talk, word_patterns

SignalKind = Literal["statistics", "relation", "open"]
"""What words tell a question to want: a section of data/signals.yaml."""
SIGNAL_KINDS: tuple[SignalKind, ...] = get_args(SignalKind)


class DatabaseView(NamedTuple):
    """What the mapped database knows of a question; all zero without one."""

    available: bool = False
    """Whether there is a mapped database."""
    understood: bool = False
    """Whether every word was read and a plan was made."""
    fields: int = 0
    """Classes and attributes named."""
    values: int = 0
    """Values of attributes named."""
    entities: int = 0
    """Instances named."""
    measures: int = 0
    """Words of counting, adding up, comparing or ranking."""
    periods: int = 0
    """Periods named."""
    unknown: float = 1.0
    """Share of the question's characters that mean nothing to the database."""


DatabaseReader = Callable[[str, Context], DatabaseView]
"""Says what a database knows of a question, without running anything; never raises."""


class Features(NamedTuple):
    """Everything a strategy may decide by."""

    language: Language
    signals: Mapping[SignalKind, tuple[str, ...]]
    """Words found, by kind."""
    smalltalk: bool
    """Whether it is small talk from beginning to end: any other letter or digit makes it a question."""
    literal: float
    """Share of the question that is quoted or looks like an identifier."""
    quoted: bool
    """Whether something is quoted."""
    named: bool
    """Whether a proper name seems to be in it."""
    database: DatabaseView
    ontology: bool
    """Whether there is an ontology to ask."""
    deadline_ms: float
    """Budget of retrieval."""
    tokens_left: int | None
    """Tokens of a language model that may be spent, None for any number."""

    def has(self, kind: SignalKind) -> bool:
        """Return whether any word of a kind was found."""
        return bool(self.signals.get(kind))


# Every repetition has a bound: a question of 20,000 characters is looked at from each of its places.
_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,40}(?:[-_/.][A-Za-z0-9]{1,40}){0,8}[-_ ]?\d[A-Za-z0-9_./-]{0,200}"
    r"|\d{1,40}(?:[-./]\d{1,40}){2,20})(?![A-Za-z0-9])"
    r"|第[一二三四五六七八九十百\d]{1,12}[条款章节]|(?:article|section|clause|paragraph) \d+"
)
_LITERAL_ASK = re.compile(
    r"(?i)\b(?:find|documents?|that|contain|contains|containing|the|phrase|clause|exact|wording|file|error|code|contract|"
    r"number|function|named|called|word|search|for|text|with|where|appears?|in|of)\b|错误码|编号|合同|查找|搜索|包含|文档|"
    r"文件|名为|全文|原文|条款|一词|出自|哪里|函数|字样|的"
)
_NAME_EN = re.compile(r"(?<=[a-z,] )[A-Z][a-z][\w'’.-]*")
LONGEST_READ = 2_000
"""Characters of a query that are looked at: of a longer one half at its beginning, half at its end."""


def features_of(
    query: str,
    context: Context,
    settings: Settings,
    *,
    database: DatabaseView | None = None,
    ontology: bool = False,
) -> Features:
    """Return the features of one query under the budget of its request."""
    short = len(query) <= LONGEST_READ
    question = read_question(query if short else f"{query[: LONGEST_READ // 2]} {query[-LONGEST_READ // 2 :]}")
    signals = word_patterns("theworld.routing", "data/signals.yaml")
    found = {kind: tuple(m.group() for m in signals[kind].finditer(question.folded)) for kind in SIGNAL_KINDS}
    query, plain = question.text, question.simplified
    rest = plain
    for literal in (QUOTED, IDENTIFIER, _CODE):
        rest = literal.sub("", rest)
    left = len(re.findall(r"\w", _LITERAL_ASK.sub("", rest)))
    budget = context.deadline_ms or settings.retrieval.deadline_ms
    view = database or DatabaseView()
    mixed = 0.3 < cjk_share(query) < 1 and bool(re.search(r"[A-Z][a-zA-Z]+", query))
    return Features(
        language=question.language,
        signals=found,
        smalltalk=short and is_small_talk(question.folded),
        literal=0.0 if rest == plain else 1.0 - min(1.0, left / len("".join(query.split()))),
        quoted=bool(QUOTED.search(query)),
        named=bool(_NAME_EN.search(query)) or "《" in query or view.entities > 0 or mixed,
        database=view,
        ontology=ontology and context.ontology is not False,
        deadline_ms=float(budget if context.total_deadline_ms is None else min(budget, context.total_deadline_ms)),
        tokens_left=context.tokens_left,
    )
