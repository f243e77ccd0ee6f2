"""The questions over the sample domain: every answer is exact, most are answered; what shares and the latest tell."""

import sqlite3
from contextlib import closing

import pytest

from chinese_writing import in_traditional
from sql_answers import agree, one_tenant, read_questions, truth
from theworld.nodes.query_database import evidence_paths
from theworld.sql.plan import UnclearError
from theworld.sql.results import in_words, number
from theworld.state import QueryTable, TableColumn

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


def told(database, now, question, language="zh"):
    (table,) = database.ask(question, language=language, tenant="default", now=now)
    return table


def test_a_share_is_told_with_part_and_whole(database, now):
    table = told(database, now, "已用额度占授信总额的比例")
    assert table.shape == "share"
    assert [column.unit for column in table.columns] == ["万元", "万元", "%"]
    ((part, whole, share),) = table.rows
    assert share == pytest.approx(100 * part / whole)
    assert in_words(table, "zh").startswith("授信额度的已用额度占额度的比例：66.29%（493,550 万元 / 744,500 万元）。")


def test_shares_of_groups_sum_to_the_whole(database, now):
    table = told(database, now, "各地区企业数量的占比")
    assert sum(row[-1] for row in table.rows) == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("星槎集团逾期授信的占比", "what the share is of"),
        ("各月交易额的占比", "not ranked or grouped by time"),
        ("注册资本占交易额的比例", "what the share is of"),
        ("授信占比最高的企业", "not ranked"),
    ],
)
def test_a_share_that_could_be_of_several_wholes_is_declined(database, now, question, why):
    with pytest.raises(UnclearError, match=why):
        told(database, now, question)


def test_the_latest_is_told_by_day_and_ties_are_all_told(database, now):
    table = told(database, now, "latest transaction of each company", "en")
    assert table.shape == "latest"
    by_company = {}
    for row in table.rows:
        by_company.setdefault(row[0], set()).add(row[1])
    assert all(len(days) == 1 for days in by_company.values())


@pytest.mark.parametrize("question", ["最新的交易", "最近一笔交易是哪天"])
def test_the_latest_without_owner_is_that_of_all(database, own_rows, now, question):
    with closing(sqlite3.connect(own_rows)) as connection:
        last = connection.execute("SELECT max(booked_on) FROM bank_transaction").fetchone()[0]
        number = connection.execute("SELECT count(*) FROM bank_transaction WHERE booked_on = ?", (last,)).fetchone()[0]
    assert [row[1] for row in told(database, now, question).rows] == [last] * number


@pytest.mark.parametrize(
    "question", ["各企业最新的注册资本", "各企业最新的交易总额", "最新的天气", "哪家企业的交易最新"]
)
def test_a_latest_without_time_or_of_unsaid_owner_is_declined(database, now, question):
    with pytest.raises(UnclearError):
        told(database, now, question)


def test_the_way_over_relations_is_the_answers_path(database, now):
    table = told(database, now, "各行业的授信总额分别是多少")
    (path,) = evidence_paths([table])
    assert path.note_id == "table:1"
    assert path.text == "授信额度 —授予→ 企业 —所属行业→ 行业"
    assert evidence_paths([told(database, now, "授信总额是多少")]) == []


def test_what_rounds_to_nothing_has_no_sign():
    assert [number(-0.001), number(-0.001, "%"), number(-0.001, "万元")] == ["0", "0%", "0 万元"]


@pytest.mark.parametrize(("mail", "told"), [("ann@a.org", "Ann, e-mail ann@a.org"), (None, "Ann, e-mail (none)")])
def test_what_is_asked_of_a_row_is_said_also_where_it_is_empty(mail, told):
    columns = (TableColumn(label="name"), TableColumn(label="e-mail"))
    assert told in in_words(QueryTable(title="people", columns=columns, rows=(("Ann", mail),)), "en")
