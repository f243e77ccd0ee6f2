"""`/dify/retrieval`: Dify's external knowledge API. The knowledge id is the tenant; enter `http://HOST:PORT/dify`.

Of its metadata conditions those are understood that the filters of a query can say: `is`, `=` and `in`, joined by
`and`, or by `or` where all are about one name. Others are refused by name rather than passed over.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from theworld.service.api.access import DEFAULT_TENANT, Caller, Naming, needs_no_key
from theworld.service.api.passages import linked
from theworld.service.api.replies import DIFY_NO_HEADER, DIFY_UNKNOWN, ApiError, Code, bare_reply
from theworld.service.api.schemas import MOST_CANDIDATES, Question, SearchRequest, examples
from theworld.service.api.serving import RequestContext, service_of
from theworld.service.openai.schemas import Lenient, described, failing
from theworld.state.answers import PATH_SEPARATOR

router = APIRouter(tags=["Dify"], default_response_class=Response)
_EQUAL = frozenset({"is", "=", "in"})
_ERRORS = failing(
    {"type": "object", "required": ["error_code", "error_msg"], "properties": {"error_code": {"type": "integer"}}},
    403, 404, 413, 415, 422, 429, 500, 503, 504,
)  # fmt: skip


class Setting(Lenient):
    """How much is wanted."""

    top_k: int = Field(default=5, ge=1, le=MOST_CANDIDATES, description="Most records")
    score_threshold: float | None = Field(default=0.0, ge=0, le=1, description="Least relevance, in [0, 1]")


class Condition(Lenient):
    """What metadata must say."""

    name: str | list[str] = Field(max_length=100, description="Name of the metadata, or names of which any will do")
    comparison_operator: str = Field(max_length=32, description="`is`, `=` or `in`; others are refused")
    value: str | int | float | list[str] | None = Field(default=None, description="The value, or values of which any")


class Conditions(Lenient):
    """Conditions and how they are joined."""

    logical_operator: Literal["and", "or"] | None = Field(default="and", description="How they are joined")
    conditions: list[Condition] | None = Field(default=None, max_length=32, description="The conditions")


class RetrievalRequest(Lenient):
    """A query of one knowledge."""

    model_config = examples(
        {
            "knowledge_id": DEFAULT_TENANT,
            "query": "Who directed Metropolis?",
            "retrieval_setting": {"top_k": 2, "score_threshold": 0.5},
        }
    )

    knowledge_id: str = Field(max_length=128, description="The tenant")
    query: Question
    retrieval_setting: Setting = Field(default_factory=Setting, description="How much is wanted")
    metadata_condition: Conditions | None = Field(default=None, description="What metadata must say")


def _readable_header(request: Request) -> None:
    """Tell a header that cannot be read from a key that is refused, as Dify does."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        if not kind and needs_no_key(request, service_of(request)):
            return
        raise ApiError(Code.NO_KEY, "send Authorization: Bearer KEY", details={"code": DIFY_NO_HEADER})


@router.post(
    "/dify/retrieval",
    summary="Find records for Dify",
    responses={200: described("Records", "records"), **_ERRORS},
    dependencies=[Depends(_readable_header)],
)
async def retrieval(request: Request, body: RetrievalRequest, caller: Naming) -> Response:
    """Find the passages that answer a query."""
    service, key, tenant = service_of(request), caller.principal, body.knowledge_id
    store = service.resources.store
    allowed = bool(tenant) and (key is None or key.may_act_for(tenant))
    if not allowed or not await asyncio.to_thread(store.has_notes, tenant=tenant):  # a foreign one is told like none
        what = "there is no such knowledge; its id is the name of a tenant that has documents"
        raise ApiError(Code.NOT_FOUND, what, details={"code": DIFY_UNKNOWN})
    wanted = body.retrieval_setting
    search = SearchRequest(query=body.query, top_k=wanted.top_k, filters=_filters(body.metadata_condition))
    current = RequestContext(request, Caller(tenant, key), "search", "evidence")
    run = await current.answered(search)
    found = [one for one in run.state["candidates"] if one.final_score >= (wanted.score_threshold or 0.0)]
    records = []
    for candidate in found[: wanted.top_k]:
        place = linked(candidate, current.base)
        metadata = {name: getattr(candidate, name) for name in ("document_id", "note_id", "start", "end")}
        metadata |= {"section": PATH_SEPARATOR.join(candidate.section), "path": candidate.source, "url": place["url"]}
        told = {"content": candidate.whole_text, "score": candidate.final_score, "title": place["title"]}
        records.append(told | {"metadata": metadata})
    return bare_reply({"records": records}, current.request_id)


def _filters(given: Conditions | None) -> dict[str, str | list[str]]:
    """Return the filters that say what the conditions do; ApiError for a condition they cannot say."""
    conditions = (given.conditions if given is not None else None) or []
    found: dict[str, list[str]] = {}
    for condition in conditions:
        names = [condition.name] if isinstance(condition.name, str) else condition.name
        values = condition.value if isinstance(condition.value, list) else [condition.value]
        if condition.comparison_operator not in _EQUAL or len(names) != 1 or None in values or not values:
            what = f"{condition.comparison_operator!r} of {', '.join(names)!r} with this value: only is, = and in"
            raise ApiError(Code.INVALID, f"metadata_condition: {what}, each of one name with a value, are understood")
        joined = given is not None and given.logical_operator == "or"
        if (names[0] in found) != bool(found and joined):
            what = "and joins conditions about different names, or those about one name"
            raise ApiError(Code.INVALID, f"metadata_condition: {what}")
        found.setdefault(names[0], []).extend(str(value) for value in values)
    return dict(found)
