"""The comparison as one picture: what is found, and what a question costs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from theworld.errors import TheWorldError
from theworld.evaluation.metrics import percentile
from theworld.evaluation.peers.comparison import LABELS, Comparison
from theworld.evaluation.peers.registry import INSTALL

FORMATS = ("png", "svg")
SHOWN = ("recall@2", "recall@5", "recall@20", "all@5")
_GREYS = ("#c9c9c9", "#9d9d9d", "#747474", "#4f4f4f")
_OURS = ("#a8cdf0", "#5b9bd5", "#2e6fae", "#174a7c")


def check_plotting(folder: Path) -> None:
    """Raise TheWorldError when matplotlib is missing or the folder cannot be made."""
    if find_spec("matplotlib") is None:
        raise TheWorldError("needs matplotlib.", where="the plot", remedy=f"{INSTALL}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TheWorldError(f"cannot be made: {error}.", where=str(folder), remedy="Name another folder.") from error


def plot_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write `{dataset}-peers.png` and `.svg` into the folder; return the files. The same figures give the same SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": comparison.dataset, "font.size": 9}):
        figure, (quality, time) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=(3, 2), layout="constrained")
        _draw_quality(comparison, quality)
        _draw_latency(comparison, time)
        figure.suptitle(f"{comparison.dataset}: {len(comparison.queries)} questions over {comparison.notes} notes")
        files = [folder / f"{comparison.dataset}-peers.{kind}" for kind in FORMATS]
        for file in files:
            figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
        plt.close(figure)
    return files


def _draw_quality(comparison: Comparison, axes: Any) -> None:
    height = 0.8 / len(SHOWN)
    for row, result in enumerate(comparison.results):
        for bar, metric in enumerate(SHOWN):
            value = 100 * comparison.mean(result, metric)
            place, colour = row + bar * height - 0.4 + height / 2, (_GREYS if row else _OURS)[bar]
            axes.barh(place, value, height=height * 0.92, color=colour)
            axes.text(value + 0.6, place, f"{metric}  {value:.1f}", va="center", fontsize=7)
    axes.set_yticks(range(len(comparison.results)), [LABELS[result.name] for result in comparison.results])
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("gold documents found, per cent (all@5: questions)")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_latency(comparison: Comparison, axes: Any) -> None:
    slowest = 0.0
    for row, result in enumerate(comparison.results):
        low, high = percentile(result.elapsed_ms, 0.5), percentile(result.elapsed_ms, 0.95)
        slowest = max(slowest, high)
        colour = (_GREYS if row else _OURS)[2]
        axes.plot([low, high], [row, row], color=colour, linewidth=3, solid_capstyle="round")
        axes.plot([low], [row], "o", color=colour, markersize=8)
        memory = "" if result.memory_mb is None else f", {result.memory_mb:.0f} MB"
        said = f"P50 {low:.0f} ms, P95 {high:.0f} ms{memory}"
        axes.annotate(said, (0.02, row - 0.22), xycoords=("axes fraction", "data"), fontsize=7.5)
    axes.set_yticks(range(len(comparison.results)), [""] * len(comparison.results))
    axes.set_ylim(len(comparison.results) - 0.5, -0.5)
    axes.set_xlim(0, slowest * 1.1)
    axes.set_xlabel("ms until the ranking stands, P50 (dot) to P95")
    axes.spines[["top", "right"]].set_visible(False)
