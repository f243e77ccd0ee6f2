"""A cross-encoder small enough to build here, and a rerank server on a thread (real sockets, real bytes)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from reranker_suite import QUESTIONS, candidates
from theworld.stores.graph import MemoryGraph
from theworld.testing.conformance.documents import feed, put
from theworld.text import tokens

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def overlap_model(labels: int = 1) -> onnx.ModelProto:
    """A sequence classifier in ONNX: 8 x (share of the question's tokens that the text has) - 4.

    With two labels the first, "irrelevant", is always 0; with more it is no reranker.
    """
    integers = {"one": [1], "two": [2], "zero": [0], "last_special": len(SPECIAL) - 1, "question": 0, "text": 1}
    constants = [numpy_helper.from_array(np.array(v, dtype=np.int64), name) for name, v in integers.items()]
    floats = {"eight": 8.0, "four": 4.0, "least": 1.0}
    constants += [numpy_helper.from_array(np.array([v], dtype=np.float32), name) for name, v in floats.items()]
    steps = [
        ("Unsqueeze", ["input_ids", "two"], "rows"),
        ("Unsqueeze", ["input_ids", "one"], "columns"),
        ("Equal", ["rows", "columns"], "same"),
        ("Greater", ["input_ids", "last_special"], "word"),
        ("Equal", ["token_type_ids", "question"], "in_question"),
        ("Equal", ["token_type_ids", "text"], "in_text"),
        ("And", ["word", "in_question"], "asked"),
        ("And", ["word", "in_text"], "told"),
        ("Unsqueeze", ["told", "one"], "told_columns"),
        ("And", ["same", "told_columns"], "hit"),
        ("Cast", ["hit"], "hit_number", {"to": TensorProto.FLOAT}),
        ("Cast", ["asked"], "asked_number", {"to": TensorProto.FLOAT}),
        ("ReduceMax", ["hit_number", "two"], "found", {"keepdims": 0}),
        ("Mul", ["found", "asked_number"], "found_asked"),
        ("ReduceSum", ["found_asked", "one"], "covered", {"keepdims": 1}),
        ("ReduceSum", ["asked_number", "one"], "length", {"keepdims": 1}),
        ("Max", ["length", "least"], "divisor"),
        ("Div", ["covered", "divisor"], "share"),
        ("Mul", ["share", "eight"], "scaled"),
        ("Sub", ["scaled", "four"], "relevant"),
        ("Sub", ["relevant", "relevant"], "irrelevant"),
        ("Concat", ["irrelevant"] * (labels - 1) + ["relevant"], "logits", {"axis": 1}),
    ]
    nodes = [helper.make_node(kind, ins, [out], **(rest[0] if rest else {})) for kind, ins, out, *rest in steps]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in INPUTS]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])
    graph = helper.make_graph(nodes, "overlap", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def word_tokenizer() -> Tokenizer:
    """One token a word of the conformance notes, one a Chinese character."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = [f"{note.title} {note.text}" for note in candidates(60)] + [question for question, _ in QUESTIONS]
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, SPECIAL.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def write_cross_encoder(folder: Path, *, labels: int = 1, where: str = "model.onnx") -> Path:
    model = folder / where
    model.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(overlap_model(labels), model)
    word_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def cross_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cross_encoder(tmp_path_factory.mktemp("cross-encoder") / "overlap")


@pytest.fixture(scope="session")
def note_graph() -> MemoryGraph:
    graph = MemoryGraph()
    feed(graph, *(put(note.note_id, note.text, title=note.title) for note in candidates(130)))
    return graph


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RerankServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        self.server.connections.add(self.client_address[1])
        self.server.answer(self, body)

    def send(self, status: int, body: Any, *, promised: int | None = None, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data) if promised is None else promised))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = self.close_connection or promised is not None

    def log_message(self, *args: Any) -> None:
        pass


Answer = Callable[[Handler, Any], None]


class RerankServer(ThreadingHTTPServer):
    """Scores by the share of the question's tokens that a text has; `answer` can be replaced, `script` goes first."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.connections: set[int] = set()
        self.script: list[Answer] = []
        self.delay_s = 0.0
        self.test_is_over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, handler: Handler, body: Any) -> None:
        if self.script:
            self.script.pop(0)(handler, body)
            return
        if self.delay_s:
            time.sleep(self.delay_s)
        handler.send(200, reply_to(handler.path, body))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is part of these tests."""


def reply_to(path: str, body: Any) -> Any:
    asked = set(tokens(body["query"]))
    texts = body["documents"] if path.endswith("/v1/rerank") else body["texts"]
    shares = [len(asked & set(tokens(text))) / max(len(asked), 1) for text in texts]
    order = sorted(range(len(texts)), key=lambda i: -shares[i])
    if path.endswith("/v1/rerank"):
        return {"id": "1", "results": [{"index": i, "relevance_score": shares[i]} for i in order]}
    return [{"index": i, "score": shares[i]} for i in order]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RerankServer]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running = RerankServer()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield running
    running.test_is_over.set()
    running.shutdown()
    thread.join()
    running.server_close()
