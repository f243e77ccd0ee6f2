"""Limits, errors and the envelope: nothing leaks, everything is counted, a client that goes is noticed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from copy import copy
from dataclasses import replace
from unittest.mock import Mock

import httpx
import pytest
from fastapi.testclient import TestClient

from scripted_server import scripted_server
from service_cases import LOCAL, TWO_HOP, Held, code, data_of, leave_half_way, settings_over, wait_until
from service_process import listening
from theworld.errors import StoreError
from theworld.graph import build_graph
from theworld.service.api.documents import MAX_DOCUMENTS
from theworld.service.api.replies import redacted, without_internals
from theworld.service.app import create_app
from theworld.service.requests.limiter import ConcurrencyLimiter, TooManyError
from theworld.service.requests.running import CancelledRunError
from theworld.service.runtime import open_service
from theworld.settings import Settings

HOW = "Why is Metropolis remembered, and what did its director do before it?"
SEARCH, ASK = "/api/v1/retrieval/search", "/api/v1/ask"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("it failed: /var/lib/store/ledger.sqlite is locked", "it failed: … is locked"),
        ("http://user:pass@10.0.0.1:9200/x refused", "… refused"),
        (r"C:\data\store\x gone", "… gone"),
        ("a/b testing and 1/2 stay", "a/b testing and 1/2 stay"),
        ("检索失败：/home/某人/store 不可读", "检索失败：… 不可读"),
    ],
)
def test_errors_lose_paths_and_addresses(text, kept):
    assert redacted(text) == kept


def test_whatever_tells_a_reason_loses_them_at_any_depth():
    kept = {"text": "see /etc/hosts/x", "tables": [{"sql": "SELECT 1"}], "calls": 0}
    told = {"parts": [{"degradations": [{"reason": "at /srv/a/b"}], "notes": ["bolt://10.0.0.1 is down", "fine"]}]}
    assert without_internals(kept) == kept
    assert without_internals({**kept, **told}) == {
        **kept, "parts": [{"degradations": [{"reason": "at …"}], "notes": ["… is down", "fine"]}],
    }  # fmt: skip


async def test_places_turn_away_at_once_when_too_many_wait():
    told: list[int] = []
    limiter, release = ConcurrencyLimiter(1, 1, told.append), threading.Event()

    async def hold():
        async with limiter.slot():
            await limiter.work(lambda: release.wait(60))

    holders = [asyncio.ensure_future(hold()) for _ in range(2)]
    while limiter.present < 2:
        await asyncio.sleep(0.01)
    with pytest.raises(TooManyError):
        async with limiter.slot():
            pass
    release.set()
    await asyncio.gather(*holders)
    assert limiter.present == 0
    async with limiter.slot():
        assert limiter.present == 1
    assert told == [1, 2, 1, 0, 1, 0]
    limiter.close()


async def test_tenants_take_turns_and_one_keeps_no_other_out():
    limiter, served = ConcurrencyLimiter(1, 3), []
    first, begin = asyncio.Event(), asyncio.Event()

    async def hold(tenant):
        async with limiter.slot(tenant):
            first.set()
            await begin.wait()
            served.append(tenant)

    tasks = [asyncio.ensure_future(hold("a"))]
    await first.wait()
    tasks += [asyncio.ensure_future(hold("a")) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyError):
        await hold("a")
    tasks += [asyncio.ensure_future(hold("b")) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(TooManyError):
        await hold("b")
    tasks[1].cancel()
    begin.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert served == ["a", "a", "b", "a", "b"]
    assert (limiter.present, limiter._active) == (0, 0)
    limiter.close()


def graph_without(service, *engines):
    """The service's graph over the same store, but for engines that raise with a path of the server."""

    class Failing:
        def __getattr__(self, _name):
            raise RuntimeError("at /srv/private/index")

    store = copy(service.resources.store)
    for engine in engines:
        setattr(store, engine, Failing())
    return build_graph(replace(service.resources, store=store))


@pytest.mark.slow
class TestOverHttp:
    def test_section_decisions_validation_stays_in_the_envelope(self, client):
        assert code(client.post(SEARCH, json={})) == (422, 1001)
        assert code(client.post(SEARCH, json={"query": "x", "top_k": 0})) == (422, 1001)
        assert code(client.post(SEARCH, json={"query": "x", "top_k": True})) == (422, 1001)
        assert code(client.post(SEARCH, json={"query": "x", "deadline_ms": False})) == (422, 1001)
        assert code(client.post(SEARCH, json={"query": "x", "topk": 1})) == (422, 1001)
        assert code(client.post(SEARCH, content="{", headers={"content-type": "application/json"})) == (422, 1001)
        assert code(client.post(SEARCH, json={"query": "?!"})) == (422, 1001)
        assert code(client.get("/nowhere")) == (404, 1002)
        assert code(client.get(SEARCH)) == (405, 1007)

    def test_a_wrong_method_is_told_all_methods_of_the_address(self, client):
        reply = client.put("/api/v1/documents", json={})
        assert (code(reply), reply.headers["allow"]) == ((405, 1007), "DELETE, GET, POST")

    @pytest.mark.parametrize("path", ["/healthz", "/readyz"])
    def test_health_is_told_to_head_too(self, client, path):
        reply = client.head(path)
        assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
        assert client.post(path).headers["allow"] == "GET, HEAD"

    @pytest.mark.parametrize(
        ("path", "body", "said"),
        [
            ("/v1/embeddings", {"model": "theworld-en", "input": [1, 2]}, "input: token arrays are not understood"),
            ("/v1/embeddings", {"model": "theworld-en", "input": [[1], [2]]}, "input: token arrays are not understood"),
            ("/v1/embeddings", {"model": "theworld-en", "input": 7}, "body.input: Input should be a valid string"),
            ("/v1/rerank", {"query": "x", "documents": [7]}, "body.documents.0: Input should be a valid string"),
            (SEARCH, {"query": "x", "strict": "no"}, "body.strict: true or false is wanted"),
        ],
    )
    def test_what_is_wrong_is_told_in_the_callers_words(self, client, path, body, said):
        reply = client.post(path, json=body)
        assert said in reply.text
        assert not [word for word in ("constrained", "Value error") if word in reply.text]

    def test_a_full_disk_is_told_and_its_cause_logged(self, service, monkeypatch, caplog):
        app = create_app(service)
        for error, said in (
            (StoreError("the ledger failed: database or disk is full.", where="/srv/x"), ": the disk is full"),
            (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/srv/x"), ": the disk is full"),
            (StoreError("the ledger failed: disk I/O error.", where="/srv/x"), ""),
        ):
            monkeypatch.setattr(service.documents, "delete", Mock(side_effect=error))
            with TestClient(app, raise_server_exceptions=False, **LOCAL) as client:
                reply = client.request("DELETE", "/api/v1/documents", json={"ids": ["a"]})
            assert code(reply) == (503, 2005)
            assert ("disk is full" in reply.json()["message"]) == bool(said)
            assert "/srv" not in reply.text
            assert reply.headers["x-trace-id"] in caplog.text
            assert str(error) in caplog.text

    @pytest.mark.parametrize(
        "more",
        [
            {"enable_graph": "no"}, {"enable_graph": 1}, {"strict": None}, {"top_k": "5"}, {"now": 5}, {"now": True},
            {"now": "yesterday"}, {"deadline_ms": "100"},
        ],
    )  # fmt: skip
    def test_a_value_of_another_type_is_refused(self, client, more):
        assert code(client.post(SEARCH, json={"query": "x", **more})) == (422, 1001)

    @pytest.mark.parametrize(
        ("method", "path", "body", "what"),
        [
            ("GET", "/nowhere", None, "address"),
            ("GET", "/api/v1/retrieval/explain/unknown", None, "request of this id"),
            ("POST", "/api/v1/feedback", {"request_id": "unknown", "verdict": "good"}, "request of this id"),
            ("POST", "/api/v1/eval/jobs", {"dataset_id": "unknown"}, "dataset of this id"),
            ("GET", "/api/v1/eval/jobs/unknown", None, "job of this id"),
            ("DELETE", "/api/v1/eval/jobs/unknown", None, "job of this id"),
            ("GET", "/api/v1/eval/jobs/unknown/report", None, "explain_failures"),
        ],
    )
    def test_what_is_not_found_is_said(self, client, method, path, body, what):
        reply = client.request(method, path, json=body, headers={"accept-language": "en"})
        assert code(reply) == (404, 1002)
        assert what in reply.json()["message"]
        reply = client.request(method, path, json=body, headers={"accept-language": "zh"})
        assert reply.json()["message"].startswith("未找到")

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            (SEARCH, {"query": "who\x00?"}),
            (SEARCH, {"query": "who?", "filters": {"a": ["b\x00"]}}),
            (SEARCH, {"query": "who?", "filters": {"a": "\ud800"}}),
            (SEARCH, {"query": "who?", "filters": {"\udc00": ["b"]}}),
            (ASK, {"question": "who?", "history": [{"role": "user", "content": "\x00"}]}),
            ("/api/v1/feedback", {"request_id": "x", "verdict": "good", "comment": "\x00"}),
            ("/api/v1/documents/", None),
        ],
    )
    def test_what_a_database_may_not_keep_is_not_taken(self, client, path, body):
        if body is None:
            assert code(client.get("/api/v1/retrieval/explain/a%00b")) == (422, 1001)
            document = {"id": "nul", "text": "words", "metadata": {"a": "\x00"}}
            reply = client.post("/api/v1/documents", json={"documents": [document]})
            assert [item["id"] for item in reply.json()["data"]["failed"]] == ["nul"]
        else:
            sent = json.dumps(body)  # escaped, as a lone surrogate has no UTF-8
            assert code(client.post(path, content=sent, headers={"content-type": "application/json"})) == (422, 1001)

    def test_messages_are_chinese_where_that_is_asked_for(self, client):
        reply = client.post(SEARCH, json={}, headers={"Accept-Language": "zh-CN,zh;q=0.9"})
        assert reply.json()["message"].startswith("请求无效")

    def test_too_large_is_413(self, client, service):
        assert code(client.post(SEARCH, json={"query": "x" * 20_001})) == (413, 1005)
        most = service.settings.service.max_body_bytes
        assert code(client.post(SEARCH, content=b"x" * (most + 1))) == (413, 1005)

        many = [{"id": str(n), "text": "x"} for n in range(MAX_DOCUMENTS + 1)]
        assert code(client.post("/api/v1/documents", json={"documents": many})) == (413, 1005)

        def in_pieces():
            yield from (b"x" * 1_000_000 for _ in range(most // 1_000_000 + 1))

        headers = {"content-type": "application/json"}
        assert code(client.post(SEARCH, content=in_pieces(), headers=headers)) == (413, 1005)

    @pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", None])
    def test_a_body_that_is_not_said_to_be_json_is_415(self, client, kind):
        headers = {"content-type": kind} if kind else {}
        assert code(client.post(SEARCH, content=b'{"query": "x"}', headers=headers)) == (415, 1008)
        assert code(client.post(SEARCH, content=b'"x"', headers={"content-type": "application/json"})) == (422, 1001)

    def test_metrics_count_by_http_status(self, client, service):
        assert client.post(SEARCH, json={"query": "x"}).status_code == 200
        assert client.post(SEARCH, json={}).status_code == 422
        most = service.settings.service.max_body_bytes
        assert client.post(SEARCH, content=b"x" * (most + 1)).status_code == 413
        lines = [line for line in client.get("/metrics").text.splitlines() if "theworld_requests_total{" in line]
        found = {int(line.partition('code="')[2].partition('"')[0]) for line in lines}
        assert {200, 413, 422} <= found
        assert all(100 <= status < 600 for status in found)

    @pytest.mark.parametrize(
        ("engine", "method"), [("dense", "spaces"), ("sparse", "search"), ("graph", "entities"), ("ledger", "sequence")]
    )
    def test_readiness_asks_every_engine(self, client, service, monkeypatch, engine, method):
        def fail(*_args, **_kwargs):
            raise OSError("secret 10.0.0.1")

        monkeypatch.setattr(type(getattr(service.resources.store, engine)), method, fail)
        reply = client.get("/readyz")
        assert code(reply) == (503, 2005)
        assert [item["name"] for item in reply.json()["data"]["engines"] if not item["ready"]] == [engine]
        assert "secret" not in reply.text

    def test_numbers_that_no_database_keeps_are_kept_as_text(self, service):
        body = {"documents": [{"id": "odd", "text": "Odd numbers.", "metadata": {"size": float("nan"), "whole": 7}}]}
        with TestClient(create_app(service), **LOCAL) as client:
            headers = {"Content-Type": "application/json", "X-Tenant-Id": "odd"}
            reply = client.post("/api/v1/documents", content=json.dumps(body), headers=headers)
            assert data_of(reply)["written"] == 1
        service.resources.store.refresh()
        (note,) = service.resources.store.iter_notes("odd")
        assert note.metadata == {"size": "nan", "whole": 7}

    @pytest.mark.parametrize("given", ["my-trace.1", "", "a" * 200, "<script>"])
    def test_the_trace_id_is_echoed_when_it_is_one(self, client, given):
        reply = client.get("/healthz", headers={"X-Trace-Id": given})
        echoed = reply.headers["x-trace-id"]
        assert (echoed == given) == (given == "my-trace.1")
        assert reply.json()["trace_id"] == echoed

    def test_an_internal_error_tells_nothing_and_is_in_the_log(self, service, caplog):
        class Broken:
            def stream(self, *_args, **_kwargs):
                raise RuntimeError("secret /etc/theworld/password")

        with TestClient(create_app(replace(service, graph=Broken())), raise_server_exceptions=False, **LOCAL) as client:
            for body, path in (({"query": "x"}, SEARCH), ({"question": "x", "stream": False}, ASK)):
                reply = client.post(path, json=body)
                assert code(reply) == (500, 9000)
                assert "secret" not in reply.text
                assert reply.json()["data"] is None
                assert reply.headers["x-trace-id"] in caplog.text
            streamed = client.post(ASK, json={"question": "x"})
            assert streamed.status_code == 200
            assert '"code":9000' in streamed.text
            assert "secret" not in streamed.text

    def test_no_channel_at_all_is_2001_and_a_late_vector_channel_2002(self, service):
        broken = replace(service, graph=graph_without(service, "sparse", "dense", "graph"))
        with TestClient(create_app(broken), raise_server_exceptions=False, **LOCAL) as client:
            reply = client.post(SEARCH, json={"query": TWO_HOP})
            assert code(reply) == (503, 2001)
            assert "private" not in reply.text
            assert len(reply.json()["data"]["degradations"]) == 3
        with TestClient(create_app(service), raise_server_exceptions=False, **LOCAL) as client:
            late = {"query": "a question nobody asked before", "channels": ["dense"], "deadline_ms": 1}
            for body in (late, {**late, "query": "another one", "strict": True}):
                reply = client.post(SEARCH, json=body)
                assert code(reply) == (422, 2002), "the caller's own deadline, shorter than the service's"
                assert reply.json()["data"]["deadline_ms"] == 1
                assert "own deadline_ms of 1 was too short" in reply.json()["message"]
            chinese = client.post(SEARCH, json={**late, "query": "one more"}, headers={"Accept-Language": "zh"})
            assert chinese.json()["message"].endswith("请求自带的 deadline_ms（1 毫秒）过短。")
            retrieval = service.settings.retrieval.model_copy(update={"deadline_ms": 1})
            short = replace(service.resources, settings=service.settings.model_copy(update={"retrieval": retrieval}))
        impatient = replace(service, resources=short, graph=build_graph(short))
        with TestClient(create_app(impatient), raise_server_exceptions=False, **LOCAL) as client:
            for body in ({"query": "a third one"}, {"query": "a fourth one", "strict": True}):
                assert code(client.post(SEARCH, json={**body, "channels": ["dense"]})) == (504, 2002)

    def test_a_silent_model_is_waited_for_no_longer_than_the_request_may_take(self, copy_of_demo):
        gave_up = threading.Event()
        with scripted_server() as model:
            for _ in range(4):
                model.script.append(lambda _handler: model.test_is_over.wait(120) and gave_up.set())
            settings = settings_over(copy_of_demo())
            named = {"name": "scripted", "base_url": model.url, "api_key": "none", "timeout_s": 100}
            settings = Settings.model_validate({**settings.model_dump(), "model": named})
            with open_service(settings) as silent, TestClient(create_app(silent), **LOCAL) as client:
                body = {"question": HOW, "stream": False, "total_deadline_ms": 4000}
                data = data_of(client.post(ASK, json=body))
            assert not gave_up.is_set()
            model.test_is_over.set()
        assert "generate_answer" in {item["stage"] for item in data["degradations"]}
        assert data["citations"], "what was found is shown"

    @pytest.mark.parametrize("form", ["json", "text", "mermaid"])
    def test_an_explanation_names_the_channel_that_failed_and_no_internals(self, service, form):
        broken = replace(service, graph=graph_without(service, "sparse"))
        with TestClient(create_app(broken), **LOCAL) as client:
            reply = client.post(ASK, json={"question": TWO_HOP, "stream": False}).json()["data"]
            told = client.get(f"/api/v1/retrieval/explain/{reply['request_id']}?format={form}").text
        assert "Vienna" in reply["answer"], "the others answer"
        assert "private" not in told
        assert "private" not in str(reply)
        assert ("the sparse channel failed" in told) == (form != "mermaid")

    def test_too_many_at_once_are_429_and_come_back_later(self, service):
        service = replace(service)
        service.__dict__["limiter"] = ConcurrencyLimiter(1, 0)
        entered, release = threading.Event(), threading.Event()

        class Slow:
            def stream(self, *_args, **_kwargs):
                entered.set()
                release.wait(60)
                raise CancelledRunError

        service.graph = Slow()
        app = create_app(service)

        async def scenario():
            transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=LOCAL["client"])
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL["base_url"]) as client:
                first = asyncio.ensure_future(client.post(SEARCH, json={"query": "x"}))
                await asyncio.to_thread(entered.wait, 60)
                second = await client.post(SEARCH, json={"query": "x"})
                third = await client.post(ASK, json={"question": "x"})
                release.set()
                await first
                return second, third

        for reply in asyncio.run(scenario()):
            assert code(reply) == (429, 1006)
            assert reply.headers["retry-after"] == "1"

    def test_a_client_that_goes_stops_its_work_between_two_nodes(self, service, monkeypatch):
        held = Held(build_graph(service.resources), monkeypatch)
        own = replace(service, graph=held)
        with listening(create_app(own)) as url:
            leave_half_way(url + SEARCH, {"query": TWO_HOP}, held)
            wait_until(lambda: own.limiter.present == 0)
        assert held.nodes == ["receive_question"]
        service.writer.flush()
        last = list(service.journal.requests("default"))[-1]
        assert (last["status"], last["code"]) == ("cancelled", 0), "nobody was told of an error"
