"""Models the tests of this folder parse into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict


class User(BaseModel):
    name: str
    age: int


class Config(BaseModel):
    host: str
    port: int


class SearchQuery(BaseModel):
    query: str = Field(description="搜索关键词")
    max_results: int = Field(default=5, description="最大结果数")


class Mode(Enum):
    REFUND = "refund"
    CANCEL_ORDER = "cancel-order"
    SUPPORT = "Technical Support"


class Item(BaseModel):
    title: str
    price: float = 0.0
    mode: Mode | None = None
    speed: Literal["fast", "slow"] = "fast"
    day: date | None = None
    sold: bool = False
    tags: list[str] = []
    weight_kg: float | None = None


class Basket(BaseModel):
    items: list[Item]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    bark: str


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Tree(BaseModel):
    label: str
    children: list[Tree] = []


class Aliased(BaseModel):
    user_name: str = Field(alias="userName")
    count: int = Field(default=0, validation_alias="numberOf")


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    pair: tuple[int, int]


class Defaults(BaseModel):
    host: str = "localhost"
    port: int = 80


class Code(BaseModel):
    code: str
    language: str = "python"


class Numbers(RootModel[list[int]]):
    pass


@dataclass
class Point:
    x: int
    y: int = 0


class Movie(TypedDict):
    title: str
    year: int


SHAPES: dict[str, object] = {
    name: shape
    for name, shape in list(globals().items())
    if isinstance(shape, type) and getattr(shape, "__module__", "") == __name__
} | {
    "list[Item]": list[Item],
    "list[User]": list[User],
    "Cat | Dog": Cat | Dog,
    "int": int,
    "bool": bool,
    "dict[str, int]": dict[str, int],
}
