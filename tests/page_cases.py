"""What the browser's tests share: a document made to do harm, calls of the API, and what axe says of a page."""

from __future__ import annotations

from typing import Any

from service_cases import data_of, wait_until
from service_process import fetch

HARM = "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script><svg onload='window.harmed=1'>"
HARMFUL = {
    "id": f"harm/{HARM[:44]}.md",
    "title": f"Zorblatt manual {HARM}",
    "text": f"# Zorblatt {HARM}\n\nThe Zorblatt engine was built in Quillonia. {HARM}\n\n"
    "[open](javascript:window.harmed=1) ![x](javascript:window.harmed=1)\n\n[1]: javascript:window.harmed=1\n",
    "source": f"/files/{HARM[:20]}.md",
    "metadata": {"kind": HARM, "made": ["1901", HARM[:20]]},
}


def called(site: str, path: str, body: Any = None, method: str = "") -> Any:
    """Return the data of a successful reply of the API: of a GET, or of a POST where there is a body."""
    method = method or ("GET" if body is None else "POST")
    return data_of(fetch(method, f"{site}/api/v1/{path}", json=body))


def asked(site: str, question: str, **more: object) -> str:
    """Ask, and return the id of the request when it is on record: that follows a moment after the answer."""
    request_id = called(site, "ask", {"question": question, "stream": False, **more})["request_id"]
    explain = f"{site}/api/v1/retrieval/explain/{request_id}"
    wait_until(lambda: fetch("GET", explain).status_code != 404)
    return str(request_id)


def serious(page: Any) -> list[str]:
    """Return the serious violations that axe finds, each with the element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{item['id']}: {node['html'][:200]}"
        for item in found
        if item["impact"] in {"serious", "critical"}
        for node in item["nodes"]
    ]
