"""`theworld serve --watch`: a file saved in the folder is answered from, a deleted one no longer."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from service_cases import wait_until
from service_process import served


def _titles(client: httpx.Client) -> list[str]:
    found = client.post("/api/v1/retrieval/search", json={"query": "What does the Old Light stand on?"})
    assert found.status_code == 200, found.text
    return [candidate["title"] for candidate in found.json()["data"]["candidates"]]


@pytest.mark.slow
def test_the_store_follows_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "bad.docx").write_bytes(b"no Word file")
    with served(tmp_path / "my.store", "--watch", str(folder)) as (_process, client, lines):
        (folder / "light.md").write_text("# Old Light\n\nThe Old Light stands on a granite island.\n", "utf-8")
        wait_until(lambda: _titles(client) == ["Old Light"])
        folder.rename(tmp_path / "elsewhere")
        wait_until(lambda: "watched folder is away" in "".join(lines))
        assert _titles(client) == ["Old Light"], "what is away is not deleted"
        (tmp_path / "elsewhere").rename(folder)
        (folder / "light.md").unlink()
        wait_until(lambda: _titles(client) == [])
    said = "".join(lines)
    assert f"watching {folder}" in said
    assert f"{folder}: 1 documents written, 0 deleted" in said
    assert f"left out: {folder / 'bad.docx'}: it is damaged" in said
