"""`theworld wikidata` as people use it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in list(os.environ):
        if name.upper().startswith("THEWORLD_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return partial(cli, "wikidata")


@pytest.fixture
def snapshot(cli: Cli, dump: Path, tmp_path: Path) -> Path:
    out = tmp_path / "wikidata.sqlite"
    assert cli("build", dump, "--out", out)[0] == 0
    return out


def test_build_says_what_it_did(cli: Cli, dump: Path, tmp_path: Path) -> None:
    lines = dump.read_text(encoding="utf-8").splitlines()
    dump.write_text("\n".join([*lines[:3], "{broken,", *lines[3:-1]]), encoding="utf-8")
    code, out, err = cli("build", dump, "--out", tmp_path / "out.sqlite")
    assert (code, out) == (0, "")
    assert "13 entries, 0 left out, 1 bad lines" in err
    assert "line 4: " in err
    assert "only a part" in err


def test_build_as_json(cli: Cli, dump: Path, tmp_path: Path) -> None:
    code, out, _ = cli("build", dump, "--out", tmp_path / "out.sqlite", "--min-sitelinks", 8, "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["entities"], report["left_out"], report["bad_lines"], report["cut_off"]) == (7, 6, [], False)


def test_search_in_the_language_of_the_name(cli: Cli, snapshot: Path) -> None:
    code, out, _ = cli("search", "Turing", "--snapshot", snapshot)
    assert code == 0
    assert out.splitlines()[:2] == [
        "Q7251  Alan Turing · English computer scientist (1912–1954)",
        "    instance of: human; country of citizenship: United Kingdom; occupation: computer scientist; "
        "date of birth: 1912-06-23; date of death: 1954-06-07",
    ]

    code, out, _ = cli("search", "图灵", "--snapshot", snapshot)
    assert code == 0
    assert out.startswith("Q7251  艾伦·图灵 · 英国数学家、计算机科学家\n    性质: 人类; 国籍: 英国; ")


def test_search_as_json_in_the_language_asked(cli: Cli, snapshot: Path) -> None:
    found = json.loads(cli("search", "Paris", "--snapshot", snapshot, "--language", "zh", "--limit", 2, "--json")[1])
    assert [entry["label"] for entry in found["entries"]] == ["巴黎", "帕里斯"]


def test_nothing_found_is_no_failure(cli: Cli, snapshot: Path) -> None:
    assert cli("search", "Zzyzx", "--snapshot", snapshot)[:2] == (0, "No entry has this name.\n")


def test_the_settings_choose_when_no_snapshot_is_given(
    cli: Cli, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Q90" in cli("search", "Paris")[1]
    assert "Q16572" not in cli("search", "羊城")[1]
    monkeypatch.setenv("THEWORLD_WIKIDATA__SNAPSHOT", str(snapshot))
    assert "Q16572" in cli("search", "羊城")[1]


def test_a_truncated_dump(cli: Cli, dump: Path, tmp_path: Path) -> None:
    packed = tmp_path / "dump.json.gz"
    packed.write_bytes(gzip.compress(dump.read_bytes())[:-200])
    code, _, err = cli("build", packed, "--out", tmp_path / "out.sqlite")
    assert code == 5
    assert "dump.json.gz: the dump is cut off or damaged after line" in err
    assert not (tmp_path / "out.sqlite").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("build", "none.json", "--out", "x.sqlite"), 5, "none.json: the dump cannot be read: No such file"),
        (("build", "dump.json", "--out", "wikidata.sqlite"), 4, "wikidata.sqlite: the file exists. Choose"),
        (("build", "dump.json"), 2, "--out"),
        (("build", "dump.json", "--out", "x", "--min-sitelinks", "-1"), 2, "--min-sitelinks"),
        (("search", "x", "--snapshot", "none.sqlite"), 4, "none.sqlite: there is no such file. Make one"),
        (("search", "x", "--snapshot", "dump.json"), 4, "dump.json: the Wikidata snapshot cannot be read"),
        (("search", "x", "--language", "fr"), 2, "'en', 'zh'"),
        (("search", "x", "--limit", "0"), 2, "--limit"),
    ],
)
@pytest.mark.usefixtures("snapshot")
def test_wrong_use_is_one_sentence(cli: Cli, arguments: tuple[str, ...], code: int, said: str) -> None:
    got, _, err = cli(*arguments)
    assert got == code
    assert said in err
    assert "Traceback" not in err


def test_online_without_an_operator(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEWORLD_WIKIDATA__ONLINE", "true")
    code, _, err = cli("search", "Paris")
    assert code == 2
    assert "wikidata.contact: " in err


def test_ctrl_c_says_how_to_go_on(cli: Cli, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(item: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("theworld.wikidata.build.encode", stop)
        code, _, err = cli("build", dump, "--out", tmp_path / "out.sqlite")
    assert code == 130
    assert "run the same command again" in err
    assert cli("build", dump, "--out", tmp_path / "out.sqlite")[0] == 0
