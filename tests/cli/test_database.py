"""`theworld database`: a database alone is drafted, looked at and asked."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scripted_server import scripted_server

LEAGUE = Path(__file__).parents[1] / "sql" / "data" / "league.sql"


@pytest.fixture
def league(tmp_path):
    with closing(sqlite3.connect(tmp_path / "league.sqlite")) as connection, connection:
        connection.executescript(LEAGUE.read_text("utf-8"))
    return tmp_path / "league.sqlite"


def test_a_database_alone_is_asked(cli, league):
    done = cli("database", "ask", str(league), "How many players are from Sweden?", "--json")
    assert done.code == 0
    (table,) = json.loads(done.out)["tables"]
    assert table["rows"] == [[2]]
    told = cli("database", "ask", f"sqlite:///{league}", "Which team has the most players?").out
    assert "River Foxes 3" in told
    assert "SELECT" in told


def test_a_question_that_is_not_read_ends_with_one_and_near_names(cli, league):
    done = cli("database", "ask", str(league), "How many plyers are there?")
    assert (done.code, done.out) == (1, "")
    assert "player" in done.err
    assert "can be added to `called`" in done.err
    told = json.loads(cli("database", "ask", str(league), "How many plyers are there?", "--json").out)
    assert told["answered"] is False


def test_a_chinese_question_is_declined_in_chinese(cli, league):
    done = cli("database", "ask", str(league), "有多少plyer？")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "未作答：数据库中没有这些词语：plyer",
        "  没有名为“plyer”的内容；相近的有 player、players",
        "  可以在映射文件中，把一个词加到它所指之物的 `called` 里",
    ]
    told = json.loads(cli("database", "ask", str(league), "有多少plyer？", "--json").out)
    assert told["reason"] == "these words mean nothing to the database: plyer"
    shown = cli("database", "ask", str(league), "有多少球员？").out
    assert shown.splitlines()[-1].endswith(" 毫秒")


def test_what_cannot_be_drafted_is_named(cli, league, tmp_path):
    for name, content in (("bad.sqlite", "no database"), ("x.csv", "a,b")):
        (tmp_path / name).write_text(content, "utf-8")
        done = cli("database", "draft", str(tmp_path / name))
        assert done.code == 2
        assert "neither an SQLite database nor a mapping file" in " ".join(done.err.replace("│", " ").split())
    done = cli("database", "draft", str(league), "--out", str(tmp_path / "none" / "x.yaml"))
    assert done.code == 2
    assert "there is no folder" in done.err
    assert ".partial" not in done.err


def test_a_draft_is_kept_and_merged(cli, league, tmp_path):
    file = tmp_path / "league.yaml"
    assert cli("database", "draft", str(league), "--out", str(file)).code == 0
    mine = file.read_text("utf-8").replace("called: [player, 球员, 选手]", "called: [athlete]")
    assert "athlete" in mine
    file.write_text(mine, "utf-8")
    with closing(sqlite3.connect(league)) as connection, connection:
        connection.execute("ALTER TABLE player ADD COLUMN nickname TEXT")
        connection.execute("ALTER TABLE game DROP COLUMN spectators")
    done = cli("database", "draft", str(league), "--out", str(file))
    assert "player.nickname" in done.err
    assert "game.spectators" in done.err
    assert "athlete" in file.read_text("utf-8")


def test_a_mapping_of_another_database_is_not_added_to(cli, league, tmp_path):
    other, file = tmp_path / "other.sqlite", tmp_path / "league.yaml"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.executescript("CREATE TABLE shop (id INTEGER PRIMARY KEY); CREATE VIEW few AS SELECT id FROM shop")
    assert cli("database", "draft", str(league), "--out", str(file)).code == 0
    before = file.read_text("utf-8")
    done = cli("database", "draft", str(other), "--out", str(file))
    said = "".join(done.err.replace("│", " ").split())
    assert (done.code, file.read_text("utf-8")) == (2, before)
    assert "isofleague(sqlite:///" in said
    assert "notofother(sqlite:///" in said
    alone = cli("database", "draft", str(other), "--out", str(tmp_path / "other.yaml"))
    assert "1 left out (views, tables of other schemas): few" in alone.err


def test_a_mapping_file_is_checked_and_asked(cli, league, tmp_path):
    file = tmp_path / "league.yaml"
    cli("database", "draft", str(league), "--out", str(file))
    looked = cli("database", "check", str(file))
    assert looked.code == 0
    assert "How many" in looked.out
    assert "is_deleted = 0" in looked.out
    assert "), dated by scheduled_on" in looked.out
    assert "River Foxes" in cli("database", "ask", str(file), "哪个球队的球员最多？").out
    dry = cli("database", "ask", str(file), "How many players are from Sweden?", "--dry-run").out
    assert "nationality: Sweden" in dry


def test_which_tenant_is_asked_is_said(cli, tmp_path):
    source, file = tmp_path / "x.sqlite", tmp_path / "x.yaml"
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.executescript(
            "CREATE TABLE person (id INTEGER PRIMARY KEY, tenant_id TEXT, name TEXT);"
            "INSERT INTO person VALUES (1, 'acme', 'Ann Lee'), (2, 'globex', 'Zed Orr'), (3, 'globex', 'Yan Ip')"
        )
    drafted = cli("database", "draft", str(source), "--out", str(file))
    assert "rows are shown only to the tenant named in person.tenant_id" in " ".join(drafted.err.split())
    asked = "database", "ask", str(file), "How many people are there?"
    done = cli(*asked, "--tenant", "globex", "--json")
    assert (json.loads(done.out)["tables"][0]["rows"], done.err) == ([[2]], "")
    done = cli(*asked, "--json")
    assert json.loads(done.out)["tables"][0]["rows"] == [[0]]
    assert "only rows of the tenant 'default' are asked (person.tenant_id); --tenant names another" in done.err
    assert "rows are shown only to the tenant named in tenant_id" in cli("database", "check", str(file)).out
    done = cli("database", "ask", str(source), "How many people are there?", "--json")
    assert json.loads(done.out)["tables"][0]["rows"] == [[3]]
    assert "the rows of all tenants are asked (person.tenant_id)" in done.err
    assert "several tenants" in cli("database", "ask", str(source), "How many people?", "--tenant", "acme").err


def test_other_files_are_refused(cli, tmp_path):
    (tmp_path / "notes.yaml").write_text("id: x\n", "utf-8")
    assert cli("database", "ask", str(tmp_path / "notes.yaml"), "how many?").code == 2
    assert cli("database", "ask", "nowhere.sqlite", "how many?").code == 2


def test_a_confirmed_question_is_recalled_and_run_as_a_test(cli, league, tmp_path):
    file = tmp_path / "league.yaml"
    cli("database", "draft", str(league), "--out", str(file))
    assert cli("database", "confirm", str(file), "How many players are from Sweden?").code == 0
    hard = "Which player is the heaviest for the position?"
    statement = "SELECT last_name, weight_kg FROM player WHERE position = 2 ORDER BY weight_kg DESC LIMIT 1"
    assert cli("database", "confirm", str(file), hard, "--sql", statement).code == 0
    assert "nationality" in file.read_text("utf-8").partition("questions:")[2]
    (table,) = json.loads(cli("database", "ask", str(file), hard, "--json").out)["tables"]
    assert table["rows"] == [["Moss", 90]]
    assert "confirmed" in table["reading"][0]
    assert cli("database", "check", str(file)).code == 0
    broken = file.read_text("utf-8").replace("position = 2", "password = 2")
    file.write_text(broken, "utf-8")
    done = cli("database", "check", str(file))
    assert done.code == 1
    assert "fails" in done.out


def test_what_cannot_be_kept_is_refused(cli, league, tmp_path):
    file = tmp_path / "league.yaml"
    cli("database", "draft", str(league), "--out", str(file))
    before = file.read_text("utf-8")
    assert cli("database", "confirm", str(file), "How many games were there last month?").code == 2
    assert cli("database", "confirm", str(file), "How many coaches are there?").code == 2
    assert cli("database", "confirm", str(file), "x", "--sql", "DELETE FROM player").code != 0
    assert file.read_text("utf-8") == before


def test_a_model_is_asked_for_names_where_one_is_configured(cli, league, tmp_path, monkeypatch):
    refused = cli("database", "draft", str(league), "--ask-model")
    assert refused.code == 2
    assert "model.name" in refused.err
    reply = {"tables": {"team": {"called": ["squad"]}}}
    with scripted_server() as server:
        for name, value in {"NAME": "scripted", "BASE_URL": server.url, "API_KEY": "none"}.items():
            monkeypatch.setenv(f"THEWORLD_MODEL__{name}", value)
        for _ in range(2):
            message = {"role": "assistant", "content": json.dumps(reply)}
            server.sends(200, {"choices": [{"message": message, "finish_reason": "stop"}], "model": "scripted"})
        done = cli("database", "draft", str(league), "--out", str(tmp_path / "m.yaml"), "--ask-model")
    assert (done.code, "1 name proposed by scripted" in done.err) == (0, True), done.err
    assert "proposed: [squad]" in (tmp_path / "m.yaml").read_text("utf-8")


def test_beside_unsure_passages_it_is_said_why_the_database_did_not_answer(cli, store, league, monkeypatch):
    monkeypatch.setenv("THEWORLD_DATABASE__URL", f"sqlite:///{league}")
    told = " ".join(cli("ask", "headcount of players by zodiac sign", "--store", str(store), "--no-model").out.split())
    assert "the database" in told
    assert "headcount" in told.rpartition("read for")[2]
