"""What the browser's tests share: a document that was made to do harm, and what is wrong with a page."""

from __future__ import annotations

from typing import Any

HARM = "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script><svg onload='window.harmed=1'>"
HARMFUL = {
    "id": f"harm/{HARM[:44]}.md",
    "title": f"Zorblatt manual {HARM}",
    "text": f"# Zorblatt {HARM}\n\nThe Zorblatt engine was built in Quillonia. {HARM}\n\n"
    "[open](javascript:window.harmed=1) ![x](javascript:window.harmed=1)\n\n[1]: javascript:window.harmed=1\n",
    "source": f"/files/{HARM[:20]}.md",
}


def serious(page: Any) -> list[str]:
    """Return what axe finds wrong with a page that is serious or worse."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{item['id']}: {node['html'][:200]}"
        for item in found
        if item["impact"] in {"serious", "critical"}
        for node in item["nodes"]
    ]
