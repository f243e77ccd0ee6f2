"""Coverage-guided fuzzing of the structure package: only StructureParseError may come out, and a value must validate.

pip install -e ".[fuzz]"
python benchmarks/fuzz_structure.py CORPUS_DIR -runs=100000 -max_len=1500
"""

from __future__ import annotations

import sys

import atheris
from pydantic import BaseModel

with atheris.instrument_imports(include=["theworld.structure"]):
    from theworld.structure import StructureParseError, parse_with_report


class Item(BaseModel):
    title: str
    tags: list[str] = []
    count: int | None = None


def parse_one(data: bytes) -> None:
    text = atheris.FuzzedDataProvider(data).ConsumeUnicode(2000)
    try:
        value = parse_with_report(text, Item).value
    except StructureParseError:
        return
    assert isinstance(value, Item)
    Item.model_validate(value.model_dump())


if __name__ == "__main__":
    atheris.Setup(sys.argv, parse_one)
    atheris.Fuzz()
