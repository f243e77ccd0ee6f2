"""The sample domain's database: made of facts.yaml and a seed, the same bytes of data every time.

Amounts are in 10,000 CNY, dates are ISO texts. Every table has a `tenant` column.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, timedelta
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

from theworld.packages import load_table

SEED = 20240630
Row = tuple[Any, ...]

TABLES: dict[str, tuple[str, ...]] = {
    "region": ("id", "name_zh", "name_en", "part_of"),
    "industry": ("id", "name_zh", "name_en", "part_of"),
    "corporate_group": ("id", "name_zh", "name_en", "parent_company"),
    "company": (
        *("id", "name_zh", "name_en", "industry_id", "region_id", "group_id"),
        *("registered_capital REAL", "founded_on", "status"),
    ),
    "bank": ("id", "name_zh", "name_en", "region_id"),
    "branch": ("id", "name_zh", "name_en", "bank_id", "region_id"),
    "role": ("id", "name_zh", "name_en", "department_zh", "department_en"),
    "credit_line": (
        *("id", "company_id", "bank_id", "branch_id", "kind", "limit_amount REAL", "used_amount REAL"),
        *("granted_on", "expires_on", "approved_by", "status"),
    ),
    "credit_change": (
        *("id", "credit_line_id", "company_id", "bank_id", "changed_on", "kind", "amount_change REAL"),
        *("limit_after REAL", "reason"),
    ),
    "account": ("id", "company_id", "branch_id", "opened_on", "balance REAL"),
    "bank_transaction": ("id", "account_id", "payer_id", "payee_id", "booked_on", "amount REAL", "purpose"),
    "guarantee": (
        *("id", "guarantor_id", "guaranteed_id", "credit_line_id", "amount REAL", "kind", "signed_on", "expires_on"),
    ),
    "collateral": ("id", "credit_line_id", "kind", "value REAL", "appraised_on"),
    "shareholding": ("id", "holder_id", "company_id", "share REAL", "since"),
    "control": ("controller_id", "controlled_id", "since"),
    "affiliation": ("company_id", "related_id", "basis"),
    "contract": (
        *("id", "supplier_id", "buyer_id", "subject_zh", "subject_en", "amount REAL", "signed_on", "ends_on"),
    ),
    "risk_event": ("id", "company_id", "happened_on", "kind", "severity", "amount REAL"),
    "rating": ("id", "company_id", "rated_on", "grade"),
}
"""Columns by table, TEXT where nothing else is said; `tenant` comes first in all."""


load_facts = partial(load_table, "theworld.demo.credit", "facts.yaml")


def build_database(file: Path, *, last_day: date | None = None) -> Path:
    """Write the SQLite database and return its path; one that is there is replaced, at once.

    The year of data ends on `last_day` (default: 2024-12-31): every date is moved by the same number of days.
    """
    facts = load_facts()
    shift: timedelta = (last_day or facts["last_day"]) - facts["last_day"]
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f"{file.name}.new")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished)) as connection, connection:
        for table, columns in TABLES.items():
            typed = ["tenant TEXT NOT NULL", *(c if " " in c else f"{c} TEXT" for c in columns)]
            key = ", PRIMARY KEY (tenant, id)" if columns[0] == "id" else ""
            connection.execute(f"CREATE TABLE {table} ({', '.join(typed)}{key})")
        for tenant in (facts, facts["other_tenant"]):
            for table, rows in tenant_rows(tenant, facts).items():
                marks = ", ".join("?" * (len(TABLES[table]) + 1))
                moved = [
                    (tenant["tenant"], *((v + shift).isoformat() if isinstance(v, date) else v for v in row))
                    for row in rows
                ]
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", moved)  # noqa: S608
        for table, column in _INDEXED:
            connection.execute(f"CREATE INDEX ix_{table}_{column} ON {table} ({column})")
    unfinished.replace(file)
    return file


_INDEXED = (("bank_transaction", "booked_on"), ("bank_transaction", "payer_id"), ("credit_change", "changed_on"))


def tenant_rows(tenant: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return the rows of every table of one tenant, dates as dates, without the tenant's column."""
    bank_of = {branch: bank for branch, _, _, bank, _ in facts["branch"]}
    given = {name: [tuple(row) for row in tenant.get(name, ())] for name in TABLES}
    lines = [(*row[:2], bank_of[row[2]], *row[2:]) for row in given["credit_line"]]
    # The changes with company, bank and the limit afterwards; at last, the limits at the end of the year.
    line_of = {row[0]: row for row in lines}
    limits: dict[str, float] = {row[0]: row[5] for row in lines}
    changes = []
    by_day = sorted(given["credit_change"], key=lambda row: row[1])
    for i, (line, day, kind, amount, reason) in enumerate(by_day, start=1):
        limits[line] += amount
        company, bank = line_of[line][1:3]
        changes.append((f"CC-{i:03}-{line}", line, company, bank, day, kind, amount, limits[line], reason))
    # One account per company and branch that lends to it.
    branches = {
        company: dict.fromkeys(branch for _, owner, _, branch, *_ in lines if owner == company)
        for company, *_ in given["company"]
    }
    first = facts["first_day"]
    accounts = [
        (f"A-{c}-{i}", c, branch, first - timedelta(days=400 + 10 * i), 200 + (len(c) * 137 + i * 311) % 4000)
        for c, its in branches.items()
        for i, branch in enumerate(its, start=1)
    ]
    shares = [(f"S-{i:02}", *row) for i, row in enumerate(given["shareholding"], start=1)]
    return given | {
        "credit_line": [(*row[:5], limits[row[0]], *row[6:]) for row in lines],
        "credit_change": changes,
        "account": accounts,
        "bank_transaction": list(_transactions(tenant, accounts, facts)),
        "shareholding": shares,
        "control": [(holder, held, since) for _, holder, held, share, since in shares if share > 50],
        "affiliation": sorted(_affiliations(given, shares)),
        "rating": [(f"T-{i:02}", *row) for i, row in enumerate(given["rating"], start=1)],
    }


def _transactions(tenant: Mapping[str, Any], accounts: Sequence[Row], facts: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the year's payments in order of the day: contracts are paid by the buyer, transfers as told."""
    account_of: dict[str, str] = {}
    for account, company, *_ in accounts:
        account_of.setdefault(company, account)
    first, last = facts["first_day"], facts["last_day"]
    plans: list[tuple[str, str, str, int, float, date, date | None, float]] = [
        (buyer, supplier, "goods", 4, amount / 40, start, None, 1.0)
        for _, supplier, buyer, _, _, amount, start, _ in tenant.get("contract", ())
    ]
    plans += [(p, q, why, n, amount, first, since, f) for p, q, why, n, amount, since, f in tenant.get("transfer", ())]
    payments: list[tuple[date, str, str, float, str]] = []
    for number, (payer, payee, purpose, monthly, usual, start, since, factor) in enumerate(plans):
        # random() alone is promised to be the same in every version of Python.
        draw = random.Random(SEED * 1000 + number).random  # noqa: S311
        day = max(start, first)
        while day <= last:
            if draw() < monthly / 30:
                spread = math.exp(0.35 * (draw() + draw() + draw() - 1.5))
                amount = round(usual * spread * (factor if since is not None and day >= since else 1.0), 2)
                payments.append((day, payer, payee, amount, purpose))
            day += timedelta(days=1)
    payments.sort(key=lambda payment: payment[0])
    for i, (day, payer, payee, amount, purpose) in enumerate(payments, start=1):
        yield f"TX-{i:05}", account_of[payer], payer, payee, day, amount, purpose


def _affiliations(given: Mapping[str, Sequence[Row]], shares: Sequence[Row]) -> set[Row]:
    """Return (company, related company, basis) both ways: one group, control, or a guarantee between them."""
    basis_of = {frozenset(row[1:3]): "guarantee" for row in given["guarantee"]}
    for one, other in combinations(given["company"], 2):
        if one[5] and one[5] == other[5]:
            basis_of[frozenset((one[0], other[0]))] = "group"
    basis_of |= {frozenset((holder, held)): "control" for _, holder, held, share, _ in shares if share > 50}
    return {(one, other, basis) for pair, basis in basis_of.items() for one, other in permutations(pair)}
