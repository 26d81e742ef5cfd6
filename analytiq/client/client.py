"""The client: a method for each thing that the API does."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue, TypeAdapter

from analytiq.client.answers import Page
from analytiq.client.chat import ChatCalls
from analytiq.client.connection import Query
from analytiq.client.errors import ProblemError
from analytiq.client.forecasts import ForecastCalls
from analytiq.client.jobs import JobCalls
from analytiq.client.metadata_fields import MetadataFieldCalls
from analytiq.client.models import (
    Document,
    DocumentDetail,
    DocumentText,
    IndexedChunk,
    KnowledgeBase,
    PassagePlace,
    Tag,
    UploadAnswer,
)
from analytiq.client.organization_models import AccessToken, IssuedAccessToken, Organization, Quota, Usage
from analytiq.client.organization_settings import OrganizationSettingCalls
from analytiq.client.paths import segment
from analytiq.client.prompts import PromptCalls
from analytiq.client.providers import ProviderCalls
from analytiq.client.reconcile import ReconcileCalls
from analytiq.client.search_models import Explanation, MetadataFilter, SearchAnswer
from analytiq.client.upload import CountedFile, OnBytes, content_type_of
from analytiq.errors import TransientError
from analytiq.models.upload import DuplicatePolicy

POLL_SECONDS = 0.1
MAX_POLL_SECONDS = 2.0

OnSettled = Callable[[DocumentDetail], None]


class Client(
    JobCalls,
    ProviderCalls,
    ReconcileCalls,
    ForecastCalls,
    MetadataFieldCalls,
    OrganizationSettingCalls,
    PromptCalls,
    ChatCalls,
):
    """One organization over REST; may be used from several threads, and as a context manager."""

    def organization(self) -> Organization:
        """The organization that the token opens."""
        return Organization.model_validate_json(self._transport.call("GET", ""))

    def set_cache_scope(self, scope: str) -> Organization:
        """Share embeddings with other organizations (`global`), or with none (`organization`)."""
        answer = self._transport.call("PUT", "", json={"cache_scope": scope})
        return Organization.model_validate_json(answer)

    def usage(self, *, since: datetime | None = None, until: datetime | None = None, by_day: bool = False) -> Usage:
        """SPUs charged within [since, until), and those that the cache saved."""
        query: Query = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        if by_day:
            query = {**query, "by_day": "true"}
        return Usage.model_validate_json(self._transport.call("GET", "/usage", query=query))

    def quota(self) -> Quota:
        """How many SPUs the organization may use, and has used."""
        return Quota.model_validate_json(self._transport.call("GET", "/quota"))

    # Access tokens

    def create_token(self, name: str, *, scope: str = "admin", expires_at: datetime | None = None) -> IssuedAccessToken:
        """Make an access token; `scope` is `read`, `write`, or `admin` for everything."""
        body = {"name": name, "scope": scope, "expires_at": expires_at and expires_at.isoformat()}
        return IssuedAccessToken.model_validate_json(self._transport.call("POST", "/access-tokens", json=body))

    def tokens(self) -> Iterator[AccessToken]:
        """All access tokens, newest first."""
        return self._all("/access-tokens", "access_tokens", AccessToken)

    def take_over_token(self, token_id: str) -> AccessToken:
        """Become the maker of an access token, so that it no longer ends with whoever made it."""
        answer = self._transport.call("POST", f"/access-tokens/{segment(token_id)}/take-over")
        return AccessToken.model_validate_json(answer)

    def revoke_token(self, token_id: str) -> None:
        """Close an access token for good."""
        self._transport.call("DELETE", f"/access-tokens/{segment(token_id)}")

    # Tags

    def tags(self, *, name_search: str | None = None) -> Iterator[Tag]:
        """All tags, by name."""
        return self._all("/tags", "tags", Tag, {"name_search": name_search})

    def create_tag(self, name: str, *, color: str | None = None, description: str = "") -> Tag:
        """Make a tag."""
        body = {"name": name, "description": description, **({"color": color} if color else {})}
        return Tag.model_validate_json(self._transport.call("POST", "/tags", json=body))

    def find_tag(self, name: str) -> Tag | None:
        """The tag of exactly this name."""
        return next((tag for tag in self.tags(name_search=name) if tag.name == name), None)

    def ensure_tag(self, name: str) -> Tag:
        """The tag of this name, made if need be."""
        wanted = name.strip()
        found = self.find_tag(wanted)
        if found is not None:
            return found
        try:
            return self.create_tag(wanted)
        except ProblemError as error:
            # Somebody else made it a moment ago.
            found = self.find_tag(wanted) if error.status == 409 else None
            if found is None:
                raise
            return found

    # Documents

    def upload(
        self,
        paths: Sequence[Path],
        *,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
        on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN,
        on_bytes: OnBytes | None = None,
    ) -> UploadAnswer:
        """Upload files in one call, read from disk while they are sent.

        Args:
            paths: at least one file; its name without folders becomes the document's.
            tag_ids: for all of them; None leaves those of a replaced document.
            metadata: for all of them.
            on_duplicate: what happens where the same name is there already.
            on_bytes: told about progress, from this thread.

        Raises:
            InvalidInputError: a file cannot be read.
            ProblemError: the call, or every file of it, is refused.
        """
        fields = {"on_duplicate": on_duplicate.value}
        if tag_ids is not None:
            fields["tag_ids"] = ",".join(tag_ids)
        if metadata is not None:
            fields["metadata"] = _METADATA.dump_json(metadata).decode()
        with ExitStack() as stack:
            parts = [
                ("files", (path.name, stack.enter_context(CountedFile(path, on_bytes)), content_type_of(path)))
                for path in paths
            ]
            return UploadAnswer.model_validate_json(self._transport.send_files("/documents", fields, parts))

    def documents(
        self,
        *,
        name_search: str | None = None,
        tag_ids: Sequence[str] = (),
        states: Sequence[str] = (),
        file_types: Sequence[str] = (),
        metadata_filter: MetadataFilter | None = None,
    ) -> Iterator[Document]:
        """All documents that fit, newest first.

        All of `tag_ids` must be on one; any of `states` and of `file_types` may be its own (pdf, word, spreadsheet,
        presentation, text, web, email, ebook, image, other).
        """
        query = _document_query(name_search, tag_ids, states, file_types, metadata_filter)
        return self._all("/documents", "documents", Document, query)

    def documents_page(
        self,
        *,
        name_search: str | None = None,
        tag_ids: Sequence[str] = (),
        states: Sequence[str] = (),
        file_types: Sequence[str] = (),
        metadata_filter: MetadataFilter | None = None,
        skip: int = 0,
        limit: int = 10,
    ) -> Page[Document]:
        """A page of what `documents` gives, with how many there are."""
        query = _document_query(name_search, tag_ids, states, file_types, metadata_filter)
        return self._page("/documents", "documents", Document, query, skip=skip, limit=limit)

    def document(self, document_id: str) -> DocumentDetail:
        """One document, and where it stands in each of its knowledge bases."""
        return DocumentDetail.model_validate_json(self._transport.call("GET", f"/documents/{segment(document_id)}"))

    def update_document(
        self,
        document_id: str,
        *,
        document_name: str | None = None,
        tag_ids: Sequence[str] | None = None,
        metadata: dict[str, JsonValue] | None = None,
    ) -> DocumentDetail:
        """Change what is not None."""
        changes = {"document_name": document_name, "tag_ids": tag_ids, "metadata": metadata}
        body = {name: value for name, value in changes.items() if value is not None}
        answer = self._transport.call("PUT", f"/documents/{segment(document_id)}", json=body)
        return DocumentDetail.model_validate_json(answer)

    def delete_document(self, document_id: str) -> None:
        """Delete it; no search finds it from now on."""
        self._transport.call("DELETE", f"/documents/{segment(document_id)}")

    def document_text(self, document_id: str, *, skip: int = 0, limit: int = 100) -> DocumentText:
        """Its extracted text: up to `limit` pages (at most 1000) after the first `skip`."""
        answer = self._transport.call(
            "GET", f"/documents/{segment(document_id)}/text", query={"skip": skip, "limit": limit}
        )
        return DocumentText.model_validate_json(answer)

    def locate_passage(self, document_id: str, *, start: int, end: int, text_hash: str | None = None) -> PassagePlace:
        """Return where the characters [start, end) of its text stand on its pages, as a result or citation names them.

        With the `text_hash` of that result or citation, a text that was replaced since is a 409 (`text_replaced`).
        """
        query = {"start": start, "end": end, **({} if text_hash is None else {"text_hash": text_hash})}
        answer = self._transport.call("GET", f"/documents/{segment(document_id)}/boxes", query=query)
        return PassagePlace.model_validate_json(answer)

    def wait_until_indexed(
        self, document_ids: Sequence[str], *, timeout_seconds: float = 600.0, on_settled: OnSettled | None = None
    ) -> list[DocumentDetail]:
        """Wait until each document is extracted and indexed in all its knowledge bases, or will not be.

        Args:
            document_ids: which; a document that is deleted meanwhile ends the wait with a 404.
            timeout_seconds: for all together.
            on_settled: told of each as it is done.

        Returns:
            One for each id, in order; look at `failures`.

        Raises:
            TransientError: not all are done in time; work goes on.
        """
        deadline = time.monotonic() + timeout_seconds
        waiting = list(dict.fromkeys(document_ids))
        settled: dict[str, DocumentDetail] = {}
        pause_seconds = POLL_SECONDS
        while True:
            before = len(settled)
            for document_id in waiting:
                document = self.document(document_id)
                if document.is_settled:
                    settled[document_id] = document
                    if on_settled is not None:
                        on_settled(document)
            waiting = [document_id for document_id in waiting if document_id not in settled]
            if not waiting:
                return [settled[document_id] for document_id in document_ids]
            if time.monotonic() > deadline:
                raise TransientError(
                    f"{len(waiting)} of {len(document_ids)} documents are not indexed after {timeout_seconds:g} s; the"
                    " work goes on. `analytiq status` shows what waits; is a worker running?",
                    code="still_indexing",
                )
            # Patient where nothing moves, so that a thousand documents are not asked about ten times a second.
            pause_seconds = POLL_SECONDS if len(settled) > before else min(MAX_POLL_SECONDS, pause_seconds * 1.5)
            time.sleep(pause_seconds)

    # Knowledge bases

    def knowledge_bases(self, *, name_search: str | None = None) -> Iterator[KnowledgeBase]:
        """All knowledge bases, newest first."""
        return self._all("/knowledge-bases", "knowledge_bases", KnowledgeBase, {"name_search": name_search})

    def knowledge_base(self, kb_id: str) -> KnowledgeBase:
        """One knowledge base, with its counts at this moment."""
        return KnowledgeBase.model_validate_json(self._transport.call("GET", f"/knowledge-bases/{segment(kb_id)}"))

    def find_knowledge_base(self, name: str) -> KnowledgeBase | None:
        """Return the knowledge base of exactly this name."""
        wanted = name.strip()
        return next((item for item in self.knowledge_bases(name_search=wanted) if item.name == wanted), None)

    def chunks(self, kb_id: str, *, document_id: str | None = None) -> Iterator[IndexedChunk]:
        """The chunks that are indexed in it now, of all its documents or of one, by document and number."""
        return self._all(
            f"/knowledge-bases/{segment(kb_id)}/chunks", "chunks", IndexedChunk, {"document_id": document_id}
        )

    def create_knowledge_base(
        self,
        name: str,
        *,
        tag_ids: Sequence[str] = (),
        description: str = "",
        chunker_type: str = "recursive",
        chunk_size: int = 512,
        chunk_overlap: int = 128,
        embedding_model: str | None = None,
        coalesce_neighbors: int = 0,
    ) -> KnowledgeBase:
        """Make a knowledge base; documents that share a tag with it are indexed. Sizes are in tokens."""
        body: dict[str, Any] = {
            "name": name,
            "description": description,
            "tag_ids": list(tag_ids),
            "chunker_type": chunker_type,
            "chunk_size": chunk_size,
            "chunk_overlap": chunk_overlap,
            "coalesce_neighbors": coalesce_neighbors,
        }
        if embedding_model is not None:
            body["embedding_model"] = embedding_model
        return KnowledgeBase.model_validate_json(self._transport.call("POST", "/knowledge-bases", json=body))

    def delete_knowledge_base(self, kb_id: str, *, detaches_prompts: bool = False) -> None:
        """Delete it; nothing is found in it from now on. Its documents stay.

        409 where prompts search it, unless `detaches_prompts`: each of them then gets a further version without it.
        """
        query: Query = {"on_use": "detach" if detaches_prompts else None}
        self._transport.call("DELETE", f"/knowledge-bases/{segment(kb_id)}", query=query)

    def search(
        self,
        kb_id: str,
        query: str,
        *,
        top_k: int = 5,
        skip: int = 0,
        document_ids: Sequence[str] | None = None,
        metadata_filter: MetadataFilter | None = None,
        coalesce_neighbors: int | None = None,
        **options: JsonValue,
    ) -> SearchAnswer:
        """Find passages, best first; waits where the knowledge base is still being loaded.

        `options` are the API's others: `mode`, `preset`, `fusion`, `alpha`, `score_threshold`, `rerank`, `hyde`…
        """
        body = _search_body(query, top_k, skip, document_ids, metadata_filter, coalesce_neighbors, options)
        answer = self._transport.call(
            "POST", f"/knowledge-bases/{segment(kb_id)}/search", json=body, is_repeatable=True
        )
        return SearchAnswer.model_validate_json(answer)

    def search_several(
        self,
        kb_ids: Sequence[str],
        query: str,
        *,
        top_k: int = 5,
        skip: int = 0,
        document_ids: Sequence[str] | None = None,
        metadata_filter: MetadataFilter | None = None,
        coalesce_neighbors: int | None = None,
        **options: JsonValue,
    ) -> SearchAnswer:
        """Find passages in several knowledge bases, as one list."""
        body = _search_body(query, top_k, skip, document_ids, metadata_filter, coalesce_neighbors, options)
        answer = self._transport.call("POST", "/search", json={**body, "kb_ids": list(kb_ids)}, is_repeatable=True)
        return SearchAnswer.model_validate_json(answer)

    def explain(
        self,
        kb_id: str,
        query: str,
        document_id: str,
        *,
        metadata_filter: MetadataFilter | None = None,
        **options: JsonValue,
    ) -> Explanation:
        """Why a document is found for a question, or at which stage it fails."""
        body = _search_body(query, 5, 0, None, metadata_filter, None, options) | {"document_id": document_id}
        answer = self._transport.call(
            "POST", f"/knowledge-bases/{segment(kb_id)}/explain", json=body, is_repeatable=True
        )
        return Explanation.model_validate_json(answer)


_METADATA = TypeAdapter(dict[str, JsonValue])


def _search_body(
    query: str,
    top_k: int,
    skip: int,
    document_ids: Sequence[str] | None,
    metadata_filter: MetadataFilter | None,
    coalesce_neighbors: int | None,
    options: dict[str, JsonValue],
) -> dict[str, Any]:
    """What is None is left to the API."""
    optional: dict[str, Any] = {
        "document_ids": document_ids,
        "metadata_filter": metadata_filter,
        "coalesce_neighbors": coalesce_neighbors,
        **options,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"query": query, "top_k": top_k, "skip": skip, **given}


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
