"""Uploads: files in one call, many files, and documents from memory or streams."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from pydantic import JsonValue

from analytiq.client.answers import Failure
from analytiq.client.calls import begin_again, call, given, post
from analytiq.client.errors import ProblemError
from analytiq.client.models import UploadAnswer, UploadedDocument
from analytiq.client.new_documents import NewDocument, in_groups
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.patience import COMMIT_UNKNOWN, Patience
from analytiq.client.steps import Emit, FilePart, Flow, Items, Pause, Request
from analytiq.client.upload import CountedFile, OnBytes, content_type_of, document_path, in_batches
from analytiq.client.values import BULK_FILES, DuplicatePolicy, ExternalIdentity

TEMPORARY = frozenset({COMMIT_UNKNOWN, "database_unreachable", "transaction_deadline"})
"""Failures of a database that is away for a while: nothing is wrong with the file."""
REFUSALS = frozenset({402, 409, 413, 415, 422})
"""Statuses of refusals that concern the document."""


class UploadCalls(Calls):
    """Uploads."""

    @operation
    def upload(
        self,
        paths: Sequence[Path],
        *,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN,
        merge: bool = False,
        root: Path | None = None,
        folder: str | None = None,
        origin: str | None = None,
        external_identities: Sequence[ExternalIdentity | None] | None = None,
        password: str | None = None,
        source_urls: Sequence[str | None] | None = None,
        bulk: bool = False,
        on_bytes: OnBytes | None = None,
    ) -> Flow[UploadAnswer]:
        """Upload files in one call, read from disk while they are sent.

        While the API or its database is unavailable, for example during a failover, the call is repeated for 90 s; so
        are files of it that only the database kept from being stored.

        Args:
            paths: at least one file; without `root`, the name without folders becomes the document's.
            tag_ids: for all files; None keeps those of a replaced document.
            metadata: for all files.
            on_duplicate: the treatment of names that already exist.
            merge: add tags and metadata to those of an existing document, instead of keeping or replacing them.
            root: a common directory of all files: documents are named by their paths from its own name on.
            folder: a name instead of the directory's own.
            origin: the directory's machine and path; `analytiq ingest` deletes only documents that have one.
            external_identities: one for each file: the file becomes the document of that item, or its next version.
            password: opens the encrypted files among them; it is stored encrypted and never returned.
            source_urls: one for each file: the web address of its original.
            bulk: the files are some of many: single uploads go before them, as before more than 20 files of a call.
            on_bytes: called with progress.

        Raises:
            InvalidInputError: a file cannot be read.
            ProblemError: the call, or every file of it, is refused.
        """
        shared: dict[str, str | list[str]] = {"on_duplicate": on_duplicate.value}
        of_each: dict[str, list[str]] = {}
        if root is not None:
            of_each["paths"] = [document_path(path, root, folder) for path in paths]
        if merge:
            shared["merge"] = "true"
        if bulk:
            shared["bulk"] = "true"
        if external_identities is not None:
            of_each["external_identities"] = [
                "" if item is None else item.model_dump_json(exclude_none=True) for item in external_identities
            ]
        if source_urls is not None:
            of_each["source_urls"] = [address or "" for address in source_urls]
        shared |= given(
            origin=origin,
            password=password,
            tag_ids=None if tag_ids is None else ",".join(tag_ids),
            metadata=None if metadata is None else json.dumps(metadata),
        )
        form = _Form(shared, of_each, makes_copies=on_duplicate is DuplicatePolicy.CREATE)
        with ExitStack() as stack:
            opened = [stack.enter_context(CountedFile(path, on_bytes)) for path in paths]
            files: list[FilePart] = [
                ("files", (path.name, file, content_type_of(path))) for path, file in zip(paths, opened, strict=True)
            ]
            return (yield from _files_sent(form, files))

    @listing
    def upload_many(
        self,
        paths: Sequence[Path],
        *,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN,
        root: Path | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Items[UploadAnswer]:
        """Upload files in calls of at most 64 files and 8 MB; yield the answer of each call, in order.

        Arguments and errors are those of `upload`. A retry or a repetition sends files again, and makes no document
        twice unless copies are wanted.
        """
        for batch in in_batches(paths, lambda path: path):
            answer = yield from self.upload(
                batch,
                tag_ids=tag_ids,
                metadata=metadata,
                on_duplicate=on_duplicate,
                root=root,
                bulk=len(paths) > BULK_FILES,
                on_bytes=on_bytes,
            )
            yield Emit(answer)

    @listing
    def upload_documents(
        self,
        documents: Sequence[NewDocument],
        *,
        on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN,
        merge: bool = False,
        origin: str | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Items[UploadedDocument]:
        """Upload documents from files, bytes, texts and streams, each with its own tags and metadata.

        Small documents are sent together, large files and streams one by one while they are read.

        Args:
            documents: the documents; outcomes are yielded in their order.
            on_duplicate: the treatment of names that already exist.
            merge: add tags and metadata to those of an existing document, instead of keeping or replacing them.
            origin: the documents' machine and directory.
            on_bytes: called with progress.

        Raises:
            InvalidInputError: a file or a stream cannot be read.
            ProblemError: a call is refused. If only documents are, their outcomes have `error`.
        """
        common = given(on_duplicate=on_duplicate.value, merge=merge or None, origin=origin)
        common |= given(bulk=True if len(documents) > BULK_FILES else None)
        makes_copies = on_duplicate is DuplicatePolicy.CREATE
        for group in in_groups(documents):
            if group.is_small:
                answer = yield from _sent_together(group.documents, common, makes_copies=makes_copies)
                if on_bytes is not None:
                    on_bytes(group.byte_size)
            else:
                answer = yield from _sent_alone(group.documents[0], common, on_bytes, makes_copies=makes_copies)
            for outcome in answer.documents:
                yield Emit(outcome)


def _files_sent(form: "_Form", files: Sequence[FilePart]) -> Flow[UploadAnswer]:
    """Send open files in one call, and those again that only the database kept from being stored."""
    sent: set[int] = set()

    def send(indices: Sequence[int]) -> Flow[UploadAnswer]:
        chosen = [files[index] for index in indices]
        for index in sent.intersection(indices):
            begin_again(files[index])
        sent.update(indices)
        request = Request(
            "POST", "/documents", form=form.of(indices), files=chosen, is_repeatable=not form.makes_copies
        )
        reply = yield from call(request)
        return UploadAnswer.model_validate_json(reply.content)

    return (yield from _until_stored(send, len(files), makes_copies=form.makes_copies))


def _sent_alone(
    document: NewDocument, common: Mapping[str, Any], on_bytes: OnBytes | None, *, makes_copies: bool
) -> Flow[UploadAnswer]:
    identity = document.external_identity
    shared = {name: "true" if value is True else value for name, value in common.items()}
    shared |= given(
        password=document.password,
        tag_ids=None if document.tag_ids is None else ",".join(document.tag_ids),
        metadata=None if document.metadata is None else json.dumps(document.metadata),
    )
    of_each = given(
        paths=[document.name],
        external_identities=None if identity is None else [identity.model_dump_json(exclude_none=True)],
        source_urls=None if document.source_url is None else [document.source_url],
    )
    form = _Form(shared, of_each, makes_copies=makes_copies)
    with document.opened(on_bytes) as file:
        part: FilePart = ("files", (document.name.rpartition("/")[2], cast("IO[bytes]", file), document.media_type))
        try:
            return (yield from _files_sent(form, [part]))
        except ProblemError as error:
            return _refused(document, error)


def _sent_together(
    documents: Sequence[NewDocument], common: Mapping[str, Any], *, makes_copies: bool
) -> Flow[UploadAnswer]:
    bodies = [document.as_json() for document in documents]

    def send(indices: Sequence[int]) -> Flow[UploadAnswer]:
        body = {"documents": [bodies[index] for index in indices], **common}
        return post("/documents", UploadAnswer, body, changes=makes_copies)

    try:
        return (yield from _until_stored(send, len(documents), makes_copies=makes_copies))
    except ProblemError as error:
        if len(documents) == 1 or error.status not in REFUSALS:
            return _refused(documents[0], error)
        # All were refused, for reasons of their own: each call tells one.
        outcomes: list[UploadedDocument] = []
        for document in documents:
            outcomes += (yield from _sent_together([document], common, makes_copies=makes_copies)).documents
        return _answer(outcomes)


def _refused(document: NewDocument, error: ProblemError) -> UploadAnswer:
    """Return the outcome of a document that was refused; raise an error that is not the document's."""
    if error.status not in REFUSALS:
        raise error
    failure = Failure(code=error.code, detail=error.detail)
    outcome = UploadedDocument(
        file_name=document.name, outcome="failed", document_id=None, document=None, error=failure
    )
    return _answer([outcome])


Sender = Callable[[Sequence[int]], Flow[UploadAnswer]]


def _until_stored(send: Sender, count: int, *, makes_copies: bool) -> Flow[UploadAnswer]:
    """Send documents; send those again that a temporary failure of the database kept from being stored."""
    answer = yield from send(range(count))
    patience = Patience(has_key=False, may_wait_long=False)
    while (left := _to_repeat(answer, makes_copies=makes_copies)) and (pause := patience.next_pause()) is not None:
        yield Pause(pause)
        try:
            repeated = yield from send(left)
        except ProblemError:
            break  # the answer has the outcomes of the others
        again = dict(zip(left, repeated.documents, strict=True))
        answer = _answer([again.get(index, document) for index, document in enumerate(answer.documents)])
    return answer


def _to_repeat(answer: UploadAnswer, *, makes_copies: bool) -> list[int]:
    # A file that may have been stored is not sent again if that makes a copy.
    codes = TEMPORARY - {COMMIT_UNKNOWN} if makes_copies else TEMPORARY
    documents = enumerate(answer.documents)
    return [index for index, document in documents if document.error is not None and document.error.code in codes]


def _answer(documents: list[UploadedDocument]) -> UploadAnswer:
    counts = Counter(document.outcome for document in documents)
    names = ("created", "returned", "replaced", "failed")
    return UploadAnswer(documents=documents, **{name: counts[name] for name in names})


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields of an upload: for all files, and lists with an item for each file."""

    shared: Mapping[str, str | list[str]]
    of_each: Mapping[str, list[str]]
    makes_copies: bool
    """A file that is sent twice becomes two documents."""

    def of(self, indices: Sequence[int]) -> dict[str, str | list[str]]:
        """Return the fields for some of the files."""
        return {**self.shared, **{name: [values[index] for index in indices] for name, values in self.of_each.items()}}
