"""Markdown without what is not text: comments, template tags and wrappers of HTML and MDX dropped, entities decoded.

Code (fences and spans) stays as it is. Tables, headings, lists and preformatted text in HTML become Markdown, tables
lose their padding, struck text goes, images become what they are said to show, references links with their address,
icons that say yes or no a mark; the indented content of MkDocs' admonitions and tabs and of components is put out to
the margin, lists of attributes and marks of footnotes go. A text without any of these stays the same to the letter, so
that offsets refer to the file itself; else they refer to the cleaned text, which is what is stored.
"""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from textwrap import indent

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names

from theworld.ingestion.readers.document import bold, fenced, raised
from theworld.ingestion.readers.myst import MYST, SAYING_NOTHING, directives, substituted, words_of_role
from theworld.ingestion.readers.tables import BETWEEN_ITEMS, html_table
from theworld.text.tokens import has_ideographs

_FENCE = re.compile(
    r"^[ \t]*(?P<mark>`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*\n(?:.*?\n)??[ \t]*(?P=mark)[`~]*[ \t]*(?:\n|\Z)", re.M | re.S
)
_SPAN = re.compile(r"(?P<mark>`+)(?!`)(?:[^`\n]|\n(?!\s*\n)|`(?!(?P=mark)))+?(?P=mark)(?!`)")
_ROLE = re.compile(rf"(?:(?<![\\$`])\{{(?P<role>[A-Za-z][\w:+.-]*)\}})?{_SPAN.pattern}")
_TABLE = re.compile(r"<table\b.*?</table\s*>", re.I | re.S)
_PRE = re.compile(r"(?<![ \t])[ \t]*<pre\b[^>]*>(.*?)</pre\s*>", re.I | re.S)
_SCRIPT = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>", re.I | re.S)
_COMMENT = re.compile(
    rf"(?P<code>{_SPAN.pattern})|"
    r"<!--.*?-->|\{/\*.*?\*/\}|\{#[^}\n]*#\}|^%%(?:[^%]|%(?!%))*%%[ \t]*$|(?<=\s)%%[^%\n]+%%(?!\S)"
    r"|^ {0,3}(?:\{\{(?![<%])[^{}\n]*\}\}|\[\[_TOC_\]\]|\[TOC\])[ \t]*$",
    re.S | re.M,
)
"""Also what a site puts in by name, alone on its line: `{{tabs}}`, `[TOC]`; and code, where none of it is a comment."""
_WIKI_LINK = re.compile(
    r"!\[\[[^\[\]|\n]{1,300}\.(?:bmp|gif|jpe?g|png|svg|webp)(?:[#|][^\[\]\n]{0,300})?\]\]"
    r"|!?\[\[(?:[^\[\]|\n]{1,300}\|)?(?P<words>[^\[\]|\n]{0,300}[^\W\d_][^\[\]|\n]{0,300}|\d{4,}(?:[-_.]\d+)*)\]\](?!\()",
    re.I,
)
"""A link of Obsidian and other wikis, with what it shows; a picture."""
_BLOCK_ID = re.compile(r"(?:(?<=\S)[ \t]+|(?<=\]\])|^ {0,3})\^(?=[\d-]*[A-Za-z])[A-Za-z\d-]{3,}[ \t]*$", re.M)
"""What links of Obsidian lead to, at the end of a paragraph."""
_COMMENT_ABOUT_CODE = re.compile(rf"{_FENCE.pattern}|(?P<comment>^%%(?:[^%]|%(?!%))*%%[ \t]*(?:\n|\Z))", re.S | re.M)
_HIGHLIGHT = re.compile(r"(?<![\w=])==(?=[^\s=])([^=\n]+)(?<=\S)==(?![\w=])")
_TEMPLATE = re.compile(rf"(?P<code>{_SPAN.pattern})|" + r"\{%-?.*?-?%\}|\{\{[<%](?P<shortcode>.*?)[%>]\}\}", re.S)
_NEARBY = 300
"""Characters of a line before a component that are looked at."""
_MODULE = re.compile(
    r"^(?:import\s.+?\sfrom\s+['\"].+?['\"];?|import\s+['\"].+?['\"];?|export\s+(?:const|default)\s[^\n]*)[ \t]*\n",
    re.M,
)
_KEPT = rf"{_SPAN.pattern}|\\.|\{{#[^{{}}\n]*\}}|\{{\{{[^{{}}\n]*\}}\}}"
"""Code, escapes, ids of headings, and doubled braces."""
_STRING = r"(?<!\w)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|/\*(?:[^*]|\*(?!/)){0,2000}\*/"
_TOKEN = re.compile(
    rf"{_KEPT}|{_STRING}|(?P<bracket>[(){{}}\[\]])|(?P<line>\n|\Z)|"
    r"(?P<module>^(?:export\s+(?:default|(?:const|let|var|(?:async\s+)?function|class)\s+\w)|import\s+(?=\{)))",
    re.M,
)
"""What tells where something computed begins and ends in MDX."""
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_LITERAL = re.compile(
    r"(?P<quote>[\"'`])(?P<text>(?:(?!(?P=quote))[^\\$]|\\.)*)(?P=quote)|-?\d+(?:\.\d+)?|true|false", re.S
)
_EXPORTED = re.compile(r"export\s+(?:default|(?:const|let|var)\s+\w+[^=\n]*=)\s*[\[{]")
_QUOTED = r"(?P<quote>[\"'`])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*+)(?P=quote)"
_DATA = re.compile(rf"(?:\b(?P<key>\w+)[\"']?\s*:|[\[,(])\s*{_QUOTED}", re.S)
"""A text in the objects and lists of a script; those of attributes stand behind other marks."""
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
_NAMING = "label title question heading summary caption name".split()
"""Keys of data and attributes of components whose text names what they hold, the most telling first."""
FEWEST_WORDS = 3
"""Of a text in a script that is something said, not a name or a style."""
_GONE = "\0"
_HOLDS_NOTHING = re.compile(r"<(?!t[dh]\b)(?P<element>\w+)\b[^<>]*>\s*\0[\s\0]*</(?P=element)\s*>")
_LINE_GONE = re.compile(r"^[ \t]*(?:(?:[-*+>]|#{1,6}|\d+[.)])[ \t]*)*\0[ \t\0]*(?:\n|\Z)", re.M)
_WRAPPER = re.compile(
    r"^(?:(?P<quote>(?P<end>(?:[ \t]*>)+)[ \t]*)|[ \t]*)"
    r"(?::{3,}[ \t]*(?:(?:code-)?(?:tabs|group)\b[^\n]*)?\{?(?P<kind>\w*)\}?|"
    r"(?P<tab>@tab\b(?::\w+)?|={2,4})(?=[ \t]+\S))"
    r"(?:\[(?P<label>[^\n]*)\](?:\{[^{}\n]*\})?[ \t]*$|[ \t]*(?P<title>[^\n]*)$)",
    re.M,
)
"""The lines around an admonition of Docusaurus, VitePress and Pandoc, `:::note Title`, `:::note[Title]` and `:::`;
around the tabs of VuePress and VitePress, `::: tabs#name`, `::: code-group`, above each `@tab Title`, `== Title`."""
_ALERT = re.compile(r"^(?P<quote>[ \t]*(?:>[ \t]*)+)\[!(?P<kind>\w+)\][+-]?(?:[ \t]+(?i:(?P=kind))[ \t]*$)?", re.M)
"""The beginning of a quote that GitHub or Obsidian shows as an admonition; a title that is its kind."""
_HARD_BREAK = re.compile(r"(?<=[^\s\\])[ \t]*\\(?=\r?\n(?! {4}|\t))")
"""A backslash that ends a line of prose; in code that is only indented it goes on with a command."""
_ESCAPE = re.compile(
    r"(?P<kept>(?<!\\)(\$\$?)(?=\S).+?(?<!\\)\2|(?<!\S)\S*\\[^\W_]\S*)|\\(?P<mark>[!-#%-/:-@\[\]-`{-~])", re.S
)
"""A punctuation mark that is escaped; a formula, and what has other backslashes (paths, patterns), are kept whole."""
_PAIRS = ("()", "[]", "<>", "{}")
_PARAGRAPH = re.compile(r"(?:^[ \t]*\S[^\n]*(?:\n|\Z))+", re.M)
_INDENTING = re.compile(
    r"^(?P<margin> *)(?:(?:!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w -]*)(?:\"(?P<title>.*)\")?|===\+?[ \t]+\"(?P<tab>.*)\")"
    r"[ \t\r]*(?:\n|\Z)(?P<inside>(?:[ \t\r]*\n|(?P=margin) {4}[^\n]*(?:\n|\Z))*)",
    re.M,
)
"""An admonition or tab of MkDocs with its indented content."""
_TERM = re.compile(r"^(?:((?![\s>#|:<=]|[-+*\d.)]+[ \t])[^\n]{1,200})\n{1,2})? {0,3}:[ \t]+(?=\S)", re.M)
"""What a definition begins with, and the term above it."""
_ITEM = re.compile(r"^(?P<margin> *)(?:[-*+]|\d{1,9}[.)]) {1,4}(?=\S)", re.M)
_INLINE = frozenset(
    "a abbr b big br button cite code del dfn em embed font i iframe img input ins kbd label mark picture q s samp "
    "small source span strike strong style sub summary sup svg time u var video wbr".split()
)
_ELEMENTS = _INLINE | frozenset(block_names)
_TAG = re.compile(
    r"(?P<after>(?<=\w))?<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9.-]*)"
    rf"(?P<rest>(?:\s(?:[^<>\"'{{]+|\{{(?:\s*{_QUOTED}\s*\}})?|\"[^\"]*\"|'[^']*'){{0,1000}}+)?)/?>",
    re.S,
)
_VALUED = re.compile(r"[\w-]=[\"'{]")
_ATTRIBUTE = re.compile(
    rf"(?:(?<![\w-])(?P<key>[\w-]++)=)?(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|\{{\s*{_QUOTED}\s*\}})", re.S
)
"""An attribute that is a text, or a text alone."""
_STYLING = frozenset(
    "class classes style id type icon color size width height align valign vertical float variant key".split()
)
"""Attributes that say nothing, by a word of their name (`groupId`)."""
_PLACE = re.compile(r"(?:[\w+-]+:|\.*)/.*|#\S*|\S*/\S*|\S+\.[a-z]\w{1,3}", re.S)
"""A path, an address, a file."""
_KIND = re.compile(
    r"<(?:(?:admonition|alert|aside|callout)\s[^<>]*?\b(?:kind|severity|type|variant)=[\"'])?"
    r"(attention|caution|check|danger|error|hint|important|info|note|success|tip|warning)\b",
    re.I,
)
"""A component that is an admonition: by its name, or of the kind that an attribute names."""
_PIECE = re.compile(rf"^(?=(?P<margin>[ \t]*))(?:{_FENCE.pattern}|[^\n]*)", re.M | re.S)
"""Code, or a line."""
_SETTING = r"(?:[#.][\w-]+|[\w-]+=(?:\"[^\"\n]*\"|[^\s{}\"]+))"
_SETTINGS = rf"\{{(?::[^{{}}\n]*|[ \t]*(?!#[^\s{{}}]*\}}){_SETTING}(?:[ \t]+{_SETTING})*[ \t]*)\}}"
"""A list of attributes of kramdown and MkDocs, `{:target="_blank"}` or `{ .wide }`; `{#id}` is one of headings only."""
_SETTINGS_BEHIND = re.compile(rf"(?:(?<=[])*_:])|\A){_SETTINGS}")
"""Such a list right behind a link, emphasis, code or an icon."""
_SETTINGS_AT_END = re.compile(
    rf"^(?P<heading>#{{1,6}}[ \t].*?)(?:[ \t]*(?:{_SETTINGS}|\{{#[^\s{{}}]+\}}))+[ \t]*$|"
    rf"(?<![ \t])[ \t]*(?=\{{:){_SETTINGS}[ \t]*$",
    re.M,
)
_KEYS = re.compile(r"(?<![A-Za-z\d+\\])\+\+(?P<keys>(?!\+)(?:\+?(?:[A-Za-z\d-]++|\"[^\"\n]+\"))+)\+\+(?![A-Za-z\d+])")
"""Keys to press, `++ctrl+f1++` or `++"F1"++` of MkDocs."""
_NOTE = re.compile(rf"{_SPAN.pattern}|(?P<own>^ {{0,3}})?(?<! ) *\[\^(?P<name>[^]\s]{{1,80}})\](?(own): *)", re.M)
"""Code, the mark of a footnote, and what its note begins with."""
_CODE_TITLE = re.compile(r"[ \t]title=([\"'])(?P<words>.+?)\1")
_CODE_SETTING = re.compile(r"(?<!\s)[ \t]+(?:[\w-]+=(?:\"[^\"]*\"|'[^']*'|[^\s\"'{}]+)|\{[\d, -]*\})(?!\S)")
"""What the line that opens a block of code sets: its title, which lines to number or to highlight."""
_ICON = re.compile(
    r":(?:simple-[\w-]+|(?:material|octicons|fontawesome(?:-solid|-regular)?)"
    r"-(?:(?P<yes>check)|(?P<no>close|x|xmark|times)|[\w-]+?)(?:-[\w-]+)?):"
)
"""An icon by its set and name."""
_IMAGE = re.compile(r"!\[(?P<alt>[^\[\]]*)\]\((?P<target>(?:[^()\n]+|\([^()\n]*\))*+)\)(?:\{[^{}\n]*\})?")
_IMAGE_ALONE = re.compile(rf"^[ \t]*{_IMAGE.pattern}[ \t]*$", re.M)
_IDENTIFIER = re.compile(r"[a-z\d]+(?:[_-][A-Za-z\d]+)+")
_EMPTY_LINK = re.compile(r"\[\s*\]\((?:[^()\n]+|\([^()\n]*\))*+\)")
_LINK_NOWHERE = re.compile(r"(?<!!)\[(?P<words>[^\[\]\n]+)\]\(\s*\)")
"""A link whose address was a template tag."""
_SAYS_NOTHING = re.compile(
    r"[^.]*\.\w{2,5}|(?i:.*\.(?:png|jpe?g|gif|svg|webp))|\D*\d{4}-\d\d-\d\d\D{1,9}\d\d?[.:]\d\d\b.*|"
    r"(?i:alt(?:ernative)? text|enter image description here|undefined|"
    r"(?:image|img|picture|photo|screenshot|图片|截图)[\W\d_]*)"
)
"""What an image is said to show where it is a file's name, a time, or that it is an image."""
_HEADING_BEGUN = re.compile(r"(<h[1-6]\b[^<>]*>)\s+", re.I)
_EMPTY_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]*\n", re.M)
_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<name>[^\[\]^\n][^\[\]\n]*)\]:[ \t]*<?(?P<target>[^\s<>]+)>?(?:[ \t]+[\"'(].*)?[ \t]*\n?", re.M
)
_REFERENCE = re.compile(
    rf"{_SPAN.pattern}|(?<!\])\[(?P<words>(?:[^\[\]`]|`[^`\n]*`)+)\](?:\[(?P<name>[^\[\]\n]*)\])?(?![(\[:])"
)
_ENTITY = re.compile(r"(?P<target>\]\([^()\s]*)|&(?:#\w+|[A-Za-z]\w*);")
_LINE_BREAK = re.compile(r"(\|?)(?:\s*</?(?:br|[uo]l|li|p)\b[^<>]*>)+\s*(?=(\|?))", re.I)
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.M)
_TABLE_LINES = re.compile(r"^[ \t]*\|.*\n[ \t]*\|[-:| \t]+\n(?:[ \t]*\|.*(?:\n|\Z))+", re.M)
_STRUCK = re.compile(
    rf"(?P<code>{_SPAN.pattern})|(?:(?<![~\\])~~(?=[^\s~])(?:[^~\n]|\n(?!\s*\n)|~(?!~))*?(?<=\S)~~(?!~)|"
    r"<(?P<element>s|del|strike)(?:\s[^<>]*)?>(?:[^\n<]|\n(?!\s*\n)|<(?!/?(?P=element)\b))*+</(?P=element)\s*>)[ \t]*",
    re.I,
)
"""Text that is struck out, within a paragraph, and code."""
_WORD = re.compile(r"[^\W_]+")
_PADDING = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)|-{4,}")
"""What only lines up the columns of a table's source: it would fill notes and answers with blanks."""
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def cleaned(text: str, *, mdx: bool = False, substitutions: Mapping[str, str] | None = None) -> str:
    """Return a Markdown text without comments, template tags, HTML tags and entities; code stays untouched.

    Of MDX expressions go, too, with the elements that hold nothing else. `substitutions` are those of MyST, by name.
    """
    # Preformatted text becomes fences before anything else, so that it is code from then on.
    given = _COMMENT_ABOUT_CODE.sub(lambda one: "" if one["comment"] else one[0], text)
    if "{{" in given:
        known = partial(substituted, substitutions or {})
        given = outside(_FENCE, given, lambda piece: outside(_SPAN, piece, known))
    given = outside(_FENCE, _FENCE.sub(_titled, _put_out(given)), lambda piece: _PRE.sub(_as_fence, piece))
    if mdx:
        given = outside(_FENCE, given, without_expressions)
    elif MYST.search(text):
        given = outside(_FENCE, given, lambda piece: _ROLE.sub(words_of_role, SAYING_NOTHING.sub("", piece)))
    prose = _FENCE.sub("\n", given)
    tags = _TAG.finditer(_SPAN.sub("", prose))
    closed = {tag["name"] for tag in tags if tag["close"] or (tag["name"][0].isupper() and tag[0].endswith("/>"))}
    targets = {_label(one["name"]): one["target"] for one in _DEFINITION.finditer(prose)}
    notes = {one["name"] for one in _NOTE.finditer(prose) if one["own"] is not None}
    unmarked = partial(_NOTE.sub, lambda one: (one["own"] or "") if one["name"] in notes else one[0])
    done = outside(_FENCE, given, lambda piece: _prose(unmarked(piece), closed, targets))
    return text if done == text else outside(_FENCE, done, lambda piece: _EMPTY_LINES.sub("\n\n", piece))


def outside(code: re.Pattern[str], text: str, change: Callable[[str], str]) -> str:
    """Return a text changed but for the code in it."""
    pieces: list[str] = []
    end = 0
    for match in code.finditer(text):
        pieces += [change(text[end : match.start()]), match.group()]
        end = match.end()
    return "".join([*pieces, change(text[end:])])


def without_expressions(text: str) -> str:
    """Return MDX without what is computed: expressions in braces, and imports and exports over all their lines.

    Literals are kept: text as text, the value of an attribute as it is. An element, or the line of an item, that holds
    nothing else goes with its expression. A brace that is never closed stays.
    """
    pieces, place = [], 0
    for start, end in sorted(_computed(text)):
        if start < place:
            continue  # within another one
        attribute = text[start - 1 : start] == "="
        if text[start] != "{":
            instead = _said_by_export(text[start:end])
        elif literal := _LITERAL.fullmatch(text[start + 1 : end - 1].strip()):
            instead = text[start:end] if attribute else _unquoted(literal["text"] or "")
        else:
            instead = '""' if attribute else _GONE
        pieces += [text[place:start], instead]
        place = end
    text = "".join([*pieces, text[place:]])
    while (less := _HOLDS_NOTHING.sub(_GONE, text)) != text:
        text = less
    return _LINE_GONE.sub("", text).replace(_GONE, "")


def _said_by_export(code: str) -> str:
    """Return the texts of several words that a page's data holds, those that name others in bold; of code nothing."""
    said = []
    for one in _DATA.finditer(code) if _EXPORTED.match(code) else ():
        words = _PLACEHOLDER.sub("", _unquoted(one["text"]))
        if has_ideographs(words) or len(words.split()) >= FEWEST_WORDS:
            said.append(bold(" ".join(words.split())) if one["key"] in _NAMING else words.strip())
    return "".join(f"\n{words}\n" for words in said)


def _unquoted(literal: str) -> str:
    return re.sub(r"\\(.)", lambda mark: "\n" if mark[1] == "n" else mark[1], literal, flags=re.S)


def _computed(text: str) -> Iterator[tuple[int, int]]:
    """Yield where expressions, imports and exports of MDX begin and end."""
    opened: list[tuple[str, int]] = []
    braces, module = 0, None
    for token in _TOKEN.finditer(text):
        mark = token["bracket"] or ""
        if mark in _BRACKETS.values():
            opened.append((mark, token.start()))
            braces += mark == "{"
        elif mark == "}" and braces:
            while opened[-1][0] != "{":
                opened.pop()
            braces -= 1
            yield opened.pop()[1], token.end()
        elif opened and opened[-1][0] == _BRACKETS.get(mark):
            opened.pop()
        elif token["module"] and not opened:
            module = token.start()
        elif token["line"] is not None and not braces and (module is None or not opened):
            opened.clear()  # what a line of prose leaves open
            if module is not None:
                yield module, token.end()
                module = None


def _prose(text: str, closed: Collection[str], targets: Mapping[str, str]) -> str:
    text = _LINE_GONE.sub("", _STRUCK.sub(_unless_struck, outside(_SPAN, text, raised))).replace(_GONE, "")
    if "<table" in text.lower():
        text = _TABLE.sub(lambda table: f"\n\n{html_table(BeautifulSoup(table[0], 'html.parser'))}\n\n", text)
    text = _COMMENT.sub(r"\g<code>", _SCRIPT.sub("", text))
    text = _TEMPLATE.sub(lambda one: one["code"] or _shown(one), _MODULE.sub("", text))
    # Of an admonition's first line its title is kept, else its kind.
    text = _WRAPPER.sub(
        lambda line: (
            f"{line['quote'] or ''}{bold(line['label'] or line['title'] or line['kind'].capitalize())}"
            if line["kind"] or line["tab"]
            else line["end"] or ""
        ),
        text,
    )
    text = _ALERT.sub(lambda line: f"{line['quote']}{bold(line['kind'].capitalize())}", text)
    text = _HARD_BREAK.sub("", outside(_SPAN, text, lambda piece: _BLOCK_ID.sub("", piece)))
    in_cells = partial(_LINE_BREAK.sub, lambda gap: f"{gap[1]} " if "|" in gap.groups() else BETWEEN_ITEMS)
    text = _ROW.sub(lambda row: outside(_SPAN, row[0], in_cells), text)
    text = _ROW.sub(lambda row: _PADDING.sub(lambda gap: "---" if gap[0][0] == "-" else " ", row[0]), text)
    text = _TABLE_LINES.sub(_without_pictures, _IMAGE_ALONE.sub(_of_one_alone, text))
    text = _SETTINGS_AT_END.sub(lambda line: line["heading"] or "", text)
    linked = partial(_REFERENCE.sub, partial(_linked, targets)) if targets else str
    text = linked(_DEFINITION.sub("", text) if targets else text)

    def without_tags(piece: str) -> str:
        piece = _IMAGE.sub(lambda image: said_by_image(image["alt"]), piece)
        piece = _SETTINGS_BEHIND.sub("", _LINK_NOWHERE.sub(r"\g<words>", _EMPTY_LINK.sub("", piece)))
        piece = _HIGHLIGHT.sub(
            r"\1",
            _WIKI_LINK.sub(
                lambda link: (link["words"] or "").lstrip("#^").partition("#^")[0].replace("#", " › "), piece
            ),
        )
        piece = _KEYS.sub(lambda one: one[1].replace('"', "") if '"' in one[1] else one[1].title(), piece)
        piece = _ICON.sub(lambda icon: "✓" if icon["yes"] else "✗" if icon["no"] else "", piece)
        if "<" in piece:
            piece = _TAG.sub(lambda tag: _instead_of(tag, closed), _HEADING_BEGUN.sub(r"\1", piece))
        return (_decoded(piece).replace("\xa0", " ") if "&" in piece else piece).replace("\u200b", "")

    done = linked(outside(_SPAN, text, without_tags))  # again, for images within links
    done = _EMPTY_HEADING.sub("\n", done)
    return _PARAGRAPH.sub(lambda paragraph: _unescaped(paragraph[0]), done) if "\\" in done else done


def _unless_struck(text: re.Match[str]) -> str:
    """Return what stays of a text that is struck out: code; a whole cell, which says what its row is of."""
    cell = text.string[: text.start()].rstrip(" \t").endswith("|") and text.string.startswith("|", text.end())
    return text[0] if cell else f"{text['code'] or ''}{_GONE}"


def _titled(code: re.Match[str]) -> str:
    """Return a block of code without what the line that opens it sets, its title in bold above."""
    opening, rest = code[0].split("\n", 1)
    title, margin = _CODE_TITLE.search(opening), opening[: -len(opening.lstrip())]
    above = f"\n{margin}{bold(title['words'])}\n\n" if title else ""
    return f"{above}{_CODE_SETTING.sub('', opening)}\n{rest}"


def said_by_image(words: str, *known: str) -> str:
    """Return what an image is said to show; nothing where that is a file's name, or that it is an image.

    Of one alone, `known` is what its file and what stands above are called: their words, or an identifier, say nothing.
    """
    names = _WORD.findall(" ".join(known).replace("%20", " ").lower())
    again = known and (_IDENTIFIER.fullmatch(words) or {*_WORD.findall(words.lower())}.issubset(names))
    return "" if again or _SAYS_NOTHING.fullmatch(words) else words


def _of_one_alone(image: re.Match[str]) -> str:
    """Return an image that is alone on its line, below a heading or none, where it says something."""
    heading = image.string[: image.start()].rpartition("\n#")[2].partition("\n")[0]
    return image[0] if said_by_image(image["alt"], image["target"].partition(' "')[0], heading) else ""


def _without_pictures(table: re.Match[str]) -> str:
    """Return a table without rows of nothing but pictures; where no other is left, what its header says of them."""
    head, rule, *rows = table[0].splitlines(keepends=True)
    says, *said = (_TAG.sub("", _IMAGE.sub(lambda one: said_by_image(one["alt"]), row)) for row in (head, *rows))
    kept = [row for row, words in zip(rows, said, strict=True) if words == row or any(map(str.isalnum, words))]
    if kept:
        return "".join([head, rule, *kept])
    return f"{BETWEEN_ITEMS.join(filter(None, map(str.strip, says.split('|'))))}\n"


@cache
def _rendering() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _unescaped(paragraph: str) -> str:
    """Return a paragraph without the backslashes before punctuation that change nothing of what it is rendered as."""

    def without(marks: str) -> str:
        changed = partial(_ESCAPE.sub, lambda one: one["mark"] if one["mark"] and one["mark"] in marks else one[0])
        return outside(_SPAN, paragraph, changed)

    found = {one["mark"] for one in _ESCAPE.finditer(paragraph) if one["mark"]}
    kinds = sorted({next((pair for pair in _PAIRS if mark in pair), mark) for mark in found})
    if not kinds:
        return paragraph
    rendered, plain = _rendering().render(paragraph), ""
    for marks in ("".join(kinds), *kinds):
        if not set(found) <= set(plain) and _rendering().render(without(plain + marks)) == rendered:
            plain += marks
    return without(plain)


def _label(name: str) -> str:
    return " ".join(name.casefold().split())


def _linked(targets: Mapping[str, str], link: re.Match[str]) -> str:
    """Return a link with the address that is defined for its name, or for its words; code stays."""
    target = targets.get(_label(link["name"] or link["words"])) if link["words"] else None
    return f"[{link['words']}]({target})" if target else link.group()


def _decoded(text: str) -> str:
    """Return a text with the characters that entities stand for; in a link's target only for `&amp;`."""
    return _ENTITY.sub(lambda one: one[0].replace("&amp;", "&") if one["target"] else html.unescape(one[0]), text)


def _shown(tag: re.Match[str]) -> str:
    """Return what a page shows of a shortcode: words and captions, not paths and single names."""
    said = _said_by_attributes(tag["shortcode"] or "")
    return " ".join(text for key, text in said if key in _NAMING or _is_words(text))


def _said_by_attributes(code: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a tag with the names of their attributes, if any, but for styles, paths and addresses."""
    for one in _ATTRIBUTE.finditer(code):
        text = (one["double"] or one["single"] or _unquoted(one["text"] or "")).strip()
        names = {name.lower() for name in re.split(r"[_-]|(?=[A-Z])", one["key"] or "")}
        if text and (one["key"] in _NAMING or (names.isdisjoint(_STYLING) and not _PLACE.fullmatch(text))):
            yield one["key"] or "", text


def _is_words(text: str, *, capital: bool = False) -> bool:
    """Return whether a text reads as words: Chinese, several of letters, or one where a `capital` is enough."""
    several = re.search(r"\s\W{0,9}[^\W\d_]{2}|(?<!\w)[^\W\d_]{2,}\W{0,9}\s", text) is not None
    return several or has_ideographs(text) or (capital and text[0].isupper())


def _instead_of(tag: re.Match[str], closed: Collection[str]) -> str:
    """Return what stands for a tag: the marks of a heading or an item, a component's label, a line's end.

    What is no element of HTML and no component, is not closed and sets nothing (`<name>`, `<Your Name>`,
    `List<String>`) stays. An element in capitals (`<BR>`) is one; of a single letter it may be a type's (`List<B>`).
    """
    name, closing = tag["name"], tag["close"] == "/"
    named = name[0].isupper() and not (len(name) > 1 and name.isupper() and name.lower() in _ELEMENTS)
    if named and name in closed:
        return _said_by_component(tag)
    known = name.lower() in _ELEMENTS or name in closed or _VALUED.search(tag["rest"]) is not None
    if not known or (named and tag["after"] is not None and not closing):
        return tag.group()
    if name.lower() in _INLINE or name.lower() not in block_names:
        return {"summary": "**", "br": " "}.get(name.lower(), "")
    if name.lower() == "li":
        return "" if closing else "\n- "
    if name[0] in "hH" and name[1:].isdigit():
        return "\n\n" if closing else f"\n\n{'#' * int(name[1:])} "
    at_line_end = tag.string[tag.end() : tag.end() + 1] in {"", "\n"}
    return "" if at_line_end or name.lower() not in {"p", "div", "ul", "ol", "dd", "dt", "details"} else "\n"


def _said_by_component(tag: re.Match[str]) -> str:
    """Return a component's label in bold and the words of its attributes, as paragraphs where it begins a line."""
    label, words = _label_and_words(tag)
    before = tag.string[max(tag.start() - _NEARBY, 0) : tag.start()].rpartition("\n")[2].rstrip()
    if label and (not before or (before.endswith(">") and "|" not in before)):
        return f"\n\n{bold(label)}\n\n" + f"{words}\n\n" * bool(words)
    said = " ".join(filter(None, (label and bold(label), words)))
    return f" {said} " if said and not tag[0].endswith("/>") else said


def _label_and_words(tag: re.Match[str]) -> tuple[str, str]:
    """Return a component's label, else its kind, and what else of its attributes reads as words.

    Of one without content names count as words, too, and where it says nothing else, whatever it sets.
    """
    if tag["close"]:
        return "", ""
    said = {key: text for key, text in _said_by_attributes(tag["rest"]) if key}
    alone = tag[0].endswith("/>")
    naming = next((key for key in _NAMING if key in said), "" if alone else "value")
    kind = _KIND.match(tag[0]) if not (alone or naming in _NAMING) else None
    label = kind[1].capitalize() if kind else said.get(naming, "")
    others = [text for key, text in said.items() if key != naming and (alone or not key.lower().endswith("value"))]
    words = [text for text in others if _is_words(text, capital=alone)]
    words = others if alone and not (words or label) else words
    return re.sub(r"\A\d+\Z", "", label), " ".join(words)


DEEPEST = 12
"""Levels of containers within containers that are looked into; what lies deeper was made by no person."""


def _put_out(text: str, level: int = 0) -> str:
    """Return a text with the content of admonitions, tabs and components at the margin, their titles in bold above.

    In a list that is the margin of the item. A title over nothing but images is their caption, and not bold.
    """
    text = outside(_FENCE, text, partial(_TERM.sub, lambda one: f"- {bold(one[1])}\n  " if one[1] else "\n  "))
    done, above, place = "", "", 0
    for start, end, title, inside in sorted(_containers(text)) if level < DEEPEST else ():
        if start < place:
            continue
        before, line, margin = text[place:start].rpartition("\n")
        done, above = done + before + line, above + before + line
        titled = title and _TAG.sub("", _IMAGE.sub("", inside)).strip()
        content = _put_out(_dedented(inside if titled else inside.replace(f"![{title}](", "![](")), level + 1)
        if title:
            done += "\n" if done and not done.endswith("\n\n") else ""
            content = f"{bold(title) if titled else title}\n\n{content}" + "\n" * (not content.endswith("\n"))
        above = re.split(r"\n(?=\S)", above)[-1]  # the list it stands in, if any
        items = [len(one[0]) for one in _ITEM.finditer(above) if len(one["margin"]) < len(margin)]
        done += indent(content, " " * max(len(margin), items[-1]) if items else "")
        above = above if items else ""
        place = end
    return done + text[place:]


def _containers(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield where admonitions and tabs of MkDocs, and components that have lines of their own, begin and end.

    With them their title, or kind, and what stands inside.
    """
    plain = _FENCE.sub(lambda code: re.sub(r"\S", "x", code[0]), f"{text}\n")
    plain = _SPAN.sub(lambda code: code[0].replace("<", "x"), plain)
    for head in _INDENTING.finditer(plain):
        kind = (head["kind"] or "").strip().capitalize()
        title = head["tab"] or (kind if head["title"] is None else head["title"])
        yield head.end("margin"), head.end(), title, f"\n{text[slice(*head.span('inside'))]}"
    yield from directives(text)
    opened = defaultdict[str, list[re.Match[str]]](list)
    for tag in _TAG.finditer(plain):
        if not tag["name"][0].isupper() or tag[0].endswith("/>"):
            continue
        if not tag["close"]:
            opened[tag["name"]].append(tag)
        elif opened[tag["name"]]:
            first = opened[tag["name"]].pop()
            title, words = _label_and_words(first)
            inside = f"\n{words}\n" * bool(words) + text[first.end() : tag.start()]
            before = plain[plain.rfind("\n", 0, first.start()) + 1 : first.start()]
            after = plain[tag.end() : plain.index("\n", tag.end())]
            if not (before + after).strip() and (title or "\n" in inside):
                yield first.start(), tag.end(), title, inside


def _dedented(text: str) -> str:
    """Return the lines of a text with as many blanks less as the first whole one has, code as many as its fence."""
    first = re.search(r"\n([ \t]*)\S", text)
    most = len(first[1]) if first else 0
    return _PIECE.sub(lambda piece: re.sub(rf"(?m)^[ \t]{{0,{min(most, len(piece['margin']))}}}", "", piece[0]), text)


def _as_fence(match: re.Match[str]) -> str:
    """Return preformatted text as a fence."""
    code = _decoded(re.sub(r"</?[a-zA-Z][^<>]*>", "", match[1])).strip("\n")
    return f"\n{fenced(code)}\n"
