"""The demo corpus and its questions hold together."""

from __future__ import annotations

from collections import Counter

import pytest
from pydantic import ValidationError

from theworld.demo import DemoQuestion, corpus_dir, load_questions
from theworld.ingestion.names import NameIndex, names_of
from theworld.ingestion.plan import PlannedDocument
from theworld.ingestion.readers import SourceDocument, read_source
from theworld.text import detect_language

QUESTIONS = load_questions()
SINGLE = {"table", "list", "follow-up", "stance", "comparison", "filter", "tenant"}
PAIRS = {"how-to", "entity", "extractive", "no-evidence", "disambiguation"}


def load_documents() -> dict[str, SourceDocument]:
    found = {}
    for path in sorted(corpus_dir().rglob("*.md")):
        (document,) = read_source(path)
        assert isinstance(document, SourceDocument)
        found[path.relative_to(corpus_dir()).as_posix()] = document
    return found


DOCUMENTS = load_documents()


def test_size_and_balance() -> None:
    languages = Counter(document.metadata["lang"] for document in DOCUMENTS.values())
    assert languages == {"en": 26, "zh": 26}
    assert Counter(question.language for question in QUESTIONS) == {"en": 21, "zh": 21}
    assert len({question.id for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_branch_in_both_languages(language: str) -> None:
    branches = Counter(question.branch for question in QUESTIONS if question.language == language)
    assert all(branches[branch] == 1 for branch in SINGLE)
    assert branches["two-hop"] == 4
    assert all(branches[branch] == 2 for branch in PAIRS)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(name: str) -> None:
    document = DOCUMENTS[name]
    body = document.text[document.body_start :].strip()
    assert name.startswith(f"{document.metadata['lang']}/")
    assert document.metadata["topic"]
    assert detect_language(body) == document.metadata["lang"]
    if document.metadata["topic"] == "handbook":
        longest = 1600 if document.metadata["lang"] == "en" else 700
        assert len(body) > 1.5 * longest, "an answer must choose from it"
    elif document.metadata["lang"] == "en":
        assert 120 <= len(body.split()) <= 400
    else:
        assert 200 <= len(body) <= 600


@pytest.mark.parametrize("question", QUESTIONS, ids=[question.id for question in QUESTIONS])
def test_questions_can_be_answered(question: DemoQuestion) -> None:
    assert detect_language(question.question) == question.language
    for expected in question.turns if question.branch != "stance" else ():
        texts = [DOCUMENTS[name].text for name in expected.documents]
        assert not expected.answers or any(answer in text for answer in expected.answers for text in texts)
        assert not expected.whole or any(all(part in text for part in expected.whole) for text in texts)
    for key, value in question.filters.items():
        assert all(DOCUMENTS[name].metadata[key] == value for name in question.documents)


@pytest.mark.parametrize(
    "question", [q for q in QUESTIONS if q.branch == "two-hop"], ids=[q.id for q in QUESTIONS if q.branch == "two-hop"]
)
def test_two_hops_are_linked(question: DemoQuestion) -> None:
    first, second = (DOCUMENTS[name] for name in question.documents)
    second_names = NameIndex(names_of([(second.title, second.title, PlannedDocument("", "", second, (), "").aliases)]))
    assert second_names.find(first.text), "the first document names the second"
    assert not any(answer in first.text for answer in question.answers), "the first alone does not answer"


def test_a_thread_asks_the_history_with_what_is_expected_of_each_answer() -> None:
    follow_ups = [question for question in QUESTIONS if question.branch == "follow-up"]
    for question in follow_ups:
        asked = [message.content for message in question.history if message.role == "user"]
        assert [one.question for one in question.turns] == [*asked, question.question]
        assert all(one.answers and one.documents and one.standalone and not one.history for one in question.turns)
    assert {question.language for question in follow_ups} == {"en", "zh"}


def test_absent_topics_are_absent() -> None:
    texts = " ".join(document.text for document in DOCUMENTS.values())
    assert not any(word in texts for word in ("football", "World Cup", "weather", "世博会", "吉祥物", "天气"))


@pytest.mark.parametrize(
    "row",
    [
        {"id": "a", "language": "en", "branch": "entity", "question": "?"},
        {"id": "a", "language": "en", "branch": "entity", "question": "?", "answers": ["x"]},
        {"id": "a", "language": "en", "branch": "no-evidence", "question": "?", "answers": ["x"]},
        {"id": "a", "language": "en", "branch": "no-evidence", "question": "?", "documents": ["d"]},
        {"id": "a", "language": "en", "branch": "follow-up", "question": "?", "answers": ["x"], "documents": ["d"]},
        {"id": "A b", "language": "en", "branch": "entity", "question": "?", "answers": ["x"], "documents": ["d"]},
        {"id": "a", "language": "fr", "branch": "entity", "question": "?", "answers": ["x"], "documents": ["d"]},
        {"id": "a", "language": "en", "branch": "entity", "question": "?", "answers": ["x"], "documents": ["d"]}
        | {"thread": [{"answers": ["x"], "documents": ["d"]}]},
    ],
)
def test_rows_that_make_no_sense_are_refused(row: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        DemoQuestion.model_validate(row)
