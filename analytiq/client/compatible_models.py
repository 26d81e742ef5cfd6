"""Answers of the compatible routes."""

from pydantic import JsonValue

from analytiq.client.answers import Answer


class DataResource(Answer):
    """A data resource of the compatible routes."""

    data_resource_id: str


class DataResourceStatus(Answer):
    """The loading of a data resource."""

    data_resource_id: str
    status: str
    visited: list[str]
    failed: list[str]
    files: list[str]
    error: str | None
    total_count: int
    skip: int


class DataResourceLogs(Answer):
    """The log of a data resource."""

    data_resource_id: str
    logs: list[str]
    total_count: int
    skip: int


class EmbeddingsStatus(Answer):
    """The indexing of a data resource."""

    data_resource_id: str
    status: str
    kb_id: str | None
    documents: int
    waiting_documents: int
    failed_documents: int


class RetrievedPassage(Answer):
    """A passage found by the compatible route."""

    id: str
    page_content: str
    metadata: dict[str, JsonValue]
