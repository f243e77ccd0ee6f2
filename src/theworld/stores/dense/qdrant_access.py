"""The connection to Qdrant, and its errors in our own words."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import DenseSettings
from theworld.stores.engine_access import misunderstood, shortened, tls_context

_NOT_FOUND = 404
_DENIED = frozenset({401, 403})
_BUSY = frozenset({408, 429, 500, 502, 503, 504})

_LOCAL_MISSING = re.compile(r"Collection \S+ not found")
"""What the client's local mode says where a server answers 404."""


class MissingError(StoreError):
    """The server says that there is no such collection."""


class _Transport(httpx.HTTPTransport):
    """Waits as long as the settings say: the client itself knows only whole seconds."""

    def __init__(self, limit_s: float, **options: Any) -> None:
        super().__init__(**options)
        self._limits = httpx.Timeout(limit_s).as_dict()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "timeout": self._limits}
        return super().handle_request(request)


def connect(settings: DenseSettings, limit_s: float) -> QdrantClient:
    """Return a client with its pool of connections that waits `limit_s` seconds at most; nothing is sent yet."""
    assert settings.url is not None
    secured = settings.url.startswith("https://")
    context: ssl.SSLContext | bool = tls_context(settings) if secured else False
    pool = httpx.Limits(max_connections=settings.connections, max_keepalive_connections=settings.connections)
    secret = settings.api_key.get_secret_value() if settings.api_key is not None else None
    return QdrantClient(
        url=settings.url,
        # As a header: given as a key, the client warns whenever there is no TLS.
        headers={"api-key": secret} if secret is not None else None,
        metadata={"accept-encoding": "identity"},  # answers are small, and unpacking them takes longer than their way
        timeout=limit_s,  # type: ignore[arg-type]  # rounded up by the client
        check_compatibility=False,
        transport=_Transport(limit_s, verify=context, limits=pool),
    )


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Turn what the client raises into EngineUnavailableError, or StoreError where the server refused a request."""
    try:
        yield
    except UnexpectedResponse as error:
        raise _told(error, where) from error
    except ResponseHandlingException as error:
        raise _unreached(error.source, where) from error
    except ResourceExhaustedResponse as error:
        raise EngineUnavailableError(f"Qdrant is not able to answer: {shortened(error)}.", where=where) from error
    except (
        ApiException,
        QdrantException,
        ValidationError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        AssertionError,
        RuntimeError,
    ) as error:
        if _LOCAL_MISSING.fullmatch(str(error)):
            raise MissingError(f"Qdrant has no such collection: {error}.", where=where) from error
        raise misunderstood("Qdrant", error, where) from error


def _unreached(error: Exception, where: str) -> EngineUnavailableError:
    if isinstance(error, httpx.TimeoutException):
        return EngineUnavailableError("Qdrant did not answer in time.", where=where)
    if isinstance(error, httpx.HTTPError | OSError):
        what = f"Qdrant cannot be reached: {type(error).__name__} {shortened(error)}."
        return EngineUnavailableError(what, where=where)
    return misunderstood("Qdrant", error, where)


def _told(error: UnexpectedResponse, where: str) -> StoreError:
    """Return the error for a status that the server gave."""
    status, what = error.status_code, _reason(error)
    if status == _NOT_FOUND:
        return MissingError(f"Qdrant has no such collection: {what}.", where=where)
    if status in _DENIED:
        remedy = "Check dense.api_key and its rights (docs/engines.md)."
        return StoreError(f"Qdrant refuses the API key: {what}.", where=where, remedy=remedy)
    if status in _BUSY:
        return EngineUnavailableError(f"Qdrant is not able to answer: {what}.", where=where)
    return StoreError(f"Qdrant refused: {what}.", where=where)


def _reason(error: UnexpectedResponse) -> str:
    told: object = error.reason_phrase
    with suppress(ValueError, LookupError, TypeError):
        told = error.structured()["status"]["error"]
    return f"{error.status_code} {shortened(told)}"
