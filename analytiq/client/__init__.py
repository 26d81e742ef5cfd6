"""A typed Python client of the REST API.

with Client("http://127.0.0.1:8000", organization_id, token) as client:
    tag = client.ensure_tag("contracts")
    uploaded = client.upload([Path("contract.pdf")], tag_ids=[tag.tag_id])
    client.wait_until_indexed([item.document_id for item in uploaded.documents if item.document_id])
"""

from analytiq.client.answers import Page
from analytiq.client.chat import ChatCitation, ChatEvent, ChatMessage, ChatPassage, ChatThread, ChatUsage
from analytiq.client.client import Client
from analytiq.client.errors import FieldProblem, ProblemError, UnreachableError
from analytiq.client.job_models import (
    DocumentLog,
    DocumentStatus,
    FoundDrift,
    Job,
    JobAttempt,
    JobCancellation,
    JobCounts,
    JobDetail,
    JobErrorGroup,
    JobProgress,
    KindCounts,
    ReconcileReport,
    ReconcileRun,
)
from analytiq.client.models import (
    DefaultModels,
    Destination,
    Document,
    DocumentAtPath,
    DocumentDetail,
    DocumentRefusal,
    DocumentsChanged,
    DocumentText,
    IndexedChunk,
    IndexingState,
    KnowledgeBase,
    Tag,
    UploadAnswer,
    UploadedDocument,
)
from analytiq.client.organization_models import (
    AccessToken,
    Forecast,
    IssuedAccessToken,
    LlmProvider,
    LlmProviderTest,
    MetadataDeclaration,
    Organization,
    Usage,
)
from analytiq.client.prompt_models import (
    LlmUsage,
    Model,
    Prompt,
    PromptResult,
    PromptRun,
    PromptRunDetail,
    PromptVersion,
    RunUsage,
)
from analytiq.client.search_models import Degradation, Explanation, Judgement, Passage, Scores, SearchAnswer
from analytiq.models.document import ExternalIdentity
from analytiq.models.upload import DuplicatePolicy

__all__ = [
    "AccessToken",
    "ChatCitation",
    "ChatEvent",
    "ChatMessage",
    "ChatPassage",
    "ChatThread",
    "ChatUsage",
    "Client",
    "DefaultModels",
    "Degradation",
    "Destination",
    "Document",
    "DocumentAtPath",
    "DocumentDetail",
    "DocumentLog",
    "DocumentRefusal",
    "DocumentStatus",
    "DocumentText",
    "DocumentsChanged",
    "DuplicatePolicy",
    "Explanation",
    "ExternalIdentity",
    "FieldProblem",
    "Forecast",
    "FoundDrift",
    "IndexedChunk",
    "IndexingState",
    "IssuedAccessToken",
    "Job",
    "JobAttempt",
    "JobCancellation",
    "JobCounts",
    "JobDetail",
    "JobErrorGroup",
    "JobProgress",
    "Judgement",
    "KindCounts",
    "KnowledgeBase",
    "LlmProvider",
    "LlmProviderTest",
    "LlmUsage",
    "MetadataDeclaration",
    "Model",
    "Organization",
    "Page",
    "Passage",
    "ProblemError",
    "Prompt",
    "PromptResult",
    "PromptRun",
    "PromptRunDetail",
    "PromptVersion",
    "ReconcileReport",
    "ReconcileRun",
    "RunUsage",
    "Scores",
    "SearchAnswer",
    "Tag",
    "UnreachableError",
    "UploadAnswer",
    "UploadedDocument",
    "Usage",
]
