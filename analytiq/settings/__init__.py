"""Settings: one tree, read once by a process's main and passed on as values.

An environment variable is `ANALYTIQ_` plus the path, levels joined by `__`: `ANALYTIQ_MONGO__DATABASE`. The exceptions
are widely used names: `MONGODB_URI` and the providers' own key variables.
"""

from analytiq.settings.documents import ExtractionSettings, IndexingSettings, LexicalSettings, SearchSettings
from analytiq.settings.environment import (
    MAX_SECRET_CHARACTERS,
    SettingsError,
    child_environment,
    metrics_directory_from_environment,
    read_settings,
    read_settings_or_exit,
    secret_variables,
)
from analytiq.settings.models import (
    ChatSettings,
    EmbeddingSettings,
    LlmSettings,
    ModelRateLimit,
    PromptSettings,
    ProviderSettings,
    RateLimitSettings,
)
from analytiq.settings.provider_keys import (
    NO_KEY,
    PROVIDER_KEY_VARIABLES,
    forget_credentials_of_providers,
    provider_keys_from_environment,
)
from analytiq.settings.section import MEBIBYTE
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
from analytiq.settings.tenancy import AccountSettings, OidcSettings, QuotaSettings, SmtpSettings
from analytiq.settings.tree import Settings

__all__ = [
    "MAX_SECRET_CHARACTERS",
    "MEBIBYTE",
    "NO_KEY",
    "PROVIDER_KEY_VARIABLES",
    "AccountSettings",
    "ApiSettings",
    "ChatSettings",
    "EmbeddingSettings",
    "ErasureSettings",
    "ExtractionSettings",
    "IndexingSettings",
    "LexicalSettings",
    "LlmSettings",
    "ModelRateLimit",
    "MongoSettings",
    "OidcSettings",
    "PromptSettings",
    "ProviderSettings",
    "QueueSettings",
    "QuotaSettings",
    "RateLimitSettings",
    "ReconcilerSettings",
    "SearchSettings",
    "Settings",
    "SettingsError",
    "SmtpSettings",
    "SourceSettings",
    "TelemetrySettings",
    "WatchingSettings",
    "WebhookSettings",
    "WorkerSettings",
    "child_environment",
    "forget_credentials_of_providers",
    "metrics_directory_from_environment",
    "provider_keys_from_environment",
    "read_settings",
    "read_settings_or_exit",
    "secret_variables",
]
