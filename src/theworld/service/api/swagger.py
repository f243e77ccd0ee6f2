"""`/docs`: Swagger UI over `/openapi.json`, out of the installed package `fastapi-swagger`; nothing comes from a CDN.

FastAPI's own page loads the same script from another host and starts it inline: its policy would have to allow both.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Swagger UI sets styles inline, and draws its icons from data addresses."""
_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>TheWorld: interactive documentation</title>
  <link rel="icon" href="docs/favicon-32x32.png">
  <link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
  <div id="swagger"></div>
  <script src="docs/swagger-ui-bundle.js"></script>
  <script src="docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "openapi.json", dom_id: "#swagger", deepLinking: true, filter: true, tryItOutEnabled: true,
  persistAuthorization: false, validatorUrl: null,
});
"""
_FILES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}


@router.get("/docs")
async def documentation() -> Response:
    """Return the page; its addresses are relative, so that it works behind a prefix too."""
    return Response(_PAGE, headers=_HEADERS, media_type="text/html")


@router.get("/docs/start.js")
async def start() -> Response:
    """Return what starts Swagger UI."""
    return Response(_START, headers=_HEADERS, media_type="text/javascript")


@router.get("/docs/{name}")
async def file(name: str) -> Response:
    """Return a file of Swagger UI, 404 for anything else."""
    if name not in _FILES:
        raise HTTPException(404)
    return Response(_content(name), headers=_HEADERS, media_type=_FILES[name])


@cache
def _content(name: str) -> bytes:
    return (files("fastapi_swagger.resources") / name).read_bytes()
