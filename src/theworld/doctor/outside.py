"""What lies outside the store: models, the database of the SQL path, the language model, Wikidata."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from theworld.doctor.finding import Finding
from theworld.settings import Settings
from theworld.stores.ledger import Ledger

if TYPE_CHECKING:
    import httpx

PUBLIC_ENDPOINT = "https://api.openai.com/v1"


def check_embedders(ledger: Ledger, settings: Settings) -> Iterator[Finding]:
    """Look whether the vectors in the store were made by the models that questions are read with; none is loaded."""
    from theworld.models.registry import load_models

    models = load_models(settings)
    names = {language: models.space_of(language) for language in models.embedders}
    for language, space in names.items():
        other = ledger.other_spaces(language, space)
        if other:
            found = ", ".join(f"{count} notes in {name!r}" for name, count in other.items())
            remedy = "Configure that model, or run `theworld ingest PATH --reembed`."
            yield Finding("embedder", "failed", f"{language}: {found}, none of them in {space!r}", remedy)
            return
    message = ", ".join(f"{language} {space}" for language, space in names.items())
    yield Finding("embedder", "ok", message, facts={"spaces": names})


def check_database(settings: Settings) -> Iterator[Finding]:
    """Look whether the database can be asked and still has the tables that the ontology names."""
    if settings.database.url is None:
        yield Finding("database", "off", "no SQL path is configured")
        return
    from theworld.sql.database import Database

    with closing(Database.open(settings.database)) as database:
        tables = sorted(database.mapping.tables)
        yield Finding("database", "ok", f"{len(tables)} mapped tables are there", facts={"tables": tables})


def check_model(settings: Settings) -> Iterator[Finding]:
    """Look whether the language model's endpoint answers, takes the key and has the model; nothing is generated."""
    chosen = settings.model
    if chosen.name is None:
        yield Finding("model", "off", "none: answers are entities and quotes")
        return
    import httpx

    base = (chosen.base_url or PUBLIC_ENDPOINT).rstrip("/")
    headers = {"Authorization": f"Bearer {chosen.api_key.get_secret_value()}"} if chosen.api_key else {}
    try:
        reply = httpx.get(f"{base}/models", headers=headers, timeout=min(10.0, chosen.timeout_s))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        remedy = "Check model.base_url, and whether the server runs."
        yield Finding("model", "failed", f"{base} does not answer: {type(error).__name__}: {error}", remedy)
        return
    yield _reply(base, chosen.name, reply)


def _reply(base: str, name: str, reply: httpx.Response) -> Finding:
    if reply.status_code in {401, 403}:
        return Finding("model", "failed", f"{base} refuses the key", "Check model.api_key (or OPENAI_API_KEY).")
    if not reply.is_success:
        message = f"{base} answers HTTP {reply.status_code} when asked for its models, {name!r} among them or not"
        return Finding(
            "model", "warning", message, "Check that model.base_url ends as the server wants it, often in /v1."
        )
    try:
        known = [str(one["id"]) for one in reply.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return Finding("model", "warning", f"{base} does not list its models", "Check model.base_url.")
    if name in known:
        return Finding("model", "ok", f"{base} has {name!r}", facts={"models": len(known)})
    near = ", ".join(sorted(known)[:5])
    return Finding("model", "failed", f"{base} has no model {name!r}", f"It has: {near}. Set model.name.")


def check_wikidata(settings: Settings) -> Iterator[Finding]:
    """Look whether entities can be looked up: one small search, without the cache."""
    from theworld.entities import open_knowledge

    chosen = settings.wikidata
    with open_knowledge(chosen, cached=False) as knowledge:
        found = knowledge.search("Earth", "en", 1)
    where = chosen.api if chosen.online else f"snapshot {chosen.snapshot or 'bundled'}"
    yield Finding("wikidata", "ok", f"{where} answers", facts={"online": chosen.online, "found": len(found)})
