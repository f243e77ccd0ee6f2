"""A service that refuses, stalls, lies or breaks off: waited for as it asks, and never anything but one clear error."""

from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from theworld.errors import SettingsError, WikidataUnavailableError
from theworld.wikidata import Endpoint, WikidataTransport

HTML_429 = b"<!DOCTYPE html><html><body><h1>Error</h1><p>Too Many Requests. Please contact noc@wikimedia.org.</p>"
MAXLAG = json.dumps({"error": {"code": "maxlag", "info": "Waiting for a server: 6 seconds lagged.", "lag": 6}}).encode()


@pytest.mark.parametrize(("body", "status"), [(HTML_429, 429), (MAXLAG, 200)], ids=["too many requests", "lag"])
def test_a_busy_service_is_waited_for(
    service: Any, make_client: Any, reply: Any, waits: list[float], body: bytes, status: int
) -> None:
    service.script = [reply(body, status, {"Content-Type": "text/html", "Retry-After": "7"})]
    assert make_client().search("Beijing", "en", 5)[0]["id"] == "Q956"
    assert waits == [7]


def test_a_date_to_wait_for(service: Any, make_client: Any, reply: Any, waits: list[float]) -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    service.script = [reply(b"", 503, {"Retry-After": moment})]
    assert make_client().search("Beijing", "en", 5)
    assert 7 <= waits[0] <= 9


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
def test_passing_failures_are_tried_again_after_random_waits(
    service: Any, make_client: Any, reply: Any, waits: list[float], status: int
) -> None:
    service.script = [reply(b"oops", status), reply(b"oops", status)]
    assert make_client(timeout_s=60).search("Beijing", "en", 5)
    assert len(waits) == 2
    assert all(0 <= wait <= 8 for wait in waits)


@pytest.mark.parametrize(
    "broken",
    [
        (b"<html>not json", 200),
        (b"", 200),
        (b"\xff\xfe\x00garbage", 200),
        (b'{"search": [', 200),
        (b"[" * 200_000, 200),
    ],
    ids=["html", "empty", "bytes", "cut off", "nested without end"],
)
def test_garbage_is_tried_again_then_told(
    service: Any, make_client: Any, reply: Any, waits: list[float], broken: tuple[bytes, int]
) -> None:
    service.script = [reply(*broken)]
    assert make_client().search("Beijing", "en", 5)
    service.always = reply(*broken)
    with pytest.raises(WikidataUnavailableError, match="no JSON"):
        make_client(timeout_s=0.5).search("Beijing", "en", 5)


@pytest.mark.parametrize("how", [{"promised": 5000}, {"headers": {"Content-Encoding": "gzip"}}])
def test_a_reply_broken_off_or_of_a_false_encoding_is_tried_again(
    service: Any, make_client: Any, reply: Any, how: dict[str, Any]
) -> None:
    service.script = [reply(b'{"search": [{"id": "Q1"', **how)]
    assert make_client().search("Beijing", "en", 5)[0]["id"] == "Q956"


def test_packed_replies_are_read(service: Any, make_client: Any, reply: Any) -> None:
    service.script = [reply(gzip.compress(b'{"search": []}'), headers={"Content-Encoding": "gzip"})]
    assert make_client().search("Beijing", "zh", 5)[0]["id"] == "Q956"
    assert [query["language"] for query in service.asked[:2]] == ["zh", "en"]


@pytest.mark.parametrize(
    ("how", "said"), [({"slow_s": 3}, r"ReadTimeout|slowly|within 0.4 s"), ({"drip_s": 0.1}, "slowly")]
)
def test_a_slow_or_dripping_service_is_left_at_the_timeout(
    service: Any, make_client: Any, reply: Any, how: dict[str, Any], said: str
) -> None:
    service.always = reply(b'{"search": []}' + b" " * 40, **how)
    began = time.monotonic()
    with pytest.raises(WikidataUnavailableError, match=said):
        make_client(timeout_s=0.4).search("Beijing", "en", 5)
    assert time.monotonic() - began < 2


def test_a_wait_longer_than_the_timeout_is_not_begun(
    service: Any, make_client: Any, reply: Any, waits: list[float]
) -> None:
    service.always = reply(HTML_429, 429, {"Retry-After": "3600"})
    began = time.monotonic()
    with pytest.raises(WikidataUnavailableError, match="HTTP 429") as caught:
        make_client(timeout_s=5).search("Beijing", "en", 5)
    assert caught.value.where == service.url
    assert waits == []
    assert time.monotonic() - began < 4


def test_redirects_are_told_not_followed(service: Any, make_client: Any, reply: Any) -> None:
    service.always = reply(b"", 301, {"Location": service.url})
    with pytest.raises(WikidataUnavailableError, match="HTTP 301, moved to http://127"):
        make_client().search("Beijing", "en", 5)
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [400, 403, 404])
def test_lasting_refusals_are_not_tried_again(service: Any, make_client: Any, reply: Any, status: int) -> None:
    service.always = reply(b"no", status)
    with pytest.raises(WikidataUnavailableError, match=f"HTTP {status}"):
        make_client().search("Beijing", "en", 5)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": {"code": "unknown_action", "info": "no such action"}}, "unknown_action: no such action"),
        ({"error": "plain"}, "plain"),
        ({"error": {"code": {"odd": 1}}}, "odd"),
        ([1, 2], "no JSON object"),
        ({}, "search"),
        ({"search": {"0": {}}}, "search"),
    ],
)
def test_other_answers_are_told(service: Any, make_client: Any, reply: Any, answer: Any, said: str) -> None:
    service.always = reply(json.dumps(answer).encode())
    with pytest.raises(WikidataUnavailableError, match=said):
        make_client().search("Beijing", "en", 5)
    assert len(service.asked) == 1


@pytest.mark.parametrize(
    "hits",
    [
        [None, 5, "Q1", {}, {"id": None}, {"id": "P31"}, {"id": "Q1'; DROP"}],
        [{"id": ["Q1"]}, {"label": "no id"}],
    ],
)
def test_hits_without_an_id_are_left_out(service: Any, make_client: Any, reply: Any, hits: list[Any]) -> None:
    service.always = reply(json.dumps({"search": hits}).encode())
    assert make_client().search("Beijing", "en", 5) == []


@pytest.mark.parametrize("entity", [None, 5, "x", [], {}, {"id": "Q956", "labels": 3, "claims": [1], "aliases": "x"}])
def test_odd_details_leave_what_the_search_said(service: Any, make_client: Any, reply: Any, entity: Any) -> None:
    found = {"search": [{"id": "Q956", "label": "Beijing", "description": 3, "aliases": ["a", None]}]}
    service.script = [
        reply(json.dumps(found).encode()),
        reply(json.dumps({"entities": {"Q956": entity}}).encode()),
    ]
    (candidate,) = make_client().search("Beijing", "en", 5)
    assert candidate["id"] == "Q956"


def test_an_endless_reply_is_cut(service: Any, make_client: Any, reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.wikidata.transport.MAX_BYTES", 100_000)
    service.always = reply(b'{"search": "' + b"x" * 1_000_000 + b'"}')
    with pytest.raises(WikidataUnavailableError, match="longer than"):
        make_client(timeout_s=0.5).search("Beijing", "en", 5)


def test_nobody_listening_is_told(make_client: Any) -> None:
    with pytest.raises(WikidataUnavailableError, match="ConnectError"):
        make_client(url="http://127.0.0.1:9/w/api.php", timeout_s=0.5).search("Beijing", "en", 5)


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://example.org/", "http://"])
def test_a_wrong_address_is_told(url: str) -> None:
    with pytest.raises(SettingsError, match=r"wikidata\.api"):
        WikidataTransport(Endpoint(url, "me@example.org"))


@pytest.mark.parametrize("proxy", ["foo://127.0.0.1:1", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_told(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(SettingsError, match="ALL_PROXY"):
        WikidataTransport(Endpoint("https://www.wikidata.org/w/api.php", "me@example.org"))
