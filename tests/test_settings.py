"""Sources, their order, origins, and what is said about wrong values."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from theworld.errors import SettingsError
from theworld.settings import Settings, SparseSettings, setting_value, settings_origins
from theworld.settings.sources import allowed, leaves
from theworld.stores.projections import Engines


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.upper().startswith(("THEWORLD_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(origins: Settings) -> dict[str, str]:
    return {name: str(origin) for name, origin in settings_origins(origins).items() if origin.kind != "default"}


def test_without_sources_everything_is_a_default() -> None:
    settings = Settings.load()
    assert given(settings) == {}
    assert settings.model_dump() == Settings().model_dump()
    assert settings.retrieval.deadline_ms == 1200


def test_the_order_of_sources(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "retrieval.deadline_ms"
    steps = []

    def note() -> None:
        settings = Settings.load(**arguments)
        steps.append((settings.retrieval.deadline_ms, given(settings).get(name, "default")))

    arguments: dict[str, dict[str, int]] = {}
    note()
    (empty_folder / "theworld.toml").write_text("[retrieval]\ndeadline_ms = 1\ntop_k = 9\n", encoding="utf-8")
    note()
    (empty_folder / ".env").write_text("THEWORLD_RETRIEVAL__DEADLINE_MS=2\nUNRELATED=1\n", encoding="utf-8")
    note()
    monkeypatch.setenv("THEWORLD_RETRIEVAL__DEADLINE_MS", "3")
    note()
    arguments["retrieval"] = {"deadline_ms": 4}
    note()
    assert steps == [
        (1200, "default"),
        (1, "file theworld.toml"),
        (2, "file .env (THEWORLD_RETRIEVAL__DEADLINE_MS)"),
        (3, "environment THEWORLD_RETRIEVAL__DEADLINE_MS"),
        (4, "argument"),
    ]
    assert Settings.load(**arguments).retrieval.top_k == 9, "sources are merged setting by setting"


def test_sections_as_objects_and_json_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_RETRIEVAL", '{"top_k": 7}')
    monkeypatch.setenv("THEWORLD_MODEL__NAME", "")
    settings = Settings.load(store=None, rerank={"kind": "none"})
    assert given(settings) == {"retrieval.top_k": "environment THEWORLD_RETRIEVAL", "rerank.kind": "argument"}
    assert settings.model.name is None, "an empty variable counts as not set"


def test_the_variables_of_openai_are_the_last_resort(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty_folder / ".env").write_text("OPENAI_API_KEY=hush\n", encoding="utf-8")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    settings = Settings.load()
    assert settings.model.base_url == "http://localhost:1/v1"
    assert given(settings) == {
        "model.base_url": "environment OPENAI_BASE_URL",
        "model.api_key": "file .env (OPENAI_API_KEY)",
    }
    monkeypatch.setenv("THEWORLD_MODEL__BASE_URL", "http://localhost:2/v1")
    assert Settings.load().model.base_url == "http://localhost:2/v1"
    assert "hush" not in repr(Settings.load())


@pytest.mark.parametrize(
    ("variables", "parts"),
    [
        (
            {"THEWORLD_RETRIEVAL__DEADLINE_MS": "0"},
            ["THEWORLD_RETRIEVAL__DEADLINE_MS", "'0'", "whole number >= 1 and <= 600000"],
        ),
        ({"THEWORLD_RETRIEVAL__TOP_K": "many"}, ["retrieval.top_k is 'many'", ">= 1 and <= 1000"]),
        ({"THEWORLD_TAGGER__ENGLISH": "stanza"}, ["tagger.english is 'stanza'", "one of auto, spacy, pattern"]),
        ({"THEWORLD_MODEL__TIMEOUT_S": "nan"}, ["model.timeout_s is 'nan'", "a number > 0 and <= 600"]),
        ({"THEWORLD_RETRIEVAL__DEADLIN": "5"}, ["retrieval.deadlin is no setting", "mean retrieval.deadline_ms?"]),
        ({"THEWORLD_RETRIEVAL_TOP_K": "5"}, ["is no setting", "Did you mean THEWORLD_RETRIEVAL__TOP_K?"]),
        ({"theworld_zzz": "5"}, ["theworld_zzz: is no setting", "theworld info"]),
        ({"THEWORLD_RETRIEVAL": "{x"}, ["THEWORLD_RETRIEVAL: must be a JSON object"]),
        ({"THEWORLD_RETRIEVAL": "5"}, ["THEWORLD_RETRIEVAL: retrieval is wrong"]),
        (
            {"THEWORLD_RETRIEVAL__FUSION__K": "60", "THEWORLD_DENSE__TIMEOUT_S": "2"},
            ["THEWORLD_RETRIEVAL__FUSION__K: retrieval.fusion.k is no setting.", "Use servers.timeout_s"],
        ),
        (
            {"THEWORLD_RETRIEVAL__TOP_K": "0", "THEWORLD_RETRIEVAL__PER_CHANNEL": "0"},
            ["retrieval.top_k is '0'", "Also THEWORLD_RETRIEVAL", "retrieval.per_channel is '0'"],
        ),
    ],
)
def test_wrong_variables_are_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], parts: list[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("theworld.toml", "[retrieval]\ntop_k = -5\n", "theworld.toml: retrieval.top_k is -5. Allowed:"),
        ("theworld.toml", "[retrival]\ntop_k = 5\n", "theworld.toml: retrival is no setting."),
        ("theworld.toml", "[retrieval\n", "theworld.toml: is not a readable TOML file:"),
        ("theworld.toml", "retrieval = 3\n", "theworld.toml: retrieval is wrong:"),
        (".env", "THEWORLD_ZZZ=1\n", ".env: THEWORLD_ZZZ: is no setting"),
        (".env", "THEWORLD_RERANK__POOL=0\n", ".env (THEWORLD_RERANK__POOL): rerank.pool is '0'."),
    ],
)
def test_wrong_files_are_named(empty_folder: Path, file: str, content: str, message: str) -> None:
    (empty_folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        Settings.load()
    assert message in str(caught.value)


def test_files_that_are_no_text_are_named(empty_folder: Path) -> None:
    for name in ("theworld.toml", ".env"):
        (empty_folder / name).write_bytes(b"\xff\xfe\x00a")
        with pytest.raises(SettingsError, match=f"{name}: .*UTF-8|{name}: is not a readable"):
            Settings.load()
        (empty_folder / name).unlink()


def test_wrong_arguments_are_named_and_secrets_are_not_shown() -> None:
    with pytest.raises(SettingsError, match=r"argument bogus: bogus is no setting"):
        Settings.load(bogus=1)
    with pytest.raises(SettingsError, match=r"argument retrieval\.top_k: retrieval\.top_k is 0\."):
        Settings.load(retrieval={"top_k": 0})
    with pytest.raises(SettingsError, match=r"model\.api_key is \(hidden\)") as caught:
        Settings.load(model={"api_key": 12345})
    assert "12345" not in str(caught.value)


def test_arguments_of_the_class_are_refused_as_those_of_load() -> None:
    with pytest.raises(SettingsError, match=r"argument stor: stor is no setting. Did you mean store?"):
        Settings(stor="x")
    with pytest.raises(SettingsError, match=r"argument retrieval.top_k: retrieval.top_k is 0. Allowed: a whole"):
        Settings(retrieval={"top_k": 0})


def test_every_setting_is_described_and_has_an_allowed_range() -> None:
    for name, field in leaves(Settings):
        assert field.description, name
        assert allowed(field), name
        assert setting_value(Settings(), name) == field.default


def test_settings_made_without_load_still_have_origins() -> None:
    assert given(Settings(retrieval={"top_k": 3})) == {"retrieval.top_k": "argument"}  # type: ignore[arg-type]


def test_a_tilde_in_the_store_is_the_home(monkeypatch: pytest.MonkeyPatch, empty_folder: Path) -> None:
    monkeypatch.setenv("HOME", str(empty_folder))
    assert Settings.load(store="~/s").store == empty_folder / "s"


def test_variables_of_the_tests_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_TEST_NEO4J_URL", "bolt://localhost:7687")
    Settings.load()
    monkeypatch.setenv("THEWORLD_TESTING", "1")
    with pytest.raises(SettingsError, match="THEWORLD_TESTING"):
        Settings.load()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"url": "ftp://search"}, "url must begin with http:// or https://"),
        ({"url": "http://me:secret@search:9200"}, "must hold no password"),
        ({"url": "http://s", "username": "a", "password": "b", "password_file": "c"}, "contradict"),
        ({"url": "http://s", "password": "b"}, "needs a username"),
        ({"url": "http://s", "timeout_s": 3}, "sparse.timeout_s is no setting.*Use servers.timeout_s instead"),
    ],
)
def test_an_engine_that_cannot_be_meant_is_refused(given: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        Settings.load(sparse=given)
    assert "secret" not in str(caught.value)


def test_an_engine_comes_from_the_environment_and_its_password_stays_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_GRAPH__URL", "neo4j+s://graph:7687")
    monkeypatch.setenv("THEWORLD_GRAPH__USERNAME", "reader")
    monkeypatch.setenv("THEWORLD_GRAPH__PASSWORD", "hunter2")
    settings = Settings.load()
    assert settings.graph.url == "neo4j+s://graph:7687"
    assert "hunter2" not in repr(settings) + str(settings.model_dump()) + settings.model_dump_json()


def test_all_exported_names_exist():
    import theworld.settings as package

    assert all(hasattr(package, name) for name in package.__all__)


def test_a_secret_may_lie_in_a_file(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = empty_folder / "secret"
    file.write_text("hunter2\n", encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("THEWORLD_MODEL__API_KEY_FILE", str(file))
    (empty_folder / "theworld.toml").write_text('[graph]\nusername = "a"\npassword_file = "secret"\n', encoding="utf-8")
    settings = Settings.load(dense={"url": "http://d", "api_key_file": file})
    assert settings.model.api_key is not None
    assert settings.model.api_key.get_secret_value() == "hunter2"
    assert settings.graph.credentials() == ("a", "hunter2")
    told = given(settings)
    assert told["model.api_key"] == "environment THEWORLD_MODEL__API_KEY_FILE"
    assert (told["graph.password"], told["dense.api_key"]) == ("file theworld.toml", "argument")
    file.unlink()
    with pytest.raises(SettingsError, match=r"api_key_file cannot be read \(.*No such file"):
        Settings.load()


def test_what_servers_share_reaches_each_unless_code_says_otherwise() -> None:
    settings = Settings.load(servers={"timeout_s": 3}, sparse={"url": "http://s"}, dense={"url": "http://d"})
    engines = Engines.of(settings)
    assert (engines.sparse.timeout_s, engines.dense.timeout_s, engines.ledger.timeout_s) == (3, 3, 3)
    assert (engines.sparse.url, engines.dense.url, engines.graph.url) == ("http://s", "http://d", None)
    own = settings.model_copy(update={"sparse": SparseSettings(url="http://s", timeout_s=9, failures=1)})
    assert (Engines.of(own).sparse.timeout_s, Engines.of(own).sparse.failures) == (9, 1)
