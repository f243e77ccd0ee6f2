"""`theworld ontology ...` from file to store and back."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from theworld.cli.app import run
from theworld.demo.credit import load_credit_ontology
from theworld.ontology import read_ontology


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    assert run(["ontology", "sample", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def store(sample: Path) -> Path:
    file, folder = str(sample / "ontology.yaml"), sample / "store"
    assert run(["ontology", "import", file, "--store", str(folder)]) == 0
    return folder


def test_the_sample_has_its_three_parts(sample: Path) -> None:
    assert {"ontology.yaml", "notes", "credit.sqlite"} <= {path.name for path in sample.iterdir()}


def test_importing_again_changes_nothing(sample: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ontology", "import", str(sample / "ontology.yaml"), "--store", str(store), "--json"]
    assert run(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["changed"] is False
    assert report["nodes"]["OntologyClass"] == 19


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_export_gives_back_what_was_imported(store: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / f"out.{kind}"
    assert run(["ontology", "export", "--store", str(store), "--format", kind, "--out", str(out)]) == 0
    assert read_ontology(out) == load_credit_ontology()


def test_what_is_wrong_is_told_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("id: x\nclasses:\n  - {id: a, labels: {en: a}, inherits: [b]}\n", "utf-8")
    assert run(["ontology", "import", str(file), "--store", str(tmp_path / "store")]) == 5
    assert "line 3: class a: inherits the unknown class 'b'" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
    assert run(["ontology", "import", str(tmp_path / "a.docx"), "--store", str(tmp_path / "store")]) == 5
    assert "ending that is not known: .docx" in capsys.readouterr().err


def test_check_only_looks(sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["ontology", "import", str(sample / "ontology.yaml"), "--check", "--store", str(tmp_path / "s")]
    assert run(arguments) == 0
    assert "nothing is wrong (197 elements: " in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["elements"], told["problems"]) == (197, [])
    assert not (tmp_path / "s").exists()


def test_show_tells_weights_and_their_parts(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ontology", "show", "affiliated_with", "--store", str(store)]) == 0
    said = capsys.readouterr().out
    assert "company -HAS_RELATION-> affiliated_with  0.94 (confidence 1.00, rule 0.90)" in said
    assert run(["ontology", "show", "ghost", "--store", str(store)]) == 5


def test_explain_tells_matches_paths_and_capabilities(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "关联企业近30天授信变化与交易波动"
    assert run(["ontology", "explain", question, "--store", str(store)]) == 0
    said = capsys.readouterr().out
    for part in ("近30天", "授信变化 —具备能力→ 额度重检", "交易波动分析", "关联企业"):
        assert part in said
    assert run(["ontology", "explain", "hello", "--store", str(store)]) == 0
    assert "Nothing of an ontology" in capsys.readouterr().out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_drawn_pictures_are_well_formed_and_complete(store: Path, tmp_path: Path, language: str) -> None:
    out = tmp_path / "o.svg"
    assert run(["ontology", "draw", "--store", str(store), "--language", language, "--out", str(out)]) == 0
    texts = {text.strip() for text in ET.parse(out).getroot().itertext()}
    for one in load_credit_ontology().classes:
        assert one.labels.preferred("zh" if language == "zh" else "en") in texts


def test_boxes_do_not_lie_on_each_other(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.svg"
    assert run(["ontology", "draw", str(sample / "ontology.yaml"), "--out", str(out)]) == 0
    space = "{http://www.w3.org/2000/svg}"
    boxes = []
    for rect in ET.parse(out).getroot().iterfind(f".//{space}g/{space}rect"):
        x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        boxes.append((x, y, x + width, y + height))
    assert len(boxes) == 19
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert top >= 0
        for other in boxes[i + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


def test_a_part_is_drawn_around_a_class(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(sample / "ontology.yaml")
    assert run(["ontology", "draw", file, "--language", "zh", "--around", "rating"]) == 0
    said = capsys.readouterr().out
    assert ">信用评级<" in said
    assert ">银行<" not in said
    assert run(["ontology", "draw", file, "--around", "ghost"]) == 5


def test_remove_takes_it_out(sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    assert run(["ontology", "import", str(sample / "ontology.yaml"), "--store", store]) == 0
    assert run(["ontology", "remove", "--store", store]) == 0
    assert run(["ontology", "remove", "--store", store]) == 0
    assert "There was none" in capsys.readouterr().out
    assert run(["ontology", "export", "--store", store]) == 5
