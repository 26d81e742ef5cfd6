"""Settings: one tree, read once by a process's main and handed on as values.

Environment variables are `ANALYTIQ_` plus the path, levels joined by `__`: `ANALYTIQ_MONGO__URI`. The
exceptions are the names that everybody already uses: `MONGODB_URI`, and the providers' own key variables.
"""

import difflib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MEBIBYTE = 1024 * 1024
MAX_SECRET_CHARACTERS = 64 * 1024
PREFIX = "ANALYTIQ_"

PROVIDER_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "cohere": "COHERE_API_KEY",
    "azure": "AZURE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "jina_ai": "JINA_AI_API_KEY",
    "together_ai": "TOGETHERAI_API_KEY",
    "nvidia_nim": "NVIDIA_NIM_API_KEY",
}
"""LiteLLM's provider name → the environment variable that its key is taken from at first start."""

NO_KEY = "no-key"
"""Sent to a server that asks for none, so that LiteLLM takes none of the environment's."""

PROVIDER_BASE_VARIABLES = {"openai": "OPENAI_API_BASE", "azure": "AZURE_API_BASE"}
"""LiteLLM's provider name → the environment variable that holds the address of a compatible server."""

_OWN_VARIABLES = ("ANALYTIQ_", "MONGODB_", "OTEL_")
_OF_A_PROVIDER = re.compile(
    r"^(AWS|AZURE|GOOGLE|GCLOUD|GCP|CLOUDSDK|VERTEX|VERTEXAI|GEMINI|OPENAI|ANTHROPIC|COHERE|CO_API|HF|HUGGINGFACE"
    r"|DATABRICKS|WATSONX|SAGEMAKER|BEDROCK|OLLAMA|LM_STUDIO|HOSTED_VLLM|LITELLM_(?!MODE|LOCAL|LOG))"
    r"|(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PRIVATE_KEY|COOKIE)S?(_|$)"
    r"|(API_BASE|URL|ENDPOINT|ORGANIZATION|ORG_ID|PROJECT|PROJECT_ID|CUSTOM_HEADERS)$",
    re.IGNORECASE,
)
"""Names of variables that hold a credential, an address or an account of a provider."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MongoSettings(_Section):
    """The database. Without a `uri` the embedded server is used, where the process may start one."""

    uri: SecretStr | None = None
    database: str = "analytiq"
    embedded_cache_bytes: int = 256 * MEBIBYTE
    embedded_oplog_mebibytes: int = 512


class ApiSettings(_Section):
    """The REST API process."""

    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    max_upload_bytes: int = 200 * MEBIBYTE
    max_files_per_upload: int = 1000
    max_json_bytes: int = 64 * MEBIBYTE
    head_wait_seconds: float = Field(default=20.0, gt=0)
    """For so long a request's head is waited for."""
    body_wait_seconds: float = Field(default=30.0, gt=0)
    """For so long the next part of a body is waited for, and all of it that much longer than at 1 KiB a second."""
    public_url: str | None = None
    """Where people reach it: what links in mails begin with. With https, cookies are sent over TLS only."""


class WorkerSettings(_Section):
    """The job runner."""

    concurrency: int = Field(default=4, ge=1, le=256)
    drain_seconds: float = 20.0


class QueueSettings(_Section):
    """Leases: a job whose worker has died is taken up again `lease_seconds` after its last heartbeat."""

    lease_seconds: float = Field(default=30.0, ge=0.2)
    poll_seconds: float = 2.0
    max_attempts: int = Field(default=12, ge=1)
    """12 attempts take about 15 minutes: an outage of a provider is longer than one of a network."""
    max_worker_deaths: int = Field(default=4, ge=1)


class ExtractionSettings(_Section):
    """Limits of the child process that parses one document."""

    memory_bytes: int = 1536 * MEBIBYTE
    total_memory_bytes: int = Field(default=4096 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Of all documents that a process reads at once; what does not fit waits. A part is kept for small files."""
    cpu_seconds: int = 600
    """The most for any file. A small file has less: `cpu_seconds_least`, and more for each MiB that it has."""
    cpu_seconds_least: int = Field(default=40, ge=1)
    cpu_seconds_per_mebibyte: int = Field(default=20, ge=0)
    cpu_seconds_per_mebibyte_of_pictures: int = Field(default=500, ge=0)
    """Of PDFs and pictures, whose pages may need OCR: about 2 seconds for each page of 4 KiB."""
    wall_seconds: float = 900.0
    output_bytes: int = 256 * MEBIBYTE
    max_pages: int = 10_000
    ocr_languages: tuple[str, ...] = ("eng",)
    isolation: Literal["required", "best_effort", "off"] = "best_effort"
    """Whether workers refuse documents where the kernel cannot isolate parsers; off: parsers keep all rights."""
    readable_paths: tuple[Path, ...] = ()
    """What parsers may read besides their document, installed code, fonts and OCR data."""


class EmbeddingSettings(_Section):
    """How texts become vectors."""

    default_model: str | None = None
    """Of new knowledge bases that name none, kept for the installation; None: the one kept, at first the local one."""
    batch_size: int = Field(default=100, ge=1, le=2048)
    timeout_seconds: float = 60.0
    local_threads: int = Field(default=1, ge=1)
    claim_lease_seconds: float = Field(default=15.0, ge=0.2)
    """So long a killed worker keeps others from the texts that it was embedding; a living one renews its claim."""
    cache_max_bytes: int = Field(default=8192 * MEBIBYTE, ge=0)
    """Of cached embeddings, as BSON; beyond it those go that were not used for longest. 0: no bound."""
    allow_global_cache: bool = False
    """Let organizations share embeddings. An organization that shares can tell, by price or time, whether another one
    has a certain text: only where all organizations trust each other. Without it, none shares, whatever it chose."""
    cache_unused_days: int = Field(default=180, ge=0)
    """Embeddings that nobody used for so long go; 0: never."""


class ProviderSettings(_Section):
    """Providers of models, as organizations set them up."""

    allow_private_addresses: bool = False
    """Let organizations have their providers called at any address, also of this machine and its network."""


class ModelRateLimit(_Section):
    """The limits of one model; what is None is as for the others, 0 is no limit."""

    requests_per_minute: int | None = Field(default=None, ge=0)
    tokens_per_minute: int | None = Field(default=None, ge=0)


class RateLimitSettings(_Section):
    """What is let through in any 60 seconds, of all processes together; 0 is no limit."""

    requests_per_minute: int = Field(default=3000, ge=0)
    """For each organization and embedding model: what OpenAI grants a new account that pays."""
    tokens_per_minute: int = Field(default=1_000_000, ge=0)
    """Likewise."""
    documents_per_minute: int = Field(default=6000, ge=0)
    """For each knowledge base: twice what a worker process does with an embedder that costs nothing."""
    models: dict[str, ModelRateLimit] = {}
    """By the model's name. Models that run in the process (`local/…`) have limits only where they are named."""


class IndexingSettings(_Section):
    """The swap (design 2.2)."""

    stage_batch_size: int = 500
    sweep_delay_seconds: float = 60.0


class SearchSettings(_Section):
    """Search and the vectors it mirrors in memory."""

    max_top_k: int = 100
    max_depth: int = 10_000
    local_store_bytes: int = 512 * MEBIBYTE
    load_wait_seconds: float = 2.0
    vector_store: str = "auto"
    """Of new knowledge bases; `auto`: `mongodb` where the server lists search indexes. `local` serves all locally."""
    quantization: Literal["none", "scalar", "binary"] = "none"
    candidates_per_result: int = Field(default=20, ge=1, le=10_000)
    """`numCandidates` for each result asked of MongoDB's vector search, as its documentation advises."""
    visibility_seconds: float = 120.0
    snapshot_bytes: int = Field(default=4096 * MEBIBYTE, ge=0)
    """Of mirrored vectors on disk, in `data_dir/snapshots`; 0: none."""
    understanding_cache_seconds: float = Field(default=3600.0, ge=0.0)
    """How long a process remembers rewritten questions and imagined answers; 0: not at all."""
    leg_timeout_seconds: float = 10.0
    step_timeout_seconds: float = 15.0


class LexicalSettings(_Section):
    """The indexes of words, in `data_dir/lexical`."""

    is_enabled: bool = True
    disk_bytes: int = 4096 * MEBIBYTE
    build_wait_seconds: float = 2.0


class ReconcilerSettings(_Section):
    """The daemon that repairs drift."""

    is_enabled: bool = True
    """Whether passes run by themselves; those that somebody asks for always do."""
    interval_seconds: float = Field(default=300.0, gt=0)
    full_interval_seconds: float = Field(default=24 * 3600.0, gt=0)
    orphan_grace_seconds: float = 3600.0
    lease_seconds: float = Field(default=30.0, ge=0.5)
    """After which another reconciler leads where the leader is gone."""
    most_repairs: int = Field(default=25_000, ge=1)
    """Of one kind in a pass: about what the workers of one machine do until the next."""
    report_days: int = Field(default=14, ge=1, le=365)


class ErasureSettings(_Section):
    """Erasing an organization."""

    quiet_seconds: float = Field(default=90.0, ge=0.0)
    """Work under way when it begins has so long to notice and end, before the proof that nothing is left counts."""


class LlmSettings(_Section):
    """Chat and reranking models."""

    default_model: str | None = None
    """Asked where nobody names one; None: a small model of the first provider that has a key."""
    default_rerank_model: str | None = None
    platform_models: tuple[str, ...] = ()
    """Chat and reranking models that every organization may ask with the platform's keys, beside the default ones."""
    timeout_seconds: float = 120.0


class PromptSettings(_Section):
    """Runs of prompts."""

    max_document_tokens: int = Field(default=100_000, ge=100)
    """Of a document, what a model is shown at most; the run says where it was cut."""


class ChatSettings(_Section):
    """Conversations with knowledge bases."""

    score_threshold: float = Field(default=0.57, ge=0.0, le=1.0)
    """The least relevance of a passage that a model is shown, where a thread says nothing. With the local model, eight
    questions about the samples found their answers at 0.63 and above, eight about other things nothing above 0.61."""
    top_k: int = Field(default=8, ge=1, le=50)
    max_rounds: int = Field(default=4, ge=1, le=20)
    """Calls to the model for one answer; in the last it may search no further."""
    max_calls_of_round: int = Field(default=4, ge=1, le=20)
    max_answer_tokens: int = Field(default=2000, ge=1)
    max_running: int = Field(default=100, ge=1)
    """Answers that one process makes at once."""
    grace_seconds: float = Field(default=30.0, ge=0.0)
    """For so long an answer goes on that nobody reads."""
    keep_alive_seconds: float = Field(default=15.0, gt=0.0)
    loading_wait_seconds: float = 30.0


class WatchingSettings(_Section):
    """Server-sent events of what changes in an organization."""

    max_connections: int = Field(default=100, ge=1)
    """Of one organization to one process; a browser needs one, however many pages it shows."""
    keep_alive_seconds: float = Field(default=15.0, gt=0.0)
    check_seconds: float = Field(default=60.0, gt=0.0)
    """Whether a caller may still watch is looked up this often, and at once when a token, session or role ends."""


class QuotaSettings(_Section):
    """What one organization may have and send; 0 is no limit."""

    knowledge_bases: int = Field(default=1000, ge=0)
    """Each has a collection of its own, and MongoDB files for each of its indexes."""
    tags: int = Field(default=10_000, ge=0)
    prompts: int = Field(default=1000, ge=0)
    access_tokens: int = Field(default=1000, ge=0)
    """Those that open something still."""
    invitations: int = Field(default=1000, ge=0)
    """Those that can be accepted still."""
    requests_per_minute: int = Field(default=12_000, ge=0)
    """To each API process; about half of what one can answer."""


class SmtpSettings(_Section):
    """A mail server, for links to new passwords and invitations."""

    host: str
    port: int = Field(default=587, ge=1, le=65535)
    sender: str
    """The address that mails come from."""
    username: str | None = None
    password: SecretStr | None = None
    uses_starttls: bool = True


class OidcSettings(_Section):
    """A provider of OpenID Connect that people may sign in with."""

    issuer: str
    """Its address; the provider's metadata are at `/.well-known/openid-configuration` below it."""
    client_id: str
    client_secret: SecretStr
    name: str = "single sign-on"
    """What the button says."""


class AccountSettings(_Section):
    """People: how long they stay signed in, and how links reach them."""

    session_idle_hours: float = Field(default=168.0, gt=0)
    session_days: float = Field(default=30.0, gt=0)
    invitation_days: float = Field(default=7.0, gt=0)
    reset_minutes: float = Field(default=60.0, gt=0)
    audit_days: float = Field(default=365.0, gt=0)
    smtp: SmtpSettings | None = None
    oidc: OidcSettings | None = None


class TelemetrySettings(_Section):
    """Traces, off without an address; the metrics of processes that serve no requests."""

    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = Field(default=None, ge=1, le=65535)
    """Where a worker or the reconciler answers `/metrics`; None: nowhere. The API answers it on its own port."""
    metrics_token: SecretStr | None = None
    """What `Authorization: Bearer …` must hold for the API's `/metrics`; None: callers on this machine alone see it."""
    metrics_name_tenants: bool = False
    """Label counts with the ids of organizations' knowledge bases."""

    otlp_endpoint: str | None = None
    """Of an OpenTelemetry collector, OTLP over HTTP: `http://localhost:4318/v1/traces`."""
    sample_ratio: float = Field(default=1.0, ge=0.0, le=1.0)
    continues_callers: bool = False
    """A request's `traceparent` is continued, and decides on sampling: only where no stranger reaches the API."""


class Settings(BaseSettings):
    """The whole tree."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    data_dir: Path = Path.home() / ".local" / "share" / "analytiq"
    secret_key: SecretStr | None = None
    """Encrypts provider keys; `analytiq secret-key` prints a fresh one. Never defaulted."""
    old_secret_keys: Annotated[tuple[SecretStr, ...], NoDecode] = ()
    """Still read, never written with: keys before the present one, separated by commas."""
    url: str | None = None
    """Where clients find the API; with `organization_id` and `token` it takes the place of connection.json."""
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


_NOT_SETTINGS = (f"{PREFIX}TEST_", f"{PREFIX}HYPOTHESIS", f"{PREFIX}PYTHON", f"{PREFIX}API_URL", f"{PREFIX}PUBLISHED_")
"""Beginnings of variables of the tests, the Makefile, the UI's development server and the compose file."""


class SettingsError(ValueError):
    """A variable of the environment that cannot be used; the message says which, why, and what to do."""


def read_settings() -> Settings:
    """Read the environment, once; `MONGODB_URI` counts where `ANALYTIQ_MONGO__URI` is not set.

    Raises:
        SettingsError: a variable's value is not valid, or a file of secrets cannot be read.
    """
    _read_secret_files()
    _refuse_unknown_variables()
    try:
        settings = Settings()
    except ValidationError as error:
        # Without the values: one of them may be a secret.
        wrong = [f"ANALYTIQ_{'__'.join(map(str, item['loc'])).upper()}: {item['msg']}" for item in error.errors()]
        raise SettingsError(f"The environment has settings that cannot be read: {'; '.join(wrong)}.") from None
    uri = os.environ.get("MONGODB_URI")
    if settings.mongo.uri is None and uri:
        mongo = settings.mongo.model_copy(update={"uri": SecretStr(uri)})
        settings = settings.model_copy(update={"mongo": mongo})
    return settings


def _refuse_unknown_variables() -> None:
    """Refuse variables that look like settings and are none: pydantic refuses misspelt names below the top only.

    Raises:
        SettingsError: names each of them, and what is probably meant.
    """
    known = {name.upper() for name in Settings.model_fields}
    wrong: list[str] = []
    for variable in sorted(os.environ):
        if not variable.startswith(PREFIX) or variable.startswith(_NOT_SETTINGS):
            continue
        name, *rest = variable.removeprefix(PREFIX).split("__")
        if name in known:
            continue
        if name.endswith("_FILE") and f"{PREFIX}{name.removesuffix('_FILE')}" in secret_variables():
            continue
        close = [key for key in known if name.startswith(f"{key}_")]
        if close:
            close = [f"{close[0]}__{name.removeprefix(close[0] + '_')}"]
        close = close or difflib.get_close_matches(name, known, n=1)
        meant = f" Is {PREFIX}{'__'.join([close[0], *rest])} meant?" if close else ""
        wrong.append(f"There is no setting {variable}.{meant}")
    if wrong:
        raise SettingsError(" ".join([*wrong, "The settings are listed in docs/reference/settings.md."]))


def read_settings_or_exit(process: str) -> Settings:
    """Read the environment in a process's main; a wrong setting ends the process with a sentence and status 1."""
    try:
        return read_settings()
    except SettingsError as error:
        sys.stderr.write(f"{process}: {error}\n")
        sys.exit(1)


def secret_variables() -> frozenset[str]:
    """Return the names of the variables that hold secrets; each may name a file instead, as `NAME_FILE`."""
    return frozenset({"MONGODB_URI", *PROVIDER_KEY_VARIABLES.values(), *_secrets_of(Settings, PREFIX)})


def _secrets_of(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        variable = f"{prefix}{name.upper()}"
        parts = (field.annotation, *get_args(field.annotation))
        if any(part is SecretStr or SecretStr in get_args(part) for part in parts):
            yield variable
        for part in parts:
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from _secrets_of(part, f"{variable}__")


def _read_secret_files() -> None:
    """Put the content of each file that a `NAME_FILE` names into `NAME`, as container platforms mount secrets.

    Raises:
        SettingsError: the file cannot be read, is empty or large, or both variables are set.
    """
    for variable in secret_variables():
        path = os.environ.get(f"{variable}_FILE")
        if not path:
            continue
        if os.environ.get(variable):
            raise SettingsError(f"Both {variable} and {variable}_FILE are set. Keep one of them.")
        try:
            with Path(path).open(encoding="utf-8") as file:
                secret = file.read(MAX_SECRET_CHARACTERS + 1).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise SettingsError(f"Cannot read {path}, which {variable}_FILE names: {reason}.") from None
        if not secret or len(secret) > MAX_SECRET_CHARACTERS:
            wrong = "is empty" if not secret else f"has more than {MAX_SECRET_CHARACTERS} characters"
            raise SettingsError(f"The file {path}, which {variable}_FILE names, {wrong}. Write the secret alone to it.")
        os.environ[variable] = secret
        del os.environ[f"{variable}_FILE"]


def provider_keys_from_environment() -> dict[str, tuple[SecretStr, str | None]]:
    """Provider → (key, address of its API or None), for each provider whose key variable is set."""
    found: dict[str, tuple[SecretStr, str | None]] = {}
    for provider, variable in PROVIDER_KEY_VARIABLES.items():
        key = os.environ.get(variable)
        base_variable = PROVIDER_BASE_VARIABLES.get(provider)
        base = (os.environ.get(base_variable) if base_variable else None) or None
        if not key and provider == "openai" and base:
            # A server of one's own that asks for no key: Ollama, vLLM, LM Studio.
            key = NO_KEY
        if key:
            found[provider] = (SecretStr(key), base)
    return found


def forget_credentials_of_providers() -> None:
    """Remove other software's credentials and addresses from the environment of this process, own settings excepted.

    LiteLLM and the libraries below it take what a call lacks from the environment: a call of one organization would
    carry the operator's key. Whatever the platform itself needs has been read by then.
    """
    for name in list(os.environ):
        if _OF_A_PROVIDER.search(name) and not name.startswith(_OWN_VARIABLES):
            del os.environ[name]


def metrics_directory_from_environment() -> str | None:
    """Where processes on one machine share their metrics; prometheus-client reads the variable itself."""
    return os.environ.get("PROMETHEUS_MULTIPROC_DIR")


def child_environment(additions: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with `additions`, for a process that it starts."""
    return {**os.environ, **additions}
