"""The demonstration of `analytiq demo`: sample documents, and three questions with known answers."""

import shlex
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape

from analytiq.cli import knowledge_bases
from analytiq.cli.command_name import command_name
from analytiq.cli.console import note, output
from analytiq.cli.ingestion import OUTCOMES
from analytiq.cli.search import print_passage
from analytiq.client import Client, DocumentDetail, KnowledgeBase, Passage
from analytiq.errors import AnalytiqError, PermanentError
from analytiq.standalone.data_directory import ConnectionFile

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


class Demonstration:
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
    answer = client.upload(files, tag_ids=[tag.tag_id], merge=True)
    for file, uploaded in zip(files, answer.documents, strict=True):
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
