"""The sample domain "enterprise credit": an ontology, notes in two languages and a database, all invented."""

from theworld.demo.credit.database import build_database, load_facts
from theworld.demo.credit.sample import (
    CreditQuestion,
    load_credit_ontology,
    load_credit_questions,
    notes_dir,
    write_sample,
)

__all__ = [
    "CreditQuestion",
    "build_database",
    "load_credit_ontology",
    "load_credit_questions",
    "load_facts",
    "notes_dir",
    "write_sample",
]
