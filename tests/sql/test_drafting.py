"""A database of which nothing is known: what is drafted, what it answers untouched, and what drafting again keeps."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from sql_answers import agree
from theworld.errors import DatabaseError, ModelError, OntologyError, StatementRefusedError
from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.sql.drafting.file import merge, read_mapping, write_mapping
from theworld.sql.drafting.inspection import inspect_tables, left_out, plain_address
from theworld.sql.drafting.proposing import draft_mapping
from theworld.sql.examples import look_at
from theworld.sql.model_statement import describe_schema, with_model_labels
from theworld.sql.plan import UnclearError
from theworld.sql.results import in_words
from theworld.state import Context
from theworld.testing import FakeChatModel
from theworld.text import detect_language

DATA = Path(__file__).parent / "data"
NOW = datetime(2025, 6, 15, 12, tzinfo=UTC)


def made(path: Path, statements: str) -> str:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(statements)
    return f"sqlite:///{path}"


def open_at(url: str, **more: object):
    return closing(Database.open(Settings(database={"url": url, **more}).database))


def ask(database: Database, question: str, **more: object):
    (table,) = database.ask(question, language=detect_language(question), tenant="default", now=NOW, **more)
    return table


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> str:
    return made(tmp_path_factory.mktemp("league") / "league.sqlite", (DATA / "league.sql").read_text("utf-8"))


@pytest.fixture(scope="module")
def drafted(url):
    return draft_mapping(url)


@pytest.fixture(scope="module")
def league(url):
    with open_at(url) as opened:
        yield opened


def test_keys_dates_codes_and_what_is_deleted_are_found(drafted):
    tables = drafted.tables
    assert tables["player"].name == ("first_name", "last_name")
    assert tables["player"].columns["position"].codes[1][0] == "goalkeeper"
    assert (tables["player"].columns["weight_kg"].unit, tables["player"].columns["weight_kg"].called[0]) == (
        "kg",
        "weight",
    )
    assert tables["game"].columns["weather"].codes == {1: ("sunny",), 2: ("rainy",)}
    assert "sys_code" not in tables
    assert tables["player"].columns["mentor_id"].to == "player"
    assert not tables["player"].columns["mentor_id"].contains
    undeclared = tables["game"].columns["referee_no"]
    assert (undeclared.to, undeclared.sure) == ("referee", 0.85)
    assert "comment" in undeclared.why
    assert tables["team"].counts == {"is_deleted": 0}
    assert tables["game"].date == "scheduled_on"
    assert tables["team_sponsor"].link


def test_a_draft_is_short_and_read_back_the_same(drafted, tmp_path):
    text = write_mapping(drafted)
    assert all(len(line) < 300 for line in text.splitlines())
    assert len(text.splitlines()) < 90
    (tmp_path / "league.yaml").write_text(text, "utf-8")
    assert read_mapping(tmp_path / "league.yaml") == drafted


def test_drafting_again_keeps_what_was_written_and_lists_new_and_gone(drafted, url, tmp_path):
    team = drafted.tables["team"]
    mine = team.model_copy(update={"called": ("squad",), "columns": {"colour": team.columns["city"]}})
    written = drafted.model_copy(update={"tables": {"team": mine, "stadium": team}})
    merged, new, gone = merge(written, drafted)
    assert merged.tables["team"].called == ("squad",)
    assert {"team.city", "player"} <= set(new)
    assert sorted(gone) == ["stadium", "team.colour"]
    assert merge(drafted, drafted) == (drafted, [], [])


@pytest.mark.parametrize(
    ("name", "least"), [("league", 29), ("hotel", 28), ("gym", 25), ("repairs", 51), ("library", 45)]
)
def test_a_draft_answers_rightly_or_not_at_all(tmp_path, name, least):
    """Every answer is what hand-written SQL gives, more columns allowed; what has no SQL is declined."""
    address = made(tmp_path / f"{name}.sqlite", (DATA / f"{name}.sql").read_text("utf-8"))
    right, problems = 0, []
    with open_at(address) as opened, closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as connection:
        for asked in yaml.safe_load((DATA / f"{name}.yaml").read_text("utf-8")):
            try:
                table = ask(opened, asked["question"])
            except UnclearError:
                continue
            opened.run_text(opened.written_out(table), title="", tenant="default")  # as what is confirmed is run again
            wanted = connection.execute(asked["sql"]).fetchall() if asked["sql"] else []
            columns = [row[: len(wanted[0])] for row in table.rows] if wanted else []
            columns = columns if "share" not in table.shape else [row[-len(wanted[0]) :] for row in table.rows]
            is_right = bool(wanted) and agree(columns, wanted, ordered=asked.get("ordered", False))
            right += is_right
            problems += [] if is_right else [(asked["question"], table.sql, table.rows)]
    assert not problems
    assert right >= least


def test_the_column_of_a_date_and_deleted_rows_are_said(league):
    played = ask(league, "How many games were played in April 2025?")
    assert played.conditions == ("played on 2025-04-01 to 2025-04-30",)
    assert ask(league, "How many teams are there?").conditions == ("is_deleted = 0",)


def test_who_shares_the_last_place_is_said_and_the_first_none_are_not_asked_for(league):
    shared = ("others share the last place and are not shown",)
    for size, reading in ((1, ()), (2, shared), (4, ())):
        table = ask(league, f"Top {size} players by number of goals")
        assert (len(table.rows), table.reading) == (size, reading)
    with pytest.raises(UnclearError):
        ask(league, "Top 0 players by number of goals")


def test_where_all_rows_are_of_other_times_it_is_said(league, monkeypatch):
    for asked, reading in (
        ("How many games were played in April 1990?", ("all rows are of 2024-05-03 to 2025-05-03",)),
        ("How many games were played in April 2025?", ()),
    ):
        assert ask(league, asked).reading == reading, asked
    assert ask(league, "How many games were played in April 1990?", dry_run=True).reading == ()
    statements = iter([league.engine.read])

    def read_once(*args, **more):
        for read in statements:
            return read(*args, **more)
        raise DatabaseError("too late", where="league")

    monkeypatch.setattr(league.engine, "read", read_once)
    assert ask(league, "How many games were played in April 1990?").rows == ((0,),)


def test_a_dry_run_sends_nothing_and_near_names_are_told(league, monkeypatch):
    league.lexicon("default")
    monkeypatch.setattr(league.engine, "read", lambda *_args, **_more: pytest.fail("it was sent"))
    table = ask(league, "How many players are from Sweden?", dry_run=True)
    assert "COUNT" in table.sql
    assert table.rows == ()
    with pytest.raises(UnclearError) as caught:
        ask(league, "How many plyers are there?")
    assert "player" in league.near_names(caught.value.words)["plyers"]


def test_a_question_with_a_kept_statement_is_understood_and_shows_it(league, monkeypatch):
    question, kept = "Which side is the oldest?", "SELECT name FROM team ORDER BY founded_on LIMIT 1"
    monkeypatch.setattr(league, "confirmed", {question.casefold(): kept})
    assert league.view(question, Context()).understood
    table = ask(league, question, dry_run=True)
    assert "founded_on" in table.sql
    assert table.rows == ()


def test_what_is_only_guessed_is_not_told(url, drafted, tmp_path):
    unsure = drafted.tables["referee"].model_copy(update={"sure": 0.6})
    guessed = drafted.model_copy(update={"tables": {**drafted.tables, "referee": unsure}})
    file = tmp_path / "guessed.yaml"
    file.write_text(write_mapping(guessed), "utf-8")
    with open_at(url, ontology=file) as opened:
        with pytest.raises(UnclearError, match="guessed"):
            ask(opened, "How many referees are there?")
        assert ask(opened, "How many players are there?")


def test_every_table_is_looked_at_with_questions_that_run(league, url):
    looks = {look.table: look for look in look_at(league, inspect_tables(url))}
    assert set(looks) == {"team", "player", "game", "referee", "goal", "sponsor"}
    for look in looks.values():
        assert look.examples
        assert all(not isinstance(told, str) and told.rows for _, told in look.examples), look.examples
    assert "only rows with is_deleted = 0 are counted" in looks["team"].odd


def test_a_password_is_in_no_message_and_no_file(tmp_path):
    with pytest.raises(DatabaseError) as caught:
        draft_mapping("oracle://ann:hunter2@db.example.org/shop?password=hunter2")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.__cause__)
    with pytest.raises(DatabaseError, match="no such file"):
        draft_mapping(f"sqlite:///{tmp_path / 'nowhere.sqlite'}")


def test_a_broken_mapping_file_is_told_by_place(tmp_path):
    (tmp_path / "bad.yaml").write_text("database: x\ntables: {a: {key: id, columns: {b: {kind: text}}}}\n", "utf-8")
    with pytest.raises(OntologyError, match=r"tables\.a\.columns\.b\.kind"):
        read_mapping(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("database: x\ntables:\n  a: {key: id\n  b: ]\n", "utf-8")
    with pytest.raises(OntologyError, match=r"bad\.yaml: line 4: is not YAML: expected ',' or '}', but got ':'\.$"):
        read_mapping(tmp_path / "bad.yaml")


def test_prices_are_averaged_and_amounts_added_up(tmp_path):
    concerts = "CREATE TABLE concert (id INTEGER PRIMARY KEY, title TEXT, price REAL, tickets INTEGER); "
    rows = "INSERT INTO concert VALUES (1, 'Spring', 12.5, 210), (2, 'Advent', 17.5, 90)"
    address = made(tmp_path / "x.sqlite", concerts + rows)
    columns = draft_mapping(address).tables["concert"].columns
    assert (columns["price"].total, columns["tickets"].total) == ("average", "sum")
    with open_at(address) as opened:
        assert [table.rows for table in opened.ask("price of concerts", language="en", tenant="default")] == [
            ((15.0,),)
        ]


def test_the_word_of_a_sum_is_no_measure_beside_one(tmp_path):
    concerts = "CREATE TABLE concert (id INTEGER PRIMARY KEY, title TEXT, tickets INTEGER); "
    receipts = (
        "CREATE TABLE receipt (id INTEGER PRIMARY KEY, concert_id REFERENCES concert(id), sold_on TEXT, total REAL); "
    )
    rows = "INSERT INTO concert VALUES (1, 'Spring', 210); INSERT INTO receipt VALUES (1, 1, '2025-01-02', 30)"
    with open_at(made(tmp_path / "x.sqlite", concerts + receipts + rows)) as opened:
        for question, figures in (("total tickets", [210]), ("total", [30]), ("total and tickets", [30, 210])):
            tables = opened.ask(question, language="en", tenant="default")
            assert [table.rows for table in tables] == [((figure,),) for figure in figures]


STOCK = '''CREATE TABLE "2024 Stock" ("No." TEXT PRIMARY KEY, "Part/Type" TEXT, "Price (EUR)" REAL, "Off %" REAL,
    "Fee (EUR)" REAL, "Fee (USD)" REAL, "say ""x""" TEXT);
    INSERT INTO "2024 Stock" VALUES ('A-1', 'Bench saw', 12.5, 5, 1, 2, 'a'), ('A-2', 'Bench saw', 17.5, 15, 1, 3, 'b'),
    ('A-3', 'Vice', 30, 40, 1, 4, 'b')'''
STOCK_QUESTIONS = [
    ("What is the average price?", 20.0),
    ("How many bench saws are there?", 2),
    ("What is the price of A-3?", 30.0),
    ("average fee (usd)", 3.0),
]


def test_columns_have_any_name_and_the_unit_in_brackets_is_none_of_it(tmp_path):
    address = made(tmp_path / "x.sqlite", STOCK)
    columns = draft_mapping(address).tables["2024 Stock"].columns
    assert (columns["Price (EUR)"].called[0], columns["Price (EUR)"].unit) == ("price", "EUR")
    assert columns["Fee (USD)"].called == ("fee (usd)",)
    with open_at(address) as opened:
        for question, answer in STOCK_QUESTIONS:
            assert ask(opened, question).rows[0][-1] == answer, question
        statement = 'SELECT AVG("Off %"), MAX("say ""x""") FROM "2024 Stock" WHERE "Part/Type" = \'Bench saw\''
        assert opened.run_text(statement, title="t", tenant="default").rows == ((10.0, "b"),)
        with pytest.raises(StatementRefusedError, match="names that are not mapped"):
            opened.run_text('SELECT "No." AS "a(b)" FROM "2024 Stock"', title="t", tenant="default")


@pytest.mark.slow
def test_columns_have_any_name_in_postgresql(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE stock")
    address = postgres.rpartition("/")[0] + "/stock"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(STOCK)
    with open_at(address, timeout_ms=5000) as opened:
        for question, answer in STOCK_QUESTIONS:
            assert ask(opened, question).rows[0][-1] == answer, question
        statement = 'SELECT AVG("Off %") FROM "2024 Stock" WHERE "Part/Type" = \'Bench saw\''
        assert opened.run_text(statement, title="t", tenant="default").rows == ((10.0,),)


TENANTS = """CREATE TABLE person (id INTEGER PRIMARY KEY, tenant_id TEXT, name TEXT);
    CREATE TABLE task (id INTEGER, tenant_id TEXT, person_id INTEGER REFERENCES person(id), hours REAL,
        PRIMARY KEY (tenant_id, id));
    INSERT INTO person VALUES (1, 'acme', 'Ann Lee'), (2, 'globex', 'Zed Orr'), (3, 'globex', 'Yan Ip');
    INSERT INTO task VALUES (1, 'acme', 1, 2.5), (2, 'globex', 2, 40), (3, 'globex', 3, 2)"""


def test_rows_are_shown_only_to_their_tenant_where_a_table_has_tenants(tmp_path):
    address, file = made(tmp_path / "x.sqlite", TENANTS), tmp_path / "x.yaml"
    drafted = draft_mapping(address)
    file.write_text(write_mapping(drafted), "utf-8")
    with open_at(address, ontology=file) as opened:
        assert opened.mapping.tenants == drafted.tenants == ("person.tenant_id", "task.tenant_id")
        for tenant, people, hours in (("acme", 1, 2.5), ("globex", 2, 42.0), ("nobody", 0, ...)):
            asked = {"language": "en", "tenant": tenant}
            assert opened.ask("How many people are there?", **asked)[0].rows == ((people,),), tenant
            assert opened.ask("total hours of tasks", **asked)[0].rows == (() if hours is ... else ((hours,),)), tenant
        (table,) = opened.ask("total hours of tasks of Zed Orr", language="en", tenant="globex")
        kept = opened.written_out(table)
        assert "globex" not in kept, "a kept statement is of whoever runs it"
        assert opened.run_text(kept, title="t", tenant="globex").rows == table.rows == ((40.0,),)
        assert opened.run_text(kept, title="t", tenant="acme").rows == ((None,),)
        with pytest.raises(UnclearError, match="zed"):
            opened.ask("total hours of tasks of Zed Orr", language="en", tenant="acme")
        with pytest.raises(StatementRefusedError):
            opened.run_text("SELECT tenant_id FROM person", title="t", tenant="acme")
        looks = look_at(opened, inspect_tables(address), "globex")
        assert all("rows are shown only to the tenant named in tenant_id" in look.odd for look in looks)
    file.write_text(write_mapping(drafted.for_all()), "utf-8")
    with open_at(address, ontology=file) as opened:
        assert ask(opened, "How many people are there?").rows == ((3,),)
    with open_at(address) as opened:  # nothing to take out: all is shown, but to nobody who is named
        assert ask(opened, "How many people are there?").rows == ((3,),)
        with pytest.raises(DatabaseError, match="several tenants"):
            opened.ask("How many people are there?", language="en", tenant="acme")


def test_big_numbers_keep_their_digits(tmp_path):
    rows = "INSERT INTO vault VALUES (1, 'A', 9007199254740992), (2, 'B', 9007199254740993)"
    address = made(
        tmp_path / "x.sqlite", "CREATE TABLE vault (id INTEGER PRIMARY KEY, name TEXT, balance INTEGER);" + rows
    )
    with open_at(address) as opened:
        table = ask(opened, "How many vaults have a balance over 9007199254740992?")
        assert table.rows == ((1,),)
        assert "9007199254740992" in table.conditions[0]


PERHAPS = """CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT, boss_id INTEGER REFERENCES employee(id));
    CREATE TABLE repair (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employee(id), done_on TEXT, state TEXT);
    CREATE TABLE payment (id INTEGER PRIMARY KEY, repair_id INTEGER REFERENCES repair(id), weight INTEGER);
    INSERT INTO employee VALUES (1, 'Ann', NULL), (2, 'Bob', 1), (3, 'Cy', 2);
    INSERT INTO repair VALUES (1, 1, '2025-01-02', 'fine'), (2, 2, '2025-02-02', 'fine'),
    (3, NULL, '2025-03-02', 'fine'), (4, NULL, NULL, 'late'), (5, 2, NULL, 'late');
    INSERT INTO payment VALUES (1, 1, 1), (2, 2, 2), (3, 3, 4), (4, NULL, 8)"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many repairs have no employee?", 2),
        ("How many repairs were not handled by Bob?", 3),
        ("How many repairs were not handled by an employee?", 2),
        ("How many repairs have an employee?", 3),
        ("How many late repairs with an employee are there?", 1),
        ("没有employee的repair有多少？", 2),
        ("有employee的repair有多少？", 3),
        ("How many payments have no repair?", 1),
        ("How many payments have an employee?", 2),
        ("total weight of payments without an employee", 12),
        ("How many employees are there?", 3),
    ],
)
def test_rows_that_refer_to_nothing_have_none(tmp_path, question, answer):
    with open_at(made(tmp_path / "x.sqlite", PERHAPS)) as opened:
        assert ask(opened, question).rows[0][-1] == answer


LEDGER = """CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, created_at INTEGER, sex INTEGER, vip INTEGER);
    CREATE TABLE "order" (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), order_date TEXT,
        account_no INTEGER, line_no INTEGER, status INTEGER, weight INTEGER, deleted_at TEXT);
    CREATE TABLE payment (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES "order"(id), amount REAL,
        paid_at INTEGER);
    CREATE TABLE 门店 (编号 INTEGER PRIMARY KEY, 名称 TEXT, 开业日期 INTEGER, 状态 INTEGER, 是否营业 INTEGER,
        面积 INTEGER);
    INSERT INTO customer VALUES (1, 'Acorn', 1672920000, 0, 0), (2, 'Birch', 1675598400, 1, 1),
    (3, 'Cedar', 1675598401, 1, 0);
    INSERT INTO "order" VALUES (1, 1, '2025-01-02', 71, 1, 0, 10, NULL), (2, 1, '2025-02-02', 72, 2, 1, 20, NULL),
    (3, 2, '2025-03-02', 73, 1, 2, 40, '2025-04-01');
    INSERT INTO payment VALUES (1, 1, 10, 1735776000), (2, 2, 20, 1738454400);
    INSERT INTO 门店 VALUES (1, '湖滨店', 20180501, 1, 1, 90), (2, '南山店', 20200115, 2, 0, 60)"""
NO_QUANTITY = [
    "average created at of customers",
    "average paid at of payments",
    "total account no of orders",
    "average line no of orders",
    "sum of status of orders",
    "门店的平均开业日期是多少？",
    "门店的平均状态是多少？",
    "门店按月的数量",
    "How many customers are vip?",
]


def test_numbers_that_are_no_quantity_are_not_added_up(tmp_path):
    address = made(tmp_path / "x.sqlite", LEDGER)
    tables = draft_mapping(address).tables
    added = {f"{name}.{c}" for name, table in tables.items() for c, one in table.columns.items() if one.total}
    assert added == {"order.weight", "payment.amount", "门店.面积"}
    with open_at(address) as opened:
        for question in NO_QUANTITY:
            with pytest.raises(UnclearError):
                ask(opened, question)
        for look in look_at(opened, inspect_tables(address)):
            asked = [question for question, told in look.examples if not isinstance(told, str)]
            assert not [
                q for q in asked if any(w in q for w in ("created", "paid", "account", "status", "开业", "状态"))
            ]
        assert "paid_at (paid at, date kept as a number, s)" in describe_schema(opened.mapping, "en")
        assert "deleted_at (only rows with NULL count)" in describe_schema(opened.mapping, "en")
        assert ask(opened, "total amount of payments").rows == ((30.0,),)
        assert ask(opened, "How many customers were created in 2023?").rows == ((3,),)
        assert ask(opened, "How many payments were paid in January 2025?").rows == ((1,),)
        assert sorted(ask(opened, "number of orders by status").rows) == [(0, 1), (1, 1)]


SINCE_1970 = """CREATE TABLE sensor (id INTEGER PRIMARY KEY, serial_no TEXT, battery_pct INTEGER);
    CREATE TABLE alert (id INTEGER PRIMARY KEY, sensor_id INTEGER REFERENCES sensor(id), raised_at BIGINT,
        acknowledged_at BIGINT);
    CREATE TABLE reading (id INTEGER PRIMARY KEY, sensor_id INTEGER REFERENCES sensor(id), ts BIGINT, value REAL);
    INSERT INTO sensor VALUES (1, 'SN-1', 20), (2, 'SN-2', 80);
    INSERT INTO alert VALUES (1, 1, 1746057600, 1746144000), (2, 1, 1748736000, NULL), (3, 2, 1748735999, 1748779199);
    INSERT INTO reading VALUES (1, 1, 1746057600000, 3), (2, 1, 1748736000250, 5)"""


def times_are_read(opened):
    for question, rows in (
        ("How many alerts were raised in May 2025?", ((2,),)),
        ("number of alerts per month", (("2025-05", 2), ("2025-06", 1))),
        ("How many readings were there in June 2025?", ((1,),)),
        ("number of readings per day", (("2025-05-01", 1), ("2025-06-01", 1))),
        ("How many alerts have not been acknowledged?", ((1,),)),
        ("When was the earliest raised at of alerts?", (("2025-05-01 00:00:00",),)),
        ("How many days from raised to acknowledged on average?", ((0.75,),)),
    ):
        table = ask(opened, question)
        assert agree(table.rows, rows, ordered=False), question
        kept = opened.written_out(table)
        assert opened.run_text(kept, title="", tenant="default").rows == table.rows, kept
    latest = ask(opened, "latest reading of SN-1")
    assert latest.rows[0][1] == "2025-06-01 00:00:00"
    assert [column.unit for column in latest.columns] == ["", "", ""]


def test_times_kept_as_numbers_since_1970_are_read(tmp_path):
    address = made(tmp_path / "x.sqlite", SINCE_1970)
    tables = draft_mapping(address).tables
    assert (tables["reading"].date, tables["reading"].columns["ts"].unit) == ("ts", "ms")
    assert (tables["alert"].date, tables["alert"].columns["raised_at"].unit) == ("raised_at", "s")
    assert tables["sensor"].name == ("serial_no",)
    with open_at(address) as opened:
        times_are_read(opened)


@pytest.mark.slow
def test_times_kept_as_numbers_since_1970_are_read_in_postgresql(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE since")
        connection.execute("ALTER DATABASE since SET timezone = 'Asia/Shanghai'")
    address = postgres.rpartition("/")[0] + "/since"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(SINCE_1970)
    with open_at(address, timeout_ms=5000) as opened:
        times_are_read(opened)


DEALS = """CREATE TABLE sellers (id INTEGER PRIMARY KEY, name TEXT, manager_id INTEGER REFERENCES sellers(id),
        hired_on TEXT, termination_date TEXT, team_id INTEGER REFERENCES teams(id));
    CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT, region TEXT);
    CREATE TABLE company (id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES sellers(id), email TEXT);
    CREATE TABLE teacher (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE course (id INTEGER PRIMARY KEY, name TEXT, teacher_id INTEGER REFERENCES teacher(id), level INTEGER);
    CREATE TABLE deals (id INTEGER PRIMARY KEY, title TEXT, company_id INTEGER REFERENCES company(id), stage TEXT,
        amount REAL, probability INTEGER, expected_end TEXT, created_on TEXT, updated_on TEXT);
    CREATE TABLE salary (id INTEGER PRIMARY KEY, seller_id INTEGER REFERENCES sellers(id), amount REAL,
        valid_from TEXT, valid_to TEXT);
    CREATE TABLE deal_sellers (deal_id INTEGER REFERENCES deals(id), seller_id INTEGER REFERENCES sellers(id),
        role TEXT, PRIMARY KEY (deal_id, seller_id));
    CREATE TABLE 商品 (编号 INTEGER PRIMARY KEY, 名称 TEXT, 单价 REAL);
    CREATE TABLE activity (id INTEGER PRIMARY KEY, company_id INTEGER REFERENCES company(id), type TEXT);
    INSERT INTO activity VALUES (1, 1, 'email'), (2, 1, 'call');
    INSERT INTO teams VALUES (1, 'Alpha', 'North'), (2, 'Beta', NULL);
    INSERT INTO sellers VALUES (1, 'Ada Lum', NULL, '2020-01-01', NULL, 1),
    (2, 'Bo Nye', 1, '2021-01-01', '2025-01-31', 1), (3, 'Cy Orr', 2, '2022-01-01', NULL, 2);
    INSERT INTO company VALUES (1, 'Acorn', 2, 'a@acorn.example'), (2, 'Birch', NULL, NULL), (3, 'Cedar', 3, '');
    INSERT INTO teacher VALUES (1, 'Dee Poe'), (2, 'Eve Quo');
    INSERT INTO course VALUES (1, 'Latin', 1, 2), (2, 'Optics', 2, 3), (3, 'Algebra', 1, 2);
    INSERT INTO deals VALUES (1, 'Acorn roof', 1, 'won', 500, 100, '2025-09-01', '2025-01-05', NULL),
    (2, 'Birch door', 2, 'open', 1500000, 40, '2025-08-01', '2025-02-05', '2025-03-01'),
    (3, 'Cedar gate', 3, 'open', 700, 20, '2025-07-01', '2025-02-06', NULL);
    INSERT INTO salary VALUES (1, 1, 90, '2020-01-01', '2023-12-31'), (2, 1, 100, '2024-01-01', NULL);
    INSERT INTO deal_sellers VALUES (1, 2, 'lead'), (1, 3, 'help');
    INSERT INTO 商品 VALUES (1, '龙井', 300), (2, '大米', 60)"""
NOT_SAID_IN_FULL = [
    ("deals by stage", (("open", 2), ("won", 1)), "the number of rows (deal)"),
    ("deals per month", (("2025-01", 1), ("2025-02", 2)), "the number of rows (deal)"),
    ("courses by level", ((2, 2), (3, 1)), "the number of rows (course)"),
    ("Which deal is the largest?", (("Birch door", 1500000.0),), "by amount"),
    ("largest deal", (("Birch door", 1500000.0),), "by amount"),
    ("average deal size", ((500400.0,),), "by amount"),
    ("How many companies have no email?", ((2,),), ""),
    ("companies without an owner", (("Birch",),), ""),
    ("How many sellers have no manager?", ((1,),), ""),
    ("Who is the manager of Cy Orr?", (("Bo Nye",),), ""),
    ("Who is Cy Orr's manager?", (("Bo Nye",),), ""),
    ("Cy Orr的上级是谁？", (("Bo Nye",),), ""),
    ("Who manages Cy Orr?", (("Bo Nye",),), ""),
    ("Who is the owner of Acorn?", (("Bo Nye",),), ""),
    ("Who owns Acorn?", (("Bo Nye",),), ""),
    ("Who teaches Latin?", (("Dee Poe",),), ""),
    ("Which courses does Dee Poe teach?", (("Latin",), ("Algebra",)), ""),
    ("单价200元以上的商品有哪些", (("龙井",),), ""),
]
NOT_PLAIN = [
    "average salary",  # of all times, or of today
    "highest salary",
    "Who is Bo Nye the manager of?",
    "Who is the manager of Cy Orr's manager?",
    "Who reports to Cy Orr's manager?",
    "Who teaches the most courses?",
    "How many deals does Dee Poe teach?",
    "What does Bo Nye own?",
    "largest course",
    "average company",
    "deals",
    "总等级",
]


@pytest.fixture(scope="module")
def deals(tmp_path_factory):
    return made(tmp_path_factory.mktemp("deals") / "deals.sqlite", DEALS)


@pytest.mark.parametrize(("question", "rows", "reading"), NOT_SAID_IN_FULL)
def test_what_is_plain_though_not_said_in_full_is_answered_and_told(deals, question, rows, reading):
    with open_at(deals) as opened:
        table = ask(opened, question)
    assert agree(table.rows, rows, ordered=False)
    assert table.reading == ((reading,) if reading else ())


@pytest.mark.parametrize("question", NOT_PLAIN)
def test_what_could_be_meant_otherwise_is_declined(deals, question):
    with open_at(deals) as opened, pytest.raises(UnclearError):
        ask(opened, question)


def test_which_salaries_count_may_be_said(deals, tmp_path):
    mapping = draft_mapping(deals)
    today = mapping.tables["salary"].model_copy(update={"counts": {"valid_to": None}})
    file = tmp_path / "deals.yaml"
    file.write_text(write_mapping(mapping.model_copy(update={"tables": {**mapping.tables, "salary": today}})), "utf-8")
    with open_at(deals, ontology=file) as opened:
        table = ask(opened, "average salary")
        assert (table.rows, table.conditions) == (((100.0,),), ("valid_to is empty",))


def test_a_row_happens_at_its_beginning_and_levels_are_averaged(deals):
    tables = draft_mapping(deals).tables
    assert (tables["deals"].date, tables["salary"].date, tables["sellers"].date) == ("created_on", "valid_from", None)
    totals = [
        tables[t].columns[c].total for t, c in (("deals", "amount"), ("deals", "probability"), ("course", "level"))
    ]
    assert totals == ["sum", "average", "average"]


def test_check_names_dates_guesses_and_keys_that_are_not_whole(deals, tmp_path):
    mapping = draft_mapping(deals)
    sure = mapping.tables["company"].columns["email"].model_copy(update={"sure": 0.6})
    guessed = mapping.tables["company"].model_copy(update={"columns": {"email": sure}})
    file = tmp_path / "deals.yaml"
    tables = {**mapping.tables, "company": guessed}
    file.write_text(write_mapping(mapping.model_copy(update={"tables": tables})), "utf-8")
    with open_at(deals, ontology=file) as opened:
        looks = {look.table: look for look in look_at(opened, inspect_tables(deals))}
    assert (looks["deals"].date, looks["teams"].date) == ("created_on", None)
    assert looks["teams"].odd == ()
    assert "column email is a guess (sure 0.6): questions by it are declined" in looks["company"].odd
    assert looks["deal_sellers"].odd == ("its key is (deal_id, seller_id): deal_id alone does not tell its rows apart",)


def test_big_numbers_are_written_out_and_groups_without_a_name_are_told(deals):
    with open_at(deals) as opened:
        table = ask(opened, "How many deals have an amount over 1 million?")
        assert (table.rows, table.conditions) == (((1,),), ("amount > 1000000",))
        told = in_words(ask(opened, "number of teams by region"), "en")
        assert "(none) 1" in told
        assert "None" not in told


def test_an_address_keeps_who_asks_and_no_password():
    assert plain_address("postgresql://ann:hunter2@db.example:5433/shop?x=1") == "postgresql://ann@db.example:5433/shop"
    assert plain_address("postgresql://db.example/shop") == "postgresql://db.example/shop"
    assert plain_address("sqlite:////data/x.sqlite") == "sqlite:////data/x.sqlite"


def test_a_kind_is_no_yes_and_what_has_a_date_of_deletion_does_not_count(tmp_path):
    address = made(tmp_path / "x.sqlite", LEDGER)
    with open_at(address) as opened:
        assert sorted(ask(opened, "number of customers by sex").rows) == [(0, 1), (1, 2)]
        assert draft_mapping(address).tables["门店"].columns["是否营业"].sure == 0.85
        table = ask(opened, "How many orders are there?")
        assert (table.rows, table.conditions) == (((2,),), ("deleted_at is empty",))
        assert ask(opened, "How many customers have no orders?").rows == ((2,),)
        looks = {look.table: look for look in look_at(opened, inspect_tables(address))}
        assert "only rows with deleted_at is empty are counted" in looks["order"].odd
    file = tmp_path / "x.yaml"
    file.write_text(write_mapping(draft_mapping(address)), "utf-8")
    assert "counts: {deleted_at: null}" in file.read_text("utf-8")
    with open_at(address, ontology=file) as opened:
        assert ask(opened, "total weight of orders").rows == ((30,),)


PARTS = """CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE "order" (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id));
    CREATE TABLE "order line" (order_id INTEGER REFERENCES "order"(id), "line no" INTEGER, quantity INTEGER,
        PRIMARY KEY (order_id, "line no"));
    CREATE TABLE "return" (id INTEGER PRIMARY KEY, order_id INTEGER, line_no INTEGER, returned_on TEXT,
        FOREIGN KEY (order_id, line_no) REFERENCES "order line"(order_id, "line no"));
    INSERT INTO customer VALUES (1, 'Acorn'), (2, 'Birch');
    INSERT INTO "order" VALUES (1, 1), (2, 2);
    INSERT INTO "order line" VALUES (1, 1, 5), (1, 2, 6), (1, 3, 7), (2, 1, 8);
    INSERT INTO "return" VALUES (1, 1, 2, '2025-01-01'), (2, 1, 2, '2025-01-02')"""


def test_a_key_in_several_columns_is_not_followed_by_one_of_them(tmp_path):
    address = made(tmp_path / "x.sqlite", PARTS)
    with open_at(address) as opened:
        for question in ("How many order lines were returned?", "How many order lines have returns?"):
            with pytest.raises(UnclearError):
                ask(opened, question)
        assert ask(opened, "How many returns are there?").rows == ((2,),)
        assert ask(opened, "number of order lines by customer").rows == (("Acorn", 3), ("Birch", 1))
        odd = {look.table: look.odd for look in look_at(opened, inspect_tables(address))}["return"]
        assert any("(order_id, line_no) is a key of order line in several columns" in one for one in odd)


def test_of_a_key_with_the_tenant_the_rest_is_followed(tmp_path):
    own = "tenant_id TEXT, id INTEGER, name TEXT, PRIMARY KEY (tenant_id, id)"
    keys = "project_id INTEGER, FOREIGN KEY (tenant_id, project_id) REFERENCES project(tenant_id, id)"
    tables = f"CREATE TABLE project ({own}); CREATE TABLE task (id INTEGER PRIMARY KEY, tenant_id TEXT, {keys});"
    drafted = draft_mapping(made(tmp_path / "x.sqlite", tables)).tables
    assert (drafted["project"].key, drafted["task"].columns["project_id"].to) == ("id", "project")


def test_a_column_that_refers_to_no_table_is_named(url, drafted, tmp_path):
    tables = {name: table for name, table in drafted.tables.items() if name != "referee"}
    file = tmp_path / "gone.yaml"
    file.write_text(write_mapping(drafted.model_copy(update={"tables": tables})), "utf-8")
    with (
        pytest.raises(OntologyError, match=r"game\.referee_no is `to: referee`, which is no table here"),
        open_at(url, ontology=file),
    ):
        pass


FLAGS = """CREATE TABLE member (id INTEGER PRIMARY KEY,
    name TEXT, is_active BOOLEAN, is_deleted BOOLEAN, level INTEGER);
    INSERT INTO member VALUES (1, 'Ada', TRUE, FALSE, 1), (2, 'Bo', FALSE, FALSE, 2), (3, 'Cy', TRUE, TRUE, 2),
    (4, 'Di', TRUE, FALSE, 2), (5, 'Ed', NULL, FALSE, 3)"""


@pytest.mark.slow
def test_columns_of_truth_are_compared_in_postgresql(postgres, tmp_path):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE flags")
    address = postgres.rpartition("/")[0] + "/flags"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(FLAGS)
        connection.execute("CREATE SCHEMA app; CREATE TABLE app.note (id INT); CREATE VIEW few AS SELECT 1 AS one")
    assert left_out(address) == ["app.note", "few"]
    for url in (made(tmp_path / "x.sqlite", FLAGS), address):
        with open_at(url, timeout_ms=5000) as opened:
            for question, answer in (
                ("How many members are there?", 4),
                ("How many members are active?", 2),
                ("How many members are not active?", 1),
                ("What share of members are active?", 2),
                ("How many members have a level over 1?", 3),
            ):
                table = ask(opened, question)
                assert table.rows[0][0] == answer, question
                kept = opened.written_out(table)
                assert opened.run_text(kept, title="t", tenant="default").rows[0][0] == answer, kept


def test_a_kind_of_thing_without_a_condition_is_declined(tmp_path):
    address = made(tmp_path / "x.sqlite", "CREATE TABLE person (id INTEGER PRIMARY KEY, kind INTEGER); ")
    (tmp_path / "x.yaml").write_text(
        "id: x\nclasses:\n- {id: person, labels: {en: person}, table: {name: person, key: id}}\n"
        "- {id: student, labels: {en: student}, inherits: [person]}\n"
        "- {id: guest, labels: {en: guest}, inherits: [person], table: {name: person, key: id, counts: {kind: 2}}}\n",
        "utf-8",
    )
    with open_at(address, ontology=tmp_path / "x.yaml") as opened:
        with pytest.raises(UnclearError, match="which rows of its parent"):
            ask(opened, "how many students are there?")
        assert '"kind" = :p1' in ask(opened, "how many guests are there?").sql


def test_a_model_sees_codes_with_their_names_and_which_rows_count(league):
    described = describe_schema(league.mapping, "en")
    assert "1 is goalkeeper" in described
    assert "only rows with 0 count" in described
    assert "first_name (" in described


def test_a_model_sees_relations_as_columns_of_tables(database):
    described = describe_schema(database.mapping, "en")
    assert "transaction." not in described.replace("bank_transaction.", "")
    assert "bank_transaction." in described


@pytest.mark.slow
def test_a_model_proposes_names_that_nothing_has_and_sees_no_row(drafted, tmp_path):
    reply = {
        "tables": {
            "team": {"called": ["squad", "战队", "player", "a\nname", "x" * 50], "columns": {"nothing": ["ghost"]}},
            "game": {"columns": {"weather": ["sky", "天气"]}},
            "nowhere": {"called": ["ghost"]},
        }
    }
    model = FakeChatModel([json.dumps(reply), "{}"])
    found, added = with_model_labels(drafted, model)
    assert found.tables["team"].proposed == ("squad", "战队", "a name")
    assert (found.tables["game"].columns["weather"].proposed, added) == (("sky", "天气"), 5)
    assert found.tables["team"].called == drafted.tables["team"].called
    assert "ghost" not in write_mapping(found)
    sent = "".join(message.content for call in model.calls for message in call)
    assert "weather" in sent
    assert "River Foxes" not in sent
    (tmp_path / "m.yaml").write_text(write_mapping(found), "utf-8")
    again, more = with_model_labels(read_mapping(tmp_path / "m.yaml"), FakeChatModel([json.dumps(reply), "{}"]))
    assert (again, more) == (found, 0), "what has proposals keeps them"
    with pytest.raises(ModelError):
        with_model_labels(drafted, FakeChatModel([]))
    with pytest.raises(ValueError, match=r"."):
        with_model_labels(drafted, FakeChatModel(["I cannot say."] * 2))


@pytest.mark.slow
def test_postgresql_is_drafted_and_asked_the_same(postgres):
    import psycopg

    said = {
        "game.referee_no": "referee.id",
        "game.weather": "dict weather",
        "player.position": "1 goalkeeper 2 defender 3 forward",
    }
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE league")
    address = postgres.rpartition("/")[0] + "/league"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute((DATA / "league.sql").read_text("utf-8"))
        for column, comment in said.items():
            connection.execute(f"COMMENT ON COLUMN {column} IS '{comment}'")
    drafted = draft_mapping(address)
    assert drafted.tables["game"].columns["referee_no"].to == "referee"
    assert drafted.tables["game"].date == "scheduled_on"
    assert "@" in drafted.source or "@" not in address  # whoever asks is kept, never the password
    with open_at(address, timeout_ms=5000) as opened:
        assert ask(opened, "How many players are from Sweden or Norway?").rows == ((4,),)
        assert ask(opened, "哪个球队的球员最多？").rows == (("River Foxes", 3),)
        assert ask(opened, "How many games have not been played?").rows == ((1,),)
        assert ask(opened, "How many players have no nationality?").rows == ((1,),)
        assert ask(opened, "How many rainy games were there?").rows == ((2,),)
        assert ask(opened, "How many games were played in April 2025?").rows == ((2,),)
        assert ask(opened, "What share of players are goalkeepers?").rows[0][:2] == (2, 7)
        assert ask(opened, "Which player has the most goals?").rows == (("Ben Reed", 3),)


COMMENTED = """CREATE TABLE ck( -- 仓库
    id INTEGER PRIMARY KEY, mc TEXT, -- 名称
    mj DECIMAL(10, 2) CHECK (mj IN (1, 2, 3)), rl INTEGER -- 容量（公斤），不含外库
    );
    CREATE TABLE "hw" ( id INTEGER PRIMARY KEY, zt TEXT, -- 状态：A 在库, B 出库
    [bz] TEXT, -- 备注（可不填）
    "jg" REAL -- 售价（元）
    -- 只是说明, ck
    );
    INSERT INTO ck VALUES (1, '东库', 1, 30), (2, '西库', 2, 50);
    INSERT INTO hw VALUES (1, 'A', 'x', 5), (2, 'B', 'y', 6)"""


def test_a_comment_is_of_the_last_column_before_it_or_of_the_table(tmp_path):
    address = made(tmp_path / "x.sqlite", COMMENTED)
    facts = inspect_tables(address)
    comments = {(name, c.name): c.comment for name, table in facts.items() for c in table.columns.values() if c.comment}
    assert comments == {
        ("ck", "mc"): "名称",
        ("ck", "rl"): "容量（公斤），不含外库",
        ("hw", "zt"): "状态：A 在库, B 出库",
        ("hw", "bz"): "备注（可不填）",
        ("hw", "jg"): "售价（元）",
    }
    assert [facts[name].comment for name in ("ck", "hw")] == ["仓库", ""]
    tables = draft_mapping(address).tables
    assert tables["ck"].called[0] == "仓库"
    assert [tables[name].columns[c].unit for name, c in (("ck", "rl"), ("hw", "jg"), ("hw", "bz"))] == [
        "公斤",
        "元",
        "",
    ]
    assert tables["hw"].columns["zt"].codes == {"A": ("在库",), "B": ("出库",)}
    with open_at(address) as opened:
        odd = {look.table: look.odd for look in look_at(opened, facts)}
    assert odd["ck"] == ()
    assert "it has no name in Chinese, as its columns have" in odd["hw"]
