from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from theworld.errors import ModelError
from theworld.models.embedders import BATCH, OpenAIEmbedder
from theworld.settings import EmbeddingSettings, ModelSettings, Settings


def embedder(server: Any, **embedding: Any) -> OpenAIEmbedder:
    settings = Settings(
        model=ModelSettings(base_url=server.url, timeout_s=60.0), embedding=EmbeddingSettings(**embedding)
    )
    return OpenAIEmbedder("text-small", settings)


def vectors(*rows: list[float]) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


def test_batches_keep_order_and_vectors_are_normalised(server: Any) -> None:
    server.sends(200, vectors(*[[3.0, 4.0]] * (BATCH - 1), [0.0, 2.0]))
    server.sends(200, vectors([5.0, 0.0]))
    texts = ["a"] * (BATCH - 1) + ["b", "c"]
    found = embedder(server).embed_passages(texts)
    assert np.allclose([item.vector for item in found[-3:]], [[0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])
    assert all(item.vector.dtype == np.float32 and item.tokens is None for item in found)
    assert [body["input"] for _, _, body in server.requests] == [texts[:-1], ["c"]]
    assert server.requests[0][0] == "/v1/embeddings"
    assert server.requests[0][2]["model"] == "text-small"


def test_vectors_out_of_order_are_put_in_order(server: Any) -> None:
    reply = vectors([1.0, 0.0], [0.0, 1.0])
    reply["data"].reverse()
    server.sends(200, reply)
    assert embedder(server).embed_passages(["a", "b"])[0].vector.tolist() == [1.0, 0.0]


def test_dimension_is_asked_for_once(server: Any) -> None:
    server.sends(200, vectors([1.0, 0.0, 0.0]))
    remote = embedder(server)
    assert (remote.dimension, remote.dimension) == (3, 3)
    assert len(server.requests) == 1
    assert remote.name == "openai-text-small"


def test_nothing_to_embed_asks_nothing(server: Any) -> None:
    assert embedder(server).embed_passages([]) == []


def test_empty_and_broken_text_is_sent_as_something_valid(server: Any) -> None:
    server.sends(200, vectors([1.0], [1.0], [1.0]))
    embedder(server).embed_passages(["", "  \n", "a\ud800b"])
    assert server.requests[0][2]["input"] == [".", ".", "a?b"]


def test_embeddings_may_have_their_own_endpoint_and_never_send_it_the_models_key(server: Any) -> None:
    settings = Settings(
        model=ModelSettings(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("sk-chat")),
        embedding=EmbeddingSettings(base_url=server.url),
    )
    server.sends(200, vectors([1.0]))
    OpenAIEmbedder("m", settings).embed_query("a")
    assert "sk-chat" not in str(server.requests[0][1])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (vectors([1.0]), "1 vectors for 2 texts"),
        (vectors([1.0], [1.0, 2.0]), "different lengths"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "not indexed"),
        ({"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1.0]}]}, "unusable reply"),
        ({"error": "no"}, "unusable reply"),
        (b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1.0]}]}', "not finite|unusable"),
        (b"<html>", "unusable reply"),
    ],
)
def test_unusable_replies_are_model_errors(server: Any, reply: Any, message: str) -> None:
    server.sends(200, reply)
    with pytest.raises(ModelError, match=message) as caught:
        embedder(server).embed_passages(["a", "b"])
    assert server.url in str(caught.value)


def test_failures_are_model_errors(server: Any) -> None:
    server.sends(401, {"error": {"message": "bad key"}})
    with pytest.raises(ModelError, match="HTTP 401: bad key"):
        embedder(server).embed_query("a")


def test_another_server_is_not_sent_the_key_of_the_environment(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    server.sends(200, vectors([1.0]))
    settings = Settings(embedding=EmbeddingSettings(base_url=server.url))
    OpenAIEmbedder("m", settings).embed_query("a")
    assert "sk-environment" not in str(server.requests[0][1])
