"""Questions to a database that has only been drafted: `python benchmarks/databases.py DB QUESTIONS OUT`.

Each line of the questions has `id`, `question`, `lang`, `now`; a mapping file may follow as a fourth argument. What is
written, a line a question, is what a judge of rows reads: `id`, `answered`, `rows`.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

from environment import environment

from theworld.settings import Settings
from theworld.sql.database import Database
from theworld.sql.plan import UnclearError


def main() -> None:
    database, questions, out, *mapping = (Path(name) for name in sys.argv[1:])
    mapped = {"url": f"sqlite:///{database.resolve()}", "ontology": mapping[0] if mapping else None}
    settings = Settings(database={**mapped, "timezone": "Asia/Shanghai"})
    print(environment(settings))
    answered = []
    with closing(Database.open(settings.database)) as opened:
        for line in questions.read_text("utf-8").splitlines():
            asked = json.loads(line)
            now = datetime.fromisoformat(asked["now"])
            try:
                tables = opened.ask(asked["question"], language=asked["lang"], tenant="default", now=now)
            except UnclearError as error:
                print(f"  declined {asked['id']}: {error}")
                answered.append({"id": asked["id"], "answered": False})
                continue
            rows = [list(row) for table in tables for row in table.rows]
            answered.append({"id": asked["id"], "answered": True, "rows": rows})
    out.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in answered), "utf-8")
    print(f"{sum(one['answered'] for one in answered)} of {len(answered)} answered")


if __name__ == "__main__":
    main()
