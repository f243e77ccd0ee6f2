"""The web page at `/`: files of this package, under a content-security policy that lets nothing else in.

The files are read once, when the first is asked for, and only what was read is served: a path names a file or nothing.
Reading blocks, so it is done in a thread: servers that run this application in their event loop forbid it there.
Words come as one JSON per language out of `data/messages/*.yaml`, a file per view, and out of `reasons.yaml`, a row
under its English: records hold that.

`/docs` is Swagger UI over `/openapi.json`, out of the installed package `fastapi-swagger`; nothing comes from a CDN.
FastAPI's own page loads the same script from another host and starts it inline: its policy would have to allow both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import orjson
from fastapi import APIRouter, Depends, Request, Response
from starlette.exceptions import HTTPException

from theworld.packages import load_table

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types cleaned"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_TYPES = {
    **{"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"},
    **{"svg": "image/svg+xml", "png": "image/png"},
}


_HERE = Path(__file__).parent


def _is_on(request: Request) -> None:
    if not request.app.state.service.settings.service.page:
        raise HTTPException(404)


router = APIRouter(include_in_schema=False, dependencies=[Depends(_is_on)])


@router.get("/page/words/{language}.json")
def words(request: Request, language: Literal["en", "zh"]) -> Response:
    """Return what the page says, in one language."""
    return _answer(request, orjson.dumps({key: texts[language] for key, texts in page_words().items()}), "json")


@router.get("/")
@router.get("/page/{path:path}")
def page_file(request: Request, path: str = "index.html") -> Response:
    """Return the page or a file of it, 404 for anything else."""
    content = page_files().get(path)
    if content is None:
        raise HTTPException(404)
    return _answer(request, content, path.rpartition(".")[2])


def _answer(request: Request, content: bytes, ending: str) -> Response:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=f"{_TYPES[ending]}; charset=utf-8")


@cache
def page_files() -> dict[str, bytes]:
    """Return the page's files by path below `static`."""
    static = _HERE / "static"
    found = [file for file in sorted(static.rglob("*")) if file.suffix[1:] in _TYPES]
    return {file.relative_to(static).as_posix(): file.read_bytes() for file in found}


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return what the page says: by `file.key`, the text by language; a reason's key is its English."""
    found: dict[str, dict[str, str]] = {}
    for file in (_HERE / "data" / "messages").glob("*.yaml"):
        table = load_table("theworld.service.page", f"data/messages/{file.name}")
        found |= {f"{file.stem}.{key}": texts for key, texts in table.items()}
    reasons = {f"reasons.{texts['en']}": texts for texts in load_table("theworld", "reasons.yaml").values()}
    return dict(sorted(found.items())) | reasons


documentation_router = APIRouter(include_in_schema=False)
_SWAGGER_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Swagger UI sets styles inline, and draws its icons from data addresses."""
_SWAGGER_FILES = frozenset({"swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"})


@documentation_router.get("/docs")
@documentation_router.get("/docs/{name}")
def documentation(name: str = "index.html") -> Response:
    """Return the page, whose addresses are relative so that it works behind a prefix too, or a file of it, or 404."""
    if name in {"index.html", "start.js"}:
        content = (_HERE / "data" / "swagger" / name).read_bytes()
    elif name in _SWAGGER_FILES:
        content = (files("fastapi_swagger.resources") / name).read_bytes()
    else:
        raise HTTPException(404)
    return Response(content, headers=_SWAGGER_HEADERS, media_type=_TYPES[name.rpartition(".")[2]])
