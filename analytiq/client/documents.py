"""Client calls for documents: upload, look up, change, delete, read, and wait for them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter

from analytiq.client.answers import Page
from analytiq.client.connection import Connection, Query
from analytiq.client.file_sending import FileSending, UploadForm
from analytiq.client.models import (
    Document,
    DocumentAtPath,
    DocumentBlocks,
    DocumentDetail,
    DocumentRefusal,
    DocumentsChanged,
    DocumentText,
    PassagePlace,
    UploadAnswer,
)
from analytiq.client.paths import segment
from analytiq.client.search_models import MetadataFilter
from analytiq.client.upload import CountedFile, OnBytes, content_type_of, document_path, in_batches
from analytiq.errors import TransientError
from analytiq.models.document import ExternalIdentity
from analytiq.models.upload import BULK_FILES, DuplicatePolicy

POLL_SECONDS = 0.1
MAX_POLL_SECONDS = 2.0
WINDOW = 200
"""Documents of one request while waiting for many."""
BATCH = 1000
"""Documents of one lookup."""
CHANGED_AT_ONCE = 500

OnSettled = Callable[[DocumentDetail], None]


class DocumentCalls(Connection):
    """Calls for documents."""

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
    ) -> UploadAnswer:
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
            on_bytes: called with progress, in this thread.

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
        if origin is not None:
            shared["origin"] = origin
        if password is not None:
            shared["password"] = password
        if external_identities is not None:
            of_each["external_identities"] = [
                "" if item is None else item.model_dump_json(exclude_none=True) for item in external_identities
            ]
        if source_urls is not None:
            of_each["source_urls"] = [address or "" for address in source_urls]
        if tag_ids is not None:
            shared["tag_ids"] = ",".join(tag_ids)
        if metadata is not None:
            shared["metadata"] = _METADATA.dump_json(metadata).decode()
        sending = FileSending(
            self._transport, UploadForm(shared, of_each), makes_copies=on_duplicate is DuplicatePolicy.CREATE
        )
        with ExitStack() as stack:
            opened = [stack.enter_context(CountedFile(path, on_bytes)) for path in paths]
            return sending.send(
                [
                    (file, ("files", (path.name, file, content_type_of(path))))
                    for path, file in zip(paths, opened, strict=True)
                ]
            )

    def upload_many(
        self,
        paths: Sequence[Path],
        *,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN,
        root: Path | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Iterator[UploadAnswer]:
        """Upload files in calls of at most 64 files and 8 MB; yield the answer of each call, in order.

        Arguments and errors are those of `upload`. A retry or a repetition sends files again, and makes no document
        twice unless copies are wanted.
        """
        for batch in in_batches(paths, lambda path: path):
            yield self.upload(
                batch,
                tag_ids=tag_ids,
                metadata=metadata,
                on_duplicate=on_duplicate,
                root=root,
                bulk=len(paths) > BULK_FILES,
                on_bytes=on_bytes,
            )

    def documents_below(self, folder: str) -> Iterator[DocumentAtPath]:
        """Return the documents in a folder and below it, by path, with the hashes of their bytes."""
        return self._looked_up({"folder": folder})

    def documents_at(self, paths: Sequence[str]) -> Iterator[DocumentAtPath]:
        """Return the documents with exactly these paths."""
        for start in range(0, len(paths), BATCH):
            yield from self._looked_up({"paths": list(paths[start : start + BATCH])})

    def documents_of_items(self, source: str, external_ids: Sequence[str]) -> Iterator[DocumentAtPath]:
        """Return the documents of these items of a source, with their versions and the hashes of their bytes."""
        for start in range(0, len(external_ids), BATCH):
            yield from self._looked_up({"source": source, "external_ids": list(external_ids[start : start + BATCH])})

    def _looked_up(self, wanted: dict[str, Any]) -> Iterator[DocumentAtPath]:
        after: str | None = None
        while True:
            body = wanted if after is None else {**wanted, "after": after}
            answer = self._transport.call("POST", "/documents/lookup", json=body, is_repeatable=True)
            found = _OBJECT.validate_json(answer)
            yield from (DocumentAtPath.model_validate(item) for item in found["documents"])
            after = found["next"]
            if after is None:
                return

    def change_documents(
        self,
        document_ids: Sequence[str],
        *,
        add_tag_ids: Sequence[str] = (),
        remove_tag_ids: Sequence[str] = (),
        metadata: dict[str, JsonValue] | None = None,
    ) -> DocumentsChanged:
        """Change tags and metadata of many documents; metadata key by key, None removes a key."""
        changed: list[str] = []
        refused: list[DocumentRefusal] = []
        unchanged = 0
        for start in range(0, len(document_ids), CHANGED_AT_ONCE):
            body: dict[str, Any] = {
                "document_ids": list(document_ids[start : start + CHANGED_AT_ONCE]),
                "add_tag_ids": list(add_tag_ids),
                "remove_tag_ids": list(remove_tag_ids),
            }
            if metadata is not None:
                body["metadata"] = metadata
            answer = DocumentsChanged.model_validate_json(
                self._transport.call("POST", "/documents/changes", json=body, is_repeatable=True)
            )
            changed += answer.changed_ids
            refused += answer.refused
            unchanged += answer.unchanged_count
        return DocumentsChanged(changed_ids=changed, unchanged_count=unchanged, refused=refused)

    def documents_progress(self, document_ids: Sequence[str]) -> list[DocumentDetail]:
        """Return up to 1,000 documents, as `document` does each, in one call; missing ones are left out."""
        body = {"document_ids": list(document_ids)}
        answer = self._transport.call("POST", "/documents/progress", json=body, is_repeatable=True)
        return [DocumentDetail.model_validate(item) for item in _OBJECT.validate_json(answer)["documents"]]

    def documents(
        self,
        *,
        name_search: str | None = None,
        tag_ids: Sequence[str] = (),
        states: Sequence[str] = (),
        file_types: Sequence[str] = (),
        metadata_filter: MetadataFilter | None = None,
        folder: str | None = None,
        source: str | None = None,
        external_id: str | None = None,
        parent_id: str | None = None,
    ) -> Iterator[Document]:
        """Yield all matching documents, newest first; with `folder`, those in it at any depth.

        With `parent_id`, those found in that document: the files of an archive, the attachments of an e-mail.

        A document must have all of `tag_ids`, one of `states` and one of `file_types` (pdf, word, spreadsheet,
        presentation, text, web, email, ebook, image, other).
        """
        query = _document_query(name_search, tag_ids, states, file_types, metadata_filter)
        query = {
            **query, "folder": folder, "source": source, "external_id": external_id, "parent_id": parent_id,
        }  # fmt: skip
        return self._all("/documents", "documents", Document, query)

    def documents_page(
        self,
        *,
        name_search: str | None = None,
        tag_ids: Sequence[str] = (),
        states: Sequence[str] = (),
        file_types: Sequence[str] = (),
        metadata_filter: MetadataFilter | None = None,
        parent_id: str | None = None,
        skip: int = 0,
        limit: int = 10,
    ) -> Page[Document]:
        """Return a page of `documents` with the total count."""
        query = _document_query(name_search, tag_ids, states, file_types, metadata_filter)
        query = {**query, "parent_id": parent_id}
        return self._page("/documents", "documents", Document, query, skip=skip, limit=limit)

    def document(self, document_id: str) -> DocumentDetail:
        """Return a document with its state in each of its knowledge bases."""
        return DocumentDetail.model_validate_json(self._transport.call("GET", f"/documents/{segment(document_id)}"))

    def update_document(
        self,
        document_id: str,
        *,
        document_name: str | None = None,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        source_url: str | None = None,
    ) -> DocumentDetail:
        """Change the fields that are not None; an empty `source_url` removes the address."""
        changes = {
            "document_name": document_name,
            "tag_ids": tag_ids,
            "metadata": metadata,
            "source_url": source_url,
        }
        body = {name: value for name, value in changes.items() if value is not None}
        answer = self._transport.call("PUT", f"/documents/{segment(document_id)}", json=body)
        return DocumentDetail.model_validate_json(answer)

    def delete_document(self, document_id: str) -> None:
        """Delete it; no search finds it from now on."""
        self._transport.call("DELETE", f"/documents/{segment(document_id)}")

    def update_document_password(self, document_id: str, password: str) -> None:
        """Give the password of a document's encrypted file; its text is extracted again.

        A wrong password fails the extraction with the code `wrong_password`.
        """
        body = {"password": password}
        self._transport.call("POST", f"/documents/{segment(document_id)}/password", json=body, is_repeatable=True)

    def extract_document(self, document_id: str, *, read_pages: str | None = None) -> Document:
        """Extract a document's text again.

        `read_pages` of a PDF: `auto`, `ocr` for every page, or `ocr_flawed` for pages whose own text is flawed or
        missing; it holds for later extractions too. None keeps the present choice.
        """
        body = {} if read_pages is None else {"read_pages": read_pages}
        answer = self._transport.call("POST", f"/documents/{segment(document_id)}/extract", json=body)
        return Document.model_validate_json(answer)

    def document_text(self, document_id: str, *, skip: int = 0, limit: int = 100) -> DocumentText:
        """Return its extracted text: up to `limit` pages (at most 1000) after the first `skip`."""
        answer = self._transport.call(
            "GET", f"/documents/{segment(document_id)}/text", query={"skip": skip, "limit": limit}
        )
        return DocumentText.model_validate_json(answer)

    def document_blocks(self, document_id: str, *, skip: int = 0, limit: int = 100) -> DocumentBlocks:
        """Return the blocks of up to `limit` pages (at most 1000) after the first `skip`."""
        answer = self._transport.call(
            "GET", f"/documents/{segment(document_id)}/blocks", query={"skip": skip, "limit": limit}
        )
        return DocumentBlocks.model_validate_json(answer)

    def locate_passage(self, document_id: str, *, start: int, end: int, text_hash: str | None = None) -> PassagePlace:
        """Return the boxes, on its pages, of the characters [start, end) of its text, as in a result or citation.

        With the `text_hash` of that result or citation, a text replaced since is a 409 (`text_replaced`).
        """
        query = {"start": start, "end": end, **({} if text_hash is None else {"text_hash": text_hash})}
        answer = self._transport.call("GET", f"/documents/{segment(document_id)}/boxes", query=query)
        return PassagePlace.model_validate_json(answer)

    def wait_until_indexed(
        self,
        document_ids: Sequence[str],
        *,
        timeout_seconds: float = 600.0,
        on_settled: OnSettled | None = None,
        on_round: Callable[[], None] | None = None,
    ) -> list[DocumentDetail]:
        """Wait until each document is extracted and indexed in all its knowledge bases, or will not be.

        Args:
            document_ids: the documents; if one is deleted meanwhile, the wait ends with a 404.
            timeout_seconds: for all together.
            on_settled: called with each document once it is finished.
            on_round: called after each round of requests.

        Returns:
            A document for each id, in order; check `failures`.

        Raises:
            TransientError: some are unfinished in time; their work continues.
        """
        deadline = time.monotonic() + timeout_seconds
        waiting: list[str] = list(dict.fromkeys(document_ids))
        settled: dict[str, DocumentDetail] = {}
        pause_seconds = POLL_SECONDS
        while waiting:
            # The first waiting documents finish first: asking about these alone keeps the cost in proportion.
            window = waiting[:WINDOW]
            found = {document.document_id: document for document in self.documents_progress(window)}
            for document_id in window:
                # A missing document, or an invalid id, is requested alone: its 404 names it.
                document = found.get(document_id) or self.document(document_id)
                if document.is_settled:
                    settled[document_id] = document
                    if on_settled is not None:
                        on_settled(document)
            waiting = [document_id for document_id in waiting if document_id not in settled]
            if not waiting:
                break
            if on_round is not None:
                on_round()
            if settled.keys() >= set(window):
                continue
            if settled.keys() & set(window):
                # The rest is likely to follow soon.
                pause_seconds = POLL_SECONDS
            if time.monotonic() > deadline:
                raise TransientError(
                    f"{len(waiting)} of {len(document_ids)} documents are not indexed after {timeout_seconds:g} s."
                    " Their work continues. `analytiq status` shows it.",
                    code="still_indexing",
                )
            time.sleep(pause_seconds)
            pause_seconds = min(MAX_POLL_SECONDS, pause_seconds * 1.5)
        return [settled[document_id] for document_id in document_ids]


def _document_query(
    name_search: str | None,
    tag_ids: Sequence[str],
    states: Sequence[str],
    file_types: Sequence[str],
    metadata_filter: MetadataFilter | None,
) -> Query:
    return {
        "name_search": name_search,
        "tag_ids": ",".join(tag_ids) or None,
        "state": list(states) or None,
        "file_type": list(file_types) or None,
        "metadata_filter": None if metadata_filter is None else _METADATA.dump_json(metadata_filter).decode(),
    }


_METADATA = TypeAdapter(dict[str, JsonValue])
_OBJECT = TypeAdapter(dict[str, Any])
