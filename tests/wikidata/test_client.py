"""The client against a real HTTP server on this machine: what it asks, and what it makes of good replies."""

from __future__ import annotations

import gzip
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from theworld.entities import format_candidates
from theworld.errors import SettingsError
from theworld.wikidata import Endpoint, WikidataTransport


def test_one_search_one_batch_of_details_one_of_names_and_the_operator_in_each(service: Any, make_client: Any) -> None:
    found = make_client().search("Paris", "en", 5)
    assert [item["id"] for item in found] == ["Q90", "Q830149", "Q167646"]
    assert found[0]["description"] == "capital of France"
    assert found[0]["key_props_excerpt"] == "instance of: city"
    assert [query["action"] for query in service.asked] == ["wbsearchentities", "wbgetentities", "wbgetentities"]
    assert service.asked[1]["ids"] == "Q90|Q830149|Q167646"
    assert service.asked[2]["ids"] == "Q515"
    assert service.asked[2]["props"] == "labels"
    assert {query["maxlag"] for query in service.asked} == {"5"}
    assert all("zh-hans|zh|" in query["languages"] for query in service.asked[1:])
    assert all(agent.startswith("theworld/") and "(operator@example.org)" in agent for agent in service.agents)


@pytest.mark.parametrize(
    "contact", [None, "", "me", "a b@c.d", "x@y\r\nEvil: 1", "x" * 300 + "@example.org", "é@e.org"]
)
def test_without_an_operator_nothing_is_asked(contact: str | None) -> None:
    with pytest.raises(SettingsError, match=r"^wikidata\.contact: ") as caught:
        WikidataTransport(Endpoint("http://127.0.0.1:9/", contact))
    assert "wikidata.online" in caught.value.remedy


@pytest.mark.parametrize("contact", ["me@example.org", "https://example.org/bot", "ops@sub.example.co.uk"])
def test_a_mail_address_or_a_page_is_an_operator(contact: str) -> None:
    WikidataTransport(Endpoint("http://127.0.0.1:9/", contact)).close()


def test_chinese_names_come_in_chinese(service: Any, make_client: Any) -> None:
    (found,) = make_client().search("图灵", "zh", 5)
    assert (found["label"], found["description"]) == ("艾伦·图灵", "英国数学家、计算机科学家")
    assert found["key_props_excerpt"] == (
        "性质: 人类; 国籍: 英国; 职业: 计算机科学家; 出生日期: 1912年6月23日; 死亡日期: 1954年6月7日"
    )
    assert service.asked[0]["language"] == "zh"


@pytest.mark.parametrize(
    ("name", "languages", "label"),
    [("Julius Caesar", ["zh", "en"], "尤利乌斯·凯撒"), ("Guangzhou", ["en", "mul"], "Guangzhou")],
)
def test_a_name_not_found_in_its_language_is_searched_in_another(
    service: Any, make_client: Any, name: str, languages: list[str], label: str
) -> None:
    (found,) = make_client().search(name, languages[0], 5)
    assert found["label"] == label
    assert [query["language"] for query in service.asked[:2]] == languages


def test_items_fit_the_formatter(make_client: Any) -> None:
    (candidate,) = format_candidates(make_client().search("Turing", "en", 5))
    assert candidate["url"] == "https://www.wikidata.org/wiki/Q7251"
    assert candidate["aliases"][0] == "Turing"
    assert candidate["key_props_excerpt"].startswith("instance of: human; country of citizenship: United Kingdom")


def test_redirected_entries_carry_their_new_id(service: Any, make_client: Any) -> None:
    service.redirects = {"Q999999": "Q90"}
    found = make_client().search("Paris", "en", 5)
    assert [item["id"] for item in found] == ["Q90", "Q830149", "Q167646"]
    assert "Q999999" in service.asked[1]["ids"]
    assert found[0]["description"] == "capital of France"


def test_an_entry_deleted_meanwhile_keeps_what_the_search_said(service: Any, make_client: Any) -> None:
    client = make_client()
    search = service.search

    def search_then_delete(query: dict[str, str]) -> dict[str, Any]:
        answer: dict[str, Any] = search(query)
        service.entities.pop("Q90", None)
        return answer

    service.search = search_then_delete
    found = client.search("Paris", "en", 5)
    assert found[0] == {"id": "Q90", "label": "Paris", "aliases": []}
    assert found[1]["description"] == "city in Texas, United States"


def test_nothing_found_is_an_empty_list(service: Any, make_client: Any) -> None:
    assert make_client().search("Zzyzx", "en", 5) == []
    assert {query["action"] for query in service.asked} == {"wbsearchentities"}


@pytest.mark.parametrize(("name", "limit"), [("", 5), ("   ", 5), ("\ud800", 5), ("Paris", 0), ("Paris", -1)])
def test_nothing_to_look_up_asks_nothing(service: Any, make_client: Any, name: str, limit: int) -> None:
    assert make_client().search(name, "en", limit) == []
    assert service.asked == []


def test_no_more_than_fifty_are_asked_at_once(service: Any, make_client: Any) -> None:
    paris = service.entities["Q90"]
    service.entities.update({f"Q{n}": {**paris, "id": f"Q{n}", "claims": {}} for n in range(2000, 2100)})
    assert len(make_client().search("Paris", "en", 500)) == 50
    assert service.asked[0]["limit"] == "50"
    assert all(len(query.get("ids", "").split("|")) <= 50 for query in service.asked)


def test_what_was_asked_is_not_asked_again(service: Any, make_client: Any) -> None:
    first = make_client(cached=True)
    found = first.search("Paris", "en", 5)
    first.close()
    again = make_client(cached=True)
    assert again.search("  paris ", "en", 5) == found
    assert len(service.asked) == 3
    again.search("Beijing", "en", 5)
    assert [query["action"] for query in service.asked[3:]] == ["wbsearchentities", "wbgetentities"]
    assert again.search("Zzyzx", "en", 5) == again.search("Zzyzx", "en", 5) == []
    assert len(service.asked) == 7


def test_connections_are_used_again(service: Any, make_client: Any) -> None:
    client = make_client()
    client.search("Paris", "en", 5)
    client.search("Beijing", "en", 5)
    assert len(service.asked) > 4
    assert len(service.ports) == 1


def test_threads_share_a_client(service: Any, make_client: Any) -> None:
    client = make_client(cached=True, connections=2)
    service.thinks_s = 0.05
    found: dict[str, str] = {}
    names = {"Paris": "Q90", "Beijing": "Q956", "Alan Turing": "Q7251", "Mercury": "Q308"}

    def look_up(name: str) -> None:
        found[name] = client.search(name, "en", 3)[0]["id"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(look_up, names))
    assert found == names
    assert service.most_at_once == 2


def test_the_example_of_the_page_runs(
    service: Any, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "wikidata.md").read_text("utf-8")
    (code,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "build_snapshot" in one)
    (tmp_path / "dump.json.gz").write_bytes(gzip.compress(dump.read_bytes()))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code.replace("https://www.wikidata.org/w/api.php", service.url).replace("Turing", "Paris"), names)
    assert {item["id"] for item in names["items"]} == {"Q90", "Q830149", "Q167646"}
