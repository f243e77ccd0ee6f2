from __future__ import annotations

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.protocols import ChatMessage, Completion
from theworld.testing import FakeChatModel, FakeEmbedder, FakeTagger

MESSAGES = [ChatMessage("user", "two words")]


def test_the_chat_model_says_its_replies_in_order_and_keeps_what_it_was_asked() -> None:
    chat = FakeChatModel(["first", ModelError("down"), "the third reply"])
    assert chat.complete(MESSAGES).text == "first"
    with pytest.raises(ModelError, match="down"):
        chat.complete(MESSAGES)
    *pieces, last = chat.stream(MESSAGES)
    assert "".join(str(piece) for piece in pieces) == "the third reply"
    assert isinstance(last, Completion)
    assert (last.usage.calls, last.usage.prompt_tokens, last.usage.completion_tokens) == (1, 2, 3)
    with pytest.raises(ModelError, match="no reply left"):
        chat.complete(MESSAGES)
    assert chat.calls == [MESSAGES] * 4


def test_the_embedder_puts_shared_tokens_near_and_is_deterministic() -> None:
    fake = FakeEmbedder()
    query, near, far = fake.embed_passages(["紅樓夢的作者", "紅樓夢的故事", "an airport in Ohio"])
    assert query.vector.shape == (64,)
    assert np.linalg.norm(query.vector) == pytest.approx(1.0, abs=1e-5)
    assert query.vector @ near.vector > query.vector @ far.vector
    assert np.array_equal(FakeEmbedder().embed_query("紅樓夢的作者").vector, query.vector)
    assert query.tokens is not None
    assert query.tokens.vectors.shape == (len(query.tokens.ids), 64)


def test_the_embedder_embeds_the_empty_text() -> None:
    empty = FakeEmbedder(dimension=8).embed_query("")
    assert np.linalg.norm(empty.vector) == pytest.approx(1.0, abs=1e-5)
    assert empty.tokens is not None
    assert empty.tokens.vectors.shape == (0, 8)


def test_the_tagger_finds_exactly_its_names_longest_first() -> None:
    tagger = FakeTagger({"York": "person", "New York": "place", "紅樓夢": "work"})
    mentions = tagger.tag(["York left New York with 紅樓夢.", ""])
    assert [(m.surface, m.type, m.start) for m in mentions[0]] == [
        ("York", "person", 0),
        ("New York", "place", 10),
        ("紅樓夢", "work", 24),
    ]
    assert mentions[1] == []
    with pytest.raises(ValueError, match="empty name"):
        FakeTagger({"": "other"})
