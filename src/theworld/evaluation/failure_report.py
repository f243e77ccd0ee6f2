"""The failure report as Markdown and as one HTML page with plots, English or Chinese; everything quoted is escaped."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping
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
    lines = [f"# {_say('title', language, dataset=_plain(report['dataset']))}", "", _summary(report, language), ""]
    lines += [
        f"| {_say('culprit', language)} | {_say('count', language)} | {_say('share', language)} |",
        "|---|---|---|",
    ]
    for name, cluster in report["clusters"].items():
        share = cluster["count"] / max(report["failed"], 1)
        lines.append(f"| {_culprit(name, 'name', language)} | {cluster['count']} | {share:.0%} |")
    for name, cluster in report["clusters"].items():
        lines += [
            "",
            f"## {_culprit(name, 'name', language)}: {cluster['count']}",
            "",
            _culprit(name, "means", language),
        ]
        lines += ["", f"**{_say('try', language)}** {_culprit(name, 'try', language)}"]
        if cluster["fixed_by"]:
            repaired = ", ".join(f"{change} ({count})" for change, count in cluster["fixed_by"].items())
            lines += ["", f"{_say('repaired', language)} {repaired}"]
        lines.append("")
        for example in cluster["examples"]:
            lines.append(f"- {_plain(example['question'])}")
            lines += [f"  - {part}" for part in _facts(example, language, _plain)]
    return "\n".join(lines) + "\n"


def as_html(report: Mapping[str, Any], language: Language = "en") -> str:
    """Return a report as one HTML page that needs nothing else; SettingsError when plots cannot be drawn."""
    title = html.escape(_say("title", language, dataset=report["dataset"]))
    parts = [f"<h1>{title}</h1>", f"<p>{html.escape(_summary(report, language))}</p>", _plot(report, language)]
    for name, cluster in report["clusters"].items():
        parts.append(f"<h2>{html.escape(_culprit(name, 'name', language))}: {cluster['count']}</h2>")
        parts.append(f"<p>{html.escape(_culprit(name, 'means', language))}</p>")
        advice = html.escape(_culprit(name, "try", language))
        parts.append(f'<p class="try"><strong>{_say("try", language)}</strong> {advice}</p>')
        rows = "".join(
            f"<tr><td>{html.escape(example['question'])}</td><td>"
            + "<br>".join(_facts(example, language, html.escape))
            + "</td></tr>"
            for example in cluster["examples"]
        )
        parts.append(f"<table>{rows}</table>")
    head = f'<meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="{language}"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _summary(report: Mapping[str, Any], language: Language) -> str:
    return _say("summary", language, asked=report["asked"], failed=report["failed"], named=_of_failures(report))


def _of_failures(report: Mapping[str, Any]) -> str:
    """Return how many failures have a named culprit, as counts: a share of nothing would say nothing."""
    unexplained = report["clusters"].get("unexplained", {"count": 0})["count"]
    return f"{report['failed'] - unexplained} / {report['failed']}"


def _facts(example: Mapping[str, Any], language: Language, escape: Any) -> list[str]:
    facts = []
    if example["gold"]:
        facts.append(_say("gold", language, text=escape(" / ".join(example["gold"]))))
    if example["answer"]:
        facts.append(_say("answered", language, text=escape(example["answer"][:300]), kind=example["kind"]))
    if example["fixed_by"]:
        facts.append(_say("by", language, text=escape(example["fixed_by"])))
    return [*facts, *([escape(example["detail"])] if example["detail"] else [])]


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
    changes: dict[str, int] = {}
    for cluster in report["clusters"].values():
        for change, count in cluster["fixed_by"].items():
            changes[change] = changes.get(change, 0) + count
    # The plots' own labels are the culprits' technical names: no font of the machine has to know Chinese.
    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes, values, label in ((left, counts, "culprit"), (right, changes, "fixed by")):
        axes.barh(list(values)[::-1], list(values.values())[::-1], color="#4878a8")
        axes.set_title(label)
        axes.spines[["top", "right"]].set_visible(False)
    data = io.BytesIO()
    with rc_context({"svg.hashsalt": "theworld"}):  # the same figures give the same bytes
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    picture = base64.b64encode(data.getvalue()).decode("ascii")
    alternative = html.escape(", ".join(f"{_culprit(n, 'name', language)} {c}" for n, c in counts.items()))
    return f'<p><img alt="{alternative}" src="data:image/svg+xml;base64,{picture}"></p>'
