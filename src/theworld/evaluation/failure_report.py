"""The failure report as Markdown and as one HTML page with plots, English or Chinese; everything quoted is escaped."""

from __future__ import annotations

import base64
import html
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml

from theworld.errors import SettingsError
from theworld.extras import install_command

Language = Literal["en", "zh"]
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.3rem .5rem;text-align:left;"
    "vertical-align:top}h2{margin-top:2rem}.try{background:#f4f7fb;padding:.5rem .8rem;border-left:3px solid #4878a8}"
)


@cache
def _words() -> dict[str, Any]:
    text = (files("theworld.evaluation") / "data" / "failures.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def _say(key: str, language: Language, **values: object) -> str:
    return str(_words()["words"][key][language]).format(**values)


def _culprit(name: str, what: str, language: Language) -> str:
    return str(_words()["culprits"][name][what][language])


def as_markdown(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return a report (`FailureReport.as_json`) as Markdown."""
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
    """Return a report as one HTML page that needs nothing else; SettingsError when plots cannot be drawn."""
    title = html.escape(_say("title", language, dataset=report["dataset"]))
    parts = [f"<h1>{title}</h1>", f"<p>{html.escape(_summary(report, language))}</p>", _plot(report, language)]
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


def _plot(report: Mapping[str, Any], language: Language) -> str:
    """Return two bar charts as one picture: failures by culprit, and what fixed them."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingsError(
            "plots need matplotlib", where="failure report", remedy=install_command("service")
        ) from error
    counts = {name: cluster["count"] for name, cluster in report["clusters"].items()}
    changes: Counter[str] = Counter()
    for cluster in report["clusters"].values():
        changes.update(cluster["fixed_by"])
    # The plots' own labels are the culprits' technical names: no font of the machine has to know Chinese.
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, values, label in zip(figure.subplots(1, 2), (counts, changes), ("culprit", "fixed by"), strict=True):
        axes.barh(list(values)[::-1], list(values.values())[::-1], color="#4878a8")
        axes.set_title(label)
        axes.spines[["top", "right"]].set_visible(False)
    data = io.BytesIO()
    with rc_context({"svg.hashsalt": "theworld"}):  # the same figures give the same bytes
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    picture = base64.b64encode(data.getvalue()).decode("ascii")
    alternative = html.escape(", ".join(f"{_culprit(n, 'name', language)} {c}" for n, c in counts.items()))
    return f'<p><img alt="{alternative}" src="data:image/svg+xml;base64,{picture}"></p>'
