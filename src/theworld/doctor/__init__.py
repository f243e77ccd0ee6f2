"""Looks at everything a store needs, changes nothing, and says how to fix what is wrong.

All checks, in the order in which one depends on another, and no secret in what they say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from theworld.doctor.checks import (
    Finding,
    Status,
    check_database,
    check_embedders,
    check_model,
    check_store_folder,
    check_wikidata,
    check_writer,
    findings_of,
)
from theworld.doctor.projections import SYNC, check_ledger, check_ontology, check_projection
from theworld.settings import Settings, setting_value, settings_origins
from theworld.stores.ledger import Ledger
from theworld.stores.ledger.opening import connect

__all__ = ["Finding", "Status", "examine"]

STARS = "****"
_SERVER = "See whether the server runs, and check {0}.url and what else stands under `{0}`."
_SHORTEST = 4
"""Shorter secrets are words of ordinary sentences."""


def examine(settings: Settings) -> Iterator[Finding]:
    """Yield what is found of everything that the settings name; nothing is changed.

    What cannot be looked at because something before it failed is left out.
    """
    secrets: set[str] = set()
    for name in settings_origins(settings):
        value = setting_value(settings, name)
        if isinstance(value, SecretStr):
            secret = value.get_secret_value()
            in_address = urlsplit(secret).password if "://" in secret else None
            secrets |= {secret} if in_address is None else {in_address, unquote(in_address)}
    for found in _all(settings):
        said, remedy = found.said, found.remedy
        for secret in sorted((one for one in secrets if len(one) >= _SHORTEST), key=len, reverse=True):
            said, remedy = said.replace(secret, STARS), remedy.replace(secret, STARS)
        yield replace(found, said=said, remedy=remedy)


def _all(settings: Settings) -> Iterator[Finding]:
    folder = list(findings_of("folder", lambda: check_store_folder(settings), remedy="Check the setting `store`."))
    yield from folder
    if all(found.status != "failed" for found in folder if found.subject == "folder"):
        yield from findings_of("writer", lambda: check_writer(settings), remedy="Check the rights of this user.")
        yield from findings_of("ledger", lambda: _store(settings), remedy="Check the settings under `ledger`.")
    for name, check in (("database", check_database), ("model", check_model), ("wikidata", check_wikidata)):
        yield from findings_of(name, partial(check, settings), remedy=f"Check the settings under `{name}`.")


def _store(settings: Settings) -> Iterator[Finding]:
    """Look at the ledger, and at what follows it when it can be asked."""
    with closing(connect(settings.store, settings.ledger_server, writable=False)) as database:
        found = list(findings_of("ledger", lambda: check_ledger(database, settings), remedy=_SERVER.format("ledger")))
        yield from found
        if any(one.status == "failed" for one in found):
            return
        ledger = Ledger(database)
        for name in ("sparse", "dense", "graph"):
            check = partial(check_projection, name, ledger, settings)
            yield from findings_of(name, check, remedy=_SERVER.format(name))
        yield from findings_of("ontology", partial(check_ontology, ledger), remedy=SYNC)
        models = partial(check_embedders, ledger, settings)
        yield from findings_of("embedder", models, remedy="Check the settings under `embedding`.")
