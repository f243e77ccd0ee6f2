"""The questions over the sample domain: every answer is exact, most are answered, none is wrong."""

import pytest

from chinese_writing import in_traditional
from sql_answers import agree, one_tenant, read_questions, truth
from theworld.sql.plan import UnclearError

QUESTIONS = read_questions()


@pytest.fixture(scope="module")
def own_rows(credit_files, tmp_path_factory):
    return one_tenant(credit_files["database"], tmp_path_factory.mktemp("one") / "own.sqlite")


@pytest.fixture(scope="module")
def answered(database, now):
    found = {}
    for asked in QUESTIONS:
        try:
            found[asked.question] = database.ask(asked.question, language=asked.language, tenant="default", now=now)
        except UnclearError as error:
            found[asked.question] = error
    return found


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.question)
def test_what_is_answered_is_exact(answered, own_rows, asked):
    found = answered[asked.question]
    if isinstance(found, UnclearError):
        assert str(found)
        return
    for table, wanted in zip(found, truth(own_rows, asked), strict=True):
        assert agree(table.rows, wanted, ordered=asked.ordered), (table.sql, table.rows[:5], wanted[:5])


def test_most_are_answered_in_both_languages(answered):
    assert len(QUESTIONS) >= 120
    for language in ("zh", "en"):
        own = [asked for asked in QUESTIONS if asked.language == language]
        known = [asked for asked in own if not isinstance(answered[asked.question], UnclearError)]
        assert len(known) / len(own) >= 0.8, [a.question for a in own if a not in known]


@pytest.mark.parametrize("asked", [asked for asked in QUESTIONS if asked.language == "zh"], ids=lambda a: a.question)
def test_a_question_in_traditional_chinese_gives_the_same_tables(answered, database, now, asked):
    plain = answered[asked.question]
    question = in_traditional(asked.question)
    if isinstance(plain, UnclearError):
        with pytest.raises(UnclearError):
            database.ask(question, language="zh", tenant="default", now=now)
        return
    found = database.ask(question, language="zh", tenant="default", now=now)
    assert [table.rows for table in found] == [table.rows for table in plain]
