"""Values that no caller should pass and some will."""

from __future__ import annotations

from typing import Any


class Unsayable:
    """Raises when it is shown or compared."""

    __hash__ = object.__hash__

    def __str__(self) -> str:
        raise RuntimeError("never ask")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("never compare")


class NoNumber:
    def __float__(self) -> float:
        raise RuntimeError("no number")


class NoText(str):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def strip(self, *_: Any) -> str:
        raise RuntimeError("no text")


class NoList:
    def __iter__(self) -> Any:
        raise RuntimeError("no list")


class NoDict(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError("no dict")

    def __getitem__(self, _: Any) -> Any:
        raise RuntimeError("no dict")


CYCLE: dict[str, Any] = {}
CYCLE["entities"] = CYCLE["aliases"] = [CYCLE]
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)

HOSTILE: dict[str, Any] = {
    "none": None,
    "zero": 0,
    "negative": -1,
    "true": True,
    "nan": float("nan"),
    "infinite": float("inf"),
    "huge": 10**400,
    "empty": "",
    "bytes": b"x",
    "bidi": "\u202eevil\u202c\u2066",
    "surrogate": "\ud800",
    "long": "x" * 1_000_000,
    "lang": "龙" * 1_000_000,
    "unsayable": Unsayable(),
    "no number": NoNumber(),
    "no text": NoText("a"),
    "no list": NoList(),
    "no dict": NoDict(a=1),
    "cycle": CYCLE,
    "endless": ENDLESS,
    "list of none": [None],
    "list of unsayable": [Unsayable()],
    "dict of unsayable": {"a": Unsayable()},
    "set": {1, 2},
    "object": object,
}
