"""`theworld delete`: documents out of a store, everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from theworld.cli.options import StoreOption, TenantOption, check_tenant, settings_for


def delete(
    document_ids: Annotated[list[str], typer.Argument(metavar="DOCUMENT_ID...", help="Ids of the documents.")],
    store: StoreOption = None,
    tenant: TenantOption = "default",
) -> None:
    """Delete documents with their notes, vectors and links; nothing is deleted when one of them does not exist."""
    from theworld.cli.output import counted, tell_troubles
    from theworld.errors import StoreError
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    check_tenant(tenant)
    with open_store(settings, read_only=False) as opened:
        known = opened.document_hashes(tenant)
        missing = [document for document in document_ids if document not in known]
        if missing:
            raise StoreError(
                f"tenant {tenant!r} has no document {', '.join(map(repr, missing))}; nothing was deleted.",
                where=str(settings.store),
                remedy="Citations name the ids: `theworld ask QUESTION --json`.",
            )
        count = opened.delete(list(dict.fromkeys(document_ids)), tenant=tenant)
        opened.catch_up()
        tell_troubles(opened.troubles)
    typer.echo(f"{counted(count, 'document')} deleted.")
