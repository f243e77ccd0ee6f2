"""The command that installs an extra works for the way in which this program was installed."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from theworld.errors import ModelError
from theworld.extras import import_package, install_command

CASES = [
    ({"url": "file:///home/me/a%20b", "dir_info": {"editable": True}}, 'pip install -e "/home/me/a b[service]"'),
    ({"url": "file:///home/me/ab", "dir_info": {}}, 'pip install "/home/me/ab[service]"'),
    (
        {"url": "file:///tmp/theworld-1-py3-none-any.whl", "archive_info": {}},
        'pip install "theworld[service] @ file:///tmp/theworld-1-py3-none-any.whl"',
    ),
    (None, 'pip install "theworld[service]"'),
]


@pytest.mark.parametrize(("origin", "expected"), CASES)
def test_names_what_was_installed(
    origin: dict[str, object] | None, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "theworld-1.dist-info"
    folder.mkdir()
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    installed = importlib.metadata.PathDistribution(folder)
    monkeypatch.setattr("theworld.extras.distribution", lambda _name: installed)
    assert install_command("service") == expected


def test_a_missing_package_is_an_error_with_the_command() -> None:
    assert import_package("json").dumps([]) == "[]"
    with pytest.raises(ModelError, match="pip install no-such-package"):
        import_package("no_such_package_at_all", "no-such-package")
    with pytest.raises(ModelError) as caught:
        import_package("no_such_package_at_all", extra="service")
    assert install_command("service") in str(caught.value)
