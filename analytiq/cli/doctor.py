"""`analytiq doctor`: checks of this machine, with remedies."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import typer
from rich.markup import escape

from analytiq.cli.connection import connect_to_api
from analytiq.cli.console import errors_as_sentences, output
from analytiq.cli.options import DataDir
from analytiq.client import UnreachableError
from analytiq.errors import AnalytiqError, NotFoundError, ParserUnavailableError
from analytiq.ingestion.parsing.registry import ParserRegistry, default_registry, load_parser
from analytiq.settings import ExtractionSettings, Settings, read_settings
from analytiq.standalone.addresses import available_port
from analytiq.standalone.process_table import holder_of

app = typer.Typer()


@app.command()
def doctor(data_dir: DataDir = None) -> None:
    """Check this machine for problems and print their remedies. Exit code 1 if there are any."""
    with errors_as_sentences():
        is_well = run_doctor(read_settings(), data_dir)
    raise typer.Exit(0 if is_well else 1)


OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 1_000_000_000
"""512 MB for the oplog, the rest for journals and an upload."""

MOST_IMBALANCES = 5


class Verdict(Enum):
    """The verdict of a check; its value is printed."""

    GOOD = "[green]ok[/]     "
    NOTE = "[yellow]note[/]   "
    BAD = "[red]problem[/]"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, with a remedy if there is one."""

    verdict: Verdict
    subject: str
    detail: str
    remedy: str | None = None


def run_doctor(settings: Settings, data_dir: Path | None) -> bool:
    """Check everything and print it; return True without problems."""
    is_well = True
    for finding in examine(settings, data_dir):
        is_well = is_well and finding.verdict is not Verdict.BAD
        output.print(f"{finding.verdict.value}  [bold]{finding.subject}[/]: {escape(finding.detail)}")
        if finding.remedy:
            output.print(f"         → {escape(finding.remedy)}")
    return is_well


def examine(settings: Settings, data_dir: Path | None) -> Iterator[Finding]:
    """Yield the findings one by one; some take a second."""
    directory = (data_dir or settings.data_dir).expanduser()
    yield check_python(sys.version_info[:2])
    yield check_data_directory(directory)
    yield check_free_space(directory)
    if settings.mongo.uri is None:
        yield _checked("mongod", _mongod)
    yield _checked("MongoDB", lambda: _database(settings, data_dir))
    yield _checked("Vector store", lambda: check_vector_store(settings, data_dir))
    yield _checked("SPUs", lambda: _books(settings, data_dir))
    yield _checked("Secret key", lambda: check_stored_keys(settings, data_dir))
    yield check_parsers(default_registry())
    yield _checked("Isolation of parsers", lambda: check_isolation(settings.extraction, directory))
    yield check_ocr(settings.extraction.ocr_languages)
    yield _checked("Local embedding model", _local_model)
    yield _checked("API", lambda: _api(settings, data_dir))
    if holder_of(directory) is None:
        yield _checked("Port", lambda: _port(settings))


def check_python(version: tuple[int, int]) -> Finding:
    """Check the version of Python."""
    found = ".".join(map(str, version))
    if version >= OLDEST_PYTHON:
        return Finding(Verdict.GOOD, "Python", found)
    return Finding(Verdict.BAD, "Python", f"{found} is too old", "install Python 3.11 or newer, then `make setup`")


def check_data_directory(directory: Path) -> Finding:
    """Check that this user can work in the data directory."""
    subject = "Data directory"
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.R_OK | os.W_OK | os.X_OK):
        remedy = f"name another with --data-dir or ANALYTIQ_DATA_DIR, or give this user {str(existing)!r}"
        return Finding(Verdict.BAD, subject, f"this user may not write in {str(existing)!r}", remedy)
    if existing != directory:
        return Finding(Verdict.GOOD, subject, f"{directory} will be made")
    if directory.stat().st_mode & 0o077:
        return Finding(
            Verdict.BAD, subject, f"others may read {str(directory)!r}, which holds keys", f"chmod 700 {directory}"
        )
    return Finding(Verdict.GOOD, subject, str(directory))


def check_free_space(directory: Path) -> Finding:
    """Check the disk space for the database."""
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    detail = f"{free_bytes / 1e9:.1f} GB are free"
    if free_bytes >= LEAST_FREE_BYTES:
        return Finding(Verdict.GOOD, "Disk", detail)
    return Finding(Verdict.BAD, "Disk", f"only {detail}", "free at least 1 GB, or use a data directory on another disk")


def check_parsers(registry: ParserRegistry) -> Finding:
    """Import every parser, as documents of each kind would."""
    problems = list(registry.problems)
    for reference in registry.references:
        try:
            load_parser(reference)
        except ParserUnavailableError as error:
            problems.append(error.detail)
    if not problems:
        return Finding(Verdict.GOOD, "Parsers", f"all {len(registry.references)} can be imported")
    remedy = "install the named modules, or reinstall Analytiq: `make setup`; other kinds of files are read"
    return Finding(Verdict.BAD, "Parsers", " ".join(problems), remedy)


def check_isolation(settings: ExtractionSettings, directory: Path) -> Finding | str:
    """Try actions in a child that are forbidden to parsers.

    Raises:
        AnalytiqError: parsers could read the data directory, or the sandbox does not start.
    """
    from analytiq.ingestion.parsing.isolation import isolation_of, refuse_readable_data
    from analytiq.ingestion.parsing.sandbox import examine
    from analytiq.ingestion.parsing.servers import stop_server

    subject = "Isolation of parsers"
    if settings.isolation == "off":
        return Finding(
            Verdict.NOTE, subject, "it is off: parsers keep all rights", "unset ANALYTIQ_EXTRACTION__ISOLATION"
        )
    refuse_readable_data(directory, extra=settings.readable_paths)
    try:
        gap = asyncio.run(examine(isolation_of(settings))).gap
    finally:
        stop_server()
    if gap is None:
        return "a document reaches no file, no network and no process"
    verdict = Verdict.BAD if settings.isolation == "required" else Verdict.NOTE
    return Finding(verdict, subject, gap)


def check_ocr(languages: tuple[str, ...]) -> Finding:
    """Check that OCR can read images of pages."""
    from analytiq.ingestion.ocr.tesseract import TesseractEngine

    engine = TesseractEngine(languages, data_dir=None)
    if engine.missing_data is None:
        return Finding(Verdict.GOOD, "OCR", f"language data for {', '.join(engine.languages)}")
    # A note: everything else works, and each page that needs OCR reports it.
    return Finding(Verdict.NOTE, "OCR", "pages that are images are not read", engine.missing_data)


def _checked(subject: str, check: Callable[[], Finding | str]) -> Finding:
    """Run a check that returns a detail or raises an error with a remedy."""
    try:
        result = check()
    except AnalytiqError as error:
        return Finding(Verdict.BAD, subject, error.detail)
    return result if isinstance(result, Finding) else Finding(Verdict.GOOD, subject, result)


def _mongod() -> str:
    from analytiq.standalone.embedded_binary import find_binaries

    return str(find_binaries()[0])


def _database(settings: Settings, data_dir: Path | None) -> Finding | str:
    from analytiq.standalone.local_database import address_of_database, describe

    try:
        uri = address_of_database(settings, data_dir)
    except NotFoundError:
        return Finding(Verdict.NOTE, "MongoDB", "the embedded one does not run; `analytiq up` starts it")
    return describe(uri, settings.mongo.database)


def check_vector_store(settings: Settings, data_dir: Path | None) -> Finding | str:
    """Check which backend serves searches, and why.

    Raises:
        AnalytiqError: the configured backend is not available, or MongoDB does not answer.
    """
    from analytiq.models.knowledge_base import LOCAL_BACKEND
    from analytiq.retrieval.backends.registry import MONGODB, BackendChoice, choose
    from analytiq.standalone.local_database import address_of_database, run_on_database
    from analytiq.storage.client import MongoConnection
    from analytiq.storage.repositories.knowledge_bases import KnowledgeBaseRepository
    from analytiq.storage.search.indexes import SearchIndexes

    subject = "Vector store"

    async def ask(connection: MongoConnection) -> tuple[BackendChoice, dict[str, int]]:
        choice = await choose(SearchIndexes(connection), settings.search)
        return choice, await KnowledgeBaseRepository(connection).counts_by_store()

    try:
        uri = address_of_database(settings, data_dir)
    except NotFoundError:
        return Finding(Verdict.NOTE, subject, "it is chosen when the database runs")
    choice, counts = run_on_database(uri, settings.mongo.database, ask)
    total, remote = sum(counts.values()), counts.get(MONGODB, 0)
    if choice.name == LOCAL_BACKEND:
        detail = f"local, for all of {total} knowledge bases: {choice.reason}"
        if not remote:
            return detail
        remedy = (
            "nothing, while they fit into ANALYTIQ_SEARCH__LOCAL_STORE_BYTES; else give MongoDB its search server back"
        )
        return Finding(Verdict.NOTE, subject, f"{detail}; {remote} were made for MongoDB's own search", remedy)
    detail = (
        f"{choice.name}, for {counts.get(choice.name, 0)} of {total} knowledge bases and all new ones: {choice.reason}"
    )
    if choice.is_away:
        return Finding(Verdict.BAD, subject, detail, "start mongot, and see its log; searches answer 503 until then")
    return detail


def _books(settings: Settings, data_dir: Path | None) -> Finding | str:
    """Compare charges with stored usage at one point in time; from indexes, a second for a million embeddings."""
    from analytiq.standalone.local_database import address_of_database, run_on_database
    from analytiq.storage.repositories.books import BooksRepository
    from analytiq.tenancy.metering.audit import imbalances

    try:
        uri = address_of_database(settings, data_dir)
    except NotFoundError:
        return Finding(Verdict.NOTE, "SPUs", "they are counted while the database runs")
    books = run_on_database(uri, settings.mongo.database, lambda connection: BooksRepository(connection).read())
    found = imbalances(books)
    if not found:
        return f"{sum(books.charged.values())} were charged, as many as embeddings were first stored"
    detail = "; ".join(f"organization {item.organization_id}: {item.detail}" for item in found[:MOST_IMBALANCES])
    more = f", and {len(found) - MOST_IMBALANCES} more" if len(found) > MOST_IMBALANCES else ""
    if all(item.is_explained for item in found):
        return Finding(Verdict.NOTE, "SPUs", f"{detail}{more}", "nothing, where embeddings were erased from the cache")
    remedy = "no crash does this, but rows removed or restored by hand do: compare with a backup, and report it"
    return Finding(Verdict.BAD, "SPUs", f"{detail}{more}", remedy)


def check_stored_keys(settings: Settings, data_dir: Path | None) -> Finding | str:
    """Check that the secret key decrypts the stored provider keys.

    Raises:
        AnalytiqError: the key in the environment is invalid, or MongoDB does not answer.
    """
    from analytiq.inference.credentials.key_check import REMEDY, check_secret_key
    from analytiq.standalone.local_database import address_of_database, run_on_database
    from analytiq.standalone.secret_keys import vault_of
    from analytiq.storage.repositories.providers import ProviderRepository

    subject = "Secret key"
    try:
        uri = address_of_database(settings, data_dir)
    except NotFoundError:
        return Finding(Verdict.NOTE, subject, "it is tried on the stored keys while the database runs")
    vault = vault_of(settings, (data_dir or settings.data_dir).expanduser())
    if vault is None:
        detail = "none is known here, so that the stored keys are not tried"
        return Finding(Verdict.NOTE, subject, detail, "set ANALYTIQ_SECRET_KEY as the platform's processes have it")
    found = run_on_database(
        uri, settings.mongo.database, lambda connection: check_secret_key(ProviderRepository(connection), vault)
    )
    if found.problem is not None:
        return Finding(Verdict.BAD, subject, found.problem, REMEDY)
    return f"it opens all {found.readable} stored provider keys" if found.readable else "no provider key is stored yet"


def _local_model() -> str:
    """Embed a word (half a second), which checks weights, graph and processor."""
    from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder

    embedder = LocalEmbedder(LOCAL_MODEL)
    vectors = embedder.embed_texts(["water"])
    embedder.close()
    return f"{LOCAL_MODEL}, {vectors.shape[1]} dimensions"


def _api(settings: Settings, data_dir: Path | None) -> Finding | str:
    is_stopped = settings.url is None and holder_of(data_dir or settings.data_dir) is None
    try:
        with connect_to_api(settings, data_dir) as client:
            name = client.organization().name
            if client.is_ready():
                return f"{client.url} is ready, and the token opens {name!r}"
            return Finding(Verdict.BAD, "API", f"{client.url} is not ready", "its log, or the check above, says why")
    except (NotFoundError, UnreachableError):
        if not is_stopped:
            raise
        return Finding(Verdict.NOTE, "API", "it does not run; `analytiq up` starts it")


def _port(settings: Settings) -> str:
    api = settings.api
    return f"{api.host}:{available_port(api.host, api.port)} is free for `analytiq up`"
