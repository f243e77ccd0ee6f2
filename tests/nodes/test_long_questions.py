"""What reads a question costs no more than its length: 20,000 characters of anything must not hold up the service."""

from collections.abc import Callable
from typing import Any

import pytest

from growth import grows_linearly
from theworld.nodes.answer_with_entity import LONGEST_QUESTION, answer_with_entity
from theworld.questions import Question, read_question
from theworld.questions.names import LONGEST_READ
from theworld.questions.question import split_parts
from theworld.retrieval.graph import query_entities
from theworld.routing import features_of
from theworld.settings import AnswerSettings, Settings
from theworld.state import Candidate, Context, QueryState
from theworld.text import entity_key, without_qualifier

READERS: dict[str, Callable[[str], object]] = {
    "features": lambda text: features_of(text, Context(), Settings()),
    "parts": split_parts,
    "key": entity_key,
    "title": without_qualifier,
    "entities": lambda text: query_entities(Question(text, "en"), lambda keys: {}),
}
REPEATED = [
    " ",
    "\n",
    "A-",
    "-",
    "a.",
    "a_",
    "1.",
    "0",
    "١",
    "《",
    "谁，",
    "明天",
    "will ",
    "who is ",
    "Word ",
    "中国人民",
]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("piece", REPEATED)
def test_reading_grows_with_the_question(reader, piece):
    read = READERS[reader]

    def run(size: int) -> None:
        read(f"x {piece * (size // len(piece))} y")

    run(100)  # what is loaded once
    assert grows_linearly(run, 2_500, 20_000)


def test_names_at_the_beginning_of_a_long_query_are_found():
    question = read_question("Rush " + "word " * LONGEST_READ)
    assert list(query_entities(question, lambda keys: {key: 1 for key in keys if key == "rush"})) == ["rush"]


def test_what_is_no_question_any_more_gets_no_entity_answer():
    runtime: Any = None
    evidence = [Candidate(note_id="n", document_id="d", title="Up", text="Up was directed by Pete Docter.")]
    asked = QueryState(question="Who directed Up? " * LONGEST_QUESTION, evidence=evidence)
    assert answer_with_entity(asked, runtime, settings=AnswerSettings()) == {"result": None}
