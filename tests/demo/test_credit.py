"""The sample domain: its ontology fits its database, and the database is the same every time."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from theworld.demo.credit import load_credit_ontology, load_credit_questions, notes_dir, write_sample
from theworld.demo.credit.database import build_database
from theworld.ontology import Lookup, read_ontology


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_database(tmp_path_factory.mktemp("credit") / "credit.sqlite")


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


def columns(database: Path, table: str) -> set[object]:
    return {row[1] for row in rows(database, f"PRAGMA table_info({table})")}


def test_every_mapped_table_and_column_is_in_the_database(database: Path) -> None:
    ontology = load_credit_ontology()
    lookup = Lookup(ontology)
    for one in ontology.classes:
        if one.table is None:
            assert not any(attribute.column for attribute in one.attributes)
            continue
        there = columns(database, one.table.name)
        named = {one.table.key, one.table.tenant, one.table.time, one.table.label.zh, one.table.label.en}
        named |= {attribute.column for _, attribute in lookup.attributes(one.id)}
        assert named - {None} <= there, one.id
    for relation in ontology.relations:
        assert relation.join is not None
        table = lookup.table(relation.source) if relation.join.column else None
        name = table.name if table else relation.join.table
        join = relation.join
        assert name is not None
        named = {join.column, join.source_key, join.target_key, join.tenant, join.time}
        assert named - {None} <= columns(database, name), relation.id


def test_every_enum_value_in_the_database_is_in_the_ontology(database: Path) -> None:
    for one in load_credit_ontology().classes:
        for attribute in one.attributes:
            if attribute.values and one.table:
                found = {row[0] for row in rows(database, f"SELECT DISTINCT {attribute.column} FROM {one.table.name}")}
                assert found <= {value.in_column for value in attribute.values}, (one.id, attribute.id)


def test_samples_are_rows_of_the_database(database: Path) -> None:
    lookup = Lookup(load_credit_ontology())
    for sample in lookup.ontology.samples:
        table = lookup.table(sample.of)
        assert table is not None
        query = f"SELECT {table.label.zh}, {table.label.en} FROM {table.name} WHERE {table.key} = '{sample.key}'"
        assert rows(database, query)[0] == (sample.labels.zh[0], sample.labels.en[0])


def test_keys_that_point_to_other_tables_point_to_something(database: Path) -> None:
    lookup = Lookup(load_credit_ontology())
    for relation in lookup.ontology.relations:
        source, target, join = lookup.table(relation.source), lookup.table(relation.target), relation.join
        assert source is not None
        assert target is not None
        assert join is not None
        pairs = [(join.table, join.source_key, source), (join.table, join.target_key, target)]
        if join.column:
            pairs = [(source.name, join.column, target)]
        for table, column, goal in pairs:
            lost = rows(
                database,
                f"SELECT a.{column} FROM {table} a LEFT JOIN {goal.name} b ON a.{column} = b.{goal.key} "
                f"AND a.tenant = b.tenant WHERE a.{column} IS NOT NULL AND b.{goal.key} IS NULL",
            )
            assert not lost, relation.id


def test_the_database_is_the_same_every_time_and_moves_with_its_last_day(database: Path, tmp_path: Path) -> None:
    def content(file: Path) -> str:
        with closing(sqlite3.connect(file)) as connection:
            return hashlib.sha256("\n".join(connection.iterdump()).encode()).hexdigest()

    again = build_database(tmp_path / "again.sqlite")
    assert content(again) == content(database)
    assert content(build_database(again)) == content(database)
    moved = build_database(tmp_path / "moved.sqlite", last_day=date(2025, 3, 31))
    query = "SELECT min(booked_on), max(booked_on), count(*), sum(amount) FROM bank_transaction"
    (first, last, count, amount), (first2, last2, count2, amount2) = rows(database, query)[0], rows(moved, query)[0]
    assert (count, amount) == (count2, amount2)
    assert date.fromisoformat(str(first2)) - date.fromisoformat(str(first)) == date(2025, 3, 31) - date(2024, 12, 31)
    assert str(last) <= "2024-12-31"
    assert str(last2) <= "2025-03-31"


def test_the_documents_example_has_something_to_find(database: Path) -> None:
    """关联企业近30天授信变化与交易波动: affiliates whose limits changed and whose payments vary in the last month."""
    changed = rows(
        database,
        "SELECT DISTINCT company_id FROM credit_change WHERE tenant = 'default' AND changed_on > '2024-12-01' "
        "AND company_id IN (SELECT company_id FROM affiliation)",
    )
    assert len(changed) >= 6
    before, after = (
        rows(
            database,
            f"SELECT sum(amount) FROM bank_transaction WHERE payer_id = 'ninebridge_trading' "
            f"AND payee_id = 'starraft_leasing' AND booked_on LIKE '2024-{month}-%'",
        )[0][0]
        for month in ("11", "12")
    )
    assert isinstance(before, float)
    assert isinstance(after, float)
    assert after > 3 * before


def test_the_other_tenants_rows_are_marked(database: Path) -> None:
    assert rows(database, "SELECT tenant, count(*) FROM credit_line GROUP BY tenant") == [
        ("default", 26),
        ("harbour", 1),
    ]


def test_the_sample_is_written_and_read_again(tmp_path: Path) -> None:
    paths = write_sample(tmp_path / "sample")
    assert read_ontology(paths["ontology"]) == load_credit_ontology()
    assert paths["database"].is_file()
    assert write_sample(tmp_path / "sample") == paths


def test_the_domain_is_large_enough_and_bilingual() -> None:
    ontology = load_credit_ontology()
    assert len(ontology.classes) >= 12
    for ref, element in ontology.elements():
        assert element.labels.zh, ref
        assert element.labels.en, ref


def test_there_are_notes_and_questions_enough_in_both_languages() -> None:
    notes = {f"{file.parent.name}/{file.name}#0" for file in notes_dir().rglob("*.md")}
    questions = load_credit_questions()
    assert len(notes) >= 60
    assert len(questions) >= 60
    for language in ("zh", "en"):
        assert sum(note.startswith(language) for note in notes) >= 30
        assert sum(question.language == language for question in questions) >= 30
    assert {note for question in questions for note in question.notes} <= notes
