"""Where a person reads a document: its address on the web page, as links and citations give it."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request

from theworld.settings import ServiceSettings


def base_url(settings: ServiceSettings, request: Request | None = None) -> str:
    """Return the address that links begin with: the setting, else as the service was called, else as it is bound."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    if request is not None:
        return str(request.base_url).rstrip("/")
    return f"http://{settings.host}:{settings.port}"


def document_url(base: str, document_id: str, note_id: str = "") -> str:
    """Return the address of a document, at a note of it where one is named."""
    named = {"id": document_id} | ({"note": note_id} if note_id else {})
    return f"{base}/#/document?{urlencode(named)}"
