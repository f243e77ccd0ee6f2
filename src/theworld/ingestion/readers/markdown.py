"""Markdown and MDX with front matter in YAML or TOML, or none. Offsets refer to the cleaned text (`markdown_cleaning`).

Blocks are found by markdown-it-py: its line numbers become offsets, headings become section paths.

1. The outermost tokens become blocks. A list may be divided at its items (a long item at what it consists of), a table
   at its rows, a quote or admonition at its blocks.
2. A numbered list that goes on where the one before it ended is the same list: the code or picture between its steps
   only lacks the indentation. So is what a list's last step introduces with a colon.
3. Each block gets the headings it stands under; a list or code, the sentence before it that introduces it.
"""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from theworld.errors import IngestionError
from theworld.ingestion.notes import LONGEST_LEAD, Block, introduces
from theworld.ingestion.readers.document import (
    SourceDocument,
    names_in,
    plain_metadata,
    read_text,
    require_text,
    title_from_name,
    without_surrogates,
)
from theworld.ingestion.readers.folder import INCLUDE_MARKDOWN, MARKDOWN, myst_substitutions, resolved
from theworld.ingestion.readers.markdown_cleaning import cleaned
from theworld.packages import load_table
from theworld.stores.records import NoteKind
from theworld.text.sentences import announces, ends_with_colon

EXTENSIONS = MARKDOWN

_FRONT_MATTER = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\r?\n(?P<fields>(?:.*?\r?\n)?)(?:(?P=mark)|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
"""YAML between lines of dashes, or TOML between lines of plus signs."""
_COMPONENT = re.compile(r"<(?P<name>[A-Z]\w*)\b[^<>]*/>")
"""A component of MDX without content."""
_META_DATA = re.compile(r"\A(?:[a-z][a-z0-9_-]*:[ \t]+\S.*\r?\n)+(?=\s*#)")
"""MultiMarkdown's front matter, which MkDocs reads too: `key: value` lines before the first heading."""


def read(path: Path, root: Path | None = None) -> Iterator[SourceDocument]:
    """Yield the file's one document, with what it includes of a folder; IngestionError for bad front matter or no text.

    The title is the front matter's, else as in `described`. Of the front matter, `properties` are text.
    """
    text = require_text(read_text(path), path)
    fields, start = front_matter(text, path)
    title = " ".join(without_surrogates(str(_field(fields, "title", path, str) or "")).split())
    aliases = names_in(_field(fields, "aliases", path, str | list) or _field(fields, "alias", path, str | list))
    whole = text[start:] if root is None else _with_included(text[start:], path, root)
    mdx = path.suffix.lower() == ".mdx"
    substitutions = _substitutions(fields, path, root) if "{{" in whole else {}
    body = without_contents(cleaned(whole, mdx=mdx, substitutions=substitutions), mdx=mdx)
    if said := cleaned(properties(text)).strip():  # below the title's heading, in place of the front matter
        body = body.lstrip("\r\n")
        heading = _FIRST_LEVEL.match(body)
        above = f"{heading[0]}\n\n" if heading else ""
        below = body[heading.end() if heading else 0 :].lstrip("\r\n")
        text, start, body = "", 0, f"{above}{said}\n\n{below}"
    document = described(text[:start] + body, path, start=start, title=title)
    yield replace(document, aliases=aliases, metadata=plain_metadata(fields))


def _substitutions(fields: dict[object, object], path: Path, root: Path | None) -> dict[str, str]:
    """Return what MyST's names in double braces stand for, by the front matter, else by Sphinx's `conf.py` above."""
    settings = fields.get("myst")
    given = settings.get("substitutions") if isinstance(settings, dict) else fields.get("substitutions")
    own = {str(name): str(text) for name, text in given.items()} if isinstance(given, dict) else {}
    return {**(myst_substitutions(path.parent, root) if root else {}), **own}


def _with_included(text: str, path: Path, root: Path, within: Sequence[Path] = ()) -> str:
    """Return a text with the files below a root that it includes in the places of their names, none within itself."""
    above, components = (*within, path.resolve()), dict[str, str]()

    def inserted(match: re.Match[str]) -> str:
        found = resolved(path, root, match[match.lastgroup or 0])
        if found is None or found in above:
            return match[0]
        part = read_text(found)
        if found.suffix.lower() in MARKDOWN:
            part = _with_included(_FRONT_MATTER.sub("", part, count=1), found, root, above)
        if match["component"]:
            components[match["component"]] = part.strip("\n")
            return ""
        return part.strip("\n")

    text = INCLUDE_MARKDOWN.sub(inserted, text)
    return _COMPONENT.sub(lambda one: components.get(one["name"], one[0]), text) if components else text


def described(text: str, path: Path, *, start: int = 0, title: str = "", only_headings: bool = False) -> SourceDocument:
    """Return the document that is written in Markdown from `start` on; raises IngestionError where there is no text.

    `only_headings` allows nothing but headings, where these are told by their looks: they may be all the text there is.

    The title is the one given, else the first heading, where it is of the first level, or stands above all with no
    other of its level; else the file's name. A first heading that says the same is no part of the body.
    """
    if not text[start:].strip():
        raise IngestionError("there is no text in it", where=str(path))
    blocks = markdown_blocks(text, start, mdx=path.suffix.lower() == ".mdx")
    headings = [block for block in blocks if block.kind == "heading"]
    if headings and len(headings) == len(blocks) and not only_headings:
        raise IngestionError("there is no text in it but headings", where=str(path))
    highest = [_FIRST_LEVEL.fullmatch(text, heading.start, heading.end) is not None for heading in headings]
    alone = [*blocks[:1]] == headings[:1] and not any(len(heading.section) == 1 for heading in headings[1:])
    above = any(highest[:1]) or alone
    found = headings[0].section[-1] if headings and headings[0].section and above else ""
    title = title or found or title_from_name(path)
    if found == title:
        if sum(highest) < 2:  # else the title is a section beside others: what stands under them is not under it
            blocks = _below(title, blocks)
        if blocks[0].kind == "heading" and len(blocks) > 1:
            blocks = blocks[1:]
    return SourceDocument(title, text, body_start=blocks[0].start if blocks else start, blocks=blocks)


def _field(fields: dict[object, object], name: str, path: Path, kinds: Any) -> object:
    """Take a field out of the front matter; raises IngestionError when it is of another kind."""
    value = fields.pop(name, None)
    if isinstance(value, dict | list) and not isinstance(value, kinds):
        raise IngestionError(f"`{name}` in the front matter is a {type(value).__name__}, not text", where=str(path))
    return value


def front_matter(text: str, path: Path) -> tuple[dict[object, object], int]:
    """Return the front matter's fields and the offset after it; a file without any gives no fields and 0."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        lines = _META_DATA.match(text)
        pairs = [line.partition(":") for line in lines[0].splitlines()] if lines else []
        return {key: value.strip() for key, _, value in pairs}, lines.end() if lines else 0
    kind = "YAML" if match["mark"] == "---" else "TOML"
    try:
        if kind == "TOML":
            fields: object = tomllib.loads(match["fields"])
        else:  # YAML 1.2 has tabs between values, this parser does not
            given = match["fields"].expandtabs()
            for token in yaml.scan(given):  # with references a few bytes can stand for gigabytes, or for themselves
                if isinstance(token, yaml.AliasToken):
                    mark = token.start_mark
                    raise yaml.MarkedYAMLError(problem="references (*name) are not supported", problem_mark=mark)
            fields = yaml.safe_load(given)
    except Exception as error:  # on a value that cannot be (month 13) constructors raise whatever they come upon
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 2}" if mark else ""
        raise IngestionError(
            f"the front matter is not valid {kind}{line}: {getattr(error, 'problem', None) or error}",
            where=str(path),
            remedy="Quote values that contain a colon or begin with a special character.",
        ) from error
    if fields is None:
        fields = {}
    return (fields, match.end()) if isinstance(fields, dict) else ({}, 0)


def properties(text: str) -> str:
    """Return what YAML front matter says of what a page is about (`birthday: 1984-03-09`), as it is written.

    Not what only tells how to build or show the page, nor what is empty, yes or no, or made of further properties.
    """
    match = _FRONT_MATTER.match(text)
    given = match["fields"].expandtabs() if match and match["mark"] == "---" else ""
    root = yaml.compose(given, yaml.SafeLoader)
    said = [
        given[key.start_mark.index : value.end_mark.index].rstrip()
        for key, value in (root.value if isinstance(root, yaml.MappingNode) else [])
        if _says_something(value) and not _of_sites().fullmatch(re.sub(r"[-_\s]", "", str(key.value).lower()))
    ]
    return "\n".join(said)


def _says_something(value: yaml.Node) -> bool:
    if isinstance(value, yaml.SequenceNode):
        return bool(value.value) and all(map(_says_something, value.value))
    no_words = value.tag in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:null"}
    return isinstance(value, yaml.ScalarNode) and not no_words and bool(value.value.strip())


@cache
def _of_sites() -> re.Pattern[str]:
    """Return the pattern of the properties that only tell how to build or show a page."""
    names = " ".join(load_table("theworld.ingestion", "data/site_properties.yaml").values()).split()
    return re.compile("|".join(map(fnmatch.translate, names)))


_KINDS: dict[str, NoteKind] = {
    "heading": "heading",
    "bullet_list": "list",
    "ordered_list": "list",
    "table": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote": "admonition",
}
_FIRST_LEVEL = re.compile(r"(?: {0,3}#[ \t].*|[^\n]+\n {0,3}=+[ \t]*)(?=\r?\n|\Z)")
_QUESTION = re.compile(r"[?？][\s*_]*\Z")
_TO_PLACE = re.compile(r"[*_]*\[(?:(?!\]\().)*\]\(#\S*\)[*_]*", re.S)
_CONTENTS = re.compile(r"[*_\s]*(?:(?:table of )?contents|index|on this page|toc|目录|目次)[*_\s:：]*", re.I)
_LONG_ITEM = 400
"""Characters; a longer item of a list may be divided between its blocks."""
_MARKUP = re.compile(
    r"(?P<mark>`+)(?P<code>.+?)(?P=mark)(?!`)|!?\[(?P<words>(?:[^\[\]`]|`[^`]*`)*)\]\([^)]*\)|"
    r"(?<!\w)_(?P<stressed>[^\s_](?:.{0,200}?[^\s_])?)_(?!\w)|`|\{#[^}]*\}|"
    r"(?<!\*)(?P<stars>\*{1,3})(?![\s*)）])(?P<bold>(?:`[^`]*`|[^`]){1,200}?)(?:(?<=[^\s*(（])|(?<=[^\s*(]\*))(?P=stars)(?!\*)"
)


class _Found(NamedTuple):
    """A block on its way."""

    block: Block
    level: int = 0
    """Of a heading, 1 to 6; 0 for others."""
    words: str = ""
    """Of a heading."""
    first: int | None = None
    """Number of a numbered list's first item."""
    items: int = 0


def markdown_blocks(text: str, start: int = 0, *, mdx: bool = False) -> tuple[Block, ...]:
    """Return the blocks of text[start:], in order. In MDX what is only indented is no code."""
    above: list[tuple[int, str]] = []
    blocks: list[Block] = []
    for block, level, words, _, _ in _continued(text, _outermost(text, start, mdx)):
        if level:
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, words))
        section = tuple(words for _, words in above if words)
        lead = block.lead
        if blocks and block.kind not in {"heading", "paragraph"} and introduces(text, blocks[-1], block):
            led = (blocks[-1].start, lead[1] if lead else blocks[-1].end)
            lead = led if block.kind != "table" or led[1] - led[0] <= LONGEST_LEAD else lead
        blocks.append(block._replace(section=section, lead=lead))
    return tuple(blocks)


def _below(title: str, blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks whose sections do not begin with the document's title."""
    return tuple(one._replace(section=one.section[one.section[:1] == (title,) :]) for one in blocks)


def plain_heading(words: str) -> str:
    """Return a heading's words without emphasis, code and link markup."""
    plain = _MARKUP.sub(lambda one: one["code"] or plain_heading(one[one.lastgroup] if one.lastgroup else ""), words)
    return " ".join(plain.split())


@cache
def _blocks_only(mdx: bool) -> MarkdownIt:
    # What looks like HTML in cleaned text is text: `<!-- x` opens nothing that takes the headings below with it.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "reference", "html_block", *["code"][:mdx]])


def _outermost(text: str, start: int, mdx: bool) -> Iterator[_Found]:
    """Yield each block of the outermost level."""
    body = text[start:]
    lines = [start, *(start + match.end() for match in re.finditer(r"\r\n?|\n", body))]
    if lines[-1] < len(text):
        lines.append(len(text))

    def span(node: SyntaxTreeNode) -> tuple[int, int]:
        first, last = node.map or (0, 0)
        begin, end = lines[first], lines[min(last, len(lines) - 1)]
        return begin, begin + len(text[begin:end].rstrip())

    def inside(node: SyntaxTreeNode) -> list[tuple[int, int]]:
        return [span(child) for child in node.children if child.map and child.type != "inline"]

    for node in SyntaxTreeNode(_blocks_only(mdx).parse(body)).children:
        kind, (begin, end) = _KINDS.get(node.type, "paragraph"), span(node)
        if end <= begin or node.type == "hr":
            continue
        block, parts = Block(kind, begin, end), inside(node)
        if kind == "heading":
            yield _Found(block, int(node.tag[1:]), plain_heading(node.children[0].content))
        elif kind == "list":
            divided = tuple(part for item in node.children for part in _item(text, span(item), inside(item)))
            first = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
            yield _Found(block._replace(parts=divided), first=first, items=len(node.children))
        elif kind == "table":  # header and rule are the lead, rows the parts
            rows = [span(row) for part in node.children for row in part.children]
            if len(rows) > 1:
                head = begin + len(text[begin : rows[1][0]].rstrip())
                block = block._replace(parts=tuple(rows[1:]), lead=(begin, head))
            yield _Found(block)
        else:
            # Each piece of a code block that is too long begins with the line that opens its fence.
            line = text[begin:end].partition("\n")[0].rstrip() if node.type == "fence" else ""
            yield _Found(block._replace(parts=tuple(parts), lead=(begin, begin + len(line)) if line else None))


def without_contents(text: str, *, mdx: bool = False) -> str:
    """Return a text without lists of nothing but links to places of the page, and the title that names them contents.

    They stay where another paragraph introduces them, and where the text has nothing else.
    """
    if "](#" not in text:
        return text
    edge = SyntaxTreeNode()
    nodes: list[Any] = [one for one in SyntaxTreeNode(_blocks_only(mdx).parse(text)).children if one.type != "hr"]
    gone = set[int]()
    for before, node, after in zip([edge, *nodes], nodes, [*nodes[1:], edge], strict=False):
        named = before.type in {"heading", "paragraph"} and _CONTENTS.fullmatch(before.children[0].content)
        if _is_contents(node) and (named or before.type != "paragraph"):
            ends = after is edge or (after.type == "heading" and named and after.tag <= before.tag)
            gone.update(range((before if named and ends else node).map[0], node.map[1]))
    if all(one.type == "heading" or one.map[0] in gone for one in nodes):
        return text
    lines = re.findall(r"[^\r\n]*(?:\r\n?|\n|\Z)", text)
    return "".join(line if place not in gone else "\n" * (place - 1 not in gone) for place, line in enumerate(lines))


def _is_contents(node: Any) -> bool:
    """Return whether a list's items all link to places of the page."""
    leaves = [one for one in node.walk() if not one.children] if _KINDS.get(node.type) == "list" else []
    return len(leaves) > 1 and all(_TO_PLACE.fullmatch(one.content) for one in leaves)


def _item(text: str, item: tuple[int, int], blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where a list's item may be divided: a short one not at all, a question stays with its answer."""
    begin, end = item
    if end - begin <= _LONG_ITEM or len(blocks) < 2:
        return [item]
    opening = text[slice(*blocks[0])]
    first = 1 if announces(opening) or _QUESTION.search(opening) else 0  # a term stays with its definition
    return [(begin, blocks[first][1]), *blocks[first + 1 :]]


def _continued(text: str, found: Iterator[_Found]) -> Iterator[_Found]:
    """Join numbered lists that go on, with what stands between them."""
    held: list[_Found] = []
    for one in found:
        if held and (one.level or (one.first is not None and one.first <= 1)):
            yield from held
            held = []
        if one.first is None or not held:
            held, done = ([*held, one], []) if held or one.first is not None else ([], [one])
            yield from done
        elif one.first == (held[0].first or 0) + held[0].items:
            held = [_joined(held, one)]
        else:
            yield from held
            held = [one]
        if len(held) == 2 and ends_with_colon(text, held[0].block.end) and held[1].block.kind != "paragraph":
            held = [_joined(held[:1], held[1])]
    yield from held


def _joined(held: Sequence[_Found], one: _Found) -> _Found:
    """Return a list with what follows it: up to `one` it belongs to the last step, `one` goes on with the list."""
    goes_on, first = one.first is not None, held[0].block
    between, parts = [*held[1:], *([] if goes_on else [one])], first.parts
    if between:
        parts = (*parts[:-1], (parts[-1][0], between[-1].block.end))
    if goes_on:
        parts = (*parts, *one.block.parts)
    block = first._replace(end=one.block.end, parts=parts)
    return held[0]._replace(block=block, items=held[0].items + (one.items if goes_on else 0))
