"""What belongs together in a question: periods and what happened, conditions and one row, verbs and keys."""

import sqlite3
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import pytest

from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.sql.plan import UnclearError
from theworld.text import detect_language

SCHOOL = """
CREATE TABLE teacher (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL);
CREATE TABLE student (id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, enrolled_on DATE,
    homeroom_teacher_id INTEGER REFERENCES teacher(id), mentor_id INTEGER REFERENCES student(id));
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, copies INTEGER);
CREATE TABLE loan (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student(id),
    book_id INTEGER REFERENCES book(id), loaned_on DATE, returned_on DATE);
CREATE TABLE course (id INTEGER PRIMARY KEY, title TEXT NOT NULL, teacher_id INTEGER REFERENCES teacher(id));
CREATE TABLE semester (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE enrollment (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student(id),
    course_id INTEGER REFERENCES course(id), semester_id INTEGER REFERENCES semester(id), score REAL, letter TEXT);
CREATE TABLE request (id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student(id), status TEXT,
    requested_on DATE, approved_by INTEGER REFERENCES teacher(id));
INSERT INTO teacher VALUES (1, 'Ruth Abel'), (2, 'Omar Haddad');
INSERT INTO student VALUES (1, 'Ana Lopez', '2024-09-01', 1, NULL), (2, 'Ben Okafor', '2025-09-01', 1, 1),
    (3, 'Cleo Marsh', '2024-09-01', 2, 1);
INSERT INTO book VALUES (1, 'Emma', 2), (2, 'Dune', 5);
INSERT INTO loan VALUES (1, 1, 1, '2025-03-01', '2025-03-20'), (2, 2, 1, '2024-02-01', NULL),
    (3, 2, 2, '2025-05-01', NULL);
INSERT INTO course VALUES (1, 'Calculus', 1), (2, 'Choir', 2);
INSERT INTO semester VALUES (1, 'Autumn Term'), (2, 'Spring Term');
INSERT INTO enrollment VALUES (1, 1, 1, 1, 90, 'A'), (2, 2, 1, 2, 70, 'B'), (3, 2, 2, 1, 95, 'A'),
    (4, 3, 2, 2, 60, 'B');
INSERT INTO request VALUES (1, 1, 'approved', '2025-01-01', 2), (2, 1, 'approved', '2025-02-01', 2),
    (3, 2, 'open', '2025-03-01', NULL);
"""
SALES = """
CREATE TABLE company (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT, created_at DATE, deleted_at DATE);
CREATE TABLE invoice (id INTEGER PRIMARY KEY, company_id INTEGER REFERENCES company(id), amount REAL, stage TEXT,
    created_at DATE, closed_at DATE, deleted_at DATE);
CREATE TABLE 商品 (编号 INTEGER PRIMARY KEY, 商品名称 TEXT NOT NULL, 单价 REAL);
CREATE TABLE 库存 (编号 INTEGER PRIMARY KEY, 商品编号 INTEGER REFERENCES 商品(编号), 库存数量 INTEGER);
INSERT INTO company VALUES (1, 'Iron Works', 'Germany', '2024-01-01', NULL),
    (2, 'Red Labs', 'France', '2024-01-01', NULL),
    (3, 'Old Mill', 'Germany', '2023-01-01', '2024-06-01');
INSERT INTO invoice VALUES (1, 1, 100, 'won', '2024-12-01', '2025-02-01', NULL),
    (2, 2, 70, 'won', '2025-01-01', NULL, NULL),
    (3, 3, 40, 'lost', '2025-01-01', NULL, NULL);
INSERT INTO 商品 VALUES (1, '大红袍', 90), (2, '铁观音', 60);
INSERT INTO 库存 VALUES (1, 1, 20), (2, 1, 5), (3, 2, 40);
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with ExitStack() as stack:
        found = {}
        for name, script in {"school": SCHOOL, "sales": SALES}.items():
            file = tmp_path_factory.mktemp(name) / "own.sqlite"
            with closing(sqlite3.connect(file)) as connection, connection:
                connection.executescript(script)
            settings = Settings(database={"url": f"sqlite:///{file}"}).database
            found[script] = stack.enter_context(closing(Database.open(settings)))
        yield found


def rows(opened, script, question):
    now, language = datetime(2025, 6, 15, tzinfo=UTC), detect_language(question)
    tables = opened[script].ask(question, language=language, tenant="default", now=now)
    return {row for table in tables for row in table.rows}


@pytest.mark.parametrize(
    ("script", "question", "wanted"),
    [
        (SCHOOL, "Which students have no loans in 2025?", {("Cleo Marsh",)}),
        (SCHOOL, "students who borrowed Emma in 2025", {("Ana Lopez",)}),
        (SCHOOL, "book with the most copies", {("Dune", 5)}),
        (SCHOOL, "How many students have an enrollment for Calculus in Autumn Term?", {(1,)}),
        (SCHOOL, "students with an enrollment with an A in Calculus", {("Ana Lopez",)}),
        (SCHOOL, "Who approved the most requests?", {("Omar Haddad", 2)}),
        (SALES, "大红袍的库存还有多少", {(25,)}),
        (SALES, "库存总数是多少", {(65,)}),
        (SALES, "有多少条库存", {(3,)}),
        (SALES, "库存最少的商品", {("大红袍", 25)}),
        (SALES, "最便宜的商品是哪个", {("铁观音", 60.0)}),
        (SALES, "How many invoices in Germany?", {(1,)}),
    ],
)
def test_what_belongs_together_is_read_together(opened, script, question, wanted):
    assert rows(opened, script, question) == wanted


@pytest.mark.parametrize(
    ("script", "question", "why"),
    [
        (SCHOOL, "Who wrote Emma?", "who is asked for"),
        (SCHOOL, "How many books are on loan?", "on loan"),
        (SCHOOL, "average score per teacher", "by course or by student"),
        (SCHOOL, "student with the highest score", "all or a single"),
        (SALES, "How many invoices were won in May?", "which date says when it was won"),
        (SALES, "amount won in Germany vs France", "not told each"),
    ],
)
def test_what_may_belong_to_several_is_declined(opened, script, question, why):
    with pytest.raises(UnclearError, match=why):
        rows(opened, script, question)
