"""A typed Python client of the REST API.

with Client("http://127.0.0.1:8000", organization_id, token) as client:
    tag = client.ensure_tag("contracts")
    uploaded = client.upload([Path("contract.pdf")], tag_ids=[tag.tag_id])
    client.wait_until_indexed([item.document_id for item in uploaded.documents if item.document_id])
"""

from analytiq.client.client import Client
from analytiq.client.errors import FieldProblem, ProblemError, UnreachableError
from analytiq.client.models import (
    AccessToken,
    Degradation,
    Document,
    DocumentDetail,
    DocumentLog,
    DocumentStatus,
    DocumentText,
    Explanation,
    Forecast,
    FoundDrift,
    IndexingState,
    IssuedAccessToken,
    Job,
    JobAttempt,
    JobDetail,
    JobProgress,
    Judgement,
    KnowledgeBase,
    LlmProvider,
    LlmProviderTest,
    Organization,
    Page,
    Passage,
    ReconcileReport,
    ReconcileRun,
    Scores,
    SearchAnswer,
    Tag,
    UploadAnswer,
    UploadedDocument,
    Usage,
)
from analytiq.models.upload import DuplicatePolicy

__all__ = [
    "AccessToken",
    "Client",
    "Degradation",
    "Document",
    "DocumentDetail",
    "DocumentLog",
    "DocumentStatus",
    "DocumentText",
    "DuplicatePolicy",
    "Explanation",
    "FieldProblem",
    "Forecast",
    "FoundDrift",
    "IndexingState",
    "IssuedAccessToken",
    "Job",
    "JobAttempt",
    "JobDetail",
    "JobProgress",
    "Judgement",
    "KnowledgeBase",
    "LlmProvider",
    "LlmProviderTest",
    "Organization",
    "Page",
    "Passage",
    "ProblemError",
    "ReconcileReport",
    "ReconcileRun",
    "Scores",
    "SearchAnswer",
    "Tag",
    "UnreachableError",
    "UploadAnswer",
    "UploadedDocument",
    "Usage",
]
