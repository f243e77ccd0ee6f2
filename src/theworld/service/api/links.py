"""Where a person reads a document: its address on the web page, as links and citations give it."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request

from theworld.settings import ServiceSettings
from theworld.state import Candidate, Citation
from theworld.state.places import place_of


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


def linked(item: Candidate | Citation, base: str) -> dict[str, str]:
    """Return where a passage stands, as a person reads it (`title`), and its address (`url`)."""
    place = place_of(item.document_id, item.source, item.title, item.section)
    return {"title": place, "url": document_url(base, item.document_id, item.note_id)}


def whole_text(candidate: Candidate) -> str:
    """Return a note's text below the header or introduction that it lacks."""
    return f"{candidate.lead}\n{candidate.text}" if candidate.lead else candidate.text
