"""What a report tells of the way from a text to a value."""

from __future__ import annotations

import pytest

from theworld.structure import StructureParseError, parse_structured_output, parse_with_report

from .structure_shapes import Item, User


def test_valid_json_needs_no_repair():
    report = parse_with_report('{"name": "A", "age": 1}', User)
    assert (report.strategy, report.repairs, report.truncated) == ("direct_json", (), False)
    assert report.lossless
    assert report.alternatives == ()


def test_repairs_say_where_what_was_what_became_and_why():
    report = parse_with_report('{"title": "A", "price": "1,234", "mode": "REFUND",}', Item)
    by_path = {repair.path: repair for repair in report.repairs}
    price = by_path["price",]
    assert (price.was, price.became) == ("1,234", 1234)
    assert "separators" in price.why
    assert by_path["mode",].became == "refund"
    assert report.attempts[0]["strategy"] == "direct_json"


def test_truncation_is_told():
    report = parse_with_report('{"name": "A", "age": 1, "extra": {"b": 2}, "rest": "cut o', User)
    assert report.truncated
    assert not report.lossless


def test_a_number_larger_than_any_float_is_kept():
    report = parse_with_report("{name: A, age: " + "9" * 400 + "}", User)
    assert report.value.age == 10**400 - 1
    assert report.lossless


def test_duplicate_keys_are_told():
    report = parse_with_report('{"name": "A", "name": "B", age: 1}', User)
    assert [repair.was for repair in report.repairs if repair.kind == "dropped"] == ["a name"]
    assert not report.lossless


def test_the_error_names_the_field_that_is_wrong():
    with pytest.raises(
        StructureParseError, match=r"^No strategy found a valid User in the content: age: Field required. See"
    ):
        parse_structured_output('{"name": "A"}', User)
