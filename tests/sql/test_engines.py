"""Mapping against the live schema, views, and the same plans on SQLite and on a real PostgreSQL."""

import sqlite3
import sys
import time
from contextlib import closing
from decimal import Decimal

import pytest
import yaml

from theworld.errors import DatabaseError, SettingsError, StatementRefusedError
from theworld.graph.resources import open_database
from theworld.ontology import parse_ontology
from theworld.ontology.files import dump_ontology, load_ontology
from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.sql.engines import open_engine, to_cell
from theworld.sql.engines.postgres import PostgresEngine
from theworld.sql.engines.sqlite import SQLiteEngine
from theworld.sql.mapping import DatabaseMapping, MappedTable

SMALL = """
id: shop
classes:
  - id: sale
    labels: {zh: 销售, en: sale}
    table: {name: sales, key: id, time: day}
    attributes:
      - {id: price, labels: {zh: 价格, en: price}, type: number, column: price, aggregation: sum}
"""


def open_small(tmp_path, statements, url=None):
    file = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    (tmp_path / "shop.yaml").write_text(SMALL, "utf-8")
    settings = Settings(database={"url": url or f"sqlite:///{file}", "ontology": tmp_path / "shop.yaml"})
    return Database.open(settings.database)


def test_the_mapping_is_checked_against_the_live_schema(tmp_path):
    with pytest.raises(DatabaseError, match="there is no table sales"):
        open_small(tmp_path, ["CREATE TABLE other (id TEXT)"])
    (tmp_path / "shop.sqlite").unlink()
    with pytest.raises(DatabaseError, match="table sales has no column day; table sales has no column price"):
        open_small(tmp_path, ["CREATE TABLE sales (id TEXT)"])


def test_a_measure_may_be_the_days_since_an_earlier_date(credit_files, now, tmp_path):
    content = yaml.safe_load(credit_files["ontology"].read_text("utf-8"))
    (line,) = (one for one in content["classes"] if one["id"] == "credit_line")
    days = {"type": "number", "column": "expires_on", "since": "granted_on", "aggregation": "average"}
    line["attributes"].append({"id": "term", "labels": {"en": ["term"]}, **days})
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    url = f"sqlite:///{credit_files['database']}"
    with closing(Database.open(Settings(database={"url": url, "ontology": tmp_path / "own.yaml"}).database)) as opened:
        (table,) = opened.ask("average term of the credit lines", language="en", tenant="default", now=now)
        wanted = "SELECT AVG(JULIANDAY(expires_on) - JULIANDAY(granted_on)) FROM credit_line"
        assert table.rows[0][0] == pytest.approx(opened.run_text(wanted, title="t", tenant="default").rows[0][0])


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(DatabaseError, match="cannot be opened"):
        open_small(tmp_path, [], url=f"sqlite:///{tmp_path / 'nowhere.sqlite'}")


def test_what_cannot_be_opened_says_why_in_one_sentence(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is no database at all" * 100, "utf-8")
    for url, why in (
        (f"sqlite:///{tmp_path / 'text.sqlite'}", "not a database"),
        ("postgresql://me@127.0.0.1:1/x", "refused"),
    ):
        with pytest.raises(DatabaseError, match=why), open_database(Settings(database={"url": url})):
            pass
    with pytest.raises(SettingsError, match="a file is written sqlite:///FILE"):
        Settings(database={"url": "shop.sqlite"})


def test_bytes_are_counted(tmp_path):
    rows = [
        "CREATE TABLE sales (id TEXT, day TEXT, price BLOB)",
        "INSERT INTO sales VALUES ('a', '2025-01-01', x'ff00')",
    ]
    with closing(open_small(tmp_path, rows)) as opened:
        assert opened.run_text("SELECT price FROM sales", title="", tenant="default").rows == (("(2 bytes)",),)


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite:///", "nothing"])
def test_other_databases_are_refused(url):
    with pytest.raises(SettingsError, match=r"database\.url"):
        open_engine(url, {})


def test_a_mapping_needs_an_address():
    with pytest.raises(SettingsError, match="give the address too"):
        Settings.load(database={"ontology": "x.yaml"})
    with pytest.raises(SettingsError, match="Mars/Olympus"):
        Settings.load(database={"timezone": "Mars/Olympus"})


def test_an_ontology_without_tables_is_refused(tmp_path):
    (tmp_path / "bare.yaml").write_text("id: x\nclasses: [{id: a, labels: {en: a}}]\n", "utf-8")
    settings = Settings(database={"url": "sqlite:///x.sqlite", "ontology": tmp_path / "bare.yaml"})
    with pytest.raises(DatabaseError, match="maps no class"):
        Database.open(settings.database)


def test_a_mapped_view_is_read_and_what_it_hides_is_not(tmp_path):
    make = [
        "CREATE TABLE raw (id TEXT, day TEXT, price REAL, card TEXT)",
        "INSERT INTO raw VALUES ('a', '2024-01-01', 3, 'secret'), ('b', '2024-01-02', 4, 'secret')",
        "CREATE VIEW sales AS SELECT id, day, price FROM raw WHERE price > 3",
    ]
    database = open_small(tmp_path, make)
    assert database.run_text("SELECT SUM(price) AS s FROM sales", title="t", tenant="x").rows == ((4.0,),)
    with pytest.raises(StatementRefusedError):
        database.engine.read("SELECT card FROM raw", {}, max_rows=5, timeout_ms=500)


def test_sqlite_is_never_written_even_when_asked_past_the_authorizer(tmp_path):
    open_small(tmp_path, ["CREATE TABLE sales (id TEXT, day TEXT, price REAL)"])
    engine = SQLiteEngine(tmp_path / "shop.sqlite", {"sales": MappedTable("sales", ("id",), frozenset({"id"}), None)})
    with closing(engine._connect()) as connection, pytest.raises(sqlite3.OperationalError, match=r"readonly|read-only"):
        connection.execute("INSERT INTO sales VALUES ('x', 'y', 1)")


def _postgres_type(name, kind):
    if name.endswith("_on") or name == "since":
        return "DATE"
    return "NUMERIC" if kind == "REAL" else "TEXT"


@pytest.fixture(scope="module")
def on_postgres(postgres, credit_files, database):
    """The sample domain's rows in PostgreSQL, dates as dates."""
    import psycopg

    with (
        psycopg.connect(postgres, autocommit=True) as target,
        closing(sqlite3.connect(credit_files["database"])) as source,
    ):
        tables = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            columns = [(row[1], row[2]) for row in source.execute(f"PRAGMA table_info({table})")]
            types = [f"{name} {_postgres_type(name, kind)}" for name, kind in columns]
            target.execute(f"CREATE TABLE {table} ({', '.join(types)})")
            marks = ", ".join(["%s"] * len(columns))
            with target.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {table} VALUES ({marks})", source.execute(f"SELECT * FROM {table}").fetchall()
                )
    settings = Settings(database={"url": postgres, "ontology": credit_files["ontology"], "timezone": "Asia/Shanghai"})
    opened = Database.open(settings.database)
    yield opened
    opened.close()


def cells(tables):
    return [[cell for row in table.rows for cell in row] for table in tables]


QUESTIONS = [
    "关联企业近30天授信变化与交易波动",
    "授信总额最高的5家企业",
    "2024年各季度交易额",
    "2024年每月交易额",
    "12月交易额比11月变化多少",
    "沿海片区的授信总额",
    "星槎精工的关联企业的授信总额",
    "交易金额超过500万元的交易有多少笔",
    "星槎精工的成立日期",
    "平均每季度交易额是多少",
    "平均每个地区的交易额",
    "最早的交易",
    "授信额度从授信日期到到期日平均多少天",
    "授信日期早于到期日的授信额度有多少笔",
]


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
def test_postgres_and_sqlite_agree(database, on_postgres, now, question):
    ask = {"language": "zh", "tenant": "default", "now": now}
    asked = [one.ask(question, **ask) for one in (on_postgres, database)]
    for there, here in zip(*map(cells, asked), strict=True):
        assert len(there) == len(here)
        for a, b in zip(there, here, strict=True):
            assert a == (pytest.approx(b, rel=1e-6, abs=1e-3) if isinstance(b, float) else b)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM company",
        "CREATE TABLE x (a INT)",
        "SELECT 1; DROP TABLE company",
        "COMMIT; DELETE FROM company",
        "SELECT pg_terminate_backend(1); DELETE FROM company",
        "WITH d AS (DELETE FROM company RETURNING id) SELECT * FROM d",
        "SELECT nextval('s')",
        "SET TRANSACTION READ WRITE; DELETE FROM company",
    ],
)
def test_postgres_alone_writes_nothing(on_postgres, text):
    with pytest.raises((StatementRefusedError, DatabaseError)):
        on_postgres.engine.read(text, {}, max_rows=5, timeout_ms=1000)
    (found,) = on_postgres.engine.read("SELECT COUNT(*) FROM company", {}, max_rows=5, timeout_ms=1000).rows
    assert found[0] == 25


@pytest.mark.slow
def test_postgres_ends_what_takes_long(on_postgres):
    with pytest.raises(DatabaseError, match="took longer than 100 ms"):
        on_postgres.engine.read("SELECT pg_sleep(5)", {}, max_rows=5, timeout_ms=100)
    assert on_postgres.engine.read("SELECT COUNT(*) FROM bank", {}, max_rows=5, timeout_ms=1000).rows


def test_the_address_is_named_without_its_password():
    assert PostgresEngine("postgresql://me:secret@db.example:5433/credit").name == "postgresql://db.example:5433/credit"


def test_joins_are_read_both_ways():
    mapping = DatabaseMapping(parse_ontology(SMALL))
    assert mapping.joins == {}
    assert mapping.tables["sales"].columns == ("id", "day", "price")


def test_postgres_without_its_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseError, match=r"needs the package psycopg.*pip install .*\[postgres\]"):
        PostgresEngine("postgresql://db.example/credit").schema()


def test_a_statement_waits_for_the_one_before_it_no_longer_than_it_may_take_itself():
    engine = PostgresEngine("postgresql://db.example/credit")
    with engine._lock, pytest.raises(DatabaseError, match="busy with other statements for 20 ms"):
        engine.read("SELECT 1", {}, max_rows=1, timeout_ms=20)


def test_a_locked_file_is_waited_for_no_longer_than_a_statement_may_take(tmp_path):
    statements = ["CREATE TABLE sales (id INTEGER PRIMARY KEY, price REAL, day TEXT)"]
    with (
        closing(open_small(tmp_path, statements)) as database,
        closing(sqlite3.connect(tmp_path / "shop.sqlite")) as held,
    ):
        database.engine.read("SELECT id FROM sales", {}, max_rows=1, timeout_ms=1000)
        held.execute("BEGIN EXCLUSIVE")
        began = time.perf_counter()
        with pytest.raises(DatabaseError, match="database is locked"):
            database.engine.read("SELECT id FROM sales", {}, max_rows=1, timeout_ms=50)
        assert time.perf_counter() - began < 4


def test_of_too_many_rows_always_the_same_are_known_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr("theworld.sql.database.NAMES_PER_CLASS", 2)
    places = SMALL.replace("key: id,", "key: id, label: {en: name},")
    monkeypatch.setitem(globals(), "SMALL", places)
    rows = "(3, 'Cedar'), (1, 'Acacia'), (2, 'Birch')"
    statements = [
        "CREATE TABLE sales (id TEXT, name TEXT, price REAL, day TEXT)",
        f"INSERT INTO sales (id, name) VALUES {rows}",
    ]
    with closing(open_small(tmp_path, statements)) as database:
        known = {term.text for term in database.lexicon("any").find("acacia birch cedar")}
    assert known == {"acacia", "birch"}


def test_a_view_that_broke_since_is_a_clear_error(tmp_path):
    file = tmp_path / "shop.sqlite"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE VIEW sales AS SELECT id FROM nothing_there")
    mapped = {"sales": MappedTable("sales", ("id",), frozenset({"id"}), None)}
    with pytest.raises(DatabaseError, match="views cannot be read"):
        SQLiteEngine(file, mapped).read("SELECT id FROM sales", {}, max_rows=1, timeout_ms=1000)


@pytest.mark.parametrize(("kind", "ending"), [("turtle", "ttl"), ("xml", "owl"), ("json-ld", "jsonld")])
def test_an_ontology_in_rdf_maps_the_database_too(credit_settings, database, tmp_path, kind, ending):
    file = tmp_path / f"credit.{ending}"
    file.write_text(dump_ontology(load_ontology(credit_settings.database.ontology), kind), "utf-8")
    with closing(Database.open(credit_settings.database.model_copy(update={"ontology": file}))) as opened:
        assert set(opened.mapping.tables) == set(database.mapping.tables)


@pytest.mark.parametrize(("value", "cell"), [("2.50", 2.5), ("3", 3), ("Infinity", "Infinity"), ("NaN", "NaN")])
def test_decimals_are_numbers_where_they_have_a_value(value, cell):
    pytest.importorskip("psycopg")
    assert to_cell(Decimal(value)) == cell
