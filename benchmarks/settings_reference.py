"""The reference of all settings as Markdown, from the settings themselves."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from theworld.settings import Settings
from theworld.settings.sources import allowed, leaves, variable
from theworld.state import Context

_HEAD = """# Settings

Written by `make docs` from `src/theworld/settings/`; a test keeps it true.

A setting comes from the first of: an argument (`Settings.load(store=...)`, an option of the command line), the
environment, a `.env` file, a `theworld.toml` file in the working directory, its default. `theworld info` prints every
effective value and where it came from. What may differ per request is in [`Context`](#per-request).

## The ones most people set

| to | set |
|---|---|
"""
_COLUMNS = """
| setting | environment | default | allowed | what it is |
|---|---|---|---|---|
"""
_COMMON = f"""
## What they are

What is secret can lie in a file instead, as Docker and Kubernetes mount secrets; the setting with `_file` names it:
`THEWORLD_GRAPH__PASSWORD_FILE=/run/secrets/graph`.
{_COLUMNS}"""
_FURTHER = f"""
## Advanced

Limits, models' details and servers: their defaults hold unless a measurement of yours says otherwise
([evaluation.md](evaluation.md)). `servers` is the same for OpenSearch, Qdrant, Neo4j and PostgreSQL.
{_COLUMNS}"""
_CONTEXT = """
## Per request

Fields of `theworld.Context`, given with each call (`graph.invoke({"question": ...}, context=Context(top_k=10))`);
`theworld ask` has options for them, the service fields of the body.

| field | default | what it is |
|---|---|---|
"""
_FIRST = {
    "keep the store elsewhere": ("store",),
    "let a language model write answers": ("model.name", "model.base_url", "model.api_key"),
    "answer sooner, or search longer": ("retrieval.deadline_ms",),
    "use other embedders": ("embedding.english", "embedding.chinese"),
    "use another reranker": ("rerank.kind",),
    "move the store to servers": ("sparse.url", "dense.url", "graph.url", "ledger.url"),
    "have figures answered from your database": ("database.url", "database.ontology"),
    "link names to Wikidata": ("wikidata.snapshot", "wikidata.online", "wikidata.contact"),
}
_ADVANCED = """
answers.evidence_tokens answers.passage_characters_en answers.passage_characters_zh database.max_rows
database.timeout_ms dense.on_disk dense.quantization embedding.threads graph.database ingestion.processes
ledger.namespace ledger.tls model.max_tokens model.timeout_s notes.max_characters_en notes.max_characters_zh
ontology.hops rerank.batch_size rerank.pool rerank.protocol retrieval.fusion.method retrieval.per_channel
router.enabled service.ab_share service.ab_strategy service.job_priority service.max_body_bytes service.public_url
service.retention_days service.running service.trace_text service.waiting tagger.chinese tagger.english wikidata.api
wikidata.cache wikidata.timeout_s
""".split()


def is_advanced(name: str) -> bool:
    """Return whether a setting, by its dotted name, stands in the advanced part."""
    return name in _ADVANCED or name.startswith("servers.")


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    return "" if value is None else f"`{value}`"


def _variable(name: str) -> str:
    return f"`{variable('THEWORLD_', name)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def reference() -> str:
    """Return the reference: where to begin, what a request chooses, then a row a setting, the advanced ones apart."""
    first = [f"| {purpose} | {', '.join(map(_variable, names))} |" for purpose, names in _FIRST.items()]
    chosen = [
        f"| `{name}` | {_default(field)} | {_cell(field.description or '')} |"
        for name, field in Context.model_fields.items()
    ]
    rows = {
        name: f"| `{name}` | {_variable(name)} | {_default(field)} | {_cell(allowed(field))} "
        f"| {_cell(field.description or '')} |"
        for name, field in leaves(Settings)
    }
    common = [row for name, row in rows.items() if not is_advanced(name)]
    further = [row for name, row in rows.items() if is_advanced(name)]
    parts = ((_HEAD, first), (_CONTEXT, chosen), (_COMMON, common), (_FURTHER, further))
    return "".join(head + "\n".join(lines) + "\n" for head, lines in parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), "utf-8")
