"""What the files of a folder say of each other: what labels, pages and substitutions of RST are, which they include."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from posixpath import normpath

RST = (".rst", ".rest")
MARKDOWN = (".md", ".markdown", ".mdx")
ASCIIDOC = (".adoc", ".asciidoc")

_LABEL = re.compile(r"^\.\. _(?P<mark>`?)(?P<name>[^`\n]+?)(?P=mark):[ \t]*$", re.M)
_HEADING = re.compile(r"(?:^([^\w\s])\1{2,}[ \t]*\n)?^[ \t]*(?!\.\. )(?P<words>\S.*)\n([^\w\s])\3{2,}[ \t]*$", re.M)
_LABELLED = re.compile(rf"(?:\s*^\.\. .*$)*\s*{_HEADING.pattern}", re.M)
"""A heading below labels and other lines of markup."""
_DEFINITION = re.compile(r"^\.\. (?:\||_|role::|include::).*(?:\n[ \t]+\S.*|\n(?=\n[ \t]))*", re.M)
"""What a file defines and does not show, with what belongs to it."""
_ROLE = re.compile(r":[\w:+.-]+:`([^`<]*?)(?:\s*<[^`<>]*>)?`")
_INCLUDE = re.compile(r"^[ \t]*\.\. include::[ \t]*(?P<rst>\S+)[ \t]*$(?!\n[ \t]+:(?:start|end)-)", re.M)
"""The inclusion of a whole file in RST."""
_INCLUDE_ASCIIDOC = re.compile(
    r"^include::(?P<asciidoc>[^\s\[\]{}]+)\[(?![^\]]*\b(?:tags?|lines)=)[^\]]*\][ \t]*$", re.M
)
"""The same in AsciiDoc."""
_RESOURCE = re.compile(
    r"(?:.*[@:])??(?:(?P<module>[\w.-]+):)?(?:(?P<family>partial|example|page|attachment)\$)?(?P<path>[^:$]+)"
)
"""What Antora calls a file by: `module:family$path`, of pages without the family."""
INCLUDE_MARKDOWN = re.compile(
    r"^[ \t]*(?:<!--\s*@include:\s*(?P<vitepress>[^\s{}#]+)\s*-->|\{\{\s*#include\s+(?P<mdbook>[^\s:{}]+)\s*\}\}|"
    r"--8<--[ \t]+\"(?P<mkdocs>[^\"\n:]+)\"|"
    r"import[ \t]+(?P<component>[A-Z]\w*)[ \t]+from[ \t]+['\"](?P<mdx>[^'\"\n]+\.mdx?)['\"];?)[ \t]*$",
    re.M,
)
"""The same in the Markdown of VitePress, mdBook and MkDocs, and in MDX, where a component stands for the file."""
_MARKS = (b"include::", b"@include:", b"#include", b"--8<--", b"import ")
"""Without one of these a file includes none, and need not be searched."""


@lru_cache(4)
def labels_below(root: Path, _walked: int) -> Mapping[str, str]:
    """Return the heading that each label below a folder, or page (`page_names`), names; read once for all its files."""
    found: dict[str, str] = {}
    for path in (path for ending in RST for path in sorted(root.rglob(f"*{ending}"))):
        text = text_of(path)
        headings = {f"/{path.relative_to(root).with_suffix('').as_posix()}": _HEADING.search(text)}
        for label in _LABEL.finditer(text):
            headings[" ".join(label["name"].lower().split())] = _LABELLED.match(text, label.end())
        for name, heading in headings.items():
            if heading:
                found[name] = _ROLE.sub(r"\1", heading["words"]).replace("``", "`")
    return found


def page_names(path: Path, root: Path, name: str) -> list[str]:
    """Return the pages below a root that a file may mean by a name, each as a path from the root without ending.

    After a slash that is one of the whole manual, whose folder is the outermost that has it, else one beside the file.
    """
    here = "/" / PurePosixPath(path.relative_to(root)).parent
    folders = [*reversed(here.parents), here] if name.startswith("/") else [here]
    return [normpath(folder / name.lstrip("/")) for folder in folders]


@lru_cache(64)
def sphinx_definitions(folder: Path, root: Path, _walked: int) -> str:
    """Return what the nearest `conf.py` of Sphinx, from a folder up to a root, defines for all files; "" without one.

    That is the version, and the substitutions, links and roles of `rst_prolog` and `rst_epilog`.
    """
    said = _said_by_conf(folder, root)
    text = f"{said.get('rst_prolog', '')}\n\n{said.get('rst_epilog', '')}"
    versions = (f".. |{name}| replace:: {said[name]}" for name in ("version", "release") if said.get(name))
    return "".join(f"{one}\n\n" for one in (*versions, *(found[0] for found in _DEFINITION.finditer(text))))


def myst_substitutions(folder: Path, root: Path) -> dict[str, str]:
    """Return the texts that the nearest `conf.py` gives MyST for names in all files."""
    named = "myst_substitutions."
    said = _said_by_conf(folder, root).items()
    return {name.removeprefix(named): text for name, text in said if name.startswith(named) and text}


def _said_by_conf(folder: Path, root: Path) -> dict[str, str]:
    """Return the texts by their names that the nearest `conf.py` sets, in a dictionary as `name.key`.

    It is read, never run.
    """
    said: dict[str, str] = {}
    try:
        tree = ast.parse(nearest(folder, root, "conf.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return said
    for line in tree.body:
        if isinstance(line, ast.Assign | ast.AugAssign):
            for name in line.targets if isinstance(line, ast.Assign) else [line.target]:
                before = said.get(ast.unparse(name), "") if isinstance(line, ast.AugAssign) else ""
                said[ast.unparse(name)] = before + _literal(line.value, said)
                if isinstance(line.value, ast.Dict):
                    for key, value in zip(line.value.keys, line.value.values, strict=True):
                        said[f"{ast.unparse(name)}.{_literal(key, said) if key else ''}"] = _literal(value, said)
    return said


def _literal(node: ast.AST, said: Mapping[str, str]) -> str:
    """Return the text that an expression of Python is, as far as it is written there or in what was said before."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return said.get(name, "")
        case ast.FormattedValue(value=value):
            return _literal(value, said)
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            return "".join(_literal(part, said) for part in ast.iter_child_nodes(node))
    return ""


def included(paths: Collection[Path], root: Path) -> set[Path]:
    """Return those of some files that others of a folder include whole, and that are none of their own therefore."""
    real = {path.resolve(): path for path in paths}
    below: dict[Path, set[Path]] = {}
    reading = [place for place, path in real.items() if path.suffix.lower() in (*RST, *MARKDOWN, *ASCIIDOC)]
    while reading:  # what is included may, whatever its ending, include further files
        place = reading.pop()
        if place not in below:
            kind = place.suffix.lower()
            pattern = INCLUDE_MARKDOWN if kind in MARKDOWN else _INCLUDE_ASCIIDOC if kind in ASCIIDOC else _INCLUDE
            text = text_of(place, _MARKS)
            text = _unconditional(text) if kind in ASCIIDOC else text
            found = (resolved(place, root, one[one.lastgroup or 0]) for one in pattern.finditer(text))
            below[place] = {one for one in found if one is not None and one in real and one != place}
            reading += below[place]
    parts: set[Path] = set()
    pending = set(below).difference(*below.values())  # from what nobody includes, so that files in a circle stay
    while pending:
        new = below[pending.pop()] - parts
        parts |= new
        pending |= new
    return {real[path] for path in parts}


def _unconditional(text: str) -> str:
    """Return AsciiDoc without what stands under a condition: what is included there may not be shown."""
    kept, depth = list[str](), 0
    for line in text.splitlines():
        if line.startswith(("ifdef::", "ifndef::", "ifeval::")) and (line.endswith("[]") or line.startswith("ifeval")):
            depth += 1
        elif line.startswith("endif::"):
            depth -= depth > 0
        elif not depth:
            kept.append(line)
    return "\n".join(kept)


def resolved(path: Path, root: Path, name: str) -> Path | None:
    """Return the file below a root that a directive names, from its own file's folder, after a slash from any above.

    `@site` is Docusaurus' name of such a folder; Antora names files by the module they belong to.
    """
    here, name = path.resolve().parent, name.removeprefix("@site")
    resource = _RESOURCE.fullmatch(name)
    if resource and (resource["module"] or resource["family"]):
        own = next((above.name for above in [here, *here.parents] if above.parent.name == "modules"), "ROOT")
        name = f"/modules/{resource['module'] or own}/{resource['family'] or 'page'}s/{resource['path']}"
    for folder in [here, *here.parents] if name.startswith("/") else [here]:
        found = (folder / name.strip().lstrip("/")).resolve()
        if found.is_relative_to(root.resolve()) and found.is_file():
            return found
    return None


def nearest(folder: Path, root: Path, name: str) -> str:
    """Return the text of the nearest file of a name, from a folder up to a root; "" without one."""
    above = (one for one in (folder, *folder.parents) if one.is_relative_to(root))
    return next(filter(None, (text_of(one / name) for one in above)), "")


def text_of(path: Path, marks: Collection[bytes] = ()) -> str:
    """Return a file's text, empty for one that cannot be read, or has none of the marks."""
    try:  # what cannot be read is named where it is read as a document
        held = path.read_bytes()
    except OSError:
        return ""
    if marks and not any(mark in held for mark in marks):
        return ""
    return held.decode("utf-8", "replace").replace("\r\n", "\n")
