"""`theworld ontology`: ontologies into a store and out of it, looked at, drawn, and the sample domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theworld.cli.options import JsonFlag, LanguageName, StoreOption, TenantOption, check_tenant, settings_for

if TYPE_CHECKING:
    from rich.console import Console

    from theworld.ontology import Ontology
    from theworld.ontology.files.rdf_losses import Loss
    from theworld.stores.ledger.graph_rows import GraphEdgeRecord

ontology_app = typer.Typer(
    help="Ontologies: what things there are, what they have, how they are related (docs/ontology.md).",
    no_args_is_help=True,
)


class FormatName(StrEnum):
    """A format of theworld.ontology.files.formats."""

    YAML = "yaml"
    JSON = "json"
    TURTLE = "turtle"
    XML = "xml"
    JSON_LD = "json-ld"


class PictureName(StrEnum):
    """A kind of picture."""

    MERMAID = "mermaid"
    SVG = "svg"


OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write.", show_default="print")]


@ontology_app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="yaml, json; OWL, RDFS or SKOS as ttl, owl, rdf, xml, jsonld.")
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    check: Annotated[
        bool, typer.Option("--check", help="Only say what is wrong or would be lost (exit code 5); write nothing.")
    ] = False,
    terms: Annotated[
        Path | None,
        typer.Option(
            "--terms",
            metavar="FILE",
            help="YAML with IRIs of an RDF file's own vocabulary: lists `units`, `keys`, `capabilities`.",
            show_default="none",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Put an ontology into a store in place of the old one, and link the notes that name its elements.

    Everything that is wrong is reported at once, by line and element, and then nothing is written (exit code 5).
    What of an RDF file is not used is reported with counts and reasons. Importing the same file again changes nothing.
    """
    from dataclasses import asdict

    from theworld.cli.ingesting import progress_bars
    from theworld.cli.output import console, counted, error_console, print_json
    from theworld.ontology.files.formats import load_ontology
    from theworld.ontology.storing import import_ontology
    from theworld.stores.knowledge_store import open_store

    tenant = check_tenant(tenant)
    losses: list[Loss] = []
    ontology, out = load_ontology(file, terms=terms, losses=losses), console()
    if check:
        _tell_check(file, ontology, losses, as_json=as_json)
        return
    settings = settings_for(store)
    with open_store(settings, create=True) as opened, progress_bars(error_console()) as bars:
        task = bars.add_task("Linking notes", total=None)

        def progress(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        report = import_ontology(opened, ontology, tenant=tenant, progress=progress)
    if as_json:
        print_json(asdict(report) | {"store": str(settings.store), "lost": [asdict(loss) for loss in losses]})
        return
    out.print(f"{'Imported' if report.changed else 'Unchanged'}: {ontology.id} {ontology.version}")
    for what, counts in (("nodes", report.nodes), ("edges", report.edges)):
        out.print(f"  {what}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'none'}")
    out.print(f"  {counted(report.linked_notes, 'note')} linked. Store: {settings.store}")
    _tell_losses(out, losses)


def _tell_check(file: Path, ontology: Ontology, losses: Sequence[Loss], *, as_json: bool) -> None:
    from dataclasses import asdict

    from theworld.cli.output import console, counted, print_json
    from theworld.errors import OntologyError

    counts = Counter(ref.kind for ref, _ in ontology.elements())
    serious = any(loss.serious for loss in losses)
    if as_json:
        facts = {"ontology": ontology.id, "version": ontology.version, "elements": counts.total(), "kinds": counts}
        print_json(facts | {"problems": [], "lost": [asdict(loss) for loss in losses]})
    else:
        what = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        said = "something would be lost" if serious else "nothing is wrong"
        console().print(f"{file}: {said} ({counted(counts.total(), 'element')}: {what}).")
        _tell_losses(console(), losses)
    if serious:
        raise typer.Exit(OntologyError.exit_code)


def _tell_losses(out: Console, losses: Sequence[Loss]) -> None:
    for title, serious in (("Not used, though questions could have:", True), ("Passed over:", False)):
        told = [loss for loss in losses if loss.serious == serious]
        if told:
            out.print(title)
        for loss in told:
            out.print(f"  {loss}", markup=False)


@ontology_app.command()
def export(
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    kind: Annotated[FormatName, typer.Option("--format", help="What to write.")] = FormatName.YAML,
    out: OutOption = None,
) -> None:
    """Write the ontology of a store, whole: importing what is written gives the same again."""
    from theworld.ontology.files.formats import dump_ontology

    _write(dump_ontology(_stored(store, tenant), kind.value), out)


@ontology_app.command()
def draw(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Ontology file.", show_default="the store's")
    ] = None,
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    kind: Annotated[PictureName, typer.Option("--format", help="What to draw.")] = PictureName.SVG,
    language: Annotated[LanguageName, typer.Option("--language", help="Language of the labels.")] = LanguageName.EN,
    around: Annotated[
        list[str] | None, typer.Option("--around", metavar="CLASS", help="Only this class and its neighbours.")
    ] = None,
    hops: Annotated[int, typer.Option("--hops", min=0, help="How far around.")] = 1,
    out: OutOption = None,
) -> None:
    """Draw classes with attributes and capabilities, inheritance and relations: an SVG, or Mermaid text."""
    from theworld.errors import OntologyError
    from theworld.ontology.files.drawing import to_mermaid, to_svg
    from theworld.ontology.files.formats import load_ontology

    ontology = load_ontology(file) if file is not None else _stored(store, tenant)
    unknown = [one for one in around or () if one not in {known.id for known in ontology.classes}]
    if unknown:
        known = ", ".join(one.id for one in ontology.classes[:20])
        raise OntologyError(f"there is no class {unknown[0]!r}.", where="--around", remedy=f"Classes are {known}.")
    drawn: Callable[..., str] = to_svg if kind is PictureName.SVG else to_mermaid
    _write(drawn(ontology, language.value, around or (), hops), out)


@ontology_app.command()
def show(
    element: Annotated[str, typer.Argument(metavar="ELEMENT", help="Id of an element, or class.attribute.")],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Show the edges of one element with their weights, what these are mixed from, and the notes that name it."""
    from theworld.cli.output import console, print_json
    from theworld.errors import OntologyError
    from theworld.stores.knowledge_store import open_store

    with open_store(settings_for(store)) as opened:
        graph = opened.ledger.graph
        if not any(node.key == element for node in graph.elements(check_tenant(tenant))):
            raise OntologyError(
                f"there is no element {element!r}.", where="ELEMENT", remedy="`theworld ontology export` lists all."
            )
        edges = [e for e in graph.edges(tenant) if element in {e.source[1], e.target[1]}]
        notes = [link for link in graph.links(tenant) if link.target[1] == element]
    if as_json:
        print_json({"element": element, "edges": [_plain(e) for e in edges], "notes": [_plain(n) for n in notes]})
        return
    out = console()
    for edge in edges:
        out.print(f"{edge.source[1]} -{edge.kind}-> {edge.target[1]}  {_weight(edge)}")
    _show_notes(out, notes)


@ontology_app.command()
def explain(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="The question, in English or Chinese.", show_default=False)
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    hops: Annotated[int | None, typer.Option("--hops", min=0, max=6, help="How far to walk.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what the ontology makes of a question: what it speaks of, paths, capabilities and notes."""
    from theworld.cli.output import console, print_json
    from theworld.deadline import Deadline
    from theworld.nodes.receive_question import clean_question
    from theworld.ontology.index import OntologyIndexes
    from theworld.retrieval.ontology import OntologyChannel, OntologyRequest
    from theworld.state import Context
    from theworld.stores.knowledge_store import open_store
    from theworld.text import detect_language

    question = clean_question(question)
    settings = settings_for(store)
    chosen = settings.ontology.model_copy(
        update={"enabled": True, "hops": settings.ontology.hops if hops is None else hops}
    )
    with open_store(settings) as opened:
        channel = OntologyChannel(OntologyIndexes(opened.ledger.graph), opened, chosen)
        context = Context(tenant=check_tenant(tenant))
        answer = channel.ask(OntologyRequest(question, detect_language(question), context, Deadline.after(600_000), 10))
    if as_json:
        print_json(
            {"ontology": answer.evidence.model_dump(), "notes": list(answer.notes)} if answer else {"ontology": None}
        )
        return
    out = console()
    if answer is None:
        out.print("Nothing of an ontology was recognised in it, or the store has none.")
        return
    out.print("Recognised")
    for match in answer.evidence.matches:
        value = f" = {match.value}" if match.value else ""
        out.print(f"  {match.kind:14} {match.label}{value}  ({match.how}, {match.score:.2f})")
    for constraint in answer.evidence.constraints:
        out.print(f"  {constraint.kind:14} {constraint.text}")
    out.print("Paths")
    for path in answer.evidence.paths:
        out.print(f"  {path.weight:.2f}  {path.text}")
    out.print("Capabilities")
    for capability in answer.evidence.capabilities:
        out.print(
            f"  {capability.score:.2f}  {capability.label}" + (f"  ({capability.path})" if capability.path else "")
        )
    out.print("Notes")
    for note_id, score in answer.notes:
        out.print(f"  {score:.2f}  {note_id}")


@ontology_app.command()
def remove(*, store: StoreOption = None, tenant: TenantOption = "default") -> None:
    """Take the ontology out of a store; documents and notes stay."""
    from theworld.cli.output import console
    from theworld.ontology.storing import remove_ontology
    from theworld.stores.knowledge_store import open_store

    with open_store(settings_for(store), read_only=False) as opened:
        removed = remove_ontology(opened, tenant=check_tenant(tenant))
    console().print("Removed." if removed else "There was none.")


@ontology_app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it; made if need be.")],
    last_day: Annotated[
        datetime | None,
        typer.Option("--last-day", formats=["%Y-%m-%d"], help="Day the year of data ends.", show_default="2024-12-31"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the sample domain "enterprise credit": ontology.yaml, notes/ (zh and en) and credit.sqlite."""
    from theworld.cli.output import console, print_json
    from theworld.demo.credit import write_sample

    paths = write_sample(folder, last_day=last_day.date() if last_day else None)
    if as_json:
        print_json({name: str(path) for name, path in paths.items()})
        return
    out = console()
    for name, path in paths.items():
        out.print(f"{name:9} {path}")


def _stored(store: Path | None, tenant: str) -> Ontology:
    from theworld.errors import OntologyError
    from theworld.ontology.storing import stored_ontology
    from theworld.stores.knowledge_store import open_store

    settings = settings_for(store)
    with open_store(settings) as opened:
        ontology = stored_ontology(opened, tenant=check_tenant(tenant))
    if ontology is None:
        raise OntologyError(
            f"tenant {tenant!r} has no ontology.",
            where=str(settings.store),
            remedy="`theworld ontology import FILE` puts one in.",
        )
    return ontology


def _write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        out.write_text(text, "utf-8")


def _plain(edge: GraphEdgeRecord) -> dict[str, object]:
    ends = {"source": edge.source[1], "target": edge.target[1], "kind": edge.kind}
    return {**ends, "weight": edge.weight, "parts": dict(edge.parts)}


def _weight(edge: GraphEdgeRecord) -> str:
    parts = ", ".join(f"{name.replace('_', '-')} {value:.2f}" for name, value in sorted(edge.parts.items()))
    return f"{edge.weight:.2f} ({parts})"


def _show_notes(out: Console, notes: Sequence[GraphEdgeRecord], most: int = 20) -> None:
    for link in sorted(notes, key=lambda link: (-link.weight, link.source[1]))[:most]:
        out.print(f"named in {link.source[1]}  {_weight(link)}")
    if len(notes) > most:
        out.print(f"and in {len(notes) - most} more")
