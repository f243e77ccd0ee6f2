"""Chinese questions over English notes: mapped beside what means the same, and only where the map fits the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from theworld.errors import ModelError
from theworld.models.embedders import AcrossLanguages, Alignment, MiniLMEmbedder, bundled_alignment
from theworld.models.multilingual_e5 import MultilingualE5Embedder
from theworld.models.protocols import Embedded

PAIRS = [
    ("怎样重置我的密码？", "To reset your password, open the account page and choose Forgot password."),
    ("病假需要医生证明吗？", "Sick leave of more than three days needs a note from a doctor."),
    ("服务器端口在哪里修改？", "The port that the server listens on is set in the configuration file."),
    ("米饭要煮多长时间？", "Boil the rice for eighteen minutes, then let it rest with the lid on."),
    ("谁批准差旅费用？", "Travel expenses are approved by the head of the department."),
    ("怎么备份数据库？", "Back up the database every night with the dump command."),
]


class Fixed:
    """An embedder of one vector."""

    def __init__(self, name: str, vector: list[float]) -> None:
        self.name, self.dimension = name, len(vector)
        self._vector = np.array(vector, dtype=np.float32)

    def embed_query(self, text: str) -> Embedded:
        return Embedded(self._vector)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [Embedded(self._vector) for _ in texts]


class Missing(Fixed):
    def embed_query(self, text: str) -> Embedded:
        raise ModelError("the package is not installed")


TURN = Alignment("many", "en", np.array([[0, 2], [-2, 0], [0, 0]], dtype=np.float32))


def test_a_chinese_question_lies_beside_what_means_the_same_in_english() -> None:
    english = MiniLMEmbedder()
    both = AcrossLanguages(english, MultilingualE5Embedder())
    passages = np.stack([one.vector for one in both.embed_passages([text for _, text in PAIRS])])
    asked = np.stack([both.embed_query(question).vector for question, _ in PAIRS])
    alone = np.stack([english.embed_query(question).vector for question, _ in PAIRS])
    assert np.allclose(np.linalg.norm(asked, axis=1), 1.0, atol=1e-5)
    right = np.arange(len(PAIRS))
    assert ((asked @ passages.T).argmax(axis=1) == right).sum() >= len(PAIRS) - 1
    assert ((alone @ passages.T).argmax(axis=1) == right).sum() < len(PAIRS) / 2, "the English model knows no Chinese"


def test_the_bundled_map_is_for_the_default_models() -> None:
    alignment = bundled_alignment()
    assert (alignment.source, alignment.target) == (MultilingualE5Embedder().name, MiniLMEmbedder().name)
    assert alignment.weights.shape == (MultilingualE5Embedder().dimension + 1, MiniLMEmbedder().dimension)


@pytest.mark.parametrize(
    ("text", "vector"),
    [("怎样重置密码", [0, 1]), ("reset my 密码 how", [0, 1]), ("how do I reset it", [0, -1]), ("", [0, -1])],
)
def test_only_what_holds_chinese_is_mapped(text: str, vector: list[float]) -> None:
    both = AcrossLanguages(Fixed("en", [0, -1]), Fixed("many", [1, 0]), TURN)
    embedded = both.embed_query(text)
    assert embedded.vector.tolist() == vector
    assert (both.name, both.dimension) == ("en", 2)


@pytest.mark.parametrize("other", [Fixed("another", [1, 0]), Missing("many", [1, 0])])
def test_without_a_map_or_a_multilingual_model_the_english_one_reads_it(other: Fixed) -> None:
    both = AcrossLanguages(Fixed("en", [0, -1]), other, TURN)
    assert both.embed_query("怎样重置密码").vector.tolist() == [0, -1]
