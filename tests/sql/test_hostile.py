"""More than two hundred hostile statements and prompts: none passes the guard, none passes the engine alone."""

import hashlib
from pathlib import Path

import pytest
import yaml

from theworld.errors import DatabaseError, StatementRefusedError
from theworld.sql.guard import check_statement, parse_statement
from theworld.sql.mapping import MappedTable
from theworld.sql.plan import UnclearError

TABLE = yaml.safe_load((Path(__file__).parent / "data" / "hostile.yaml").read_text("utf-8"))
STATEMENTS = [(kind, text) for kind, texts in TABLE.items() if kind != "prompts" for text in texts]


def test_there_are_two_hundred():
    assert len(STATEMENTS) + len(TABLE["prompts"]) >= 200
    assert len({text for _, text in STATEMENTS}) == len(STATEMENTS)


@pytest.fixture(scope="module")
def fingerprint(credit_files):
    before = hashlib.sha256(credit_files["database"].read_bytes()).hexdigest()
    yield before
    assert hashlib.sha256(credit_files["database"].read_bytes()).hexdigest() == before


GUARDED = [(kind, text) for kind, text in STATEMENTS if kind != "huge" or "payer_id" not in text]
"""Without joins of keys over mapped tables: they are the time limit's matter."""


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize(("kind", "text"), GUARDED)
def test_the_guard_refuses(database, kind, text, dialect):
    with pytest.raises(StatementRefusedError):
        check_statement(
            parse_statement(text, dialect), database.mapping.tables, dialect=dialect, tenant="default", max_rows=100
        )


@pytest.mark.parametrize(("kind", "text"), STATEMENTS)
def test_nothing_comes_of_it(database, fingerprint, kind, text):
    with pytest.raises((StatementRefusedError, DatabaseError)):
        database.run_text(text, title="t", tenant="default", timeout_ms=100)


SEES_ONLY_MAPPED_ROWS = ("main.company", "UNION SELECT id FROM bank", "tenant", "AS (SELECT 1 AS id)")
"""Statements that are harmless in themselves: what they read is mapped, and the guard adds the tenant."""
ENGINE_ONLY = [
    (kind, text)
    for kind, text in STATEMENTS
    if (
        kind in {"writes", "sessions", "unmapped", "stacked"}
        or any(piece in text for piece in ("secret", "sqlite_", "RECURSIVE"))
    )
    and not any(piece in text for piece in SEES_ONLY_MAPPED_ROWS)
    and not text.startswith(("BEGIN", "COMMIT", "VALUES", ";"))
]


@pytest.mark.parametrize(("kind", "text"), ENGINE_ONLY)
def test_the_engine_alone_gives_nothing_away(database, fingerprint, kind, text):
    """Even past the guard: read-only, and only mapped columns."""
    try:
        rows = database.engine.read(text, {}, max_rows=10, timeout_ms=200).rows
    except (StatementRefusedError, DatabaseError):
        return
    assert rows == ()


@pytest.mark.parametrize("text", TABLE["prompts"])
def test_prompts_lead_to_bounded_reads_or_to_nothing(database, fingerprint, now, text):
    try:
        tables = database.ask(text, language="en", tenant="default", now=now)
    except (UnclearError, StatementRefusedError, DatabaseError):
        return
    for table in tables:
        assert table.sql.startswith("SELECT ")
        assert ";" not in table.sql
        assert table.parameters["tenant"] == "default"
        assert "hunter2" not in str(table.rows)
        assert "9999" not in str(table.rows)


def test_the_other_tenants_rows_are_never_seen(database, now):
    (own,) = database.ask("有多少家企业", language="zh", tenant="default", now=now)
    (other,) = database.ask("有多少家企业", language="zh", tenant="harbour", now=now)
    (nobody,) = database.ask("有多少家企业", language="zh", tenant="nobody", now=now)
    assert (own.rows, other.rows, nobody.rows) == (((24,),), ((1,),), ((0,),))
    found = database.run_text("SELECT name_en FROM company WHERE 1=1 OR 1=1", title="t", tenant="harbour")
    assert found.rows == (("Opalmoth Textiles",),)


def test_rows_are_limited(database):
    table = database.run_text("SELECT id FROM bank_transaction LIMIT 100000", title="t", tenant="default")
    assert len(table.rows) == database.settings.max_rows
    assert table.truncated


def test_time_is_limited(database):
    (text,) = [text for kind, text in STATEMENTS if kind == "huge" and "payer_id" in text]
    with pytest.raises(DatabaseError, match="took longer than 50 ms"):
        database.run_text(text, title="t", tenant="default", timeout_ms=50)


def test_honest_statements_pass_the_same_way(database):
    text = (
        "WITH s AS (SELECT company_id, SUM(limit_amount) AS total FROM credit_line GROUP BY company_id) "
        "SELECT c.name_zh, s.total FROM s JOIN company AS c ON c.id = s.company_id ORDER BY s.total DESC LIMIT 2"
    )
    table = database.run_text(text, title="t", tenant="default")
    assert table.rows == (("珀栎能源", 122000.0), ("星槎控股", 90000.0))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT randomblob(9) FROM company", "only JULIANDAY is called"),
        ("SELECT EXTRACT(year FROM granted_on) FROM credit_line", "only the EPOCH is extracted"),
        ("SELECT CAST(granted_on AS TEXT) FROM credit_line", "only to numbers and times"),
        ("SELECT JULIANDAY(expires_on) - JULIANDAY(granted_on) FROM credit_line", None),
    ],
)
def test_of_functions_only_those_of_times_pass(database, text, why):
    if why is None:
        assert database.run_text(text, title="t", tenant="default").rows
        return
    with pytest.raises(StatementRefusedError, match=why):
        database.run_text(text, title="t", tenant="default")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT TO_CHAR(CAST(granted_on AS TIMESTAMP), 'YYYY-MM'), COUNT(id) FROM credit_line GROUP BY 1",
        "SELECT AVG(CAST(EXTRACT(epoch FROM CAST(expires_on AS TIMESTAMP) - CAST(granted_on AS TIMESTAMP)) AS BIGINT)) "
        "FROM credit_line",
    ],
)
def test_what_is_written_for_postgres_is_read_back(database, text):
    tree = parse_statement(text, "postgres")
    checked = check_statement(tree, database.mapping.tables, dialect="postgres", tenant="default", max_rows=100)
    assert "TIMESTAMP" in checked.sql


OF_TENANTS = {
    "Orders": MappedTable("Orders", ("ID", "CustomerID", "Total"), frozenset({"ID", "CustomerID"}), "Tenant"),
    "customers": MappedTable("customers", ("id", "Name"), frozenset({"id"}), None),
}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(total) FROM orders",
        'SELECT MAX("Total") FROM "Orders"',
        "WITH x AS (SELECT ID AS k, Total FROM ORDERS) SELECT MAX(Total), k FROM x",
        "SELECT c.name, COUNT(o.id) FROM orders o JOIN customers c ON o.customerid = c.id GROUP BY c.name",
    ],
)
def test_rows_of_a_tenant_in_tables_with_capitals(text, dialect):
    tree = parse_statement(text, dialect)
    sql = check_statement(tree, OF_TENANTS, dialect=dialect, tenant="ours", max_rows=5).sql
    own = 'FROM (SELECT "ID", "CustomerID", "Total" FROM "Orders" WHERE "Tenant" = '
    assert sql.count('FROM "Orders"') == sql.count(own) == 1
    assert '"total"' not in sql.replace('AS "total"', "").replace('"x"."total"', "")


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_tables_with_capitals_are_joined_by_keys_only(dialect):
    tree = parse_statement("SELECT c.name FROM orders o JOIN customers c ON o.total = c.id", dialect)
    with pytest.raises(StatementRefusedError, match="must compare the keys"):
        check_statement(tree, OF_TENANTS, dialect=dialect, tenant="ours", max_rows=5)
