"""Fit the map from the multilingual space into the English one (`src/theworld/models/embedders.py`).

    python benchmarks/fit_alignment.py FOLDER [FOLDER ...] [--sentences N] [--write]

Ridge regression on English sentences embedded as questions by both default embedders: queries and passages of BEIR
folders, sentences of document sets (a folder with corpus/), docstrings of Python's standard library. For each source it
prints, with the map fitted on the others, the mean cosine between mapped and true vectors and how often the true vector
of the same sentence is the nearest. Chinese lies a little apart from English in the multilingual space: what is mapped
is the difference to the mean, for a Chinese text that of the folders' Chinese questions. `--write` fits on all and
writes `src/theworld/models/data/alignment.npz`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from environment import environment

from theworld.models.embedders import Alignment, MiniLMEmbedder
from theworld.models.multilingual_e5 import MultilingualE5Embedder
from theworld.models.protocols import FloatArray
from theworld.text import cjk_share, detect_language

STRENGTH = 0.1
"""Ridge penalty; .03 to .3 find the same documents."""
LENGTHS = range(20, 200)
"""Characters of a sentence."""
WRITTEN = Path(__file__).parent.parent / "src/theworld/models/data/alignment.npz"
SKIPPED = {"antigravity", "this", "idlelib", "test", "tkinter", "turtle", "turtledemo"}


def sentences(text: str) -> list[str]:
    """Return the English sentences of a text that are neither very short nor long."""
    parts = (" ".join(part.split()) for part in re.split(r"(?<=[.!?])\s+|\n\n+", text))
    return [part for part in parts if len(part) in LENGTHS and re.search("[a-z]{3}", part) and not cjk_share(part)]


def texts_of(folder: Path) -> Iterator[str]:
    """Yield the texts of a BEIR folder or of a set of documents."""
    if (folder / "corpus.jsonl").exists():
        for name in ("queries.jsonl", "corpus.jsonl"):
            yield from (json.loads(line)["text"] for line in (folder / name).open(encoding="utf-8"))
    else:
        paths = (path for path in sorted((folder / "corpus").rglob("*")) if path.is_file())
        yield from (path.read_text(encoding="utf-8", errors="ignore") for path in paths)


def chinese_questions(folder: Path) -> Iterator[str]:
    """Yield the questions of a folder that are in Chinese."""
    for name, key in (("queries.jsonl", "text"), ("questions.jsonl", "question")):
        if (folder / name).exists():
            questions = (json.loads(line)[key] for line in (folder / name).open(encoding="utf-8"))
            yield from (question for question in questions if detect_language(question) == "zh")


def docstrings() -> Iterator[str]:
    """Yield the docstrings of the standard library's modules and what they define."""
    for name in sorted(set(sys.stdlib_module_names) - SKIPPED):
        if not name.startswith("_"):
            try:
                module = importlib.import_module(name)
            except ImportError:  # of another operating system
                continue
            yield from (one.__doc__ for one in (module, *vars(module).values()) if isinstance(one.__doc__, str))


def fitted(source: FloatArray, target: FloatArray, asked: FloatArray | None = None) -> FloatArray:
    """Return ridge weights, shape (d + 1, e): `source` (n, d) to `target` (n, e), the last row added.

    `asked` (m, d) are texts of another language that will be mapped, whose mean is taken in place of the source's.
    """
    x, goal = source - source.mean(axis=0), target.mean(axis=0)
    weights = np.linalg.solve(x.T @ x + STRENGTH * np.eye(x.shape[1]), x.T @ (target - goal))
    mean = (source if asked is None else asked).mean(axis=0)
    return np.vstack([weights, goal - mean @ weights]).astype(np.float32)


def main() -> None:
    """Print how well the map reaches each source with the others fitted, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--sentences", type=int, default=2_500, help="at most this many of each source")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    print(environment())
    english, multilingual = MiniLMEmbedder(), MultilingualE5Embedder()
    sources = {folder.name: texts_of(folder) for folder in arguments.folders} | {"docstrings": docstrings()}
    vectors: dict[str, tuple[FloatArray, FloatArray]] = {}
    for name, texts in sources.items():
        found = sorted({sentence for text in texts for sentence in sentences(text)})
        if not found:
            continue
        chosen = random.Random(0).sample(found, min(arguments.sentences, len(found)))
        both = [np.stack([model.embed_query(text).vector for text in chosen]) for model in (multilingual, english)]
        vectors[name] = both[0], both[1]
        print(f"{name}: {len(chosen)} sentences", flush=True)
    for name, (source, target) in vectors.items() if len(vectors) > 1 else ():
        rest = [pair for key, pair in vectors.items() if key != name]
        weights = fitted(np.concatenate([s for s, _ in rest]), np.concatenate([t for _, t in rest]))
        mapped = np.stack([Alignment("", "", weights).mapped(vector) for vector in source])
        cosines = mapped @ target.T
        nearest = float(np.mean(cosines.argmax(axis=1) == np.arange(len(target))))
        print(f"  {name}, left out: cosine {float(np.diag(cosines).mean()):.3f}, nearest {nearest:.1%}")
    if arguments.write:
        asked = [text for folder in arguments.folders for text in list(chinese_questions(folder))[:200]]
        chinese = np.stack([multilingual.embed_query(text).vector for text in asked])
        source, target = (np.concatenate([pair[i] for pair in vectors.values()]) for i in (0, 1))
        weights = fitted(source, target, chinese)
        np.savez(WRITTEN, source=multilingual.name, target=english.name, weights=weights.astype(np.float16))
        print(f"wrote {WRITTEN.name}")


if __name__ == "__main__":
    main()
