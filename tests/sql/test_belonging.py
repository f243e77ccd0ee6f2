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
CARE = """
CREATE TABLE animal (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT, breed TEXT, sex TEXT, -- F female, M male
    chipped_on DATE);
CREATE TABLE visit (id INTEGER PRIMARY KEY, animal_id INTEGER NOT NULL REFERENCES animal(id), visited_on DATE);
CREATE TABLE remedy (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT, price REAL);
CREATE TABLE visit_remedy (visit_id INTEGER NOT NULL REFERENCES visit(id),
    remedy_id INTEGER NOT NULL REFERENCES remedy(id), PRIMARY KEY (visit_id, remedy_id));
CREATE TABLE receipt (id INTEGER PRIMARY KEY, visit_id INTEGER REFERENCES visit(id), issued_on DATE, amount REAL);
CREATE TABLE 摊位 (编号 INTEGER PRIMARY KEY, 摊位名称 TEXT NOT NULL, 城市 TEXT, 开张日期 DATE, mj REAL -- 面积（平方米）
    );
CREATE TABLE 主顾 (编号 INTEGER PRIMARY KEY, 姓名 TEXT NOT NULL, 性别 TEXT);
CREATE TABLE 茶叶 (编号 INTEGER PRIMARY KEY, 茶叶名称 TEXT NOT NULL, 单价 REAL);
CREATE TABLE 售茶 (编号 INTEGER PRIMARY KEY, 摊位编号 INTEGER REFERENCES 摊位(编号),
    主顾编号 INTEGER REFERENCES 主顾(编号), 茶叶编号 INTEGER REFERENCES 茶叶(编号),
    售茶日期 DATE, 数量 INTEGER, 茶款 REAL);
INSERT INTO animal VALUES (1, 'Rex', 'dog', 'Boxer', 'M', '2024-05-01'), (2, 'Tom', 'cat', 'Manx', 'M', '2023-02-01'),
    (3, 'Kit', 'cat', 'Manx', 'F', NULL), (4, 'Ace', 'dog', 'Boxer', 'M', '2025-01-01'),
    (5, 'Bun', 'hare', NULL, 'F', NULL), (6, 'Zoe', 'dog', NULL, 'F', NULL);
INSERT INTO visit VALUES (1, 1, '2025-01-03'), (2, 2, '2025-01-09'), (3, 1, '2025-02-03'), (4, 3, '2024-02-03');
INSERT INTO remedy VALUES (1, 'Scaling', 'dental', 50), (2, 'Filling', 'dental', 70), (3, 'Ointment', 'skin', 10);
INSERT INTO visit_remedy VALUES (1, 1), (1, 3), (2, 3), (3, 1), (3, 2), (4, 3);
INSERT INTO receipt VALUES (1, 1, '2025-01-04', 60), (2, 2, '2025-01-10', 10), (3, 3, '2025-02-04', 120),
    (4, 4, '2024-02-04', 10), (5, NULL, '2025-01-31', 40);
INSERT INTO 摊位 VALUES (1, '东门摊', '扬州', '2019-01-01', 20), (2, '西门摊', '扬州', '2018-01-01', 35),
    (3, '南门摊', '泰州', NULL, 9);
INSERT INTO 主顾 VALUES (1, '周文', '男'), (2, '吴静', '女'), (3, '郑爽', '女');
INSERT INTO 茶叶 VALUES (1, '红茶', 9), (2, '白茶', 8);
INSERT INTO 售茶 VALUES (1, 1, 1, 1, '2025-01-05', 4, 36), (2, 1, 2, 1, '2025-01-06', 1, 9),
    (3, 2, 1, 1, '2025-03-05', 5, 45), (4, 3, 3, 2, '2025-03-06', 6, 48);
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with ExitStack() as stack:
        found = {}
        for name, script in {"school": SCHOOL, "sales": SALES, "care": CARE}.items():
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
        (SCHOOL, "teachers with a course", {("Ruth Abel",), ("Omar Haddad",)}),
        (SCHOOL, "students with a request", {("Ana Lopez",), ("Ben Okafor",)}),
        (SCHOOL, "平均每个student的score", {("Ana Lopez", 90.0), ("Ben Okafor", 82.5), ("Cleo Marsh", 60.0)}),
        (SALES, "大红袍的库存还有多少", {(25,)}),
        (SALES, "库存总数是多少", {(65,)}),
        (SALES, "有多少条库存", {(3,)}),
        (SALES, "库存最少的商品", {("大红袍", 25)}),
        (SALES, "最便宜的商品是哪个", {("铁观音", 60.0)}),
        (SALES, "How many invoices in Germany?", {(1,)}),
        # What is asked in a context takes the place of its like there.
        (CARE, "and hares (How many dogs are there)?", {(1,)}),
        (CARE, "hares (cats; How many dogs are there)?", {(1,)}),
        (CARE, "and cats (How many animals are not dogs)?", {(4,)}),
        (CARE, "Boxer (How many dogs are there)?", {(2,)}),
        (CARE, "number of dogs (not cats)", {(3,)}),
        (CARE, "how many cats (How many dogs are there)?", {(2,)}),
        (CARE, "and not cats (How many hares are there)?", {(1,)}),
        (CARE, "2024 (revenue in 2025)", {(10.0,)}),
        (CARE, "by year (revenue by month)", {("2024", 10.0), ("2025", 230.0)}),
        (CARE, "泰州（扬州有几家摊位）", {(1,)}),
        (CARE, "西门摊（东门摊的茶款）", {(45.0,)}),
        (CARE, "最便宜的（最贵的茶叶是哪个）", {("白茶", 8.0)}),
        # The average of a period, or of a thing, is of what it comes to.
        (CARE, "average revenue per month in 2025", {(115.0,)}),
        (CARE, "average monthly revenue", {(80.0,)}),
        (CARE, "average revenue per animal", {(200 / 3,)}),
        (CARE, "average number of visits per month", {(4 / 3,)}),
        (CARE, "average receipt amount per year", {("2024", 10.0), ("2025", 57.5)}),
        (CARE, "average yearly receipt amount", {(120.0,)}),
        (CARE, "average amount by year", {("2024", 10.0), ("2025", 57.5)}),
        (CARE, "平均每月茶款", {(69.0,)}),
        (CARE, "average revenue per receipt", {(48.0,)}),
        (SCHOOL, "average score per enrollment in Calculus", {(80.0,)}),
        (CARE, "2025年每月平均茶款", {(69.0,)}),
        (CARE, "平均每个城市的茶款", {(69.0,)}),
        # Who sold and bought is counted, each once; what was sold is its quantity.
        (CARE, "有多少摊位卖过红茶", {(2,)}),
        (CARE, "卖过红茶的摊位有几家", {(2,)}),
        (CARE, "多少主顾买过红茶", {(2,)}),
        (CARE, "有多少茶叶卖给了周文", {(9,)}),
        (CARE, "total amount of receipts with a dental remedy", {(180.0,)}),
        (CARE, "revenue of visits with a dental remedy", {(180.0,)}),
        (CARE, "主顾的数量", {(3,)}),
        # A column beside its value, a value of one character, a unit in a comment.
        (CARE, "How many remedies are in category dental?", {(2,)}),
        (CARE, "How many female animals are there?", {(3,)}),
        (CARE, "城市为扬州的摊位有几家", {(2,)}),
        (CARE, "城市不是扬州的摊位有几家", {(1,)}),
        (CARE, "女主顾有多少", {(2,)}),
        (CARE, "性别为男的主顾有多少", {(1,)}),
        (CARE, "面积超过20平方米的摊位有几家", {(1,)}),
        # When something named was, and what was first.
        (CARE, "When was Rex chipped?", {("Rex", "2024-05-01")}),
        (CARE, "东门摊什么时候开张", {("东门摊", "2019-01-01")}),
        (CARE, "Which animal was chipped earliest?", {("Tom", "2023-02-01", "cat", "Manx", "male")}),
        (CARE, "开张最早的摊位", {("西门摊", "2018-01-01", "扬州", 35.0)}),
        (CARE, "最晚开张的摊位是哪家", {("东门摊", "2019-01-01", "扬州", 20.0)}),
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
        (
            CARE,
            "Manx (How many dogs are there)?",
            "nothing is both 'Manx' and 'dogs'|nothing is both 'dogs' and 'Manx'",
        ),
        (CARE, "and February (revenue in 2024)", "february"),
        (CARE, "and visits (Which animal has the most receipts)?", "'visits'"),
        (CARE, "average revenue per month by kind", "what the average is of"),
        (CARE, "average number of receipts per receipt", "what is counted"),
        (CARE, "Which category has the cheapest remedy?", "all or a single"),
        (CARE, "女的有多少", "女"),
        (CARE, "revenue from dental remedies", "remedy and receipt are not joined one to one"),
    ],
)
def test_what_may_belong_to_several_is_declined(opened, script, question, why):
    with pytest.raises(UnclearError, match=why):
        rows(opened, script, question)


def test_what_is_counted_over_many_rows_is_said_to_be_counted_once(opened):
    table = opened[CARE].ask("How many remedies did Rex have?", language="en", tenant="default")[0]
    assert (table.rows, table.conditions) == (((3,),), ("Rex", "each counted once"))
