"""Searches."""

from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from analytiq.client.calls import given, post
from analytiq.client.operations import Calls, operation
from analytiq.client.paths import segment
from analytiq.client.search_models import Explanation, MetadataFilter, SearchAnswer
from analytiq.client.steps import Flow


class SearchCalls(Calls):
    """Searches in knowledge bases."""

    @operation
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
    ) -> Flow[SearchAnswer]:
        """Find passages, best first; wait while the knowledge base is being loaded.

        `options` are the other options: `mode`, `preset`, `fusion`, `alpha`, `score_threshold`, `rerank`, `hyde`,
        `include_section`, `index_types` (paragraph, section, website),
        `include` (details of the documents: "tags", "metadata", "metadata.<key>")…
        """
        body = _body(query, top_k, skip, document_ids, metadata_filter, coalesce_neighbors, options)
        return post(f"/knowledge-bases/{segment(kb_id)}/search", SearchAnswer, body, changes=False)

    @operation
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
    ) -> Flow[SearchAnswer]:
        """Find passages in several knowledge bases, in one list; `options` as those of `search`."""
        body = _body(query, top_k, skip, document_ids, metadata_filter, coalesce_neighbors, options)
        return post("/search", SearchAnswer, {**body, "kb_ids": list(kb_ids)}, changes=False)

    @operation
    def explain(
        self,
        kb_id: str,
        query: str,
        document_id: str,
        *,
        metadata_filter: MetadataFilter | None = None,
        **options: JsonValue,
    ) -> Flow[Explanation]:
        """Explain why a document is found for a question, or at which stage it fails."""
        body = _body(query, 5, 0, None, metadata_filter, None, options) | {"document_id": document_id}
        return post(f"/knowledge-bases/{segment(kb_id)}/explain", Explanation, body, changes=False)


def _body(
    query: str,
    top_k: int,
    skip: int,
    document_ids: Sequence[str] | None,
    metadata_filter: MetadataFilter | None,
    coalesce_neighbors: int | None,
    options: dict[str, JsonValue],
) -> dict[str, Any]:
    """Drop options that are None, so that the API's defaults apply."""
    documents = None if document_ids is None else list(document_ids)
    chosen = {"document_ids": documents, "metadata_filter": metadata_filter, "coalesce_neighbors": coalesce_neighbors}
    return {"query": query, "top_k": top_k, "skip": skip, **given(**{**chosen, **options})}
