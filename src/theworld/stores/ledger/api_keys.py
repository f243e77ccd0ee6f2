"""API keys: made once, shown once, kept as hashes, scoped to tenants.

A token is `tw_KEYID_SECRET` with 256 random bits as its secret. Such a secret cannot be guessed from its hash, so a
fast hash suffices; it is compared in constant time, and an unknown key id costs the same comparison.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update

from theworld.errors import SettingsError
from theworld.stores.ledger.database import Database
from theworld.stores.ledger.service_tables import ApiKey

SCOPES = ("query", "write", "evaluate")
ANY_TENANT = "*"
_TOKEN = re.compile(r"tw_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NO_HASH = "0" * 64


def is_key(token: str) -> bool:
    """Return whether a text has the form of a key, right or wrong."""
    return _TOKEN.fullmatch(token) is not None


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: a key, and what it may do."""

    key_id: str
    name: str
    tenants: tuple[str, ...]
    """Tenants it may act for; `*` for any."""
    scopes: tuple[str, ...]

    def may_act_for(self, tenant: str) -> bool:
        """Return whether it may act for a tenant."""
        return ANY_TENANT in self.tenants or tenant in self.tenants


@dataclass(eq=False)
class KeyRing:
    """The keys of one store."""

    _ledger: Database

    def create(
        self, name: str, tenants: Sequence[str], *, scopes: Sequence[str] = SCOPES, expires_ms: int | None = None
    ) -> str:
        """Make a key; return its token, which cannot be shown again. SettingsError for no tenant or unknown scopes."""
        wrong = sorted(set(scopes) - set(SCOPES))
        if wrong or not scopes:
            what = f"{wrong[0]!r} is no scope" if wrong else "a key needs a scope"
            raise SettingsError(what, where="keys", remedy=f"Scopes are {', '.join(SCOPES)}.")
        if not tenants or not all(0 < len(tenant) <= 128 for tenant in tenants):
            raise SettingsError("a key needs tenants of 1 to 128 characters", where="keys", remedy="Give --tenant.")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        may = {"tenants": sorted(set(tenants)), "scopes": [scope for scope in SCOPES if scope in scopes]}
        when = {"created_ms": int(time.time() * 1000), "expires_ms": expires_ms}
        self._ledger.execute(insert(ApiKey).values(key_id=key_id, name=name, hash=_hash(secret), **may, **when))
        return f"tw_{key_id}_{secret}"

    def verify(self, token: str) -> Principal | None:
        """Return whose token it is; None for a wrong, expired or revoked one."""
        match = _TOKEN.fullmatch(token)
        key_id, secret = match.groups() if match else ("", "")
        row = self._ledger.row(select(ApiKey.__table__).where(ApiKey.key_id == key_id))
        right = hmac.compare_digest(_hash(secret), row.hash if row is not None else _NO_HASH)
        if row is None or not right or row.revoked_ms is not None:
            return None
        if row.expires_ms is not None and row.expires_ms <= time.time() * 1000:
            return None
        return Principal(row.key_id, row.name, tuple(row.tenants), tuple(row.scopes))

    def revoke(self, key_id: str) -> bool:
        """Make a key worthless; False when there is none such or it already was."""
        now = int(time.time() * 1000)
        statement = update(ApiKey).where(ApiKey.key_id == key_id, ApiKey.revoked_ms.is_(None)).values(revoked_ms=now)
        return bool(self._ledger.execute(statement))

    def known(self) -> Sequence[Row[Any]]:
        """Return what is known of all keys, the columns of `api_key` but for number and hash, oldest first."""
        columns = (ApiKey.key_id, ApiKey.name, ApiKey.tenants, ApiKey.scopes, ApiKey.created_ms, ApiKey.expires_ms)
        return self._ledger.rows(select(*columns, ApiKey.revoked_ms).order_by(ApiKey.id))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8")).hexdigest()
