"""The sample domain "enterprise credit": an ontology, notes in two languages and a database, all invented."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from theworld.demo.credit.database import build_database, load_facts
from theworld.ontology import EntitySample, Labels, Ontology, check_ontology, parse_ontology, to_yaml
from theworld.text import Language

_LISTS = ("region", "industry", "corporate_group", "company", "bank", "branch", "role")
_CLASSES = {name: name for name in _LISTS} | {"corporate_group": "group"}
"""Class of the samples made of each list of facts.yaml."""
_STATED: dict[str, dict[int, tuple[str, str]]] = {
    "company": {3: ("in_industry", "industry"), 4: ("located_in", "region"), 5: ("member_of", "corporate_group")},
    "bank": {3: ("bank_in", "region")},
    "branch": {3: ("branch_of", "bank"), 4: ("branch_in", "region")},
    "region": {3: ("part_of_region", "region")},
    "industry": {3: ("part_of_industry", "industry")},
}
"""Relation that a column of a list states, and the list of its targets."""


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
    shares = facts["shareholding"]
    stated = [  # what companies have to do with each other
        *((holder, "controls" if share > 50 else "holds_shares", held) for holder, held, share, _ in shares),
        *((guarantor, "guarantees", guaranteed) for _, guarantor, guaranteed, *_ in facts["guarantee"]),
        *((supplier, "supplies", buyer) for _, supplier, buyer, *_ in facts["contract"]),
        *((payer, "transacts_with", payee) for payer, payee, *_ in facts["transfer"]),
    ]
    between: dict[str, dict[str, list[str]]] = {}
    for source, relation, target in dict.fromkeys(stated):
        between.setdefault(source, {}).setdefault(relation, []).append(f"company_{target}")
    also = {company: (zh, en) for company, zh, en in facts["also_called"]}
    for table in _LISTS:
        class_id = _CLASSES[table]
        for row in facts[table]:
            more: tuple[str, ...] = ()
            related: dict[str, tuple[str, ...]] = {}
            values: dict[str, str | int | float] = {}
            for column, (relation, targets) in _STATED.get(table, {}).items():
                if row[column]:
                    related[relation] = (f"{_CLASSES[targets]}_{row[column]}",)
            if table == "company":
                more = also.get(row[0], ())
                related |= {name: tuple(some) for name, some in between.get(row[0], {}).items()}
                values = {"registered_capital": row[6], "founded_on": str(row[7]), "status": row[8]}
            labels = Labels(zh=(row[1], *more[:1]), en=(row[2], *more[1:]))
            id_ = f"{class_id}_{row[0]}"
            yield EntitySample(id=id_, of=class_id, key=row[0], labels=labels, facts=related, values=values)
    for key, supplier, buyer, zh, en, *_ in facts["contract"]:
        parties = {"contract_supplier": (f"company_{supplier}",), "contract_buyer": (f"company_{buyer}",)}
        labels = Labels(zh=zh, en=en)
        yield EntitySample(id=f"contract_{key}", of="contract", key=key, labels=labels, facts=parties)


class CreditQuestion(BaseModel):
    """A question in one language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(description="Name of the question, with its language")
    language: Language = Field(description="Its language")
    question: str = Field(description="The question as asked")
    notes: tuple[str, ...] = Field(description="Ids of all notes that a full answer rests on, in either language")
    answers: tuple[str, ...] = Field(description="One of them must be said")
    apart: bool = Field(default=False, description="Written apart from the code, before anyone saw what it makes of it")
    held_back: bool = Field(
        default=False, description="Of the third, chosen by a hash of the id, that nothing is tuned on"
    )


def load_credit_questions() -> list[CreditQuestion]:
    """Return the questions, each in Chinese and then in English."""
    rows = yaml.safe_load((files("theworld.demo.credit") / "questions.yaml").read_text("utf-8"))
    languages: tuple[Language, ...] = ("zh", "en")
    return [
        CreditQuestion(
            id=f"{row['id']}-{language}",
            language=language,
            question=row[language],
            notes=tuple(f"{document}.md#0" for document in row["notes"]),
            answers=tuple(row["answers"][language]),
            apart=row.get("apart", False),
            held_back=hashlib.blake2b(row["id"].encode(), digest_size=4).digest()[0] % 3 == 0,
        )
        for row in rows
        for language in languages
    ]
