"""The documents as they are read: links that lead somewhere, a site that names every page, two READMEs that agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")


def anchors_of(text: str) -> set[str]:
    """Return the anchors of a page's headings, as forges make them."""
    headings = re.findall(r"(?m)^#+ (.+)$", _FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", page.read_text("utf-8"))):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        where = (page.parent / target).resolve() if target else page
        assert where.exists(), link
        if anchor:
            assert anchor in anchors_of(where.read_text("utf-8")), link


def test_the_site_names_every_page() -> None:
    text = re.sub(r"!!python/\S+", "", (ROOT / "mkdocs.yml").read_text("utf-8"))
    named = re.findall(r"[\w-]+\.md", str(yaml.safe_load(text)["nav"]))
    assert sorted(named) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_both_readmes_show_the_same() -> None:
    english, chinese = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))

    def code(text: str) -> list[str]:
        return [re.sub(r"\s+# .*", "", line) for _, block in _FENCE.findall(text) for line in block.splitlines()]

    def figures(text: str) -> list[str]:
        return re.findall(r"\d+(?:\.\d+)?(?: / \d+(?:\.\d+)?)+", text)

    assert code(chinese) == code(english)
    assert figures(chinese) == figures(english)
    assert set(_LINK.findall(chinese)) - {"README.md"} == set(_LINK.findall(english)) - {"README.zh.md"}
    assert len(re.findall("(?m)^## ", chinese)) == len(re.findall("(?m)^## ", english))
