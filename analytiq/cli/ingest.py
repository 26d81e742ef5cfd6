"""`analytiq ingest`: files into the platform, and the wait until they can be found."""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

from analytiq.cli.console import output
from analytiq.client import Client, DocumentDetail, DuplicatePolicy, Tag, UploadedDocument
from analytiq.errors import AnalytiqError

PARALLEL_UPLOADS = 4
WAIT_SECONDS = 3600.0

OUTCOMES = {"created": "created", "returned": "already there", "replaced": "replaced", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. `document_id` is None where it failed, and then `remark` says why."""

    path: Path
    outcome: str
    document_id: str | None
    remark: str | None = None


OnOutcome = Callable[[Outcome], None]
OnBytes = Callable[[int], None]


def upload_all(
    client: Client,
    files: Sequence[Path],
    tags: Sequence[Tag],
    on_duplicate: DuplicatePolicy,
    *,
    on_bytes: OnBytes,
    on_outcome: OnOutcome,
) -> list[Outcome]:
    """Upload files, several at a time; one that fails does not stop the others.

    Returns:
        One outcome for each file, in their order; `on_outcome` hears of each as it is there.
    """
    names = Counter(file.name for file in files)

    def upload(file: Path) -> Outcome:
        outcome = _refused(file, names, on_duplicate) or _upload(client, file, tags, on_duplicate, on_bytes)
        on_outcome(outcome)
        return outcome

    with ThreadPoolExecutor(PARALLEL_UPLOADS, thread_name_prefix="upload") as threads:
        return list(threads.map(upload, files))


def run_ingest(
    client: Client, files: Sequence[Path], tags: Sequence[Tag], on_duplicate: DuplicatePolicy, *, waits: bool
) -> bool:
    """Upload files and wait until they can be found, with progress; returns whether all went well."""
    outcomes = _upload_with_progress(client, files, tags, on_duplicate)
    kept = [outcome.document_id for outcome in outcomes if outcome.document_id]
    settled = _wait_with_progress(client, list(dict.fromkeys(kept))) if waits and kept else []
    unfound = [document for document in settled if document.failures]
    for document in unfound:
        output.print(f"[red]failed[/]  {escape(document.document_name)}: {escape('; '.join(document.failures))}")
    for document in settled:
        for warning in document.warnings:
            output.print(f"[yellow]note[/]  {escape(document.document_name)}: {escape(warning)}")
    output.print(_summary(outcomes, settled, waits=waits))
    return len(kept) == len(outcomes) and not unfound


def _refused(file: Path, names: Counter[str], on_duplicate: DuplicatePolicy) -> Outcome | None:
    """Documents are known by their name: two files of one name would replace each other, in any order."""
    if on_duplicate is DuplicatePolicy.REPLACE and names[file.name] > 1:
        return Outcome(file, "failed", None, "another of these files has the same name, and would replace this one")
    return None


def _upload(
    client: Client, file: Path, tags: Sequence[Tag], on_duplicate: DuplicatePolicy, on_bytes: OnBytes
) -> Outcome:
    tag_ids = [tag.tag_id for tag in tags] if tags else None
    try:
        answer = client.upload([file], tag_ids=tag_ids, on_duplicate=on_duplicate, on_bytes=on_bytes)
    except AnalytiqError as error:
        return Outcome(file, "failed", None, error.detail)
    uploaded = answer.documents[0]
    if uploaded.error is not None:
        return Outcome(file, "failed", None, uploaded.error.detail)
    return Outcome(file, uploaded.outcome, uploaded.document_id, _missing_tags(uploaded, tags))


def _missing_tags(uploaded: UploadedDocument, tags: Sequence[Tag]) -> str | None:
    """What was there already keeps its tags; whoever gave others should know."""
    if uploaded.outcome != "returned" or uploaded.document is None:
        return None
    missing = [repr(tag.name) for tag in tags if tag.tag_id not in uploaded.document.tag_ids]
    if not missing:
        return None
    return (
        f"it does not have the tag {', '.join(missing)}; --on-duplicate replace gives it these tags instead of its own"
    )


def _upload_with_progress(
    client: Client, files: Sequence[Path], tags: Sequence[Tag], on_duplicate: DuplicatePolicy
) -> list[Outcome]:
    columns = (TextColumn("Uploading"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=output, transient=True, disable=not output.is_terminal) as progress:
        task = progress.add_task("", total=sum(_size_bytes(file) for file in files))

        def show(outcome: Outcome) -> None:
            style = "red" if outcome.outcome == "failed" else "green"
            remark = f": {escape(outcome.remark)}" if outcome.remark else ""
            progress.console.print(f"[{style}]{OUTCOMES[outcome.outcome]}[/]  {escape(str(outcome.path))}{remark}")

        def advance(count: int) -> None:
            progress.advance(task, count)

        return upload_all(client, files, tags, on_duplicate, on_bytes=advance, on_outcome=show)


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # it is gone since it was found; its upload says so


def _wait_with_progress(client: Client, document_ids: Sequence[str]) -> list[DocumentDetail]:
    columns = (TextColumn("Extracted and indexed"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=output, transient=True, disable=not output.is_terminal) as progress:
        task = progress.add_task("", total=len(document_ids))
        return client.wait_until_indexed(
            document_ids, timeout_seconds=WAIT_SECONDS, on_settled=lambda _: progress.advance(task)
        )


def _summary(outcomes: Sequence[Outcome], settled: Sequence[DocumentDetail], *, waits: bool) -> str:
    counts = Counter(outcome.outcome for outcome in outcomes)
    parts = [f"{counts[outcome]} {name}" for outcome, name in OUTCOMES.items() if counts[outcome]]
    text = f"{len(outcomes)} {'file' if len(outcomes) == 1 else 'files'}: {', '.join(parts)}."
    if not waits:
        return f"{text} Extraction and indexing go on; `analytiq status` shows how far they are."
    searchable = sum(any(state.is_searchable for state in document.knowledge_bases) for document in settled)
    return f"{text} {searchable} can be found in a knowledge base." if settled else text
