"""The page's files: headers, words in both languages, size, and no way for HTML into the page but the one."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import pytest

from theworld.service.page import page_files, page_words

FIRST = ["index.html", "style.css", "icon.svg", "app.js", "api.js", "dom.js", "words.js"]
FIRST_PAINT = 60_000
MODULES = [name for name in page_files() if name.endswith(".js")]


def test_headers_are_strict_and_files_are_only_those_of_the_page(client):
    for path in ("/", *(f"/page/{name}" for name in page_files()), "/page/words/zh.json"):
        reply = client.get(path)
        assert reply.status_code == 200, path
        policy = dict(part.strip().split(" ", 1) for part in reply.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert client.get(path, headers={"if-none-match": reply.headers["etag"]}).status_code == 304
    for path in (
        "/page/../__init__.py",
        "/page/__init__.py",
        "/page/%2e%2e/__init__.py",
        "/page//etc/passwd",
        "/page/words/fr.json",
    ):
        assert client.get(path).status_code in {404, 422}, path


def test_the_page_can_be_turned_off(client, service, monkeypatch):
    off = service.settings.model_copy(update={"service": service.settings.service.model_copy(update={"page": False})})
    monkeypatch.setattr(type(service), "settings", property(lambda _: off))
    assert client.get("/").status_code == 404
    assert client.get("/page/app.js").status_code == 404
    assert client.get("/healthz").status_code == 200


def test_first_paint_is_small():
    ask = [name for name in page_files() if name.startswith("views/ask")]
    shared = [name for name in MODULES if "/" not in name]
    words = "".join(f"{key}{text['zh']}" for key, text in page_words().items()).encode()
    total = sum(len(gzip.compress(page_files()[name])) for name in {*FIRST, *ask, *shared}) + len(gzip.compress(words))
    assert total <= FIRST_PAINT


def test_every_word_is_there_in_both_languages():
    for key, texts in page_words().items():
        assert sorted(texts) == ["en", "zh"], key
        assert all(isinstance(text, str) and text.strip() for text in texts.values()), key
        holes = [sorted(re.findall(r"\{(\w+)\}", text)) for text in texts.values()]
        assert holes[0] == holes[1], key


@pytest.mark.parametrize("name", MODULES)
def test_words_that_are_asked_for_exist(name):
    asked = re.findall(r"""\bt\(["']([a-z_]+\.[a-z_]+)["']""", page_files()[name].decode())
    assert [key for key in asked if key not in page_words()] == []


def test_html_enters_the_page_in_one_place():
    found = [
        (name, line.strip())
        for name in MODULES
        for line in page_files()[name].decode().splitlines()
        if re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc|DOMParser", line
        )
    ]
    assert [name for name, _ in found] == ["dom.js"], found


def test_every_node_has_a_name_and_a_place(client):
    graph = client.get("/api/v1/nodes").json()["data"]
    names = [node["name"] for node in graph["nodes"]]
    assert {"__start__", "__end__", "retrieve_graph", "finish_answer"} <= set(names)
    assert [name for name in names if f"found.node_{name}" not in page_words()] == []
    layer = {node["name"]: node["y"] for node in graph["nodes"]}
    for edge in graph["edges"]:
        assert layer[edge["source"]] < layer[edge["target"]], edge
        assert [y for _, y in edge["points"]] == list(range(layer[edge["source"]], layer[edge["target"]] + 1))
    places = [(node["x"], node["y"]) for node in graph["nodes"]]
    for row in range(graph["height"]):
        beside = sorted(x for x, y in places if y == row)
        assert all(right - left >= 1 - 1e-6 for left, right in pairwise(beside)), "boxes do not overlap"
