"""The compatible routes, for programs that were written for another service's API."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from analytiq.client.calls import call, given
from analytiq.client.compatible_models import (
    DataResource,
    DataResourceLogs,
    DataResourceStatus,
    EmbeddingsStatus,
    RetrievedPassage,
)
from analytiq.client.operations import Calls, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Request


class CompatibleCalls(Calls):
    """Data resources, their embeddings, and retrieval."""

    @operation
    def create_data_resource(
        self,
        loader: str,
        *,
        loader_options: Mapping[str, JsonValue] | None = None,
        data_resource_id: str | None = None,
        account_id: str | None = None,
    ) -> Flow[DataResource]:
        """Load a data resource.

        Args:
            loader: such as web_base_loader or pdf_loader.
            loader_options: of the loader.
            data_resource_id: of an existing one, which is loaded again; None: a new one.
            account_id: kept for compatibility.
        """
        body = {"loader": loader, "loader_options": dict(loader_options or {})}
        body |= given(data_resource_id=data_resource_id, account_id=account_id)
        reply = yield from call(Request("POST", "/api/data-resources", json=body, is_outside=True))
        return DataResource.model_validate_json(reply.content)

    @operation
    def delete_data_resource(self, data_resource_id: str, *, account_id: str | None = None) -> Flow[DataResource]:
        """Delete a data resource."""
        body = given(data_resource_id=data_resource_id, account_id=account_id)
        reply = yield from call(Request("DELETE", "/api/data-resources", json=body, is_outside=True))
        return DataResource.model_validate_json(reply.content)

    @operation
    def data_resource_status(
        self, data_resource_id: str, *, skip: int = 0, limit: int | None = None
    ) -> Flow[DataResourceStatus]:
        """Return the state of loading, with a page of its items."""
        path = f"/api/data-resources/{segment(data_resource_id)}/status"
        reply = yield from call(Request("GET", path, query=given(skip=skip, limit=limit), is_outside=True))
        return DataResourceStatus.model_validate_json(reply.content)

    @operation
    def data_resource_logs(
        self, data_resource_id: str, *, skip: int = 0, limit: int | None = None
    ) -> Flow[DataResourceLogs]:
        """Return the log of loading, with the reasons for a page of its items."""
        path = f"/api/data-resources/{segment(data_resource_id)}/logs"
        reply = yield from call(Request("GET", path, query=given(skip=skip, limit=limit), is_outside=True))
        return DataResourceLogs.model_validate_json(reply.content)

    @operation
    def create_embeddings(
        self,
        data_resource_id: str,
        *,
        selected_urls: Sequence[str] = (),
        selected_file_urls: Sequence[str] = (),
        vector_store: str | None = None,
        account_id: str | None = None,
    ) -> Flow[DataResource]:
        """Index what was loaded, or only the selected addresses."""
        body = {
            "data_resource_id": data_resource_id,
            "selected_urls": [{"url": address} for address in selected_urls],
            "selected_file_urls": [{"url": address} for address in selected_file_urls],
        } | given(vector_store=vector_store, account_id=account_id)
        reply = yield from call(Request("POST", "/api/embeddings", json=body, is_outside=True))
        return DataResource.model_validate_json(reply.content)

    @operation
    def embeddings_status(self, data_resource_id: str) -> Flow[EmbeddingsStatus]:
        """Return the state of indexing."""
        path = f"/api/embeddings/{segment(data_resource_id)}/status"
        reply = yield from call(Request("GET", path, is_outside=True))
        return EmbeddingsStatus.model_validate_json(reply.content)

    @operation
    def retrieve_from_data_resources(
        self,
        kb_ids: Sequence[str],
        query: str,
        *,
        top_k: int = 4,
        top_n: int = 15,
        alpha: float = 0.75,
        hybrid_search: bool = True,
        account_id: str | None = None,
    ) -> Flow[list[RetrievedPassage]]:
        """Find passages by the compatible route; `search_several` returns more about each."""
        body = {
            "kbids": list(kb_ids),
            "query": query,
            "top_k": top_k,
            "top_n": top_n,
            "alpha": alpha,
            "hybrid_search": hybrid_search,
        } | given(account_id=account_id)
        request = Request("POST", "/api/v2/retrieve", json=body, is_outside=True, is_repeatable=True)
        reply = yield from call(request)
        return [RetrievedPassage.model_validate(item) for item in json.loads(reply.content)]
