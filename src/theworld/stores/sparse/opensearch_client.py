"""The connection to OpenSearch, and its errors in our own words."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    AuthenticationException,
    AuthorizationException,
    ConnectionError,
    ConnectionTimeout,
    OpenSearchException,
    TransportError,
)

from theworld.errors import EngineUnavailableError, StoreError
from theworld.settings import SparseSettings
from theworld.stores.engine_access import misunderstood, shortened, tls_context

# The client warns of every failure; ours are raised and named, and an application that wants both sets up logging.
logging.getLogger("opensearch").addHandler(logging.NullHandler())

_BUSY = frozenset({429, 500, 502, 503, 504})


def connect(settings: SparseSettings) -> OpenSearch:
    """Return a client with its pool of connections; nothing is sent yet. Retries are left to the caller."""
    assert settings.url is not None
    secure: dict[str, Any] = {}
    if settings.url.startswith("https://"):
        unchecked = {"verify_certs": False, "ssl_show_warn": False}
        secure = {"ssl_context": tls_context(settings)} if settings.verify else unchecked
        secure["use_ssl"] = True
    return OpenSearch(
        hosts=[settings.url],
        http_auth=settings.credentials(),
        timeout=settings.timeout_s,
        pool_maxsize=settings.connections,
        max_retries=0,
        **secure,
    )


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Turn what the client raises into EngineUnavailableError, or StoreError where the server refused a request."""
    try:
        yield
    except ConnectionTimeout as error:
        raise EngineUnavailableError("OpenSearch did not answer in time.", where=where) from error
    except ConnectionError as error:
        raise EngineUnavailableError(f"OpenSearch cannot be reached: {shortened(error.error)}.", where=where) from error
    except (AuthenticationException, AuthorizationException) as error:
        raise StoreError(
            f"OpenSearch refuses the user: {_reason(error)}.",
            where=where,
            remedy="Check sparse.username and sparse.password, and the user's rights (docs/engines.md).",
        ) from error
    except TransportError as error:
        if error.status_code in _BUSY:
            what = f"OpenSearch is not able to answer: {_reason(error)}."
            raise EngineUnavailableError(what, where=where) from error
        raise StoreError(f"OpenSearch refused: {_reason(error)}.", where=where) from error
    except (
        OpenSearchException,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        StopIteration,
    ) as error:
        raise misunderstood("OpenSearch", error, where) from error


def _reason(error: TransportError) -> str:
    """Return status and reason as the server tells them."""
    told = error.info.get("error") if isinstance(error.info, dict) else None
    if isinstance(told, dict):
        causes = told.get("root_cause") or [told]
        told = causes[0].get("reason") or told.get("reason")
    return f"{error.status_code} {shortened(told or error.error)}"
