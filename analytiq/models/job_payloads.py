"""Payloads of jobs, one type for each kind."""

from typing import ClassVar

from analytiq.models.job import JobKind, JobPayload


class ExtractPayload(JobPayload):
    """A document whose file is to be read."""

    kind: ClassVar = JobKind.EXTRACT
    document_id: str


class DocumentMembershipPayload(JobPayload):
    """A changed document whose knowledge bases are to be found."""

    kind: ClassVar = JobKind.MEMBERSHIP_DOCUMENT
    document_id: str


class KbMembershipPayload(JobPayload):
    """A changed knowledge base whose documents are to be found."""

    kind: ClassVar = JobKind.MEMBERSHIP_KB
    kb_id: str


class SyncPayload(JobPayload):
    """A pair of a knowledge base and a document to index, or to take out."""

    kind: ClassVar = JobKind.SYNC
    kb_id: str
    document_id: str


class SweepPayload(JobPayload):
    """A generation whose vectors are to be deleted."""

    kind: ClassVar = JobKind.SWEEP
    kb_id: str
    generation_id: str


class CleanDocumentPayload(JobPayload):
    """A document whose replaced or deleted files and texts are to be deleted."""

    kind: ClassVar = JobKind.CLEAN_DOCUMENT
    document_id: str


class DropKbPayload(JobPayload):
    """A deleted knowledge base whose data is to be removed."""

    kind: ClassVar = JobKind.DROP_KB
    kb_id: str


class ErasePayload(JobPayload):
    """An erasure to continue."""

    kind: ClassVar = JobKind.ERASE
    erasure_id: str


class ReconcilePayload(JobPayload):
    """A requested run of the consistency check, of one knowledge base or of all."""

    kind: ClassVar = JobKind.RECONCILE
    run_id: str
    kb_id: str | None = None


class RunPromptPayload(JobPayload):
    """A run of a prompt, on a document or a text; without `run_id`, all unfinished runs of the prompt."""

    kind: ClassVar = JobKind.RUN_PROMPT
    prompt_id: str
    run_id: str | None = None
    document_id: str | None = None


class PromptMembershipPayload(JobPayload):
    """A changed prompt whose documents are to be found."""

    kind: ClassVar = JobKind.MEMBERSHIP_PROMPT
    prompt_id: str


class CleanPromptPayload(JobPayload):
    """A deleted prompt whose data is to be removed."""

    kind: ClassVar = JobKind.CLEAN_PROMPT
    prompt_id: str


class RunSourcePayload(JobPayload):
    """A run of a source to begin or continue."""

    kind: ClassVar = JobKind.RUN_SOURCE
    source_id: str
    run_id: str


class CleanSourcePayload(JobPayload):
    """A deleted source whose data is to be removed."""

    kind: ClassVar = JobKind.CLEAN_SOURCE
    source_id: str
