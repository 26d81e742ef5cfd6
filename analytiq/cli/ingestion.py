"""`analytiq ingest`: uploads files, and waits until they are searchable."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from pydantic import JsonValue
from rich.markup import escape

from analytiq.cli.console import note, output
from analytiq.cli.files import Found, FoundFile
from analytiq.cli.folder_plan import Comparison, Hashes, compare
from analytiq.cli.ingest_progress import UploadProgress, WaitProgress
from analytiq.client import (
    Client,
    DocumentAtPath,
    DocumentDetail,
    DuplicatePolicy,
    ExternalIdentity,
    KnowledgeBase,
    ProblemError,
    Tag,
    UploadAnswer,
)
from analytiq.client.upload import in_batches
from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.models.upload import BULK_FILES

PARALLEL_UPLOADS = 4
WAIT_SECONDS = 3600.0
MOST_LISTED = 20
"""Most skipped or vanished files that are named; beyond, only their number is shown."""

OUTCOMES = {
    "created": "created",
    "replaced": "replaced",
    "returned": "already there",
    "failed": "not taken",
}


@dataclass(frozen=True, slots=True)
class Wishes:
    """Options of an ingestion."""

    tags: Sequence[Tag] = ()
    metadata: dict[str, JsonValue] | None = None
    knowledge_base: KnowledgeBase | None = None
    on_duplicate: DuplicatePolicy | None = None
    """None: replace documents for files of directories, and create documents for other files."""
    external_identity: ExternalIdentity | None = None
    """The source item of the only file."""
    password: str | None = field(default=None, repr=False)
    """Opens the encrypted files."""
    source_url: str | None = None
    """The web address of the only file's original."""
    is_named: bool = False
    """See `compare`."""
    deletes: bool = False
    waits: bool = True

    @property
    def tag_ids(self) -> list[str] | None:
        """The ids of the tags, None for none."""
        return [tag.tag_id for tag in self.tags] or None

    def policy_of(self, file: FoundFile) -> DuplicatePolicy:
        """Return the policy for a name that already exists."""
        if self.on_duplicate is not None:
            return self.on_duplicate
        return DuplicatePolicy.RETURN if file.root is None else DuplicatePolicy.REPLACE


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one file. `document_id` is None after a failure; `remark` then gives the reason."""

    path: Path
    outcome: str
    document_id: str | None
    remark: str | None = None


class StoppedError(Exception):
    """The user has stopped the command while a file was being sent."""


@dataclass(slots=True)
class Ingestion:
    """One pass over the files; `stop` may be called at any time, from any thread."""

    client: Client
    wishes: Wishes
    hashes: Hashes = field(default_factory=Hashes)
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    is_waiting: bool = False
    is_bulk: bool = False
    is_stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, found: Found) -> bool:
        """Send new and changed files, apply tags and metadata, and wait; return True if all succeeded."""
        self.outcomes.clear()
        comparison = self._compare(found)
        self._send(comparison)
        self.outcomes += [Outcome(file.path, "returned", id_) for id_, file in comparison.unchanged.items()]
        refused = self._add_to(list(comparison.unchanged))
        deleted = self._delete(comparison.vanished)
        kept = list(dict.fromkeys(outcome.document_id for outcome in self.outcomes if outcome.document_id))
        settled = self._wait(kept) if self.wishes.waits and kept else []
        parts = self._wait_for_parts(settled)
        unfound = [document for document in settled if document.failures]
        for document in unfound:
            output.print(f"[red]failed[/]  {escape(document.document_name)}: {escape('; '.join(document.failures))}")
        for document in settled:
            for warning in document.warnings:
                output.print(f"[yellow]note[/]  {escape(document.document_name)}: {escape(warning)}")
        for part in parts:
            for reason in (*part.failures, *part.warnings):
                output.print(f"[yellow]note[/]  {escape(part.document_name)}: {escape(reason)}")
        output.print(escape(self._summary(settled, found, comparison, deleted) + self._of_parts(parts)))
        return not unfound and not refused and all(outcome.document_id for outcome in self.outcomes)

    def stop(self) -> str:
        """Stop the work in progress; return a description of the work that continues on the server."""
        self.is_stopped.set()
        there = sum(outcome.document_id is not None for outcome in self.outcomes)
        if not there:
            return "Stopped; nothing was sent."
        counted = f"{there} {'document is' if there == 1 else 'documents are'}"
        again = "" if self.is_waiting else " The same command sends only what is missing."
        return (
            f"Stopped. {counted} uploaded. Extraction and indexing continue without this command; `analytiq"
            f" status` shows their progress.{again}"
        )

    def _compare(self, found: Found) -> Comparison:
        wishes = self.wishes
        if wishes.on_duplicate is DuplicatePolicy.CREATE or wishes.external_identity or wishes.source_url:
            return Comparison(to_send=list(found.files))
        return compare(self.client, found, self.hashes, is_named=self.wishes.is_named)

    def _send(self, comparison: Comparison) -> None:
        files = comparison.to_send
        names = Counter(file.document_name for file in files)
        with UploadProgress([file.path for file in files]) as progress:

            def advance(count: int) -> None:
                if self.is_stopped.is_set():
                    raise StoppedError
                progress.advance(count)

            def show(file: FoundFile, outcome: Outcome) -> None:
                if outcome.outcome == "created" and file.path in comparison.changed:
                    remark = "another document has this name; --on-duplicate replace makes a file its next version"
                    outcome = Outcome(outcome.path, outcome.outcome, outcome.document_id, remark)
                self.outcomes.append(outcome)
                progress.show(outcome.path, outcome.outcome, OUTCOMES[outcome.outcome], outcome.remark)

            def upload(batch: Sequence[FoundFile]) -> None:
                for file, outcome in zip(batch, self._upload(batch, advance), strict=True):
                    show(file, outcome)

            accepted: list[FoundFile] = []
            for file in files:
                if refused := self._refused(file, names):
                    show(file, refused)
                else:
                    accepted.append(file)
            self.is_bulk = len(files) > BULK_FILES

            with ThreadPoolExecutor(PARALLEL_UPLOADS, thread_name_prefix="upload") as threads:
                sending = [threads.submit(upload, batch) for batch in self._batches(accepted)]
                try:
                    for sent in sending:
                        sent.result()
                except BaseException:
                    self.is_stopped.set()
                    threads.shutdown(cancel_futures=True)
                    raise

    def _refused(self, file: FoundFile, names: Counter[str]) -> Outcome | None:
        """Refuse a file whose name another file of this run has: they would replace each other, in any order."""
        if self.wishes.policy_of(file) is DuplicatePolicy.REPLACE and names[file.document_name] > 1:
            remark = "another of these files has the same name, and would replace this one"
            return Outcome(file.path, "failed", None, remark)
        return None

    def _batches(self, files: Sequence[FoundFile]) -> Iterator[list[FoundFile]]:
        """Yield the files by calls, whose files have one directory and one policy."""
        for _, alike in groupby(files, key=lambda file: (file.root, self.wishes.policy_of(file))):
            yield from in_batches(list(alike), lambda file: file.path)

    def _upload(self, files: Sequence[FoundFile], on_bytes: Callable[[int], None]) -> list[Outcome]:
        """Upload files in one call; if the call is refused as a whole, each in a call of its own."""
        try:
            answer = self._send_batch(files, on_bytes)
        except (ProblemError, InvalidInputError) as error:
            if len(files) == 1:
                return [Outcome(files[0].path, "failed", None, error.detail)]
            return [outcome for file in files for outcome in self._upload([file], on_bytes)]
        except AnalytiqError as error:
            return [Outcome(file.path, "failed", None, error.detail) for file in files]
        return [
            Outcome(file.path, uploaded.outcome, uploaded.document_id)
            if uploaded.error is None
            else Outcome(file.path, "failed", None, uploaded.error.detail)
            for file, uploaded in zip(files, answer.documents, strict=True)
        ]

    def _send_batch(self, files: Sequence[FoundFile], on_bytes: Callable[[int], None]) -> UploadAnswer:
        root = files[0].root
        return self.client.upload(
            [file.path for file in files],
            tag_ids=self.wishes.tag_ids,
            metadata=self.wishes.metadata,
            on_duplicate=self.wishes.policy_of(files[0]),
            merge=True,
            root=root and root.directory,
            folder=root and root.folder,
            origin=root and root.origin,
            password=self.wishes.password,
            external_identities=self.wishes.external_identity and [self.wishes.external_identity],
            source_urls=self.wishes.source_url and [self.wishes.source_url],
            bulk=self.is_bulk,
            on_bytes=on_bytes,
        )

    def _add_to(self, document_ids: Sequence[str]) -> bool:
        """Add tags and metadata to existing documents; return True if one of them was refused."""
        wishes = self.wishes
        if not document_ids or not (wishes.tags or wishes.metadata):
            return False
        changed = self.client.change_documents(document_ids, add_tag_ids=wishes.tag_ids or (), metadata=wishes.metadata)
        if count := len(changed.changed_ids):
            documents = "document" if count == 1 else "documents"
            output.print(f"Added missing tags or metadata to {count} {documents} that were there already.")
        for refusal in changed.refused:
            output.print(f"[red]unchanged[/]  {escape(refusal.document_name)}: {escape(refusal.detail)}")
        return bool(changed.refused)

    def _delete(self, vanished: Sequence[DocumentAtPath]) -> int:
        deleted = 0
        for number, document in enumerate(vanished):
            if self.wishes.deletes:
                try:
                    self.client.delete_document(document.document_id)
                except ProblemError as error:
                    if error.status != 404:
                        raise
                deleted += 1
            if number < MOST_LISTED:
                said = "deleted" if self.wishes.deletes else "vanished"
                output.print(f"[yellow]{said}[/]  {escape(document.document_name)}")
        if len(vanished) > MOST_LISTED:
            output.print(f"… and {len(vanished) - MOST_LISTED} more.")
        return deleted

    def _wait(self, document_ids: Sequence[str]) -> list[DocumentDetail]:
        self.is_waiting = True
        with WaitProgress(len(document_ids)) as progress:
            return self.client.wait_until_indexed(
                document_ids,
                timeout_seconds=WAIT_SECONDS,
                on_settled=lambda _: progress.advance(),
                on_round=progress.tell,
            )

    def _wait_for_parts(self, settled: Sequence[DocumentDetail]) -> list[DocumentDetail]:
        """Wait for the documents found in others, at any depth: files of archives, attachments of e-mails."""
        parts: list[DocumentDetail] = []
        containers = [document for document in settled if document.part_count]
        while containers:
            ids = [
                part.document_id
                for container in containers
                for part in self.client.documents(parent_id=container.document_id)
            ]
            found = self._wait(ids) if ids else []
            parts += found
            containers = [part for part in found if part.part_count]
        return parts

    def _of_parts(self, parts: Sequence[DocumentDetail]) -> str:
        if not parts:
            return ""
        noun = "part was" if len(parts) == 1 else "parts were"
        return f" {len(parts):,} {noun} found in them as documents of their own: {self._found(parts)}."

    def _summary(self, settled: Sequence[DocumentDetail], found: Found, comparison: Comparison, deleted: int) -> str:
        counts = Counter(outcome.outcome for outcome in self.outcomes)
        parts = [f"{counts[outcome]} {name}" for outcome, name in OUTCOMES.items() if counts[outcome]]
        if found.skipped:
            parts.append(f"{len(found.skipped)} skipped")
        if deleted:
            parts.append(f"{deleted} deleted")
        total = len(self.outcomes)
        text = f"{total} {'file' if total == 1 else 'files'}: {', '.join(parts) or 'nothing to do'}."
        if settled:
            text += f" {self._found(settled)}."
        elif not self.wishes.waits:
            text += " Extraction and indexing continue; `analytiq status` shows their progress."
        if comparison.vanished and not deleted:
            count = len(comparison.vanished)
            text += f" {count} {'is' if count == 1 else 'are'} no longer in the directory; --delete removes them."
        return text

    def _found(self, settled: Sequence[DocumentDetail]) -> str:
        wanted = self.wishes.knowledge_base
        searchable = sum(
            any(
                state.is_searchable and (wanted is None or state.kb_id == wanted.kb_id)
                for state in item.knowledge_bases
            )
            for item in settled
        )
        failed = sum(bool(document.failures) for document in settled)
        where = "a knowledge base" if wanted is None else f"the knowledge base {wanted.name!r}"
        return f"{searchable} can be found in {where}" + (f", {failed} failed" if failed else "")


def tell_skipped(found: Found) -> None:
    """Print the skipped files, with the reasons."""
    for item in found.skipped[:MOST_LISTED]:
        output.print(f"[yellow]skipped[/]  {escape(str(item.path))}: {escape(item.reason)}")
    if len(found.skipped) > MOST_LISTED:
        note(f"… and {len(found.skipped) - MOST_LISTED} more are skipped.")
