"""reStructuredText to Markdown and blocks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from docutils.parsers.rst import directives, roles
from docutils.parsers.rst.directives.admonitions import Note

from theworld.ingestion.plan import read_file
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.ingestion.sources import find_sources
from theworld.settings import NoteSettings

CASES = yaml.safe_load(Path(__file__).with_name("rst.yaml").read_text("utf-8"))


def read(path: Path, root: Path | None = None) -> SourceDocument:
    (document,) = read_source(path, root)
    assert isinstance(document, SourceDocument)
    return document


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_rst", ".rst").replace("_csv", ".csv").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "a.rst"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_markdown_of_rst(case: dict[str, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert read(written(tmp_path, a_rst=case["given"])).text == case["text"]
    assert capfd.readouterr() == ("", ""), "docutils says nothing"


def test_title_sections_and_fields_before_the_text(tmp_path: Path) -> None:
    document = read(
        written(tmp_path, a_rst=":author: Ada\n:topic: x\n\nThe title\n=========\n\nA\n-\n\nText::\n\n   code\n")
    )
    assert (document.title, document.metadata) == ("The title", {"author": "Ada", "topic": "x"})
    assert [(block.kind, block.section) for block in document.blocks] == [
        ("heading", ("A",)),
        ("paragraph", ("A",)),
        ("code", ("A",)),
    ]
    lead = document.blocks[2].lead
    assert lead is not None
    assert document.text[slice(*lead)] == "Text:\n\n```"


def test_files_inside_the_folder_are_included(tmp_path: Path) -> None:
    given = (
        ".. include:: part/b.rst\n\n.. literalinclude:: /part/c.py\n   :lines: 2-\n   :language: python\n\n"
        ".. csv-table::\n   :file: part/d.csv\n   :header-rows: 1\n"
    )
    path = written(
        tmp_path, a_rst=given, part__b_rst="From b, :role:`x`.\n\n.. odd::\n\n   Inside.\n", part__c_py="1\n2\n3\n",
        part__d_csv="k,v\n1,2\n",
    )  # fmt: skip
    assert read(path, tmp_path).text == (
        "From b, `x`.\n\nInside.\n\n```python\n2\n3\n```\n\n| k | v |\n| --- | --- |\n| 1 | 2 |\n"
    )


def test_labels_of_other_files_show_their_headings(tmp_path: Path) -> None:
    given = "See :ref:`one`, :ref:`Two Words`, :ref:`three`, :ref:`nowhere-else` and :ref:`so <one>`.\n"
    other = (
        ".. _one:\n.. _`two words`:\n\n====================\nThe :ref:`first <x>`\n====================\n\n"
        ".. _three:\n\nJust text.\n"
    )
    written(tmp_path, a_rst=given, part__b_rst=other)
    (file, _) = find_sources([tmp_path]).files
    ((document, _),) = read_file(file, NoteSettings())  # type: ignore[misc]
    assert document.text == "See The first, The first, three, nowhere else and so.\n"
    (alone,) = find_sources([tmp_path / "a.rst"]).files
    ((document, _),) = read_file(alone, NoteSettings())  # type: ignore[misc]
    assert document.text.startswith("See one,"), "beside a file that is given alone nothing is looked for"


PAGES = [
    ("beside it", "docs/part/a.rst", "b", "The page"),
    ("above it", "docs/part/deep/a.rst", "../b", "The page"),
    ("after a slash, below the manual's folder", "docs/part/a.rst", "/part/b", "The page"),
    ("after a slash, not the nearest of two", "docs/part/a.rst", "/index", "Welcome to it"),
    ("its own", "docs/part/b.rst", "b", "The page"),
    ("one that is not there", "docs/part/a.rst", "../no-such/page-here", "page here"),
    ("one outside", "docs/a.rst", "../../../b", "b"),
    ("with words of its own", "docs/part/a.rst", "words <b>", "words"),
]


@pytest.mark.parametrize(("name", "path", "named", "words"), PAGES, ids=[case[0] for case in PAGES])
def test_pages_show_their_titles(name: str, path: str, named: str, words: str, tmp_path: Path) -> None:
    written(
        tmp_path,
        docs__index_rst=":orphan:\n\n===========\nWelcome to :ref:`it`\n===========\n\nx\n",
        docs__part__index_rst="Part\n====\n\nx\n",
        docs__part__b_rst=".. _label:\n\nThe page\r\n========\r\n\nSee :doc:`b`.\n\nNext\n----\n\nx\n",
    )
    if not path.endswith("b.rst"):
        written(tmp_path, **{path: f"See :doc:`{named}`.\n"})
    files = {file.id: file for file in find_sources([tmp_path]).files}
    ((document, _),) = read_file(files[path], NoteSettings())  # type: ignore[misc]
    assert f"See {words}.\n" in document.text


CONF = r'''
import sys
version = "2." + "4"
release = f"{version}.{sys.argv}1"
rst_prolog = "Seen on no page.\n\n.. role:: gui\n.. |saved| replace:: :gui:`kept`\n   for good\n"
rst_epilog = ".. |app| replace:: The App"
rst_epilog += """

.. |icon| image:: /icon.png
   :width: 1em
.. _home: https://x.org
.. note:: On no page either.
"""
'''


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        (CONF, "The App 2.4 (2.4.1),  is kept for good, see [home](https://x.org).\n"),
        ("version = \n", "app version (release), icon is saved, see home.\n"),
    ],
)
def test_what_sphinx_defines_for_all_files(conf: str, text: str, tmp_path: Path) -> None:
    given = "|app| |version| (|release|), |icon| is |saved|, see home_.\n"
    if not conf.startswith("version"):  # what a file defines itself stands
        given, text = given + "\n.. |version| replace:: 3\n", text.replace("2.4 (", "3 (")
    written(tmp_path, docs__conf_py=conf, docs__part__a_rst=given, conf_py="version = '9'\n")
    files = find_sources([tmp_path]).files
    ((document, _),) = read_file(next(one for one in files if one.path.name == "a.rst"), NoteSettings())  # type: ignore[misc]
    assert document.text == text


INCLUDED = [
    ("what is included whole is no document", {"a_rst": "b.txt", "b.txt": "", "c.txt": ""}, ["a.rst", "c.txt"]),
    ("nor is what that includes", {"a.rst": "b.inc", "b.inc": "c.inc", "c.inc": ""}, ["a.rst"]),
    ("through another one", {"a_rst": "p/b_rst", "p__b_rst": "/c.txt", "c.txt": ""}, ["a.rst"]),
    ("a part of it", {"a_rst": "b.txt\n   :start-after: x", "b.txt": ""}, ["a.rst", "b.txt"]),
    ("a circle", {"a_rst": "b_rst", "b_rst": "a_rst"}, ["a.rst", "b.rst"]),
    ("itself", {"a_rst": "a_rst"}, ["a.rst"]),
    ("one outside", {"a_rst": "../b.txt"}, ["a.rst"]),
]


@pytest.mark.parametrize(("name", "includes", "documents"), INCLUDED, ids=[case[0] for case in INCLUDED])
def test_included_files(name: str, includes: dict[str, str], documents: list[str], tmp_path: Path) -> None:
    texts = {
        path: f"W\n\n.. include:: {one.replace('_rst', '.rst')}\n" if one else "W\n" for path, one in includes.items()
    }
    written(tmp_path, **texts)
    found = find_sources([tmp_path])
    assert [file.id for file in found.files] == documents
    assert found.skipped.total() == len(found.included) == len(includes) - len(documents)


@pytest.mark.parametrize(
    "directive",
    [
        ".. include:: ../secret.txt",
        ".. include:: {secret}",
        ".. include:: link.txt",
        ".. literalinclude:: ../secret.txt",
        ".. csv-table::\n   :file: ../secret.txt",
        ".. csv-table::\n   :url: file://{secret}",
        ".. raw:: html\n   :file: ../secret.txt",
        ".. raw:: html\n   :url: file://{secret}",
        ".. include:: ../secret.txt\n   :literal:",
    ],
)
def test_nothing_outside_the_folder_is_read(directive: str, tmp_path: Path) -> None:
    secret, folder = tmp_path / "secret.txt", tmp_path / "folder"
    secret.write_text("hidden words")
    path = written(folder, a_rst="Text\n\n" + directive.format(secret=secret) + "\n")
    (folder / "link.txt").symlink_to(secret)
    assert read(path, folder).text == "Text\n"


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    assert "Words" in read(written(tmp_path, a_rst="Words\n\n.. include:: a.rst\n")).text


def test_what_one_file_defines_does_not_change_the_next(tmp_path: Path) -> None:
    given, defining = "See :tag:`x`.\n", ".. role:: tag(strong)\n\n:tag:`y`\n"
    first = read(written(tmp_path, a_rst=given)).text
    assert read(written(tmp_path, a_rst=defining)).text == "**y**\n"
    assert read(written(tmp_path, a_rst=given)).text == first == "See `x`.\n"


def test_docutils_stays_as_it_was_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(directives)["_directives"], "sidenote", Note)
    read(written(tmp_path, a_rst=".. include:: b\n\n.. sidenote:: a\n\n.. odd:: c\n\n:odd:`d`\n"))
    assert "include" not in vars(directives)["_directives"]
    assert vars(directives)["_directives"]["sidenote"] is Note
    assert "odd" not in vars(directives)["_directives"] | vars(roles)["_roles"]


def test_files_are_read_alike_at_the_same_time(tmp_path: Path) -> None:
    texts = [f".. role:: r{i % 2}(strong)\n\n:r0:`a` :r1:`b`\n\n.. tab:: {i}\n" for i in range(24)]
    paths = [written(tmp_path / str(i), a_rst=text) for i, text in enumerate(texts)]
    with ThreadPoolExecutor(8) as pool:
        found = [document.text for document in pool.map(read, paths)]
    assert found == [f"{('**a** `b`', '`a` **b**')[i % 2]}\n\n**{i}**\n" for i in range(24)]
