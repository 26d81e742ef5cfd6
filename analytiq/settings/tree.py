"""The whole tree of settings."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from analytiq.settings.documents import ExtractionSettings, IndexingSettings, LexicalSettings, SearchSettings
from analytiq.settings.models import (
    ChatSettings,
    EmbeddingSettings,
    LlmSettings,
    PromptSettings,
    ProviderSettings,
    RateLimitSettings,
)
from analytiq.settings.services import (
    ApiSettings,
    ErasureSettings,
    MongoSettings,
    QueueSettings,
    ReconcilerSettings,
    SourceSettings,
    TelemetrySettings,
    WatchingSettings,
    WebhookSettings,
    WorkerSettings,
)
from analytiq.settings.tenancy import AccountSettings, QuotaSettings

PREFIX = "ANALYTIQ_"


class Settings(BaseSettings):
    """The whole tree."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    data_dir: Path = Path.home() / ".local" / "share" / "analytiq"
    secret_key: SecretStr | None = None
    """Encrypts provider keys; `analytiq secret-key` prints a fresh one. Never defaulted."""
    old_secret_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """Earlier keys that only decrypt, separated by commas."""
    url: str | None = None
    """Address of the API for clients; with `organization_id` and `token` it replaces connection.json."""
    organization_id: str | None = None
    token: SecretStr | None = None
    debuggable: bool = False
    """Let debuggers and other processes of the same user read the memory of the processes, keys included."""
    log_json: bool = False
    log_level: str = "INFO"
    mongo: MongoSettings = MongoSettings()
    api: ApiSettings = ApiSettings()
    worker: WorkerSettings = WorkerSettings()
    queue: QueueSettings = QueueSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    providers: ProviderSettings = ProviderSettings()
    rate_limits: RateLimitSettings = RateLimitSettings()
    indexing: IndexingSettings = IndexingSettings()
    search: SearchSettings = SearchSettings()
    lexical: LexicalSettings = LexicalSettings()
    sources: SourceSettings = SourceSettings()
    webhooks: WebhookSettings = WebhookSettings()
    reconciler: ReconcilerSettings = ReconcilerSettings()
    erasure: ErasureSettings = ErasureSettings()
    llm: LlmSettings = LlmSettings()
    prompts: PromptSettings = PromptSettings()
    chat: ChatSettings = ChatSettings()
    watching: WatchingSettings = WatchingSettings()
    quotas: QuotaSettings = QuotaSettings()
    accounts: AccountSettings = AccountSettings()
    telemetry: TelemetrySettings = TelemetrySettings()

    @field_validator("old_secret_keys", mode="before")
    @classmethod
    def _separated(cls, value: object) -> object:
        return [key for key in re.split(r"[,\s]+", value) if key] if isinstance(value, str) else value
