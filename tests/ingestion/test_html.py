"""Pages of HTML to Markdown with their structure."""

from __future__ import annotations

from pathlib import Path

import pytest

from theworld.ingestion.readers import SourceDocument, read_source

CASES = [
    ("<pre><code class='language-bash'>ls  -l\n\n\n  cd</code></pre>", "```bash\nls  -l\n\n\n  cd\n```"),
    ("<div class='highlight-python'><div><pre>x = 1\n</pre></div></div>", "```python\nx = 1\n```"),
    ("<pre>```\nquoted\n```</pre>", "````\n```\nquoted\n```\n````"),
    ("<ol><li>one<pre>x\n  y</pre></li><li>two</li></ol>", "1. one\n\n   ```\n   x\n     y\n   ```\n2. two"),
    ("<dl><dt>term:</dt><dd>one</dd><dt>b</dt><dd><p>p</p><p>q</p></dd></dl>",
     "- **term**\n\n  one\n\n- **b**\n\n  p\n\n  q"),
    ("<table><tr><th>a</th><th>b|c</th></tr><tr><td rowspan=2>1</td><td>2<br>3</td></tr><tr><td>4</td></tr></table>",
     "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n| 1 | 4 |"),
    ("<table><tr><th colspan=2>All</th></tr><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
     "All\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><td>All</td><td></td><td></td></tr><tr><th>a</th><th>b</th><th>c</th></tr></table>",
     "All\n\n| a | b | c |\n| --- | --- | --- |"),
    ("<table><tr><td colspan=2>All</td></tr><tr><th>a</th><td>1</td></tr><tr><th>b</th><td>2</td></tr></table>",
     "All\n\n|  |  |\n| --- | --- |\n| a | 1 |\n| b | 2 |"),
    ("<table><tr><th></th><td>x</td></tr><tr><th>a</th><td>1</td></tr></table>", "|  | x |\n| --- | --- |\n| a | 1 |"),
    ("<table><tr><th>a</th><th></th></tr><tr><td>1</td><td>2</td></tr></table>",
     "| a |  |\n| --- | --- |\n| 1 | 2 |"),
    ("<table><tr><th>a</th><th colspan=2>b</th></tr><tr><th></th><th>c</th><th>d</th></tr><tr><td>1</td><td>2</td>"
     "<td>3</td></tr></table>", "| a | b c | b d |\n| --- | --- | --- |\n| 1 | 2 | 3 |"),
    ("<table><tr><th colspan=2>size</th><th>note</th></tr><tr><td>1</td><td>cm</td><td></td></tr></table>",
     "| size | size | note |\n| --- | --- | --- |\n| 1 | cm |  |"),
    ("<table><tr><th>a</th><th>b</th></tr><tr><td colspan=9>of x</td></tr><tr><td>1</td><td>2</td></tr></table>",
     "| a | b |\n| --- | --- |\n| of x |  |\n| 1 | 2 |"),
    ("<table><tr><td class=linenos><pre>1</pre></td><td><pre>a = 1</pre></td></tr></table>", "```\na = 1\n```"),
    ("<table><tr><td><h2>Lay</h2>out</td><td><table><tr><th>x</th></tr><tr><td>1</td></tr></table></td></tr></table>",
     "## Lay\n\nout\n\n| x |\n| --- |\n| 1 |"),
    ("<main><aside>Mind this.</aside><p>x</main><aside>menu</aside>", "> Mind this.\n\nx"),
    ("<div>Accept all cookies</div><main><p>All of the text</main><div>Imprint</div>", "All of the text"),
    ("<p>All of the text of the page, but for its last word</p><main>x</main>",
     "All of the text of the page, but for its last word\n\nx"),
    ("<div role=navigation>Home</div><div role=dialog>Cookies?</div><p>All of the text</p>", "All of the text"),
    ("<article><div role=complementary>Mind this.</div><p>x</article><div role=complementary>menu</div>",
     "Mind this.\n\nx"),
    ("<nav>Home</nav><p>All of the text</p><footer>Imprint</footer>", "All of the text"),
    ("<nav><h2>Only a menu</h2><ul><li>a</li></ul></nav>", "## Only a menu\n\n- a"),
    ("<ul><li><a href=a.html>Home</a></li><li><a href=b.html>Prices</a></li></ul><h1>T</h1><p>The text of the page",
     "The text of the page"),
    ("<div>Contents</div><ul><li><a href='#a'>First</a></li><li><a href='#b'>Second</a></li></ul><p>Text of the page",
     "Contents\n\nText of the page"),
    ("<p>These are gone:</p><ul><li><a href='#a'>one()</a></li><li><a href='#b'>two()</a></li></ul>",
     "These are gone:\n\n- one()\n- two()"),
    ("<ul><li><a href='#a'>one()</a></li><li><a href='#b'>two()</a> is new</li></ul><p>The text of the page",
     "- one()\n- two() is new\n\nThe text of the page"),
    ("<p>One<p>Two<ul><li>a<li>b</ul><dl><dt>T<dd>D</dl><table><tr><th>a<th>b<tr><td>1<td>2</table>",
     "One\n\nTwo\n\n- a\n- b\n\n- **T**\n\n  D\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"),
    ("<p>10<sup>6</sup> m<sup>2</sup>, H<sub>2</sub>O, 10<sup>&minus;5</sup>, 1<sup>st</sup>, 1<sup>[2]</sup></p>",
     "10⁶ m², H₂O, 10⁻⁵, 1st, 1[2]"),
    ("<p>Costs <del>5</del> 6</p><p><s>Gone</s></p>", "Costs  6"),
    ("<h2>Part<a class=headerlink href='#part'>¶</a></h2><p>see <a href='#n1'>1</a></p>", "## Part\n\nsee 1"),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "markdown"), CASES)
def test_structure(tmp_path: Path, markup: str, markdown: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<html><head><title>T</title></head><body>{markup}</body></html>", encoding="utf-8")
    (document,) = read_source(path)
    assert isinstance(document, SourceDocument)
    assert document.text == markdown + "\n"


def test_blocks_stand_under_headings(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<h1>Top</h1><h2>一</h2><p>Do:</p><ul><li>a</li><li>b</li></ul><h2>二</h2><pre>x</pre>")
    (document,) = read_source(path)
    assert isinstance(document, SourceDocument)
    found = [(block.kind, block.section, len(block.parts)) for block in document.blocks]
    assert found == [
        ("heading", ("一",), 0), ("paragraph", ("一",), 0), ("list", ("一",), 2), ("heading", ("二",), 0),
        ("code", ("二",), 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "head", ["<head><title>T</title>", "<head><title>T</title></strong>", "<title>T</title></head>"]
)
def test_heads_that_are_not_closed_or_closed_twice(tmp_path: Path, head: str) -> None:
    (tmp_path / "a.html").write_text(f"<!DOCTYPE html><html>{head}<body><p>Water them.</p></html>", "utf-8")
    (document,) = read_source(tmp_path / "a.html")
    assert (document.title, document.text) == ("T", "Water them.\n")


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("Tomatoes | Garden Post", "Tomatoes", "Tomatoes"),
        ("Garden Post: Tomatoes – 2025", "Tomatoes", "Tomatoes"),
        ("Growing tomatoes", "Tomatoes", "Growing tomatoes"),
        ("番茄 - 园艺", "番茄", "番茄"),
        ("", "Tomatoes", "Tomatoes"),
        ("Garden Post", "", "Garden Post"),
    ],
)
def test_the_title_is_that_of_the_page_without_its_site(
    tmp_path: Path, title: str, heading: str, expected: str
) -> None:
    (tmp_path / "a.html").write_text(f"<title>{title}</title><h1>{heading}</h1><p>Water them.</p>", "utf-8")
    (document,) = read_source(tmp_path / "a.html")
    assert document.title == expected
    assert (f"# {heading}\n" in document.text) is (heading != expected and heading != "")
