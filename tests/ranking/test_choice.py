"""Which reranker the settings make, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker_suite import ask, candidates
from theworld.errors import ModelError, SettingsError
from theworld.graph import Resources
from theworld.graph.resources import make_resources, ready
from theworld.ranking import (
    CrossEncoderReranker,
    EvidenceSetReranker,
    RemoteReranker,
    Reranker,
    make_reranker,
)
from theworld.settings import Settings
from theworld.stores.graph import MemoryGraph

SERVER = {"kind": "remote", "base_url": "http://localhost:8080", "model": "m"}


def made(**rerank: object) -> Reranker:
    settings = Settings.load(rerank=rerank)
    return make_reranker(settings, dense=None, graph=MemoryGraph(), embedder_of=lambda space: None)


def test_the_kinds_and_their_names(cross_encoder_folder: Path) -> None:
    folder = {"kind": "cross-encoder", "model": f"onnx:{cross_encoder_folder}"}
    expected = [
        ({}, EvidenceSetReranker, "evidence-set-v2"),
        ({"kind": "none"}, EvidenceSetReranker, "evidence-set-v2"),
        (folder, CrossEncoderReranker, "cross-encoder-onnx-overlap"),
        ({"kind": "cross-encoder", "model": "fastembed:a/b"}, CrossEncoderReranker, "cross-encoder-fastembed-a/b"),
        (SERVER, RemoteReranker, "remote-m"),
        (SERVER | {"model": None, "protocol": "tei"}, RemoteReranker, "remote-tei"),
    ]
    assert [(type(made(**rerank)), made(**rerank).name) for rerank, _, _ in expected] == [row[1:] for row in expected]


@pytest.mark.parametrize(
    ("rerank", "said"),
    [
        ({"kind": "cross-encoder"}, "kind cross-encoder needs rerank.model: onnx:DIR or fastembed:NAME"),
        ({"kind": "cross-encoder", "model": "bge"}, "kind cross-encoder needs rerank.model"),
        ({"kind": "cross-encoder", "model": "onnx:"}, "kind cross-encoder needs rerank.model"),
        ({"kind": "remote", "model": "m"}, "kind remote needs rerank.base_url"),
        (SERVER | {"base_url": "localhost:8080"}, "kind remote needs rerank.base_url, such as http://"),
        (SERVER | {"base_url": "http://"}, "kind remote needs rerank.base_url"),
        (SERVER | {"base_url": "http://user:hush@host"}, "put a key into rerank.api_key"),
        (SERVER | {"model": None}, "kind remote needs rerank.model"),
        ({"model": "onnx:x"}, "rerank.model is for kind cross-encoder or remote, but kind is evidence-set"),
        ({"kind": "none", "base_url": "http://x"}, "rerank.base_url is for kind remote, but kind is none"),
        ({"kind": "cross-encoder", "model": "onnx:x", "api_key": "hush"}, "rerank.api_key is for kind remote"),
        ({"protocol": "vllm"}, "rerank.protocol is 'vllm'. Allowed: one of cohere, llama.cpp, tei"),
        ({"kind": "cohere"}, "one of evidence-set, cross-encoder, remote, none"),
    ],
)
def test_wrong_combinations_are_refused(rerank: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(rerank=rerank)
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)


def test_batches_come_from_the_settings(server) -> None:
    remote = made(**SERVER | {"base_url": server.url, "batch_size": 3})
    with ready(remote):
        ask(remote, candidates(7))
    assert [len(body["documents"]) for _, _, body in server.requests] == [3, 3, 1]


@pytest.mark.slow
def test_the_graph_runs_with_each_of_them(resources: Resources, cross_encoder_folder: Path, server) -> None:
    from theworld.graph import build_graph

    choices = [{"kind": "cross-encoder", "model": f"onnx:{cross_encoder_folder}"}, SERVER | {"base_url": server.url}]
    for rerank in choices:
        settings = Settings(store=resources.settings.store, retrieval={"deadline_ms": 60_000}, rerank=rerank)
        chosen = make_resources(settings, resources.store, resources.models)
        with ready(chosen.reranker):
            output = build_graph(chosen).invoke({"question": "Who was the commander of Apollo 11?"})
        assert output["degradations"] == []
        assert [c.rerank_rank for c in output["candidates"]] == list(range(1, len(output["candidates"]) + 1))


def test_a_model_that_cannot_be_loaded_fails_when_opened(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}", "utf-8")
    with (
        pytest.raises(ModelError, match="not a readable tokenizer"),
        ready(made(kind="cross-encoder", model=f"onnx:{tmp_path}")),
    ):
        pytest.fail("it must not open")
    with pytest.raises(ModelError, match=r"no tokenizer\.json|no model\.onnx"):
        made(kind="cross-encoder", model=f"onnx:{tmp_path / 'nowhere'}")
