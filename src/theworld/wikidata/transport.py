"""One polite HTTP call to the MediaWiki API: identified, patient as told, bounded in time and size.

The service asks for an operator contact in the User-Agent, for `maxlag`, and to wait as long as `Retry-After` says
(https://www.mediawiki.org/wiki/API:Etiquette). It refuses with 429 in HTML, or with 200 and an `error` object.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_before_delay, wait_random_exponential

from theworld import __version__
from theworld.deadline import seconds_to_wait
from theworld.errors import SettingsError, WikidataUnavailableError

MAX_BYTES = 32 * 2**20
"""Longest reply read; the largest entries of Wikidata are a few megabytes."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Bounds of the waits between attempts when the service names none."""

_CONTACT = re.compile(r"(?:[^@\s()]+@[^@\s()]+\.|https?://)[^@\s()]+", re.ASCII)
_BUSY_CODES = frozenset(
    {"maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError", "cirrussearch-too-busy-error"}
)
_TOO_MANY, _SERVER_ERROR, _REQUEST_TIMEOUT, _REDIRECT = 429, 500, 408, 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the service is and how it is asked."""

    url: str
    """Address of `api.php`."""
    contact: str | None
    """Mail address or page of whoever runs this; the service blocks clients without."""
    timeout_s: float = 10.0
    """Longest time for one name: its calls, their attempts and waits."""
    maxlag_s: int = 5
    """The service may refuse when its database copies lag by more."""
    connections: int = 4
    """Size of the connection pool."""


class _BusyError(Exception):
    """The service asks for patience, or the line failed."""

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class WikidataTransport:
    """Calls the API; safe to share between threads."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raise SettingsError where address or contact cannot be used, or no connection can be made."""
        self.endpoint, self._sleep = endpoint, sleep
        try:
            address = httpx.URL(endpoint.url)
        except httpx.InvalidURL as error:
            raise SettingsError(f"{endpoint.url!r} is no web address: {error}.", where="wikidata.api") from error
        if address.scheme not in {"http", "https"} or not address.host:
            what = f"{endpoint.url!r} is no web address; it begins with https://."
            raise SettingsError(what, where="wikidata.api")
        contact = endpoint.contact or ""
        if len(contact) > 200 or not contact.isprintable() or not contact.isascii() or not _CONTACT.fullmatch(contact):
            raise SettingsError(
                "the Wikidata service wants to know who asks, "
                f"but {endpoint.contact!r} is neither a mail address nor a page.",
                where="wikidata.contact",
                remedy="Set it to your mail address or a page about your project, or set wikidata.online to false.",
            )
        agent = f"theworld/{__version__} ({contact}) httpx/{httpx.__version__}"
        limits = httpx.Limits(
            max_connections=endpoint.connections, max_keepalive_connections=endpoint.connections, keepalive_expiry=30.0
        )
        headers = {"User-Agent": agent, "Accept": "application/json"}
        try:
            self._client = httpx.Client(headers=headers, limits=limits, follow_redirects=False)
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise SettingsError(
                f"no connection can be made: {error}",
                where="wikidata.online",
                remedy="Check ALL_PROXY, HTTP_PROXY and HTTPS_PROXY.",
            ) from error
        self._backoff = wait_random_exponential(multiplier=FIRST_WAIT_S, max=LONGEST_WAIT_S)

    def call(self, parameters: Mapping[str, str], deadline: float) -> Mapping[str, Any]:
        """Return the JSON object the service answers; `deadline` is a `time.monotonic()`.

        Raises WikidataUnavailableError when there is none by the deadline, or it reports an error.
        """
        retrying = Retrying(
            retry=retry_if_exception_type(_BusyError),
            wait=self._wait,
            stop=stop_before_delay(max(0.0, deadline - time.monotonic())),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            reply: Mapping[str, Any] = retrying(self._once, parameters, deadline)
        except _BusyError as error:
            raise self._unavailable(f"{error}; no more attempts within {self.endpoint.timeout_s:g} s") from error
        return reply

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        waited = self._backoff(state)
        asked = error.wait_s if isinstance(error, _BusyError) else None
        return waited if asked is None else max(asked, min(waited, FIRST_WAIT_S))

    def _once(self, parameters: Mapping[str, str], deadline: float) -> Mapping[str, Any]:
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._unavailable(f"no answer within {self.endpoint.timeout_s:g} s")
        query = {**parameters, "format": "json", "formatversion": "2", "maxlag": str(self.endpoint.maxlag_s)}
        try:
            with self._client.stream("GET", self.endpoint.url, params=query, timeout=left) as response:
                status, wait_s = response.status_code, seconds_to_wait(response.headers.get("retry-after"))
                if status in {_TOO_MANY, _REQUEST_TIMEOUT} or status >= _SERVER_ERROR:
                    raise _BusyError(f"HTTP {status}", wait_s)
                if status >= _REDIRECT:
                    moved = response.headers.get("location")
                    raise self._unavailable(f"HTTP {status}" + (f", moved to {moved[:200]}" if moved else ""))
                body = bytearray()
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MAX_BYTES:
                        raise _BusyError(f"the reply is longer than {MAX_BYTES // 2**20} MB")
                    if time.monotonic() > deadline:
                        raise _BusyError("the reply came too slowly")
        except httpx.HTTPError as error:
            raise _BusyError(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise _BusyError(f"the reply is no JSON but {bytes(body[:60])!r}") from error
        if not isinstance(reply, dict):
            raise self._unavailable("the reply is no JSON object")
        refusal = reply.get("error")
        if refusal:
            code, info = (refusal.get("code"), refusal.get("info")) if isinstance(refusal, dict) else (refusal, None)
            if str(code) in _BUSY_CODES:
                raise _BusyError(f"the service answers {code}", wait_s)
            raise self._unavailable(f"the service answers {str(code)[:80]}: {str(info)[:200]}")
        return reply

    def _unavailable(self, what: str) -> WikidataUnavailableError:
        return WikidataUnavailableError(f"Wikidata cannot be asked: {what}.", where=self.endpoint.url)
