"""`analytiq demo`: the platform, sample documents, and three questions with known answers."""

import asyncio
import shlex
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from analytiq.cli import knowledge_bases
from analytiq.cli.command_name import command_name
from analytiq.cli.console import errors_as_sentences, note, output
from analytiq.cli.ingestion import OUTCOMES
from analytiq.cli.options import Host, Port
from analytiq.cli.search import print_passage
from analytiq.cli.up import announce, run_platform, serve_until_given_up
from analytiq.client import Client, DocumentDetail, KnowledgeBase, Passage
from analytiq.errors import AnalytiqError, ConflictError, PermanentError
from analytiq.settings import Settings, read_settings
from analytiq.standalone.addresses import available_port, serves_pages
from analytiq.standalone.data_directory import ConnectionFile
from analytiq.standalone.machine import plan_capacity, read_machine
from analytiq.standalone.platform import Platform, PlatformOptions

app = typer.Typer()


@app.command()
def demo(
    *,
    data_dir: Annotated[Path, typer.Option("--data-dir", help="Directory of the demo's data.")] = Path(
        ".analytiq/demo"
    ),
    host: Host = None,
    port: Port = None,
    stops_by_itself: Annotated[
        bool, typer.Option("--exit", envvar="DEMO_EXIT", help="Stop after the questions.")
    ] = False,
    pages_follow: Annotated[
        bool, typer.Option("--pages-follow", hidden=True, help="Build the management UI meanwhile.")
    ] = False,
) -> None:
    """Run everything with sample documents, ask three questions, and keep serving."""
    with errors_as_sentences():
        manner = DemoOptions(stops_by_itself=stops_by_itself, pages_follow=pages_follow)
        is_right = run_demo(read_settings(), data_dir, manner, host=host, port=port)
    raise typer.Exit(0 if is_right else 1)


SAMPLES = Path(__file__).parent / "samples"
TAG = "harbour lane"
KNOWLEDGE_BASE = "Harbour Lane handbook"

CHUNK_TOKENS = 96
"""Small, so that a passage of these short texts is a paragraph or two on one page."""

INDEX_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its known answer: the file, the page, and the words that it must contain."""

    text: str
    file_name: str
    page: int
    words: str

    def is_answered_by(self, passage: Passage) -> bool:
        """Return whether the passage answers the question."""
        is_there = passage.source == self.file_name and passage.first_page <= self.page <= passage.last_page
        return is_there and self.words in " ".join(passage.content.split())


CONTRACT = Question("How much notice is needed to end the agreement?", "service-agreement.pdf", 3, "ninety days")
MANUAL = Question("How often must the filter cartridge be replaced?", "pump-manual.md", 1, "1,200 operating hours")
SCAN = Question("Which turbidity sensors are recalled, and why?", "scanned-letter.png", 1, "may crack")
POLICY = Question("What may a hotel room cost per night?", "travel-policy.docx", 1, "130 euros a night")


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Options of the demonstration: its end, and whether the management UI is still being built."""

    stops_by_itself: bool = False
    pages_follow: bool = False


def run_demo(settings: Settings, data_dir: Path, manner: DemoOptions, *, host: str | None, port: int | None) -> bool:
    """Start everything, ingest the samples, ask, and keep serving.

    Args:
        settings: read from the environment.
        data_dir: directory of the demonstration's data, which a second run reuses.
        manner: whether to end after the questions or serve until Ctrl-C, and whether the UI is being built.
        host: address of the API.
        port: its port; None takes the usual one or, if taken, a free one.

    Returns:
        True if all answers are right.

    Raises:
        AnalytiqError: the platform cannot start, or a sample cannot be ingested.
    """
    began = time.monotonic()
    listening = host or settings.api.host
    options = PlatformOptions(
        data_dir=data_dir,
        host=listening,
        port=_usual_or_free(listening, settings.api.port) if port is None else port,
        capacity=plan_capacity(read_machine(), settings, workers=1),
        keeps_logs=True,
    )
    is_right = False

    async def serve(platform: Platform, stopping: asyncio.Event) -> None:
        nonlocal is_right
        output.print("Starting the database, the API, a worker and the reconciler …")
        ready = await platform.start()
        has_pages = await asyncio.to_thread(serves_pages, ready.connection.url)
        announce(ready, has_pages=has_pages or manner.pages_follow)
        demonstration = _Demonstration(ready.connection, began)
        try:
            is_right = await asyncio.to_thread(demonstration.run)
        finally:
            demonstration.give_up()
        if not manner.stops_by_itself:
            demonstration.say_how_to_go_on(data_dir)
            await serve_until_given_up(platform, ready)

    asyncio.run(run_platform(settings, options, serve))
    return is_right


class _Demonstration:
    """The demonstration, in its own thread because the client is synchronous."""

    def __init__(self, connection: ConnectionFile, began: float) -> None:
        self._connection = connection
        self._began = began
        self._is_given_up = threading.Event()

    def give_up(self) -> None:
        """Print nothing more: the platform is stopping."""
        self._is_given_up.set()

    def run(self) -> bool:
        """Ingest and ask; return True if all answers are right."""
        connection = self._connection
        try:
            with Client(connection.url, connection.organization_id, connection.token.get_secret_value()) as client:
                knowledge_base, documents = _ingest(client)
                return self._ask(client, knowledge_base, choose_questions(documents))
        except AnalytiqError:
            if self._is_given_up.is_set():
                return False
            raise

    def _ask(self, client: Client, knowledge_base: KnowledgeBase, questions: Sequence[Question]) -> bool:
        right = 0
        for question in questions:
            answer = client.search(knowledge_base.kb_id, question.text, top_k=1)
            output.print(f"\n[bold cyan]{escape(question.text)}[/]")
            if not answer.results:
                output.print("[red]no answer[/]")
                continue
            passage = answer.results[0]
            is_right = question.is_answered_by(passage)
            print_passage(passage, heading="[green]✓[/]" if is_right else "[red]✗ another passage was expected:[/]")
            right += is_right
            if question is questions[0]:
                seconds = time.monotonic() - self._began
                output.print(f"[dim]The first answer came {seconds:.1f} s after the start.[/]")
        output.print(f"\n{right} of {len(questions)} answers are right.")
        return right == len(questions)

    def say_how_to_go_on(self, data_dir: Path) -> None:
        """Print suggestions for next steps."""
        url = f"{self._connection.url}/v0/orgs/{self._connection.organization_id}"
        # Other people may read a log.
        token = self._connection.token.get_secret_value() if output.is_terminal else "$ANALYTIQ_TOKEN"
        here = escape(f"--data-dir {shlex.quote(str(data_dir))}")
        command = escape(command_name())
        output.print(
            f"\nThe platform keeps running at [bold]{self._connection.url}[/] until Ctrl-C. In another terminal:"
        )
        output.print(f'  {command} search "When are invoices payable?" {here}')
        output.print(f"  {command} ingest YOUR-FILES --tag '{TAG}' {here}")
        output.print(f'  curl -H "Authorization: Bearer {token}" {url}/documents')


def choose_questions(documents: Sequence[DocumentDetail]) -> list[Question]:
    """Choose three questions; the one about the scan only if OCR is available."""
    scan = next((document for document in documents if document.document_name == SCAN.file_name), None)
    if scan is not None and not scan.warnings:
        return [CONTRACT, MANUAL, SCAN]
    note(f"{SCAN.file_name} was not read: {' '.join(scan.warnings) if scan else 'it is missing'}")
    return [CONTRACT, MANUAL, POLICY]


def _ingest(client: Client) -> tuple[KnowledgeBase, list[DocumentDetail]]:
    tag = client.ensure_tag(TAG)
    files = sorted(file for file in SAMPLES.iterdir() if file.name != "README.md")
    ids: list[str] = []
    for file in files:
        answer = client.upload([file], tag_ids=[tag.tag_id], merge=True)
        uploaded = answer.documents[0]
        if uploaded.document_id is None:
            raise PermanentError(f"{file.name} was refused: {uploaded.error.detail if uploaded.error else ''}")
        ids.append(uploaded.document_id)
        output.print(f"  {OUTCOMES[uploaded.outcome]}  {escape(file.name)}")
    knowledge_base = _knowledge_base(client, tag.tag_id)
    return knowledge_base, client.wait_until_indexed(ids, timeout_seconds=INDEX_SECONDS, on_settled=_print_indexed)


def _knowledge_base(client: Client, tag_id: str) -> KnowledgeBase:
    if any(item.name == KNOWLEDGE_BASE for item in client.knowledge_bases(name_search=KNOWLEDGE_BASE)):
        return knowledge_bases.choose(client, KNOWLEDGE_BASE)
    return client.create_knowledge_base(
        KNOWLEDGE_BASE, tag_ids=[tag_id], chunk_size=CHUNK_TOKENS, chunk_overlap=0, description="Sample documents"
    )


def _print_indexed(document: DocumentDetail) -> None:
    chunks = sum(state.chunk_count for state in document.knowledge_bases)
    pages = f"{document.page_count} {'page' if document.page_count == 1 else 'pages'}"
    failures = f", [red]{escape('; '.join(document.failures))}[/]" if document.failures else ""
    output.print(f"  indexed  {escape(document.document_name)}: {pages}, {chunks} chunks{failures}")


def _usual_or_free(host: str, port: int) -> int:
    try:
        return available_port(host, port)
    except ConflictError:
        return 0
