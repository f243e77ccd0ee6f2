"""Who may do what: bearer tokens and tenants, or nobody's key needed on the machine itself."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from theworld.service.api.replies import ApiError, Code
from theworld.service.runtime import Service
from theworld.stores.ledger.api_keys import Principal, is_key

DEFAULT_TENANT = "default"
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")

_bearer = HTTPBearer(auto_error=False, description="An API key made by `theworld keys create`")
Scope = Literal["query", "write", "evaluate"]
_WHOSE = "Whose knowledge it is; default: the key's only tenant, or `default`"
TenantHeader = Annotated[
    str | None, Header(alias="X-Tenant-Id", min_length=1, max_length=128, pattern=r"^[!-~]+$", description=_WHOSE)
]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and for which tenant."""

    tenant: str
    principal: Principal | None
    """None on the machine itself, where no key is needed."""
    named: bool = True  # whether the tenant was chosen; else it is the first of several that the key is for


def is_loopback(host: str | None) -> bool:
    """Return whether an address is this machine's own."""
    if host is None:
        return False
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def needs_no_key(request: Request, service: Service) -> bool:
    """Return whether a request comes from this machine to a server that only this machine can reach.

    Neither a proxy in between nor a foreign Host (a web page that rebinds its name) counts as this machine.
    """
    if service.settings.service.keys == "required":
        return False
    server, client = request.scope.get("server"), request.client
    bound = service.bound_to if service.bound_to is not None else (server[0] if server else None)
    if not is_loopback(bound) or client is None or not is_loopback(client.host):
        return False
    name = request.headers.get("host", "").rpartition(":")[0] or request.headers.get("host", "")
    return name.lower() in _LOCAL_NAMES and not any(header in request.headers for header in _FORWARDED)


def refuse_foreign_page(request: Request) -> None:
    """Raise ApiError where a page of another origin sent the request: a browser on this machine needs no key.

    Programs send no Origin. Behind a proxy that changes Host, Sec-Fetch-Site (HTTPS) or `service.public_url` tells.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    public = urlsplit(request.app.state.service.settings.service.public_url).netloc
    at_home = origin is None or origin.partition("://")[2] in {request.headers.get("host"), public or None}
    if origin == "null" or site not in {None, "same-origin", "none"} or not (site or at_home):
        raise ApiError(Code.FORBIDDEN, "it came from a page of another origin")


def caller_with(scope: Scope, *, placeholder: bool = False, any_tenant: bool = False) -> Any:
    """Return the dependency that lets callers with a scope in: a Caller, or ApiError.

    With `placeholder`, a text that cannot be one of our keys counts as none: many clients insist on sending some key
    where none is needed. With `any_tenant`, a key for several tenants need not choose one by the header: the request
    itself does, or it is about none. What changes something (`write`, `evaluate`) is refused to foreign pages.
    """

    async def check(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
        tenant: TenantHeader = None,
    ) -> Caller:
        if scope != "query" and request.method != "GET":
            refuse_foreign_page(request)
        service: Service = request.app.state.service
        sent = credentials.credentials if credentials is not None else request.headers.get("authorization")
        none_sent = sent is None or (placeholder and not is_key(sent))
        if none_sent and needs_no_key(request, service):
            return Caller(tenant or DEFAULT_TENANT, None)
        if credentials is None:
            raise ApiError(Code.NO_KEY, "send Authorization: Bearer KEY")
        principal = await asyncio.to_thread(service.keys.verify, credentials.credentials)
        if principal is None:
            raise ApiError(Code.NO_KEY, "this one is unknown, expired or revoked")
        if scope not in principal.scopes:
            raise ApiError(Code.FORBIDDEN, f"it lacks the scope {scope!r}")
        wanted = tenant or (principal.tenants[0] if len(principal.tenants) == 1 else DEFAULT_TENANT)
        wanted = DEFAULT_TENANT if wanted == "*" else wanted
        if principal.may_act_for(wanted):
            return Caller(wanted, principal)
        if tenant is None and any_tenant:
            return Caller(principal.tenants[0], principal, named=False)
        choose = "" if tenant else f"; choose by X-Tenant-Id: {', '.join(principal.tenants)}"
        raise ApiError(Code.FORBIDDEN, f"it is for other tenants{choose}")

    return Depends(check)


Querying = Annotated[Caller, caller_with("query")]
Evaluating = Annotated[Caller, caller_with("evaluate")]
Visiting = Annotated[Caller, caller_with("query", placeholder=True)]
"""A client of another program's kind."""
Naming = Annotated[Caller, caller_with("query", placeholder=True, any_tenant=True)]  # its request may name the tenant
