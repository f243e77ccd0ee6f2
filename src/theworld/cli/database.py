"""`theworld database`: a draft of how a database is read, a look at what it will answer, and questions to it alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from theworld.cli.options import JsonFlag, LanguageName, NowOption, QuestionWords, TenantOption
from theworld.cli.output import console, counted, error_console, language_for, print_json, printable, show_table, word
from theworld.errors import ModelError
from theworld.packages import reason_in

if TYPE_CHECKING:
    from theworld.sql.database import Database
    from theworld.sql.drafting.file import MappingFile

database_app = typer.Typer(help="Questions to a database that exists already, without any notes (docs/sql.md).")
Source = Annotated[
    str,
    Argument(
        metavar="URL|FILE", help="sqlite:///FILE, postgresql://USER@HOST/DATABASE, an SQLite file, or a mapping file."
    ),
]


@database_app.command()
def draft(
    source: Source,
    *,
    out: Annotated[Path | None, Option(metavar="FILE", help="Mapping file; what stands in it stays.")] = None,
    ask_model: Annotated[
        bool, Option("--ask-model", help="Let the configured model propose names; it sees names, never rows.")
    ] = False,
) -> None:
    """Draft how the tables of a database are read: names, types, keys, codes, dates, each with how sure it is.

    Written again to the same file, it adds what is new in the database, changes nothing, and lists what is gone.
    """
    from theworld.sql.drafting.file import merge, read_mapping, save_mapping, write_mapping
    from theworld.sql.drafting.inspection import left_out
    from theworld.sql.drafting.proposing import draft_mapping

    if out is not None and not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.absolute().parent}.", param_hint="--out")
    url, _ = _address(source)
    drafted, said = draft_mapping(url), error_console()
    if others := left_out(url):
        said.print(f"{len(others)} left out (views, tables of other schemas): {printable(', '.join(others))}")
    new, gone = list(drafted.tables), list[str]()
    if out is not None and out.exists():
        written = read_mapping(out)
        if written is None:
            raise typer.BadParameter(f"{out} is another kind of file; name a new one.", param_hint="--out")
        if drafted.database != written.database and drafted.source != written.source:
            other = f"{out} is of {written.database} ({written.source}), not of {drafted.database} ({drafted.source})"
            raise typer.BadParameter(f"{other}; name another file.", param_hint="--out")
        drafted, new, gone = merge(written, drafted)
    if ask_model:
        drafted = _with_proposals(drafted)
    if out is None:
        typer.echo(write_mapping(drafted), nl=False)
        return
    save_mapping(drafted, out)
    guessed = sum(t.sure < 1 for t in drafted.tables.values())
    confirm = f", {guessed} of them drafted: delete `sure` where they are right" if guessed else ""
    said.print(f"{out}: {len(drafted.tables)} tables{confirm}")
    for title, names in (("new", new), ("no longer in the database", gone)):
        if names:
            said.print(f"  {title}: {printable(', '.join(names))}")
    if whose := printable(", ".join(drafted.tenants)):
        said.print(f"  rows are shown only to the tenant named in {whose}: delete `tenant` where that is not meant")


@database_app.command()
def check(source: Source, *, tenant: TenantOption = "default") -> None:
    """Show for each table what it will answer: three questions with SQL and rows, and what is odd about it."""
    from theworld.sql.drafting.inspection import inspect_tables
    from theworld.sql.examples import asked_of, look_at

    url, file = _address(source)
    database, out = _opened(url, file, tenant), console()
    for found in look_at(database, inspect_tables(url), tenant):
        dated = f", dated by {printable(found.date)}" if found.date else ""
        out.print(f"\n{printable(found.table)} ({printable(', '.join(found.called))}){dated}")
        for question, told in found.examples:
            if isinstance(told, str):
                out.print(f"  {printable(question)}\n    declined: {printable(told)}")
                continue
            rows = "; ".join(" ".join(map(str, row)) for row in told.rows[:3]) or "no rows"
            out.print(f"  {printable(question)}\n    {printable(rows)}\n    {printable(told.sql)}")
        for one in found.odd:
            out.print(f"  odd: {printable(one)}")
    wrong = 0
    for question in database.confirmed:
        told = asked_of(database, question, tenant)
        wrong += isinstance(told, str)
        said = f"fails: {told}" if isinstance(told, str) else f"{len(told.rows)} rows"
        out.print(f"confirmed: {printable(question)}: {printable(said)}")
    if wrong:
        raise typer.Exit(1)


@database_app.command()
def confirm(
    file: Annotated[Path, Argument(metavar="FILE", help="Mapping file.")],
    words: QuestionWords,
    *,
    sql: Annotated[str | None, Option(metavar="TEXT", help="What answers it.", show_default="as it is read")] = None,
    tenant: TenantOption = "default",
) -> None:
    """Keep a question with the SQL that you have found to be right: it is recalled, and run again by `check`."""
    from theworld.sql.drafting.file import Confirmed, read_mapping, save_mapping
    from theworld.sql.plan import UnclearError
    from theworld.text import detect_language
    from theworld.text.time_ranges import depends_on_now

    url, _ = _address(str(file))
    mapping, database, question = read_mapping(file), _opened(url, file, tenant), " ".join(words)
    if mapping is None:
        raise typer.BadParameter(f"{file} is no mapping file.", param_hint="FILE")
    if depends_on_now(question):
        raise typer.BadParameter("it depends on the day it is asked; name the date.", param_hint="QUESTION")
    try:
        read = database.ask(question, language=detect_language(question), tenant=tenant) if sql is None else ()
    except UnclearError as error:
        raise typer.BadParameter(f"{error}; give --sql.", param_hint="QUESTION") from error
    if len(read) > 1:
        raise typer.BadParameter("it is read as several statements; give --sql.", param_hint="QUESTION")
    text = sql if sql is not None else database.written_out(read[0])
    table = database.run_text(text, title=question, tenant=tenant)
    kept = [one for one in mapping.questions if one.ask != question]
    save_mapping(mapping.model_copy(update={"questions": (*kept, Confirmed(ask=question, sql=text))}), file)
    show_table(console(), table)


@database_app.command()
def ask(
    source: Source,
    words: QuestionWords,
    *,
    mapping: Annotated[
        Path | None, Option(metavar="FILE", help="Mapping or ontology file; default: a fresh draft.")
    ] = None,
    now: NowOption = None,
    tenant: TenantOption = "default",
    dry_run: Annotated[bool, Option("--dry-run", help="Show the reading and the SQL; send nothing.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question from a database, with its reading in words and the SQL; say why when it is not certain.

    A question that is not read for certain is declined, with near names of what it could not place (exit code 1).
    """
    from theworld.questions import read_question
    from theworld.sql.plan import UnclearError
    from theworld.sql.results import in_words

    question, (url, file) = " ".join(words), _address(source)
    language = language_for(question, None) or read_question(question).language
    database = _opened(url, mapping or file, tenant, language)
    try:
        tables = database.ask(question, language=language, tenant=tenant, now=now, dry_run=dry_run)
    except UnclearError as error:
        near = database.near_names(error.words)
        if as_json:
            print_json({"answered": False, "reason": str(error), "near": near})
        else:
            why = reason_in(language, str(error), database.mapping.names_in(language))
            error_console().print(printable(word("not_answered", language, reason=why)))
            for unknown, names in near.items():
                said = word("near", language, word=unknown, names=word("comma", language).join(names))
                error_console().print(f"  {printable(said)}")
            if error.words:
                error_console().print(f"  {word('add_word', language)}")
        raise typer.Exit(1) from error
    if as_json:
        print_json({"answered": not dry_run, "tables": [table.model_dump(mode="json") for table in tables]})
        return
    out = console()
    for table in tables:
        read = "; ".join((table.title, *table.conditions, *table.reading))
        said = read if dry_run else in_words(table, language)
        out.print(printable(said))
        show_table(out, table, language)


def _with_proposals(drafted: MappingFile) -> MappingFile:
    """Return a mapping with the names that the configured model proposes for it, said how many."""
    from theworld.models.chat import OpenAIChatModel
    from theworld.settings import Settings
    from theworld.sql.model_statement import with_model_labels

    model = Settings.load().model
    if model.name is None:
        raise typer.BadParameter("no model is configured; set model.name.", param_hint="--ask-model")
    try:
        found, added = with_model_labels(drafted, OpenAIChatModel(model))
    except ValueError as error:
        reason = next(iter(str(error).splitlines()), "")
        raise ModelError(f"proposes no names: {reason}", where=model.name, remedy="Draft without it.") from error
    error_console().print(f"{counted(added, 'name')} proposed by {model.name}: move the right ones to `called`")
    return found


def _address(source: str) -> tuple[str, Path | None]:
    """Return the database's address and the mapping file, where the source is one."""
    from theworld.settings import Settings
    from theworld.sql.drafting.file import read_mapping

    if "://" in source:
        return source, None
    path = Path(source).expanduser()
    if not path.is_file():
        raise typer.BadParameter(f"{source} is neither an address nor a file.", param_hint="URL|FILE")
    if path.read_bytes()[:15] == b"SQLite format 3":
        return f"sqlite:///{path.resolve()}", None
    mapping = read_mapping(path)
    own = Settings.load().database.url
    address = own.get_secret_value() if own is not None else mapping.source if mapping is not None else ""
    if not address:
        kind = "names no database" if mapping is not None else "is neither an SQLite database nor a mapping file"
        raise typer.BadParameter(f"{source} {kind}; set database.url.", param_hint="URL|FILE")
    return address, path


def _opened(url: str, mapping: Path | None, tenant: str, language: LanguageName = "en") -> Database:
    """Return the database, said whose rows alone are asked where its tables have tenants and none was named."""
    from theworld.settings import Settings
    from theworld.sql.database import Database

    own = Settings.load().database.model_dump() | {"url": url, "ontology": mapping}
    opened = Database.open(Settings(database=own).database)
    if tenant == "default" and (whose := opened.mapping.tenants or opened.unguarded):
        key, names = "one_tenant" if opened.mapping.tenants else "all_tenants", printable(", ".join(whose))
        error_console().print(word(key, language, names=names))
    return opened
