"""The clients: a method for each operation of the API."""

from analytiq.client.administration import AdministrationCalls, ReconcileCalls
from analytiq.client.chat import ChatCalls
from analytiq.client.compatible import CompatibleCalls
from analytiq.client.connection import AsyncConnection, Connection
from analytiq.client.document_texts import DocumentTextCalls
from analytiq.client.documents import DocumentCalls, ManyDocumentCalls
from analytiq.client.jobs import JobCalls
from analytiq.client.knowledge_bases import ForecastCalls, KnowledgeBaseCalls
from analytiq.client.organizations import (
    AccessTokenCalls,
    MetadataFieldCalls,
    OrganizationCalls,
    OrganizationSettingCalls,
)
from analytiq.client.people import PeopleCalls, SessionCalls
from analytiq.client.prompts import PromptCalls, PromptRunCalls
from analytiq.client.providers import ModelCalls, ProviderCalls
from analytiq.client.pushes import PushCalls
from analytiq.client.searches import SearchCalls
from analytiq.client.sources import SourceCalls, SourceRunCalls
from analytiq.client.tables import TableCalls
from analytiq.client.tags import TagCalls
from analytiq.client.uploads import UploadCalls
from analytiq.client.watching import WatchCalls
from analytiq.client.webhooks import WebhookCalls


class Operations(
    OrganizationCalls,
    AccessTokenCalls,
    OrganizationSettingCalls,
    MetadataFieldCalls,
    PeopleCalls,
    SessionCalls,
    TagCalls,
    DocumentCalls,
    ManyDocumentCalls,
    DocumentTextCalls,
    UploadCalls,
    KnowledgeBaseCalls,
    ForecastCalls,
    SearchCalls,
    ChatCalls,
    PromptCalls,
    PromptRunCalls,
    ProviderCalls,
    ModelCalls,
    TableCalls,
    SourceCalls,
    SourceRunCalls,
    PushCalls,
    JobCalls,
    AdministrationCalls,
    ReconcileCalls,
    WatchCalls,
    WebhookCalls,
    CompatibleCalls,
):
    """The operations of the API, as descriptions."""


class Client(Connection, Operations):
    """One organization over REST; may be used from several threads, and as a context manager."""


class AsyncClient(AsyncConnection, Operations):
    """One organization over REST, on one event loop; methods of `Client`, awaited, and iterated by `async for`."""
