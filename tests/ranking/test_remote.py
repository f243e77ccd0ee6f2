from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from pydantic import SecretStr

from reranker_suite import QUESTION, ask, candidate, candidates
from theworld.deadline import Deadline
from theworld.errors import SettingsError
from theworld.models.endpoint import BrokenReplyError
from theworld.ranking import RemoteReranker, Reranking, RerankProtocol
from theworld.stores.graph import MemoryGraph

from .conftest import RerankServer, reply_to

KEY = "sk-very-secret-key"
Make = Callable[..., RemoteReranker]


@pytest.fixture
def make(server: RerankServer) -> Iterator[Make]:
    made: list[RemoteReranker] = []

    def make(kind="cohere", *, logits=False, url=None, **options) -> RemoteReranker:
        protocol = RerankProtocol(kind, url or server.url, "some-model", logits)
        made.append(RemoteReranker(protocol, MemoryGraph(), **options))
        return made[-1]

    yield make
    server.test_is_over.set()
    for reranker in made:
        reranker.close()


def scripted(*answers):
    """Return answers that each send a status and a body."""
    return [lambda handler, _, a=a: handler.send(*a[:2], **(a[2] if len(a) > 2 else {})) for a in answers]


def hurried(reranker: RemoteReranker, ms: float) -> tuple[Reranking, float]:
    begun = time.perf_counter()
    found = reranker.rerank(QUESTION, candidates(10), top_k=10, tenant="default", deadline=Deadline(begun, ms))
    return found, (time.perf_counter() - begun) * 1000


def test_what_is_sent_to_a_cohere_shaped_server(make: Make, server: RerankServer) -> None:
    given = [candidate("a#0", "Title", "text"), candidate("b#0", "", "half \ud800")]
    found = ask(make(api_key=SecretStr(KEY)), given, "radium?")
    ((path, headers, body),) = server.requests
    assert path == "/v1/rerank"
    assert body == {"model": "some-model", "query": "radium?", "documents": ["Title\ntext", "half ?"], "top_n": 2}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert found.outcome == "complete"


def test_what_is_sent_to_tei(make: Make, server: RerankServer) -> None:
    ask(make("tei"), [candidate("a#0", "", "text")], "radium?")
    ((path, headers, body),) = server.requests
    assert path == "/rerank"
    assert body == {"query": "radium?", "texts": ["text"], "raw_scores": False, "truncate": True}
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("kind", "base", "url"),
    [
        ("cohere", "http://h:1", "http://h:1/v1/rerank"),
        ("cohere", "http://h:1/", "http://h:1/v1/rerank"),
        ("cohere", "http://h:1/v1/", "http://h:1/v1/rerank"),
        ("cohere", "https://api.cohere.com/v2", "https://api.cohere.com/v2/rerank"),
        ("cohere", "http://h:1/proxy", "http://h:1/proxy/v1/rerank"),
        ("tei", "http://h:1/", "http://h:1/rerank"),
    ],
)
def test_where_it_is_sent(kind, base: str, url: str) -> None:
    assert RerankProtocol(kind, base, "m", logits=False).url == url


def test_connections_are_used_again(make: Make, server: RerankServer) -> None:
    reranker = make(batch_size=4)
    for _ in range(3):
        assert ask(reranker, candidates(12)).outcome == "complete"
    assert [len(body["documents"]) for _, _, body in server.requests] == [4] * 9
    assert len(server.connections) == 1


def test_after_closing_it_connects_again(make: Make, server: RerankServer) -> None:
    reranker = make()
    reranker.close()
    first = ask(reranker, candidates(5))
    reranker.close()
    reranker.close()
    assert ask(reranker, candidates(5)) == first
    assert len(server.connections) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_failure_is_tried_again(make: Make, server: RerankServer, status: int) -> None:
    server.script = scripted((status, b"later"), (status, b"later"))
    assert ask(make(), candidates(5)).outcome == "complete"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, ""), (401, "rerank.api_key"), (404, "rerank.base_url"), (413, "batch_size"), (422, "rerank.protocol")],
)
def test_a_refusal_is_not_tried_again_and_says_where_to_look(make, server, status: int, hint: str) -> None:
    server.script = scripted((status, {"error": "no thanks"}))
    found = ask(make(), candidates(5))
    assert found.outcome == "error"
    assert f"HTTP {status}: " in found.reason
    assert "no thanks" in found.reason
    assert hint in found.reason
    assert len(server.requests) == 1


def test_a_failure_that_stays_gives_up(make: Make, server: RerankServer) -> None:
    server.script = scripted(*[(503, b"overloaded")] * 9)
    found = ask(make(), candidates(5))
    assert (found.ranked, found.outcome) == ((), "error")
    assert "HTTP 503: overloaded" in found.reason
    assert len(server.requests) == 3


@pytest.mark.slow
@pytest.mark.parametrize("date", [False, True])
def test_retry_after_is_honoured(make: Make, server: RerankServer, date: bool) -> None:
    wait = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True) if date else "0.6"
    server.script = scripted((429, b"slow down", {"Retry_After": wait}))
    begun = time.perf_counter()
    assert ask(make(), candidates(5)).outcome == "complete"
    assert time.perf_counter() - begun > 0.6


def test_retry_after_beyond_the_deadline_gives_up_at_once(make: Make, server: RerankServer) -> None:
    server.script = scripted((429, b"slow down", {"Retry_After": "60"}))
    found, took = hurried(make(), 5_000)
    assert found.outcome == "error"
    assert "HTTP 429" in found.reason
    assert took < 30_000


def hang(handler, body) -> None:
    handler.server.test_is_over.wait(60)


def drip(handler, body) -> None:
    """One byte of the header now and then."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.test_is_over.wait(0.05):
        handler.wfile.write(b"x")


def drip_the_body(handler, body) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not handler.server.test_is_over.wait(0.05):
        handler.wfile.write(b" ")


@pytest.mark.slow
@pytest.mark.parametrize("answer", [hang, drip, drip_the_body])
def test_a_server_cannot_stretch_the_deadline(make: Make, server: RerankServer, answer) -> None:
    reranker = make()
    ask(reranker, candidates(2))
    server.script = [answer]
    found, took = hurried(reranker, 300)
    assert (found.ranked, found.outcome) == ((), "timeout")
    assert "out of time after 0 of 10" in found.reason
    assert 250 < took < 20_000
    assert ask(reranker, candidates(2)).outcome == "complete", "the next request is served"


def test_a_broken_connection_is_tried_again(make: Make, server: RerankServer) -> None:
    server.script = scripted((200, b'{"results": [', {"promised": 1000}))
    assert ask(make(), candidates(5)).outcome == "complete"
    assert len(server.requests) == 2


def test_no_server_is_named_in_time(make: Make) -> None:
    found = ask(make(url="http://127.0.0.1:9"), candidates(3))
    assert found.outcome == "error"
    assert "ConnectError" in found.reason


COHERE = [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": 0.25}]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"<html>gateway</html>", "Invalid JSON"),
        (b"", "Invalid JSON"),
        ({"results": COHERE[:1]}, "1 scores, not one for each of 2"),
        ({"results": [*COHERE, {"index": 2, "relevance_score": 0.1}]}, "3 scores"),
        ({"results": [COHERE[0], COHERE[0]]}, "2 scores, not one for each of 2"),
        ({"results": [COHERE[0], {"index": 7, "relevance_score": 0.1}]}, "2 scores"),
        ({"results": [COHERE[0], {"index": -1, "relevance_score": 0.1}]}, "greater than or equal to 0"),
        ({"results": [COHERE[0], {"index": 1}]}, "Field required"),
        (b'{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 0}]}', "finite"),
        ({"results": [COHERE[0], {"index": 1, "relevance_score": 7.5}]}, "7.5 is no relevance in [0, 1]"),
        ({"data": COHERE}, "results: Field required"),
        ([1, 2], "unusable reply"),
    ],
)
def test_an_unusable_reply_is_named(make: Make, server: RerankServer, reply, said: str) -> None:
    server.script = scripted((200, reply))
    found = ask(make(), candidates(2))
    assert (found.ranked, found.outcome) == ((), "error")
    assert said in found.reason


def test_results_may_come_in_any_order() -> None:
    protocol = RerankProtocol("cohere", "http://h", "m", logits=False)
    assert protocol.scores(json.dumps({"results": COHERE[::-1]}).encode(), 2) == [0.5, 0.25]
    tei = RerankProtocol("tei", "http://h", None, logits=False)
    assert tei.scores(b'[{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}]', 2) == [0.1, 0.9]
    with pytest.raises(BrokenReplyError, match="unusable"):
        tei.scores(json.dumps({"results": COHERE}).encode(), 2)


def test_logits_are_squashed_when_the_settings_say_so(make: Make, server: RerankServer) -> None:
    results = [{"index": 0, "relevance_score": -3.0}, {"index": 1, "relevance_score": 3.0}]
    server.script = scripted((200, {"results": results}))
    found = ask(make(logits=True), candidates(2))
    assert [round(r.relevance, 4) for r in found.ranked] == [0.9526, 0.0474]
    server.script = scripted((200, {"results": results}))
    assert "no relevance" in ask(make(), candidates(2)).reason


def test_what_was_scored_is_kept_when_a_later_batch_fails(make: Make, server: RerankServer) -> None:
    def fine(handler, body):
        handler.send(200, reply_to(handler.path, body))

    server.script = [fine, *scripted((400, b"too much"))]
    reranker = make(batch_size=6)
    found = reranker.rerank(QUESTION, candidates(12), top_k=5, tenant="t", deadline=Deadline.after(60_000))
    assert (found.outcome, len(found.ranked)) == ("partial", 6)
    assert "HTTP 400: too much after 6 of 12" in found.reason


def test_the_key_is_in_no_log_and_no_message(make: Make, server: RerankServer, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"error": f"the key {KEY} is wrong"}
    server.script = scripted((401, echo), (200, f"key {KEY}".encode()))
    reranker = make(api_key=SecretStr(f" {KEY}\n"))
    reasons = [ask(reranker, candidates(2)).reason for _ in range(2)]
    assert "the key *** is wrong" in reasons[0]
    assert KEY not in " ".join([*reasons, caplog.text, repr(vars(reranker)["_protocol"]), reranker.name])


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel", "tab\there"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(make: Make, key: str) -> None:
    with pytest.raises(SettingsError, match=r"rerank\.api_key") as caught:
        make(api_key=SecretStr(key))
    assert key not in str(caught.value)


def test_closing_ends_what_is_under_way(make: Make, server: RerankServer) -> None:
    from concurrent.futures import ThreadPoolExecutor

    server.script = [hang]
    reranker = make()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, reranker, candidates(2))
        while not server.requests:
            time.sleep(0.01)
        reranker.close()
        assert asked.result(timeout=5).outcome == "error"
