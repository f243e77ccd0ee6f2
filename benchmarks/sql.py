"""Questions to a database against hand-written SQL, hostile statements, and time: `python benchmarks/sql.py`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import yaml
from environment import environment

from theworld.demo.credit import write_sample
from theworld.errors import DatabaseError, StatementRefusedError
from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.sql.plan import UnclearError

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))
from sql_answers import agree, one_tenant, read_questions, truth  # noqa: E402

NOW = datetime(2024, 12, 31, 12)  # noqa: DTZ001 - meant in the database's zone


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = write_sample(Path(folder))
        mapped = {"url": f"sqlite:///{paths['database']}", "ontology": paths["ontology"], "timezone": "Asia/Shanghai"}
        settings = Settings(database=mapped)
        database = Database.open(settings.database)
        print(environment(settings))
        questions(database, one_tenant(paths["database"], Path(folder) / "own.sqlite"))
        hostile(database)
        database.close()


def questions(database: Database, own_rows: Path) -> None:
    database.lexicon("default")
    times = []
    for language in ("zh", "en"):
        asked = [item for item in read_questions() if item.language == language]
        answered = exact = 0
        for item in asked:
            begun = time.perf_counter()
            try:
                tables = database.ask(item.question, language=language, tenant="default", now=NOW)
            except UnclearError as error:
                print(f"  declined: {item.question} ({error})")
                continue
            times.append((time.perf_counter() - begun) * 1000)
            wanted = truth(own_rows, item)
            right = len(tables) == len(wanted) and all(
                agree(table.rows, rows, ordered=item.ordered) for table, rows in zip(tables, wanted, strict=True)
            )
            answered, exact = answered + 1, exact + right
            if not right:
                print(f"  WRONG: {item.question}")
        print(f"{language}: {answered} of {len(asked)} answered ({answered / len(asked):.1%}), {exact} exact")
    print(f"reading, checking and running: median {statistics.median(times):.1f} ms")


def hostile(database: Database) -> None:
    table = yaml.safe_load((TESTS / "sql" / "data" / "hostile.yaml").read_text("utf-8"))
    texts = [text for kind, texts in table.items() if kind != "prompts" for text in texts]
    passed = 0
    for text in texts:
        try:
            database.run_text(text, title="hostile", tenant="default", timeout_ms=100)
            passed += 1
        except (StatementRefusedError, DatabaseError):
            continue
    leaked = 0
    for prompt in table["prompts"]:
        try:
            found = database.ask(prompt, language="en", tenant="default", now=NOW)
        except (UnclearError, StatementRefusedError, DatabaseError):
            continue
        leaked += any(not t.sql.startswith("SELECT ") or t.parameters.get("tenant") != "default" for t in found)
    print(f"hostile: {passed} of {len(texts)} statements passed, {leaked} of {len(table['prompts'])} prompts leaked")


if __name__ == "__main__":
    main()
