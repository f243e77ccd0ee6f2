"""Configuration: YAML, updates, mappings; what is wrong is named with its range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from theworld import ReferenceResolver, ReferenceResolverConfig, create_reference_resolver
from theworld.errors import ReferenceConfigError, SettingsError


@pytest.mark.parametrize(
    ("settings", "field", "expected"),
    [
        ({"last_few_turns": 0}, "last_few_turns", ">= 1"),
        ({"recent_turns": -1}, "recent_turns", ">= 1"),
        ({"session_max_turns": 2.5}, "session_max_turns", ">= 1"),
        ({"last_few_turns": True}, "last_few_turns", ">= 1"),
        ({"last_few_turns": "3"}, "last_few_turns", ">= 1"),
        ({"llm_fallback_threshold": 1.5}, "llm_fallback_threshold", "0 to 1"),
        ({"llm_fallback_threshold": float("nan")}, "llm_fallback_threshold", "0 to 1"),
        ({"use_llm_fallback": "yes"}, "use_llm_fallback", "true or false"),
        ({"timezone": "Mars/Base"}, "timezone", "IANA"),
        ({"timezone": "../etc"}, "timezone", "IANA"),
        ({"reference_mappings_cn": []}, "reference_mappings_cn", "mapping"),
        ({"reference_mappings_en": {"": {"scope": "custom", "type": "stance"}}}, "reference_mappings_en", "non-empty"),
        ({"reference_mappings_en": {"x": {"scope": "never", "type": "stance"}}}, "scope", "last_1_3_turns"),
        ({"reference_mappings_en": {"x": {"scope": "custom", "type": "odd"}}}, "type", "temporal"),
        ({"reference_mappings_en": {"x": {"scope": "custom", "type": "none"}}}, "type", "temporal"),
        ({"reference_mappings_en": {"x": {"scope": "custom"}}}, "x", "{scope, type}"),
        ({"reference_mappings_en": {"x": {"scope": ["custom"], "type": "stance"}}}, "scope", "one of"),
    ],
)
def test_wrong_values_are_refused_by_name_value_and_range(settings: dict[str, Any], field: str, expected: str) -> None:
    with pytest.raises(ReferenceConfigError) as caught:
        ReferenceResolverConfig(**settings)
    assert field in str(caught.value)
    assert expected in str(caught.value)
    assert isinstance(caught.value, SettingsError)
    with pytest.raises(ReferenceConfigError):
        ReferenceResolverConfig.from_dict(settings)


def test_yaml_merges_into_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "reference_resolver:\n  session_max_turns: 9\n"
        "  reference_mappings_cn:\n    老样子: {scope: current_session, type: referential}\n",
        encoding="utf-8",
    )
    resolver = create_reference_resolver(path)
    assert resolver.config.session_max_turns == 9
    assert resolver.resolve("老样子").matched_keyword == "老样子"
    assert resolver.resolve("刚才").matched_keyword == "刚才"


@pytest.mark.parametrize(
    "text",
    [
        "replace: true\nreference_mappings_cn:\n  老样子: {scope: current_session, type: referential}\n",
        "reference_mappings_cn:\n  replace: true\n  老样子: {scope: current_session, type: referential}\n",
    ],
)
def test_yaml_may_replace_a_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    config = ReferenceResolverConfig.from_yaml(path)
    assert list(config.reference_mappings_cn) == ["老样子"]
    assert "just" in config.reference_mappings_en


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("", encoding="utf-8")
    assert ReferenceResolverConfig.from_yaml(path) == ReferenceResolverConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "not valid YAML"),
        ("- 1", "not a mapping"),
        ("last_turns: 3", "unknown setting 'last_turns'"),
        ("reference_resolver: 3", "not a mapping"),
        ("replace: maybe", "true or false"),
        ("last_few_turns: many", "last_few_turns: 'many' is out of range"),
        ("reference_mappings_en:\n  yes: {scope: custom, type: stance}\n", "non-empty text"),
    ],
)
def test_wrong_files_are_refused_with_their_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReferenceConfigError, match=rf"config\.yaml: .*{message}"):
        create_reference_resolver(path)


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(ReferenceConfigError, match="nowhere"):
        create_reference_resolver(tmp_path / "nowhere.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReferenceConfigError, match="latin"):
        create_reference_resolver(path)


def test_config_objects_are_copied() -> None:
    config = ReferenceResolverConfig()
    one, two = ReferenceResolver(config), ReferenceResolver(config)
    one.add_mapping("foo", "custom", "stance", "en")
    one.update_config(last_few_turns=9)
    config.reference_mappings_en["bar"] = {"scope": "custom", "type": "stance"}
    assert two.config == ReferenceResolverConfig()
    assert two.resolve("foo bar").matched_keyword is None


def test_a_config_changed_to_something_wrong_is_refused_by_the_resolver() -> None:
    config = ReferenceResolverConfig()
    config.recent_turns = 0
    with pytest.raises(ReferenceConfigError, match="recent_turns"):
        ReferenceResolver(config)


def test_a_refused_update_changes_nothing() -> None:
    resolver = ReferenceResolver()
    with pytest.raises(ReferenceConfigError, match="recent_turns"):
        resolver.update_config(just_now_turns=5, recently_turns=0)
    with pytest.raises(ReferenceConfigError, match="nonsense"):
        resolver.update_config(nonsense=1)
    assert resolver.config == ReferenceResolverConfig()


@pytest.mark.parametrize(
    "arguments",
    [
        ("", "custom", "stance", "en"),
        ("  ", "custom", "stance", "en"),
        ("x", "no", "stance", "en"),
        ("x", "custom", "no", "en"),
        ("x", "custom", "stance", "fr"),
        ("x", "custom", "stance", "auto"),
    ],
)
def test_wrong_mappings_are_refused(arguments: tuple[str, str, str, str]) -> None:
    resolver = ReferenceResolver()
    with pytest.raises(ReferenceConfigError):
        resolver.add_mapping(*arguments)
    assert resolver.config == ReferenceResolverConfig()


def test_an_unknown_language_is_an_error() -> None:
    for language in ("fr", "CN", "", None):
        with pytest.raises(ReferenceConfigError, match="cn, zh, en, auto"):
            ReferenceResolver(language=language)
    assert ReferenceResolver(language="zh").language == "cn"


def test_rewriting_can_be_turned_off() -> None:
    resolver = create_reference_resolver(rewrite=False)
    history = [{"role": "user", "content": "Redis是什么？"}, {"role": "assistant", "content": "数据库"}]
    assert resolver.resolve("它支持集群吗？", history).standalone_query is None


def test_a_method_is_no_setting() -> None:
    with pytest.raises(ReferenceConfigError, match="unknown setting"):
        ReferenceResolver().update_config(validate=1)
