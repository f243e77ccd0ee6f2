"""The reference of all settings as Markdown, from the settings themselves."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from theworld.settings import Settings
from theworld.settings.sources import allowed, leaves, variable

_HEAD = """# Settings

Written by `make docs` from `src/theworld/settings/`; a test keeps it true.

A setting comes from the first of: an argument (`Settings.load(store=...)`, an option of the command line), the
environment, a `.env` file, a `theworld.toml` file in the working directory, its default. `theworld info` prints every
effective value and where it came from. What may differ per request is in `Context` (tenant, filters, deadline, top_k,
channels, rerank, use_model, clarify, strict, language, now).

## The ones most people set

| to | set |
|---|---|
"""
_ALL = """
## All of them

| setting | environment | default | allowed | what it is |
|---|---|---|---|---|
"""
_FIRST = {
    "keep the store elsewhere": ("store",),
    "let a language model write answers": ("model.name", "model.base_url", "model.api_key"),
    "answer sooner, or search longer": ("retrieval.deadline_ms",),
    "use other embedders": ("embedding.english", "embedding.chinese"),
    "use another reranker": ("rerank.kind",),
    "move the store to servers": ("sparse.url", "dense.url", "graph.url", "ledger.url"),
    "have figures answered from your database": ("database.url",),
    "link names to Wikidata": ("wikidata.snapshot", "wikidata.online", "wikidata.contact"),
}


def _default(field: FieldInfo) -> str:
    return "" if field.default is None else f"`{field.default}`"


def _variable(name: str) -> str:
    return f"`{variable('THEWORLD_', name)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def reference() -> str:
    """Return the reference: those to begin with by purpose, then one row a setting, in the order of the tree."""
    first = [f"| {purpose} | {', '.join(map(_variable, names))} |" for purpose, names in _FIRST.items()]
    rows = [
        f"| `{name}` | {_variable(name)} | {_default(field)} | {_cell(allowed(field))} "
        f"| {_cell(field.description or '')} |"
        for name, field in leaves(Settings)
    ]
    return _HEAD + "\n".join(first) + "\n" + _ALL + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), "utf-8")
