from __future__ import annotations

import email.utils
import time
from collections.abc import Container
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from theworld.errors import ModelError
from theworld.models.chat import OpenAIChatModel, estimated_tokens
from theworld.models.protocols import ChatMessage, Completion, less_usage, usage_of
from theworld.settings import ModelSettings
from theworld.state import ModelUsage

KEY = "sk-secret-0123456789"
MESSAGES = [ChatMessage("system", "Be brief."), ChatMessage("user", "Who wrote 紅樓夢?")]


def reply(text: str | None, finish: str = "stop", usage: dict[str, int] | None = None) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {"choices": [choice], **({"usage": usage} if usage else {})}


def piece(text: str | None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


def model(server: Any, *, retries: int = 2, **settings: Any) -> OpenAIChatModel:
    values = {"name": "small", "base_url": server.url, "api_key": SecretStr(KEY), "timeout_s": 60.0}
    return OpenAIChatModel(ModelSettings(**(values | settings)), retries=retries)


@pytest.fixture(autouse=True)
def quick_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenacity import wait_none

    monkeypatch.setattr("theworld.models.endpoint._BACKOFF", wait_none())


def test_complete_returns_text_usage_and_sends_what_the_settings_say(server: Any) -> None:
    server.sends(200, reply("曹雪芹", usage={"prompt_tokens": 12, "completion_tokens": 3}))
    completion = model(server, max_tokens=77).complete(MESSAGES)
    assert completion.text == "曹雪芹"
    assert not completion.truncated
    assert completion.usage.model_dump() == {
        "calls": 1,
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "estimated": False,
        "cost": {},
        "unpriced_calls": 1,
    }
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("small", 77, 0)
    assert body["messages"][1] == {"role": "user", "content": "Who wrote 紅樓夢?"}


def test_a_call_has_its_price_and_one_line_in_the_log(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="theworld.models.chat")
    server.sends(200, reply("曹雪芹", usage={"prompt_tokens": 2_000, "completion_tokens": 500}))
    prices = {"small": {"input": 3, "output": 8, "currency": "CNY"}}
    usage = model(server, prices=prices).complete(MESSAGES).usage
    assert usage.cost == {"CNY": pytest.approx(0.01)}
    assert usage.unpriced_calls == 0
    assert (usage + usage).cost == {"CNY": pytest.approx(0.02)}
    (record,) = caplog.records
    line = record.getMessage()
    assert "model=small calls=1 prompt_tokens=2000 completion_tokens=500" in line
    assert "cost=CNY 0.010000 ms=" in line
    assert KEY not in line
    assert "曹雪芹" not in line


def test_a_streamed_and_a_failed_call_are_logged(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="theworld.models.chat")
    server.streams(piece("Cao", "stop"))
    list(model(server).stream(MESSAGES))
    server.sends(500, {"error": {"message": "overloaded"}})
    server.script = server.script[1:]
    with pytest.raises(ModelError):
        model(server, retries=1).complete(MESSAGES)
    assert ["outcome=answered" in record.getMessage() for record in caplog.records] == [True, False]
    assert "calls=2" in caplog.records[1].getMessage()


@pytest.mark.parametrize(("wait", "timeout_s", "within_s", "calls"), [("5", 0.5, 3, {1}), ("0.5", 3.0, 8, range(2, 7))])
def test_retries_stay_within_the_callers_limit(
    server: Any, wait: str, timeout_s: float, within_s: float, calls: Container[int]
) -> None:
    server.sends(503, {"error": {"message": "busy"}}, Retry_After=wait)
    began = time.monotonic()
    with pytest.raises(ModelError, match=rf"HTTP 503|within {timeout_s:g} s"):
        model(server, retries=10, timeout_s=60.0).complete(MESSAGES, timeout_s=timeout_s)
    assert time.monotonic() - began < within_s
    assert len(server.requests) in calls


def test_the_settings_limit_a_longer_wish(server: Any) -> None:
    server.hangs()
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"within 0\.3 s"):
        model(server, retries=0, timeout_s=0.3).complete(MESSAGES, timeout_s=100.0)
    assert time.monotonic() - began < 5


def test_a_failed_call_says_what_it_consumed(server: Any) -> None:
    prices = {"small": {"input": 2.0, "output": 8.0, "currency": "CNY"}}
    usage = {"prompt_tokens": 2_000, "completion_tokens": 500}
    server.sends(200, reply("", usage=usage))
    with pytest.raises(ModelError) as empty:
        model(server, prices=prices).complete(MESSAGES)
    consumed = usage_of(empty.value)
    assert (consumed.calls, consumed.prompt_tokens, consumed.completion_tokens) == (1, 2_000, 500)
    assert consumed.cost == {"CNY": pytest.approx(0.008)}


def test_a_stream_that_breaks_off_says_what_was_heard(server: Any) -> None:
    server.streams(piece("Cao Xueqin wrote"))
    with pytest.raises(ModelError) as broken:
        list(model(server, retries=0).stream(MESSAGES))
    consumed = usage_of(broken.value)
    assert consumed.estimated
    assert consumed.prompt_tokens > 5
    assert consumed.completion_tokens == 4


def test_a_call_that_was_never_answered_consumed_no_tokens(server: Any) -> None:
    server.sends(500, {"error": {"message": "overloaded"}})
    with pytest.raises(ModelError) as refused:
        model(server, retries=0).complete(MESSAGES)
    assert usage_of(refused.value).model_dump() == ModelUsage(calls=1).model_dump()


def test_usage_is_estimated_and_marked_when_the_server_reports_none(server: Any) -> None:
    server.sends(200, reply("曹雪芹"))
    usage = model(server).complete(MESSAGES).usage
    assert usage.estimated
    assert usage.completion_tokens == 3
    assert usage.prompt_tokens > 5


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("紅樓夢", 3), ("紅樓夢 abc", 4)])
def test_estimated_tokens(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_an_answer_cut_at_the_limit_says_so(server: Any) -> None:
    server.sends(200, reply("half an ans", finish="length"))
    assert model(server).complete(MESSAGES).truncated


def test_stream_yields_pieces_then_the_completion(server: Any) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
    server.streams(piece("Cao "), piece(None), piece("Xueqin"), piece("", "stop"), usage)
    *pieces, last = model(server).stream(MESSAGES)
    assert pieces == ["Cao ", "Xueqin"]
    assert isinstance(last, Completion)
    assert last.text == "Cao Xueqin"
    assert (last.usage.calls, last.usage.prompt_tokens, last.usage.completion_tokens) == (1, 9, 2)
    body = server.requests[0][2]
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_stream_left_early_closes_the_connection(server: Any) -> None:
    server.streams(*[piece("a")] * 50, piece("", "stop"))
    stream = model(server).stream(MESSAGES)
    assert next(stream) == "a"
    stream.close()


def test_a_half_written_stream_is_an_error_after_its_pieces(server: Any) -> None:
    server.streams(piece("Cao "), done=False)
    heard = []
    with pytest.raises(ModelError, match="ended before the answer was complete"):
        heard.extend(model(server).stream(MESSAGES))
    assert heard == ["Cao "]


def test_a_stream_that_reports_an_error_is_an_error(server: Any) -> None:
    server.streams(piece("Cao "), {"error": {"message": "out of memory"}})
    with pytest.raises(ModelError, match="out of memory"):
        list(model(server).stream(MESSAGES))


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_failure_is_retried_and_counted(server: Any, status: int) -> None:
    server.sends(status, {"error": {"message": "busy"}})
    server.sends(200, reply("fine", usage={"prompt_tokens": 1, "completion_tokens": 1}))
    completion = model(server).complete(MESSAGES)
    assert (completion.text, completion.usage.calls, len(server.requests)) == ("fine", 2, 2)


def test_stream_opening_is_retried(server: Any) -> None:
    server.sends(503, b"<html>busy</html>", "text/html")
    server.streams(piece("fine"), piece(None, "stop"))
    *_, last = model(server).stream(MESSAGES)
    assert isinstance(last, Completion)
    assert last.usage.calls == 2


@pytest.mark.slow
@pytest.mark.parametrize("as_date", [False, True])
def test_retry_after_is_honoured(server: Any, as_date: bool) -> None:
    later = datetime.now(UTC) + timedelta(seconds=2)
    server.sends(
        429,
        b"<html>slow down</html>",
        "text/html",
        Retry_After=email.utils.format_datetime(later, usegmt=True) if as_date else "0.4",
    )
    server.sends(200, reply("fine"))
    start = time.monotonic()
    assert model(server).complete(MESSAGES).text == "fine"
    assert 0.35 <= time.monotonic() - start < 3


def test_a_retry_after_beyond_the_limit_fails_at_once(server: Any) -> None:
    server.sends(429, {"error": {"message": "slow down"}}, Retry_After="3600")
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"HTTP 429: slow down.*asks to wait 3600 s"):
        model(server).complete(MESSAGES)
    assert time.monotonic() - start < 2
    assert len(server.requests) == 1


def test_a_lasting_failure_names_the_endpoint_and_counts_the_calls(server: Any) -> None:
    server.sends(500, {"error": {"message": f"crashed with key {KEY}"}})
    with pytest.raises(ModelError, match="HTTP 500") as caught:
        model(server).complete(MESSAGES)
    assert server.url in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.calls == len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "remedy"), [(400, ""), (401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "model.base_url")]
)
def test_a_refusal_is_not_retried(server: Any, status: int, remedy: str) -> None:
    server.sends(status, {"error": {"message": "no"}})
    with pytest.raises(ModelError, match=f"HTTP {status}: no") as caught:
        model(server).complete(MESSAGES)
    assert remedy in str(caught.value)
    assert len(server.requests) == 1


def test_an_exhausted_quota_is_not_retried(server: Any) -> None:
    server.sends(429, {"error": {"message": "quota", "code": "insufficient_quota"}})
    with pytest.raises(ModelError, match="quota"):
        model(server).complete(MESSAGES)
    assert len(server.requests) == 1


COMMENTS: dict[str, Any] = {"interval_s": 0.05, "kind": "text/event-stream", "what": b": keep-alive\n\n"}


@pytest.mark.parametrize(
    ("fault", "given", "method"),
    [
        ("hangs", {}, "complete"),
        ("hangs", {}, "stream"),
        ("drips", {}, "complete"),
        ("drips", COMMENTS, "stream"),
    ],
)
def test_a_server_that_does_not_end_is_left_at_the_limit(
    server: Any, fault: str, given: dict[str, Any], method: str
) -> None:
    getattr(server, fault)(**given)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"no complete answer within 0\.5 s"):
        list(getattr(model(server), method)(MESSAGES, timeout_s=0.5))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("method", ["complete", "stream"])
def test_a_reply_without_end_is_refused(server: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theworld.models.endpoint.MOST_BYTES", 2**20)
    server.drips(0.0, kind="text/event-stream", what=b" " * 65_536)
    with pytest.raises(ModelError, match="longer than 1 MB"):
        list(getattr(model(server, retries=0), method)(MESSAGES))


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": None, "completion_tokens": 5},
        {"prompt_tokens": -1, "completion_tokens": 5},
        {"prompt_tokens": "x"},
        {"prompt_tokens": 10**400, "completion_tokens": 1},
        [],
        "none",
    ],
)
def test_usage_that_cannot_be_read_costs_no_answer(server: Any, usage: Any) -> None:
    server.sends(200, reply("fine") | {"usage": usage})
    server.streams(piece("fine"), piece(None, "stop"), {"choices": [], "usage": usage})
    chat = model(server, prices={"small": {"input": 1.0, "output": 2.0}})
    whole = chat.complete(MESSAGES)
    *_, last = chat.stream(MESSAGES)
    assert isinstance(last, Completion)
    for completion in (whole, last):
        assert completion.text == "fine"
        assert completion.usage.estimated
        assert 0 < completion.usage.prompt_tokens < 100


def test_what_was_refused_for_another_reason_is_sent_again(server: Any) -> None:
    server.sends(400, {"error": {"message": "'max_tokens' is too large: 512, the context has 2048"}})
    chat = model(server)
    with pytest.raises(ModelError, match="too large"):
        chat.complete(MESSAGES)
    server.script.clear()
    server.sends(200, reply("fine"))
    chat.complete(MESSAGES)
    assert "max_tokens" in server.requests[-1][2]


def test_a_character_that_comes_in_two_halves_is_one(server: Any) -> None:
    server.streams(piece("joy \ud83d"), piece("\ude00!"), piece("\udc00 \ud83d"), piece(None, "stop"))
    *pieces, last = model(server).stream(MESSAGES)
    assert pieces == ["joy ", "😀!", "\ufffd "]
    assert isinstance(last, Completion)
    assert last.text == "joy 😀!\ufffd "


def test_a_lone_surrogate_reaches_the_server_replaced(server: Any) -> None:
    server.sends(200, reply("fine"))
    model(server).complete([ChatMessage("user", "a\ud800b")])
    assert server.requests[0][2]["messages"][0]["content"] == "a?b"


def test_a_reply_that_breaks_off_is_retried(server: Any) -> None:
    server.breaks_off()
    server.sends(200, reply("fine"))
    assert model(server).complete(MESSAGES).text == "fine"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{not json", "application/json"),
        (b"<html>login</html>", "text/html"),
        (b"", "application/json"),
        (b"[]", "application/json"),
        (b'{"choices": []}', "application/json"),
        (b'{"choices": [{"message": {"content": 5}}]}', "application/json"),
        (b"\xff\xfe\x00", "application/octet-stream"),
    ],
)
def test_a_reply_that_is_none_is_shown(server: Any, body: bytes, kind: str) -> None:
    server.sends(200, body, kind)
    with pytest.raises(ModelError, match="unusable reply") as caught:
        model(server).complete(MESSAGES)
    assert kind in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_an_empty_answer_is_an_error(server: Any, text: str | None) -> None:
    server.sends(200, reply(text, finish="length"))
    with pytest.raises(ModelError, match="said nothing"):
        model(server).complete(MESSAGES)


@pytest.mark.parametrize(
    ("parameter", "refusal", "replaced_by"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0", None),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.", "max_completion_tokens"),
    ],
)
def test_a_refused_parameter_is_left_out_and_remembered(
    server: Any, parameter: str, refusal: str, replaced_by: str | None
) -> None:
    server.sends(400, {"error": {"message": refusal, "param": parameter}})
    server.sends(200, reply("fine"))
    chat = model(server)
    assert chat.complete(MESSAGES).usage.calls == 2
    assert chat.complete(MESSAGES).usage.calls == 1
    for _, _, body in server.requests[1:]:
        assert parameter not in body
        assert replaced_by is None or replaced_by in body


def test_a_server_without_stream_options_still_streams(server: Any) -> None:
    server.sends(422, {"error": {"message": "extra field stream_options"}})
    server.streams(piece("fine"), piece(None, "stop"))
    *_, last = model(server).stream(MESSAGES)
    assert isinstance(last, Completion)
    assert last.usage.estimated
    assert last.usage.calls == 2


def test_nobody_listens() -> None:
    chat = OpenAIChatModel(ModelSettings(name="x", base_url="http://127.0.0.1:9/v1", timeout_s=2.0), retries=1)
    with pytest.raises(ModelError, match="connection failed") as caught:
        chat.complete(MESSAGES)
    assert "http://127.0.0.1:9/v1" in str(caught.value)
    assert caught.value.calls == 2


@pytest.mark.parametrize("url", ["http://[::1", "localhost:8000/v1", "ftp://models.example.org/v1", "http://", "x"])
@pytest.mark.parametrize("method", ["complete", "stream"])
def test_what_is_no_web_address_is_told_before_any_call(url: str, method: str) -> None:
    chat = OpenAIChatModel(ModelSettings(name="x", base_url=url))
    with pytest.raises(ModelError, match=r"no web address.*base_url") as caught:
        list(getattr(chat, method)(MESSAGES))
    assert caught.value.calls == 0


@pytest.mark.parametrize("proxy", ["foo://127.0.0.1:1", "http://[::1"])
def test_a_proxy_that_cannot_be_used_is_told(server: Any, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError, match=r"no connection can be made.*ALL_PROXY"):
        model(server).complete(MESSAGES)


def test_a_key_from_a_file_loses_its_line_break(server: Any) -> None:
    server.sends(200, reply("fine"))
    model(server, api_key=SecretStr(f"{KEY}\n")).complete(MESSAGES)
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["sk-secret\n0123", "sk-密钥0123456", "sk-secret\x010123"])
def test_a_key_no_header_can_hold_is_told_and_not_shown(server: Any, key: str) -> None:
    server.sends(200, reply("fine"))
    with pytest.raises(ModelError, match="API key holds characters") as caught:
        model(server, api_key=SecretStr(key)).complete(MESSAGES)
    assert "secret" not in str(caught.value)
    assert "0123" not in str(caught.value)


def test_a_password_in_the_url_is_not_shown() -> None:
    chat = OpenAIChatModel(ModelSettings(name="x", base_url="http://me:secret@127.0.0.1:9/v1"), retries=0)
    with pytest.raises(ModelError) as caught:
        chat.complete(MESSAGES)
    assert "secret" not in str(caught.value)
    assert "http://127.0.0.1:9/v1" in str(caught.value)


def test_endpoint_and_key_come_from_the_environment(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    server.sends(200, reply("fine"))
    OpenAIChatModel(ModelSettings(name="small")).complete(MESSAGES)
    assert server.requests[0][1]["authorization"] == "Bearer sk-from-environment"


def test_openai_without_a_key_is_refused_before_any_call(server: Any) -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIChatModel(ModelSettings(name="gpt")).complete(MESSAGES)
    assert not server.requests


def test_a_server_of_ones_own_needs_no_key(server: Any) -> None:
    server.sends(200, reply("fine"))
    assert model(server, api_key=None).complete(MESSAGES).text == "fine"


def test_the_difference_of_two_readings_keeps_the_cost() -> None:
    before = ModelUsage(calls=1, prompt_tokens=10, cost={"CNY": 0.1}, unpriced_calls=1)
    call = ModelUsage(calls=2, prompt_tokens=5, completion_tokens=3, cost={"CNY": 0.2, "USD": 0.3}, unpriced_calls=1)
    found = less_usage(before + call, before)
    assert found.model_dump() == call.model_dump() | {"cost": pytest.approx(call.cost)}


def test_without_time_no_call_is_made_and_none_is_counted(server: Any) -> None:
    with pytest.raises(ModelError, match="no complete answer") as caught:
        model(server).complete(MESSAGES, timeout_s=0.0)
    assert not server.requests
    assert usage_of(caught.value).calls == 0
