"""The failure report as Markdown and as one HTML page with plots, English or Chinese; everything quoted is escaped."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from theworld.data_files import load_table
from theworld.text import Language

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}h2{margin-top:2rem}.try{background:#f4f7fb;padding:.5rem .8rem;border-left:3px solid #4878a8}"
    ".bars{margin:1rem 0}.bars caption{text-align:left;font-weight:600}.bars td:last-child{width:60%}"
    ".bars div{background:#4878a8;height:1em}"
)


def _words() -> dict[str, Any]:
    return load_table("theworld.evaluation", "data/failures.yaml")


def _say(key: str, language: Language, **values: object) -> str:
    return str(_words()["words"][key][language]).format(**values)


def _culprit(name: str, what: str, language: Language) -> str:
    return str(_words()["culprits"][name][what][language])


def as_markdown(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return a report (`failures.failure_report`) as Markdown."""
    heads = " | ".join(_say(key, language) for key in ("culprit", "count", "share"))
    lines = [f"# {_say('title', language, dataset=_plain(report['dataset']))}", "", _summary(report, language), ""]
    lines += [f"| {heads} |", "|---|---|---|"]
    for name, cluster in report["clusters"].items():
        share = cluster["count"] / max(report["failed"], 1)
        lines.append(f"| {_culprit(name, 'name', language)} | {cluster['count']} | {share:.0%} |")
    for name, cluster in report["clusters"].items():
        lines += ["", f"## {_culprit(name, 'name', language)}: {cluster['count']}", ""]
        lines += [_culprit(name, "means", language), ""]
        lines.append(f"**{_say('try', language)}** {_culprit(name, 'try', language)}")
        if cluster["fixed_by"]:
            repaired = ", ".join(f"{change} ({count})" for change, count in cluster["fixed_by"].items())
            lines += ["", f"{_say('repaired', language)} {repaired}"]
        lines.append("")
        for example in cluster["examples"]:
            lines.append(f"- {_plain(example['question'])}")
            lines += [f"  - {_plain(fact)}" for fact in _facts(example, language)]
    return "\n".join(lines) + "\n"


def as_html(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return a report as one HTML page that needs nothing else."""
    title = html.escape(_say("title", language, dataset=report["dataset"]))
    culprits: dict[str, int] = {}
    changes: Counter[str] = Counter()
    for name, cluster in report["clusters"].items():
        culprits[_culprit(name, "name", language)] = cluster["count"]
        changes.update(cluster["fixed_by"])
    plots = _bars(_say("culprit", language), culprits) + _bars(_say("repaired", language), changes)
    parts = [f"<h1>{title}</h1>", f"<p>{html.escape(_summary(report, language))}</p>", plots]
    for name, cluster in report["clusters"].items():
        heading, means, advice = (html.escape(_culprit(name, what, language)) for what in ("name", "means", "try"))
        parts.append(f"<h2>{heading}: {cluster['count']}</h2><p>{means}</p>")
        parts.append(f'<p class="try"><strong>{_say("try", language)}</strong> {advice}</p>')
        parts.append("<table>")
        for example in cluster["examples"]:
            facts = "<br>".join(map(html.escape, _facts(example, language)))
            parts.append(f"<tr><td>{html.escape(example['question'])}</td><td>{facts}</td></tr>")
        parts.append("</table>")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="{language}"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _summary(report: Mapping[str, Any], language: Language) -> str:
    """Return the first sentence; failures with a named culprit are counts, as a share of nothing would say nothing."""
    named = report["failed"] - report["clusters"].get("unexplained", {"count": 0})["count"]
    failed = report["failed"]
    return _say("summary", language, asked=report["asked"], failed=failed, named=f"{named} / {failed}")


def _facts(example: Mapping[str, Any], language: Language) -> Iterator[str]:
    if example["gold"]:
        yield _say("gold", language, text=" / ".join(example["gold"]))
    if example["answer"]:
        yield _say("answered", language, text=example["answer"][:300], kind=example["kind"])
    if example["fixed_by"]:
        yield _say("by", language, text=example["fixed_by"])
    if example["detail"]:
        yield example["detail"]


def _plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in r"\`*_{}[]<>#|!" else c for c in " ".join(text.split()))


def _bars(title: str, counts: Mapping[str, int]) -> str:
    """Return a bar chart as a table."""
    most = max(counts.values(), default=1)
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{count}</td>"
        f'<td><div style="width:{100 * count / most:.0f}%"></div></td></tr>'
        for name, count in counts.items()
    )
    return f'<table class="bars"><caption>{html.escape(title)}</caption>{rows}</table>'
