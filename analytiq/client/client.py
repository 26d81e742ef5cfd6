"""The client: a method for each operation of the API."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from analytiq.client.chat import ChatCalls
from analytiq.client.chunk_previews import ChunkPreviewCalls
from analytiq.client.connection import Query
from analytiq.client.documents import DocumentCalls
from analytiq.client.errors import ProblemError
from analytiq.client.forecasts import ForecastCalls
from analytiq.client.jobs import JobCalls
from analytiq.client.metadata_fields import MetadataFieldCalls
from analytiq.client.models import (
    IndexedChunk,
    KnowledgeBase,
    Tag,
)
from analytiq.client.organization_models import AccessToken, IssuedAccessToken, Organization, Quota, Usage
from analytiq.client.organization_settings import OrganizationSettingCalls
from analytiq.client.paths import segment
from analytiq.client.prompts import PromptCalls
from analytiq.client.providers import ProviderCalls
from analytiq.client.reconcile import ReconcileCalls
from analytiq.client.search_models import Explanation, MetadataFilter, SearchAnswer
from analytiq.client.sources import SourceCalls
from analytiq.client.tables import TableCalls


class Client(
    JobCalls,
    ProviderCalls,
    ReconcileCalls,
    ChunkPreviewCalls,
    ForecastCalls,
    MetadataFieldCalls,
    OrganizationSettingCalls,
    PromptCalls,
    SourceCalls,
    TableCalls,
    ChatCalls,
    DocumentCalls,
):
    """One organization over REST; may be used from several threads, and as a context manager."""

    def organization(self) -> Organization:
        """Return the token's organization."""
        return Organization.model_validate_json(self._transport.call("GET", ""))

    def set_cache_scope(self, scope: str) -> Organization:
        """Share embeddings with other organizations (`global`), or keep them private (`organization`)."""
        answer = self._transport.call("PUT", "", json={"cache_scope": scope})
        return Organization.model_validate_json(answer)

    def usage(self, *, since: datetime | None = None, until: datetime | None = None, by_day: bool = False) -> Usage:
        """Return SPUs charged within [since, until), and SPUs saved by the cache."""
        query: Query = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        if by_day:
            query = {**query, "by_day": "true"}
        return Usage.model_validate_json(self._transport.call("GET", "/usage", query=query))

    def quota(self) -> Quota:
        """Return the organization's SPU quota and usage."""
        return Quota.model_validate_json(self._transport.call("GET", "/quota"))

    # Access tokens

    def create_token(self, name: str, *, scope: str = "admin", expires_at: datetime | None = None) -> IssuedAccessToken:
        """Create an access token; `scope` is `read`, `write`, or `admin` for everything."""
        body = {"name": name, "scope": scope, "expires_at": expires_at and expires_at.isoformat()}
        return IssuedAccessToken.model_validate_json(self._transport.call("POST", "/access-tokens", json=body))

    def tokens(self) -> Iterator[AccessToken]:
        """Yield all access tokens, newest first."""
        return self._all("/access-tokens", "access_tokens", AccessToken)

    def take_over_token(self, token_id: str) -> AccessToken:
        """Become the maker of an access token, so that it no longer ends with its former maker."""
        answer = self._transport.call("POST", f"/access-tokens/{segment(token_id)}/take-over")
        return AccessToken.model_validate_json(answer)

    def revoke_token(self, token_id: str) -> None:
        """Revoke an access token for good."""
        self._transport.call("DELETE", f"/access-tokens/{segment(token_id)}")

    # Tags

    def tags(self, *, name_search: str | None = None) -> Iterator[Tag]:
        """Yield all tags, by name."""
        return self._all("/tags", "tags", Tag, {"name_search": name_search})

    def create_tag(self, name: str, *, color: str | None = None, description: str = "") -> Tag:
        """Create a tag."""
        body = {"name": name, "description": description, **({"color": color} if color else {})}
        return Tag.model_validate_json(self._transport.call("POST", "/tags", json=body))

    def find_tag(self, name: str) -> Tag | None:
        """Find the tag of exactly this name."""
        return next((tag for tag in self.tags(name_search=name) if tag.name == name), None)

    def ensure_tag(self, name: str) -> Tag:
        """Return the tag of this name; create a missing one."""
        wanted = name.strip()
        found = self.find_tag(wanted)
        if found is not None:
            return found
        try:
            return self.create_tag(wanted)
        except ProblemError as error:
            # Another client created it a moment ago.
            found = self.find_tag(wanted) if error.status == 409 else None
            if found is None:
                raise
            return found

    # Knowledge bases

    def knowledge_bases(self, *, name_search: str | None = None) -> Iterator[KnowledgeBase]:
        """Yield all knowledge bases, newest first."""
        return self._all("/knowledge-bases", "knowledge_bases", KnowledgeBase, {"name_search": name_search})

    def knowledge_base(self, kb_id: str) -> KnowledgeBase:
        """Return a knowledge base with its present counts."""
        return KnowledgeBase.model_validate_json(self._transport.call("GET", f"/knowledge-bases/{segment(kb_id)}"))

    def find_knowledge_base(self, name: str) -> KnowledgeBase | None:
        """Return the knowledge base of exactly this name."""
        wanted = name.strip()
        return next((item for item in self.knowledge_bases(name_search=wanted) if item.name == wanted), None)

    def chunks(self, kb_id: str, *, document_id: str | None = None) -> Iterator[IndexedChunk]:
        """Yield the indexed chunks of all documents or of one, by document and number."""
        return self._all(
            f"/knowledge-bases/{segment(kb_id)}/chunks", "chunks", IndexedChunk, {"document_id": document_id}
        )

    def create_knowledge_base(
        self,
        name: str,
        *,
        tag_ids: Sequence[str] = (),
        description: str = "",
        chunker_type: str = "auto",
        chunk_size: int = 512,
        chunk_overlap: int = 128,
        embedding_model: str | None = None,
        coalesce_neighbors: int = 0,
        context: bool = True,
        searched_metadata: Sequence[str] = (),
        section_level: int = 0,
        index_types: Sequence[str] = ("paragraph",),
    ) -> KnowledgeBase:
        """Create a knowledge base; documents that share a tag with it are indexed. Sizes are in tokens.

        `context`: embed and search each chunk with its document's title and name, and its headings.
        `searched_metadata`: metadata keys whose values are part of the context. `section_level`: level of the headings
        that no chunk crosses, 0 for none. `index_types`: granularities to index: paragraph, section, website.
        """
        body: dict[str, Any] = {
            "name": name,
            "description": description,
            "tag_ids": list(tag_ids),
            "chunker_type": chunker_type,
            "chunk_size": chunk_size,
            "chunk_overlap": chunk_overlap,
            "coalesce_neighbors": coalesce_neighbors,
            "context": context,
            "searched_metadata": list(searched_metadata),
            "section_level": section_level,
            "index_types": list(index_types),
        }
        if embedding_model is not None:
            body["embedding_model"] = embedding_model
        return KnowledgeBase.model_validate_json(self._transport.call("POST", "/knowledge-bases", json=body))

    def move_knowledge_base(
        self,
        kb_id: str,
        *,
        context: bool = True,
        searched_metadata: Sequence[str] | None = None,
        chunker_type: str | None = None,
        chunk_size: int | None = None,
        chunk_overlap: int | None = None,
        section_level: int | None = None,
        index_types: Sequence[str] | None = None,
    ) -> KnowledgeBase:
        """Index its documents again by other settings, None for the present ones; searches go on meanwhile.

        A second move to the former settings cancels the first.
        """
        settings = {
            "context": context,
            "searched_metadata": None if searched_metadata is None else list(searched_metadata),
            "chunker_type": chunker_type,
            "chunk_size": chunk_size,
            "chunk_overlap": chunk_overlap,
            "section_level": section_level,
            "index_types": None if index_types is None else list(index_types),
        }
        body = {name: value for name, value in settings.items() if value is not None}
        path = f"/knowledge-bases/{segment(kb_id)}/move"
        return KnowledgeBase.model_validate_json(self._transport.call("POST", path, json=body, is_repeatable=True))

    def delete_knowledge_base(self, kb_id: str, *, detaches_prompts: bool = False) -> None:
        """Delete it; searches fail from now on. Its documents stay.

        Fails with 409 if prompts search it, unless `detaches_prompts`: each of them then gets a version without it.
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
        """Find passages, best first; wait while the knowledge base is being loaded.

        `options` are the other options: `mode`, `preset`, `fusion`, `alpha`, `score_threshold`, `rerank`, `hyde`,
        `include_section`, `index_types` (paragraph, section, website),
        `include` (details of the documents: "tags", "metadata", "metadata.<key>")…
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
        """Find passages in several knowledge bases, in one list."""
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
        """Explain why a document is found for a question, or at which stage it fails."""
        body = _search_body(query, 5, 0, None, metadata_filter, None, options) | {"document_id": document_id}
        answer = self._transport.call(
            "POST", f"/knowledge-bases/{segment(kb_id)}/explain", json=body, is_repeatable=True
        )
        return Explanation.model_validate_json(answer)


def _search_body(
    query: str,
    top_k: int,
    skip: int,
    document_ids: Sequence[str] | None,
    metadata_filter: MetadataFilter | None,
    coalesce_neighbors: int | None,
    options: dict[str, JsonValue],
) -> dict[str, Any]:
    """Drop options that are None, so that the API's defaults apply."""
    optional: dict[str, Any] = {
        "document_ids": document_ids,
        "metadata_filter": metadata_filter,
        "coalesce_neighbors": coalesce_neighbors,
        **options,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return {"query": query, "top_k": top_k, "skip": skip, **given}
