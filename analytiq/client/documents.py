"""Operations on documents: look up, change, delete, wait for them."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from analytiq.client.answers import Page
from analytiq.client.calls import Query, all_items, call, delete, get, given, page, post, put
from analytiq.client.models import (
    Document,
    DocumentAtPath,
    DocumentCounts,
    DocumentDetail,
    DocumentRefusal,
    DocumentsAtPaths,
    DocumentsChanged,
    DocumentsProgress,
    DocumentsRetried,
    ListedDocument,
)
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.search_models import MetadataFilter
from analytiq.client.steps import Emit, Flow, Items, Request
from analytiq.client.waiting import Waiting

WINDOW = 200
"""Documents of one request while waiting for many."""
BATCH = 1000
"""Documents of one lookup."""
CHANGED_AT_ONCE = 500

OnSettled = Callable[[DocumentDetail], object]


class DocumentCalls(Calls):
    """Documents: lists, details, changes."""

    @listing
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
        kb_id: str | None = None,
        error_codes: Sequence[str] = (),
        sort: str | None = None,
        include: Sequence[str] = (),
    ) -> Items[ListedDocument]:
        """Yield all matching documents, newest first; with `folder`, those in it at any depth.

        With `parent_id`, those found in that document: the files of an archive, the attachments of an e-mail.

        A document must have all of `tag_ids`, a tag of `kb_id`, one of `states`, one of `error_codes` and one of
        `file_types` (pdf, word, spreadsheet, presentation, text, web, email, ebook, image, other). `sort`: created_at,
        updated_at, document_name, byte_size or state, with a minus in descending order. `include` `knowledge_bases`:
        with the state in each.
        """
        query: Query = {
            **_query(name_search, tag_ids, states, file_types, metadata_filter),
            "folder": folder,
            "source": source,
            "external_id": external_id,
            "parent_id": parent_id,
            "kb_id": kb_id,
            "error_code": list(error_codes) or None,
            "sort": sort,
            "include": list(include) or None,
        }
        return all_items("/documents", "documents", ListedDocument, query)

    @operation
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
    ) -> "Flow[Page[ListedDocument]]":
        """Return a page of `documents` with the total count."""
        query: Query = {
            **_query(name_search, tag_ids, states, file_types, metadata_filter),
            "parent_id": parent_id,
        }
        return page("/documents", "documents", ListedDocument, query, skip=skip, limit=limit)

    @operation
    def document_counts(self) -> Flow[DocumentCounts]:
        """Count documents by state, and failed ones by error."""
        return get("/documents/counts", DocumentCounts)

    @operation
    def document(self, document_id: str) -> Flow[DocumentDetail]:
        """Return a document with its state in each of its knowledge bases."""
        return get(_path(document_id), DocumentDetail)

    @operation
    def update_document(
        self,
        document_id: str,
        *,
        document_name: str | None = None,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        source_url: str | None = None,
    ) -> Flow[DocumentDetail]:
        """Change the fields that are not None; an empty `source_url` removes the address."""
        tags = None if tag_ids is None else list(tag_ids)
        body = given(document_name=document_name, tag_ids=tags, metadata=metadata, source_url=source_url)
        return put(_path(document_id), DocumentDetail, body)

    @operation
    def delete_document(self, document_id: str) -> Flow[None]:
        """Delete it; no search finds it from now on."""
        return delete(_path(document_id))

    @operation
    def update_document_password(self, document_id: str, password: str) -> Flow[None]:
        """Give the password of a document's encrypted file; its text is extracted again.

        A wrong password fails the extraction with the code `wrong_password`.
        """
        body = {"password": password}
        yield from call(Request("POST", f"{_path(document_id)}/password", json=body, is_repeatable=True))

    @operation
    def extract_document(self, document_id: str, *, read_pages: str | None = None) -> Flow[Document]:
        """Extract a document's text again.

        `read_pages` of a PDF: `auto`, `ocr` for every page, or `ocr_flawed` for pages whose own text is flawed or
        missing; it holds for later extractions too. None keeps the present choice.
        """
        return post(f"{_path(document_id)}/extract", Document, given(read_pages=read_pages))

    @operation
    def retry_documents(
        self, *, error_code: str | None = None, kb_id: str | None = None, is_all: bool = False
    ) -> Flow[int]:
        """Extract or index matching failed documents again, or with `is_all` every one; return their number."""
        body = given(error_code=error_code, kb_id=kb_id, all=True if is_all else None)
        return (yield from post("/documents/retry", DocumentsRetried, body)).retried


class ManyDocumentCalls(Calls):
    """Lookups, changes and waits for many documents at once."""

    @listing
    def documents_below(self, folder: str) -> Items[DocumentAtPath]:
        """Yield the documents in a folder and below it, by path, with the hashes of their bytes."""
        return _looked_up({"folder": folder})

    @listing
    def documents_at(self, paths: Sequence[str]) -> Items[DocumentAtPath]:
        """Yield the documents with exactly these paths."""
        for start in range(0, len(paths), BATCH):
            yield from _looked_up({"paths": list(paths[start : start + BATCH])})

    @listing
    def documents_of_items(self, source: str, external_ids: Sequence[str]) -> Items[DocumentAtPath]:
        """Yield the documents of these items of a source, with their versions and the hashes of their bytes."""
        for start in range(0, len(external_ids), BATCH):
            yield from _looked_up({"source": source, "external_ids": list(external_ids[start : start + BATCH])})

    @operation
    def change_documents(
        self,
        document_ids: Sequence[str],
        *,
        add_tag_ids: Sequence[str] = (),
        remove_tag_ids: Sequence[str] = (),
        metadata: dict[str, JsonValue] | None = None,
    ) -> Flow[DocumentsChanged]:
        """Change tags and metadata of many documents; metadata key by key, None removes a key."""
        changes = _changes(add_tag_ids, remove_tag_ids, metadata)
        answers: list[DocumentsChanged] = []
        for start in range(0, len(document_ids), CHANGED_AT_ONCE):
            body = {"document_ids": list(document_ids[start : start + CHANGED_AT_ONCE]), **changes}
            answers.append((yield from post("/documents/changes", DocumentsChanged, body, changes=False)))
        return _summed(answers)

    @operation
    def change_matching_documents(
        self,
        matching: Mapping[str, JsonValue],
        *,
        except_ids: Sequence[str] = (),
        add_tag_ids: Sequence[str] = (),
        remove_tag_ids: Sequence[str] = (),
        metadata: dict[str, JsonValue] | None = None,
    ) -> Flow[DocumentsChanged]:
        """Change tags and metadata of all matching documents.

        Args:
            matching: any of name_search, folder, source, external_id, parent_id, tag_ids, state, kb_id, error_code,
                file_type, metadata_filter; empty: all documents.
            except_ids: documents that stay as they are.
            add_tag_ids: tags to add.
            remove_tag_ids: tags to remove.
            metadata: key by key; None removes a key.
        """
        changes = _changes(add_tag_ids, remove_tag_ids, metadata)
        body = {"matching": dict(matching), "except_ids": list(except_ids), **changes}
        answers: list[DocumentsChanged] = []
        after: str | None = None
        while not answers or after is not None:
            answer = yield from post("/documents/changes", DocumentsChanged, body | given(after=after), changes=False)
            answers.append(answer)
            after = answer.next
        return _summed(answers)

    @operation
    def documents_progress(self, document_ids: Sequence[str]) -> Flow[list[DocumentDetail]]:
        """Return up to 1,000 documents, as `document` does each, in one call; missing ones are left out."""
        body = {"document_ids": list(document_ids)}
        return (yield from post("/documents/progress", DocumentsProgress, body, changes=False)).documents

    @operation
    def wait_until_indexed(
        self,
        document_ids: Sequence[str],
        *,
        timeout_seconds: float = 600.0,
        on_settled: OnSettled | None = None,
        on_round: Callable[[], object] | None = None,
    ) -> Flow[list[DocumentDetail]]:
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
        pauses = Waiting(timeout_seconds)
        waiting: list[str] = list(dict.fromkeys(document_ids))
        settled: dict[str, DocumentDetail] = {}
        while waiting:
            # The first waiting documents finish first: asking about these alone keeps the cost in proportion.
            window = waiting[:WINDOW]
            found = {item.document_id: item for item in (yield from self.documents_progress(window))}
            for document_id in window:
                document = found.get(document_id)
                if document is None:
                    # A missing document, or an invalid id, is requested alone: its 404 names it.
                    document = yield from get(_path(document_id), DocumentDetail)
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
                pauses.begin_again()  # the rest is likely to follow soon
            yield pauses.pause(
                f"{len(waiting)} of {len(document_ids)} documents are not indexed after {timeout_seconds:g} s."
                " Their work continues. `analytiq status` shows it.",
                code="still_indexing",
            )
        return [settled[document_id] for document_id in document_ids]


def _path(document_id: str) -> str:
    return f"/documents/{segment(document_id)}"


def _looked_up(wanted: dict[str, Any]) -> Items[DocumentAtPath]:
    after: str | None = None
    while True:
        found = yield from post("/documents/lookup", DocumentsAtPaths, wanted | given(after=after), changes=False)
        for item in found.documents:
            yield Emit(item)
        after = found.next
        if after is None:
            return


def _changes(
    add_tag_ids: Sequence[str], remove_tag_ids: Sequence[str], metadata: dict[str, JsonValue] | None
) -> dict[str, Any]:
    return {"add_tag_ids": list(add_tag_ids), "remove_tag_ids": list(remove_tag_ids), **given(metadata=metadata)}


def _summed(answers: Sequence[DocumentsChanged]) -> DocumentsChanged:
    changed: list[str] = []
    refused: list[DocumentRefusal] = []
    for answer in answers:
        changed += answer.changed_ids
        refused += answer.refused
    unchanged = sum(answer.unchanged_count for answer in answers)
    return DocumentsChanged(changed_ids=changed, unchanged_count=unchanged, refused=refused)


def _query(
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
        "metadata_filter": None if metadata_filter is None else json.dumps(metadata_filter),
    }
