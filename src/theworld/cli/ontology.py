"""`theworld ontology`: ontologies into a store and out of it, looked at, drawn, and the sample domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from theworld.cli.ingesting import counting
from theworld.cli.options import (
    JsonFlag,
    LanguageName,
    QuestionWords,
    StoreOption,
    TenantOption,
    opened_store,
    settings_for,
)
from theworld.cli.output import console, counted, print_json
from theworld.errors import OntologyError

if TYPE_CHECKING:
    from theworld.ontology import Ontology
    from theworld.ontology.files.rdf_writing import Loss
    from theworld.stores.ledger.graph_tables import GraphEdgeRecord

ontology_app = typer.Typer(
    help="Ontologies: what things there are, what they have, how they are related (docs/ontology.md)."
)


NOTES_SHOWN = 20

OutOption = Annotated[Path | None, Option("--out", metavar="FILE", help="Where to write.", show_default="print")]


@ontology_app.command("import")
def import_(
    file: Annotated[
        Path, Argument(metavar="FILE", help="yaml, json; OWL, RDFS or SKOS as ttl, owl, rdf, xml, jsonld.")
    ],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    check: Annotated[
        bool, Option("--check", help="Only say what is wrong or would be lost (exit code 5); write nothing.")
    ] = False,
    terms: Annotated[
        Path | None,
        Option(
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
    from theworld.ontology.files import load_ontology
    from theworld.ontology.storing import import_ontology

    losses: list[Loss] = []
    ontology, out = load_ontology(file, terms=terms, losses=losses), console()
    lost = [asdict(loss) for loss in losses]
    if check:
        kinds = Counter(ref.kind for ref, _ in ontology.elements())
        serious = any(loss.serious for loss in losses)
        if as_json:
            facts = {"ontology": ontology.id, "version": ontology.version, "elements": kinds.total(), "kinds": kinds}
            print_json(facts | {"problems": [], "lost": lost})
        else:
            what = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
            said = "something would be lost" if serious else "nothing is wrong"
            out.print(f"{file}: {said} ({counted(kinds.total(), 'element')}: {what}).")
            _tell_losses(losses)
        if serious:
            raise typer.Exit(OntologyError.exit_code)
        return
    with opened_store(store, create=True) as opened, counting("Linking notes") as progress:
        report = import_ontology(opened, ontology, tenant=tenant, progress=progress)
    place = settings_for(store).store
    if as_json:
        print_json(asdict(report) | {"store": str(place), "lost": lost})
        return
    out.print(f"{'Imported' if report.changed else 'Unchanged'}: {ontology.id} {ontology.version}")
    for what, counts in (("nodes", report.nodes), ("edges", report.edges)):
        out.print(f"  {what}: {', '.join(f'{count} {kind}' for kind, count in counts.items()) or 'none'}")
    out.print(f"  {counted(report.linked_notes, 'note')} linked. Store: {place}")
    _tell_losses(losses)


def _tell_losses(losses: Sequence[Loss]) -> None:
    for title, serious in (("Not used, though questions could have:", True), ("Passed over:", False)):
        told = [loss for loss in losses if loss.serious == serious]
        if told:
            console().print(title)
        for loss in told:
            console().print(f"  {loss}")


@ontology_app.command()
def export(
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    kind: Annotated[
        Literal["yaml", "json", "turtle", "xml", "json-ld"], Option("--format", help="What to write.")
    ] = "yaml",
    out: OutOption = None,
) -> None:
    """Write the ontology of a store, whole: importing what is written gives the same again."""
    from theworld.ontology.files import dump_ontology

    _write(dump_ontology(_stored(store, tenant), kind), out)


@ontology_app.command()
def draw(
    file: Annotated[Path | None, Argument(metavar="FILE", help="Ontology file.", show_default="the store's")] = None,
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    language: Annotated[LanguageName, Option(help="Language of the labels.")] = "en",
    around: Annotated[list[str] | None, Option(metavar="CLASS", help="Only this class and its neighbours.")] = None,
    hops: Annotated[int, Option(min=0, help="How far around.")] = 1,
    out: OutOption = None,
) -> None:
    """Draw classes with attributes and capabilities, inheritance and relations as an SVG."""
    from theworld.ontology.files import load_ontology
    from theworld.ontology.files.drawing import to_svg

    ontology = load_ontology(file) if file is not None else _stored(store, tenant)
    unknown = [one for one in around or () if one not in {known.id for known in ontology.classes}]
    if unknown:
        known = ", ".join(one.id for one in ontology.classes[:20])
        raise OntologyError(f"there is no class {unknown[0]!r}.", where="--around", remedy=f"Classes are {known}.")
    _write(to_svg(ontology, language, around or (), hops), out)


@ontology_app.command()
def show(
    element: Annotated[str, Argument(metavar="ELEMENT", help="Id of an element, or class.attribute.")],
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    as_json: JsonFlag = False,
) -> None:
    """Show the edges of one element with their weights, what these are mixed from, and the notes that name it."""
    with opened_store(store) as opened:
        graph = opened.ledger.graph.whole(tenant)
        if not any(node.key == element for node in graph.elements):
            remedy = "`theworld ontology export` lists all."
            raise OntologyError(f"there is no element {element!r}.", where="ELEMENT", remedy=remedy)
        edges = [e for e in graph.edges if element in {e.source[1], e.target[1]}]
        notes = [link for link in graph.links if link.target[1] == element]
    if as_json:
        print_json({"element": element, "edges": [_plain(e) for e in edges], "notes": [_plain(n) for n in notes]})
        return
    out = console()
    for edge in edges:
        out.print(f"{edge.source[1]} -{edge.kind}-> {edge.target[1]}  {_weight(edge)}")
    for link in sorted(notes, key=lambda link: (-link.weight, link.source[1]))[:NOTES_SHOWN]:
        out.print(f"named in {link.source[1]}  {_weight(link)}")
    if len(notes) > NOTES_SHOWN:
        out.print(f"and in {len(notes) - NOTES_SHOWN} more")


def _plain(edge: GraphEdgeRecord) -> dict[str, object]:
    ends = {"source": edge.source[1], "target": edge.target[1], "kind": edge.kind}
    return {**ends, "weight": edge.weight, "parts": dict(edge.parts)}


def _weight(edge: GraphEdgeRecord) -> str:
    parts = ", ".join(f"{name.replace('_', '-')} {value:.2f}" for name, value in sorted(edge.parts.items()))
    return f"{edge.weight:.2f} ({parts})"


@ontology_app.command()
def explain(
    words: QuestionWords,
    *,
    store: StoreOption = None,
    tenant: TenantOption = "default",
    hops: Annotated[int | None, Option(min=0, max=6, help="How far to walk.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what the ontology makes of a question: what it speaks of, paths, capabilities and notes."""
    from theworld.deadline import Deadline
    from theworld.nodes.receive_question import clean_question
    from theworld.ontology.retrieval import OntologyIndexes
    from theworld.retrieval.ontology import OntologyChannel
    from theworld.state import Context
    from theworld.text import detect_language

    question, chosen = clean_question(" ".join(words)), settings_for(store).ontology
    chosen = chosen.model_copy(update={"enabled": True, "hops": chosen.hops if hops is None else hops})
    with opened_store(store) as opened:
        channel = OntologyChannel(OntologyIndexes(opened.ledger.graph), opened, chosen)
        asked, within = Context(tenant=tenant), Deadline.after(600_000)
        answer = channel.ask(question, detect_language(question), asked, within, 10)
    if as_json:
        found = {"ontology": answer[0].model_dump(), "notes": list(answer[1])} if answer else None
        print_json(found or {"ontology": None})
        return
    if answer is None:
        console().print("Nothing of an ontology was recognised in it, or the store has none.")
        return
    (told, notes), lines = answer, ["Recognised"]
    for match in told.matches:
        value = f" = {match.value}" if match.value else ""
        lines.append(f"  {match.kind:14} {match.label}{value}  ({match.how}, {match.score:.2f})")
    lines += [f"  {constraint.kind:14} {constraint.text}" for constraint in told.constraints]
    lines += ["Paths", *(f"  {path.weight:.2f}  {path.text}" for path in told.paths), "Capabilities"]
    for capability in told.capabilities:
        path = f"  ({capability.path})" if capability.path else ""
        lines.append(f"  {capability.score:.2f}  {capability.label}{path}")
    lines += ["Notes", *(f"  {score:.2f}  {note_id}" for note_id, score in notes)]
    console().print("\n".join(lines))


@ontology_app.command()
def remove(*, store: StoreOption = None, tenant: TenantOption = "default") -> None:
    """Take the ontology out of a store; documents and notes stay."""
    from theworld.ontology.storing import remove_ontology

    with opened_store(store, read_only=False) as opened:
        removed = remove_ontology(opened, tenant=tenant)
    console().print("Removed." if removed else "There was none.")


@ontology_app.command()
def sample(
    folder: Annotated[Path, Argument(metavar="DIR", help="Where to write it; made if need be.")],
    last_day: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Day the year of data ends.", show_default="2024-12-31")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the sample domain "enterprise credit": ontology.yaml, notes/ (zh and en) and credit.sqlite."""
    from theworld.demo.credit import write_sample

    paths = write_sample(folder, last_day=last_day.date() if last_day else None)
    if as_json:
        print_json({name: str(path) for name, path in paths.items()})
        return
    for name, path in paths.items():
        console().print(f"{name:9} {path}")


def _stored(store: Path | None, tenant: str) -> Ontology:
    from theworld.ontology.storing import stored_ontology

    with opened_store(store) as opened:
        ontology = stored_ontology(opened, tenant=tenant)
    if ontology is None:
        remedy = "`theworld ontology import FILE` puts one in."
        raise OntologyError(f"tenant {tenant!r} has no ontology.", where=str(settings_for(store).store), remedy=remedy)
    return ontology


def _write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        out.write_text(text, "utf-8")
