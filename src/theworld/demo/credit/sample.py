"""The parts of the sample domain together: ontology with samples, notes, database."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from theworld.demo.credit.database import build_database, load_facts
from theworld.ontology import EntitySample, Labels, Ontology, check_ontology, parse_ontology, to_yaml

_CLASSES = {
    "region": "region",
    "industry": "industry",
    "corporate_group": "group",
    "company": "company",
    "bank": "bank",
    "branch": "branch",
    "role": "role",
}
"""Class of the samples made of each list of facts.yaml."""
_COLUMNS: dict[str, dict[int, str]] = {
    "company": {3: "in_industry", 4: "located_in", 5: "member_of"},
    "bank": {3: "bank_in"},
    "branch": {3: "branch_of", 4: "branch_in"},
    "region": {3: "part_of_region"},
    "industry": {3: "part_of_industry"},
}
"""Relations that a column of a list states."""


def notes_dir() -> Path:
    """Return the folder of the domain's notes: Markdown, in `en` and `zh`."""
    return Path(__file__).with_name("notes")


@cache
def load_credit_ontology() -> Ontology:
    """Return the domain's ontology, with companies, banks and places as samples."""
    text = (files("theworld.demo.credit") / "ontology.yaml").read_text("utf-8")
    bare = parse_ontology(text, where="demo/credit/ontology.yaml")
    whole = bare.model_copy(update={"samples": tuple(_samples(load_facts()))})
    return check_ontology(whole, where="demo/credit")


def write_sample(folder: Path, *, last_day: date | None = None) -> dict[str, Path]:
    """Write `ontology.yaml`, `notes/` and `credit.sqlite` into a folder; return the paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    ontology, notes = folder / "ontology.yaml", folder / "notes"
    ontology.write_text(to_yaml(load_credit_ontology()), "utf-8")
    shutil.copytree(notes_dir(), notes, dirs_exist_ok=True)
    database = build_database(folder / "credit.sqlite", last_day=last_day)
    return {"ontology": ontology, "notes": notes, "database": database}


def _samples(facts: Mapping[str, Any]) -> Iterator[EntitySample]:
    facts_of = _facts_between(facts)
    also = {company: (zh, en) for company, zh, en in facts["also_called"]}
    for table, class_id in _CLASSES.items():
        for row in facts[table]:
            more = also.get(row[0], ()) if table == "company" else ()
            zh, en = (row[1], *more[:1]), (row[2], *more[1:])
            own = facts_of.get((table, row[0]), {})
            stated = {_COLUMNS[table][i]: (row[i],) for i in _COLUMNS.get(table, ()) if row[i]}
            related = {
                name: tuple(f"{_CLASSES[_TARGETS.get(name, 'company')]}_{target}" for target in targets)
                for name, targets in {**stated, **own}.items()
            }
            labels = Labels(zh=zh, en=en)
            values = _values(table, row)
            id_ = f"{class_id}_{row[0]}"
            yield EntitySample(id=id_, of=class_id, key=row[0], labels=labels, facts=related, values=values)
    for key, supplier, buyer, zh, en, *_ in facts["contract"]:
        parties = {"contract_supplier": (f"company_{supplier}",), "contract_buyer": (f"company_{buyer}",)}
        labels = Labels(zh=zh, en=en)
        yield EntitySample(id=f"contract_{key}", of="contract", key=key, labels=labels, facts=parties)


def _values(table: str, row: Sequence[Any]) -> dict[str, str | int | float]:
    if table != "company":
        return {}
    return {"registered_capital": row[6], "founded_on": str(row[7]), "status": row[8]}


_TARGETS = {
    "in_industry": "industry",
    "located_in": "region",
    "member_of": "corporate_group",
    "bank_in": "region",
    "branch_of": "bank",
    "branch_in": "region",
    "part_of_region": "region",
    "part_of_industry": "industry",
}
"""List that a relation's targets are in; companies where nothing is said."""


def _facts_between(facts: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, list[str]]]:
    """Return what companies have to do with each other: (list, id) -> relation -> ids."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}

    def add(source: str, relation: str, target: str) -> None:
        targets = found.setdefault(("company", source), {}).setdefault(relation, [])
        if target not in targets:
            targets.append(target)

    for holder, held, share, _ in facts["shareholding"]:
        add(holder, "controls" if share > 50 else "holds_shares", held)
    for _, guarantor, guaranteed, *_ in facts["guarantee"]:
        add(guarantor, "guarantees", guaranteed)
    for _, supplier, buyer, *_ in facts["contract"]:
        add(supplier, "supplies", buyer)
    for payer, payee, *_ in facts["transfer"]:
        add(payer, "transacts_with", payee)
    return found
