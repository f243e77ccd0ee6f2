"""What the browser's tests share: a document made to do harm, calls of the API, and what axe says of a page."""

from __future__ import annotations

import time
from typing import Any

import httpx

from service_cases import data_of
from service_process import START_S

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
    return data_of(httpx.request(method, f"{site}/api/v1/{path}", json=body, timeout=START_S))


def asked(site: str, question: str, **more: object) -> str:
    """Ask, and return the id of the request when it is on record: that follows a moment after the answer."""
    request_id = called(site, "ask", {"question": question, "stream": False, **more})["request_id"]
    end = time.monotonic() + START_S
    while httpx.get(f"{site}/api/v1/retrieval/explain/{request_id}", timeout=START_S).status_code == 404:
        assert time.monotonic() < end
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
