"""The endpoints below /v1 by the real `openai` package, over TCP; and requests as other clients send them."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import openai
import pytest
import yaml
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response

from scripted_server import scripted_server
from service_cases import CHINESE, TWO_HOP, Held, Telling, wait_until
from service_process import START_S, fetch, listening
from theworld.graph import build_graph
from theworld.models.chat import OpenAIChatModel, estimated_tokens
from theworld.models.registry import Models
from theworld.service.app import create_app
from theworld.service.openai.answers import REVISED
from theworld.settings import ModelSettings

pytestmark = pytest.mark.slow
REQUESTS = yaml.safe_load((Path(__file__).parent / "data" / "clients.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def ai(live):
    with openai.OpenAI(base_url=f"{live}/v1", api_key="none", max_retries=0, timeout=START_S) as client:
        yield client


@pytest.fixture
def client_of():
    """Makes clients that are closed at the end of the test."""
    with ExitStack() as stack:
        yield lambda url, key="none": stack.enter_context(
            openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=START_S)
        )


def asking(question, **more):
    return {"model": "theworld", "messages": [{"role": "user", "content": question}], **more}


def test_the_knowledge_is_a_model(ai):
    assert [model.id for model in ai.models.list()] == ["theworld"]
    assert ai.models.retrieve("theworld/other").id == "theworld/other"
    assert ai.models.retrieve("theworld-en").id == "theworld-en"


@pytest.mark.parametrize(("question", "said"), [(TWO_HOP, "Vienna"), (CHINESE, "范钦")])
def test_a_chat_is_the_graphs_answer_with_links(ai, call, question, said):
    known = call("/api/v1/ask", {"question": question, "stream": False})
    reply = ai.chat.completions.create(**asking(question))
    ChatCompletion.model_validate(reply.model_dump(), strict=False)
    message = reply.choices[0].message
    assert said in message.content
    assert message.content.startswith(known["answer"])
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.prompt_tokens == estimated_tokens(question), "no model was asked"
    assert reply.usage.completion_tokens == estimated_tokens(message.content)
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    cited = {citation["number"]: citation for citation in known["citations"]}
    assert len(message.annotations) == len(cited)
    for annotation in message.annotations:
        link = annotation.url_citation
        mark = message.content[link.start_index : link.end_index]
        note = cited[int(mark.strip("[]"))]["note_id"]
        assert f"{mark}: {link.url} " in message.content, "the link's definition"
        query = httpx.URL(link.url.replace("/#/document", "/document"))
        assert query.params["note"] == note
        assert query.params["id"] == cited[int(mark.strip("[]"))]["document_id"]


def test_a_stream_says_the_same_and_brings_sources_and_usage(ai):
    whole = ai.chat.completions.create(**asking(TWO_HOP))
    chunks = list(ai.chat.completions.create(**asking(TWO_HOP, stream=True, stream_options={"include_usage": True})))
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk.model_dump())
    assert len({chunk.id for chunk in chunks}) == 1
    *told, usage = chunks
    assert usage.choices == []
    assert usage.usage == whole.usage
    assert told[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in told] == [None] * (len(told) - 1) + ["stop"]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in told)
    assert text == whole.choices[0].message.content
    annotations = [a for chunk in told for a in getattr(chunk.choices[0].delta, "annotations", None) or []]
    assert annotations == [a.model_dump() for a in whole.choices[0].message.annotations]
    sources = next(chunk.sources for chunk in told if getattr(chunk, "sources", None))
    assert [one["metadata"][0]["source"] for one in sources] == list(
        dict.fromkeys(a["url_citation"]["url"] for a in annotations)
    )
    assert all(one["document"][0] for one in sources)


def test_the_conversation_is_the_history(ai):
    first = ai.chat.completions.create(**asking("Who was Ada Lovelace?")).choices[0].message.content
    messages = [
        {"role": "user", "content": "Who was Ada Lovelace?"},
        {"role": "assistant", "content": first},
        {"role": "user", "content": "When was she born?"},
    ]
    reply = ai.chat.completions.create(model="theworld", messages=messages)
    assert "1815" in reply.choices[0].message.content
    response = ai.responses.create(model="theworld", input=messages)
    assert "1815" in response.output_text
    history = reply.usage.prompt_tokens - estimated_tokens(messages[-1]["content"])
    assert 0 < history < sum(estimated_tokens(one["content"]) for one in messages), "an answer is remembered briefly"
    assert response.usage.input_tokens == reply.usage.prompt_tokens
    assert response.usage.output_tokens == estimated_tokens(response.output_text)


def test_a_response_whole_and_as_events(ai):
    reply = ai.responses.create(model="theworld", input=TWO_HOP)
    Response.model_validate(reply.model_dump())
    part = reply.output[0].content[0]
    assert "Vienna" in reply.output_text
    assert part.annotations
    assert all(part.text[a.start_index : a.end_index].startswith("[") for a in part.annotations)
    with ai.responses.stream(model="theworld", input=TWO_HOP) as stream:
        events = list(stream)
        final = stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    ]  # fmt: skip
    assert kinds[-4:] == [
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
    ]  # fmt: skip
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert kinds.count("response.output_text.annotation.added") == len(part.annotations)
    assert final.output_text == reply.output_text


def test_embeddings_are_those_of_the_notes(ai, service):
    embedder = service.resources.models.embedders["en"]
    for form in ("float", "base64"):
        reply = ai.embeddings.create(
            model="theworld-en", input=["Metropolis is a film.", "A river."], encoding_format=form
        )
        assert (reply.model, reply.usage.total_tokens) == (embedder.name, 6 + 2)
        assert [one.index for one in reply.data] == [0, 1]
    reply = ai.embeddings.create(model=embedder.name, input="Metropolis is a film.")
    vector = reply.data[0].embedding
    assert vector == pytest.approx(embedder.embed_passages(["Metropolis is a film."])[0].vector.tolist(), abs=1e-6)
    assert math.isclose(sum(value * value for value in vector), 1, rel_tol=1e-4)
    chinese = service.resources.models.embedders["zh"]
    reply = ai.embeddings.create(model="theworld-zh", input="天一阁", extra_body={"input_type": "query"})
    assert reply.data[0].embedding == pytest.approx(chinese.embed_query("天一阁").vector.tolist(), abs=1e-6)


def test_texts_are_ranked_in_each_form(live):
    texts = ["The Danube flows through Vienna.", "Metropolis is a film directed by Fritz Lang."]
    with httpx.Client(base_url=live, timeout=START_S) as client:
        body = {
            "query": "Who directed Metropolis?",
            "documents": [texts[0], {"text": texts[1]}],
            "return_documents": True,
        }
        cohere = client.post("/v1/rerank", json={"model": "theworld", **body}).raise_for_status().json()
        tei = client.post("/rerank", json={"query": "Who directed Metropolis?", "texts": texts, "return_text": True})
        one = client.post("/v1/rerank", json={**body, "top_n": 1}).json()["results"]
        raw = client.post("/rerank", json={"query": "Who directed Metropolis?", "texts": texts, "raw_scores": True})
    assert [result["index"] for result in cohere["results"]] == [1, 0]
    assert cohere["results"][0]["document"] == {"text": texts[1]}
    assert cohere["usage"]["total_tokens"] == sum(map(estimated_tokens, [body["query"], *texts]))
    assert tei.json() == [
        {"index": r["index"], "score": r["relevance_score"], "text": texts[r["index"]]} for r in cohere["results"]
    ]
    assert one == cohere["results"][:1]
    assert [r["index"] for r in raw.json()] == [1, 0]


@pytest.mark.parametrize(
    ("body", "kind", "code", "param"),
    [
        (asking("x", model="gpt-4"), openai.NotFoundError, "model_not_found", "model"),
        (asking("x", model="theworld/nobody"), openai.NotFoundError, "model_not_found", "model"),
        (asking("x", n=2), openai.BadRequestError, None, "n"),
        (asking("?!"), openai.BadRequestError, None, None),
        (asking("x", tool_choice="required"), openai.BadRequestError, None, "tool_choice"),
        (asking([{"type": "image_url", "image_url": {"url": "data:"}}]), openai.BadRequestError, "unsupported_value",
         "messages.0.content"),
        ({"model": "theworld", "messages": asking("x")["messages"] * 300}, openai.BadRequestError,
         "context_length_exceeded", "messages"),
        ({"model": "theworld", "messages": []}, openai.BadRequestError, None, "messages"),
    ],
)  # fmt: skip
def test_errors_have_openais_form(ai, body, kind, code, param):
    for stream in (False, True):
        with pytest.raises(openai.APIError) as refused:
            list(ai.chat.completions.create(**{**body, "stream": stream}))
        if not (stream and param is None and code is None):  # a question without a letter is noticed when it runs
            assert isinstance(refused.value, kind)
        assert (refused.value.code, refused.value.param) == (code, param)
        assert refused.value.body["message"]
        assert refused.value.type == "invalid_request_error"


def test_other_endpoints_errors_too(ai, live):
    with pytest.raises(openai.NotFoundError, match="theworld-en"):
        ai.embeddings.create(model="text-embedding-3-small", input="x")
    for more in ({"dimensions": 8}, {"input": [1, 2]}, {"input": ""}, {"input": []}):
        with pytest.raises(openai.BadRequestError):
            ai.embeddings.create(**{"model": "theworld-en", "input": "x", **more})
    with pytest.raises(openai.NotFoundError):
        ai.post("/nowhere", cast_to=object)
    error = fetch("GET", f"{live}/v1/chat/completions").json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    plain = fetch("POST", f"{live}/v1/chat/completions", content="{}", headers={"content-type": "text/plain"})
    assert (plain.status_code, set(plain.json())) == (415, {"error"})
    big = fetch("POST", f"{live}/v1/chat/completions", content=b" " * 32_000_001)
    assert (big.status_code, big.json()["error"]["code"]) == (413, "request_too_large")
    assert fetch("POST", f"{live}/rerank", json={"query": "x", "texts": []}).json()["error_type"] == "Validation"
    wrong = {"Authorization": "Bearer tw_000000000000_" + "a" * 43}
    refused = fetch("POST", f"{live}/rerank", json={"query": "x", "texts": ["x"]}, headers=wrong)
    assert (refused.status_code, refused.json()["error_type"]) == (401, "Validation")
    chinese = fetch("POST", f"{live}/v1/embeddings", json={}, headers={"accept-language": "zh"}).json()["error"]
    assert chinese["message"].startswith("请求无效")


def test_keys_and_tenants(guarded, client_of):
    url, service, keys = guarded
    client = partial(client_of, url)

    for wrong in ("none", keys["default"][:-1] + "!", "tw_000000000000_" + "a" * 43):
        with pytest.raises(openai.AuthenticationError) as refused:
            client(wrong).models.list()
        assert refused.value.code == "invalid_api_key"
    assert fetch("GET", f"{url}/v1/models").status_code == 401
    own = client(keys["default"])
    assert "Vienna" in own.chat.completions.create(**asking(TWO_HOP)).choices[0].message.content
    other = client(keys["other"]).chat.completions.create(**asking(TWO_HOP)).choices[0].message
    assert "Vienna" not in other.content
    assert not other.annotations
    with pytest.raises(openai.NotFoundError):
        own.chat.completions.create(**asking(TWO_HOP, model="theworld/other"))
    with pytest.raises(openai.PermissionDeniedError):
        client(service.keys.create("writer", ["default"], scopes=["write"])).chat.completions.create(**asking("x"))
    both = service.keys.create("both", ["default", "other"])
    assert [m.id for m in client(both).models.list()] == ["theworld", "theworld/default", "theworld/other"]
    assert "Vienna" in str(client(both).chat.completions.create(**asking(TWO_HOP, model="theworld/default")))


def test_a_key_for_several_tenants_chooses_one_by_the_model(guarded, client_of, service):
    url, wanting, _ = guarded
    body = {"documents": [{"id": "a", "text": "The red lighthouse was built by Rosa Crimson."}]}
    make = wanting.keys.create
    writer = {"Authorization": f"Bearer {make('w', ['red'])}"}
    fetch("POST", f"{url}/api/v1/documents", json=body, headers=writer).raise_for_status()
    key = make("several", ["red", "blue"])
    ai, headers = client_of(url, key), {"Authorization": f"Bearer {key}"}
    assert [one.id for one in ai.models.list()] == ["theworld/blue", "theworld/red"]
    asked = "Who built the red lighthouse?"
    assert "Rosa Crimson" in str(ai.chat.completions.create(**asking(asked, model="theworld/red")))
    assert "no documents yet" in str(ai.chat.completions.create(**asking(asked, model="theworld/blue")))
    for model in ("theworld", "theworld/default"):
        with pytest.raises(openai.NotFoundError, match="theworld/blue, theworld/red"):
            ai.chat.completions.create(**asking(asked, model=model))
    assert fetch("GET", f"{url}/metrics", headers=headers).status_code == 200
    dify = {"knowledge_id": "red", "query": asked, "retrieval_setting": {"top_k": 1, "score_threshold": 0.0}}
    assert "Rosa Crimson" in fetch("POST", f"{url}/dify/retrieval", json=dify, headers=headers).text
    assert (
        fetch("POST", f"{url}/dify/retrieval", json={**dify, "knowledge_id": "default"}, headers=headers).status_code
        == 404
    )
    ranked = {"query": asked, "texts": ["Rosa Crimson built it.", "No."]}
    assert fetch("POST", f"{url}/rerank", json=ranked, headers=headers).status_code == 200
    for path, sent in (("/api/v1/retrieval/search", {"query": asked}), ("/mcp", {})):
        refused = fetch("POST", url + path, json=sent, headers=headers)
        assert refused.status_code == 403
        assert "choose by X-Tenant-Id: blue, red" in refused.text


@pytest.mark.parametrize("recorded", REQUESTS, ids=[one["client"] for one in REQUESTS])
def test_requests_as_clients_send_them(live, recorded):
    reply = httpx.post(live + recorded["path"], json=recorded["body"], timeout=START_S)
    assert reply.status_code == 200, reply.text
    assert recorded.get("says", "") in reply.text.encode().decode("utf-8")
    if recorded["body"].get("stream"):
        assert reply.headers["content-type"].startswith("text/event-stream")
    else:
        assert reply.json()


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_a_closed_tab_frees_the_place(service, path, monkeypatch):
    held = Held(build_graph(service.resources), monkeypatch)
    own = replace(service, graph=held)
    with listening(create_app(own)) as url:
        body = {"model": "theworld", "input": TWO_HOP, "messages": asking(TWO_HOP)["messages"], "stream": True}
        with httpx.stream("POST", url + path, json=body, timeout=START_S) as reply:
            lines = reply.iter_lines()  # dropped, it would close the stream
            next(lines)
            assert held.running.wait(START_S)
            assert own.limiter.present == 1
        wait_until(lambda: own.limiter.present == 0)
        assert len(held.nodes) == 1, "it was stopped between two nodes"


def test_with_a_model_the_usage_is_what_the_model_reports(service, client_of):
    piece = {"id": "1", "object": "chat.completion.chunk"}
    with scripted_server() as model:
        said = {"index": 0, "delta": {"content": "She was born in London [1]."}, "finish_reason": "stop"}
        used = {"prompt_tokens": 321, "completion_tokens": 7, "total_tokens": 328}
        model.streams({**piece, "choices": [said]}, {**piece, "choices": [], "usage": used})
        chat = OpenAIChatModel(ModelSettings(name="tiny", base_url=model.url, api_key="sk-test"), retries=0)
        models = Models(service.resources.models.embedders, service.resources.models.taggers, chat)
        graph = build_graph(replace(service.resources, models=models))
        with listening(create_app(replace(service, graph=graph))) as url:
            reply = client_of(url).chat.completions.create(**asking("Where was Ada Lovelace born?"))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (321, 7, 328)


def test_a_models_text_is_streamed_and_what_was_not_the_answer_stays_above_it(service, client_of):
    with listening(create_app(replace(service, graph=Telling(service.graph)))) as url:
        client = client_of(url)
        chunks = list(client.chat.completions.create(**asking(TWO_HOP, stream=True)))
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
        assert pieces[:2] == ["no", f"{REVISED}maybe"]
        assert pieces[2].startswith(REVISED)
        text = "".join(pieces)
        for chunk in chunks:
            for annotation in getattr(chunk.choices[0].delta, "annotations", None) or []:
                link = annotation["url_citation"]
                assert text[link["start_index"] : link["end_index"]].startswith("[")
