"""What the API answers, as the client gives it. Fields that a later API adds are ignored."""

from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from analytiq.models.metadata_field import FieldType

Item = TypeVar("Item")


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Page(_Answer, Generic[Item]):
    """Some of many; `total_count` is how many there are, or where `total_count_is_at_least`, how many were counted."""

    items: list[Item]
    total_count: int
    total_count_is_at_least: bool = False
    skip: int


class Organization(_Answer):
    """The organization that the token opens."""

    organization_id: str
    name: str
    cache_scope: str
    created_at: datetime


class ModelRateLimit(_Answer):
    """Limits of one model for a minute."""

    model: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class RateLimits(_Answer):
    """What is let through in a minute; None: nothing is said."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    documents_per_minute: int | None = None
    models: list[ModelRateLimit] = []


class ServerSettings(_Answer):
    """What counts where the organization says nothing."""

    ocr_languages: list[str]
    rate_limits: RateLimits


class OrganizationSettings(_Answer):
    """What the organization sets for itself; `ocr_languages` None: the server's."""

    ocr_languages: list[str] | None
    available_ocr_languages: list[str]
    rate_limits: RateLimits
    server: ServerSettings


class Storage(_Answer):
    """How much the organization may store, and stores; None: unlimited."""

    max_bytes: int | None
    used_bytes: int
    max_documents: int | None
    used_documents: int


class AccessToken(_Answer):
    """An access token, without its secret."""

    token_id: str
    name: str
    scope: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class IssuedAccessToken(AccessToken):
    """A new access token; `token` is its secret, which is shown this once."""

    token: str


class LlmProvider(_Answer):
    """A provider of models that there is a key for; `source` says whose, `key_hint` is the end of one's own."""

    litellm_provider: str
    source: str
    key_hint: str | None
    is_readable: bool
    api_base: str | None
    created_at: datetime
    updated_at: datetime


class LlmProviderTest(_Answer):
    """What one call to a provider came to; `detail` says it in a sentence."""

    litellm_provider: str
    model: str
    is_working: bool
    dimensions: int | None
    milliseconds: int
    code: str | None
    detail: str


class MetadataDeclaration(_Answer):
    """The declared fields of documents' metadata, and what declaring them did."""

    fields: dict[str, FieldType]
    documents_rewritten: int = 0
    values_removed: int = 0


class UsageItem(_Answer):
    """SPUs of one knowledge base, operation and model; `day` is None unless days are told apart."""

    day: str | None = None
    kb_id: str | None
    operation: str
    embedding_model: str
    spus: int
    saved_spus: int = 0
    unconfirmed_spus: int = 0


class Usage(_Answer):
    """SPUs that the organization was charged."""

    total_spus: int
    total_saved_spus: int = 0
    total_unconfirmed_spus: int = 0
    by_operation: dict[str, int]
    items: list[UsageItem] = []


class Quota(_Answer):
    """How many SPUs the organization may use in all; None: unlimited."""

    quota: int | None
    used_spus: int
    reserved_spus: int
    left_spus: int | None


class Range(_Answer):
    """A number, and where it probably lies where it is estimated; else all three are the same."""

    value: int
    low: int
    high: int


class PriceRange(_Answer):
    """US dollars, and where they probably lie."""

    value: float
    low: float
    high: float


class UnknownDocument(_Answer):
    """A document whose text is not extracted yet, or cannot be."""

    document_id: str
    document_name: str
    state: str


class Forecast(_Answer):
    """What indexing a knowledge base would need; `price_usd` is None where the model's price is not known.

    `unknown_documents` are the first of `unknown_document_count`, which no number includes. Where `is_cache_known` is
    False, all is taken to be new.
    """

    embedding_model: str
    document_count: int
    unknown_document_count: int
    unknown_documents: list[UnknownDocument]
    chunks: Range
    tokens: Range
    cached_chunks: Range
    cached_share: float | None
    spus: Range
    price_usd: PriceRange | None
    is_cache_known: bool
    is_estimated: bool
    sampled_documents: int
    sampled_characters: int


class Tag(_Answer):
    """A tag."""

    tag_id: str
    name: str
    color: str
    description: str


class Failure(_Answer):
    """Why something failed."""

    code: str
    detail: str


class IndexingState(_Answer):
    """Where a document stands in one knowledge base: indexed, waiting, indexing, failed, or empty."""

    kb_id: str
    name: str
    state: str
    is_searchable: bool
    reason: str | None
    chunk_count: int

    @property
    def is_final(self) -> bool:
        """Whether it stays so by itself."""
        return self.state in ("indexed", "failed", "empty")


class Document(_Answer):
    """A document; its state is uploaded, extracting, extracted or failed."""

    document_id: str
    document_name: str
    state: str
    tag_ids: list[str]
    metadata: dict[str, JsonValue]
    error: Failure | None
    warnings: list[str]
    byte_size: int
    page_count: int | None
    created_at: datetime
    updated_at: datetime


class DocumentDetail(Document):
    """A document, and where it stands in each of its knowledge bases."""

    knowledge_bases: list[IndexingState]

    @property
    def is_settled(self) -> bool:
        """Whether its text is extracted and indexed everywhere, or will not be."""
        if self.state == "failed":
            return True
        return self.state == "extracted" and all(state.is_final for state in self.knowledge_bases)

    @property
    def failures(self) -> list[str]:
        """Why it is not to be found, a sentence each; empty where all is well."""
        if self.state == "failed":
            return [self.error.detail if self.error else "its text could not be extracted"]
        failed = [state for state in self.knowledge_bases if state.state == "failed"]
        return [f"in {state.name!r} {state.reason or 'it could not be indexed'}" for state in failed]


class JobProgress(_Answer):
    """How far a running job is: `done` of `total` `unit`s (pages, chunks)."""

    done: int
    total: int
    unit: str


class Job(_Answer):
    """A job that waits (available), runs (running), or was given up (dead).

    `task_state` says the same as PENDING, RUNNING and FAILURE; `error` is that of the last attempt that failed.
    """

    job_id: str
    kind: str
    state: str
    task_state: str
    priority: int
    attempt: int
    max_attempts: int
    kb_id: str | None
    document_id: str | None
    progress: JobProgress | None
    error: Failure | None
    is_cancel_wanted: bool
    worker: str | None
    run_at: datetime
    created_at: datetime
    updated_at: datetime
    request_id: str | None


class JobAttempt(_Answer):
    """An attempt that has ended: `outcome` is done, retried, dead or cancelled; `task_state` SUCCESS or FAILURE."""

    job_id: str
    kind: str
    task_state: str
    outcome: str
    attempt: int
    kb_id: str | None
    document_id: str | None
    error: Failure | None
    worker: str | None
    started_at: datetime
    ended_at: datetime


class JobDetail(Job):
    """A job, where its last attempt failed, and its latest attempts, latest first."""

    stack: str | None
    attempts: list[JobAttempt]


class JobReplay(_Answer):
    """How many dead jobs are waiting again."""

    replayed: int


class JobCancellation(_Answer):
    """How many waiting jobs are given up now, and how many running ones stop within seconds."""

    cancelled: int
    stopping: int


class KindCounts(_Answer):
    """How many jobs of a kind wait, run, or were given up."""

    kind: str
    waiting: int
    running: int
    dead: int


class JobCounts(_Answer):
    """The queue in numbers, of this organization; kinds of which there is no job are left out."""

    kinds: list[KindCounts]
    waiting: int
    running: int
    dead: int


class JobErrorGroup(_Answer):
    """Dead jobs with the same error, and what one of them says."""

    error_code: str
    detail: str
    count: int


class JobErrors(_Answer):
    """All dead jobs that match, by error; most frequent first."""

    errors: list[JobErrorGroup]


class FoundDrift(_Answer):
    """Something that was not as it should be, with the names that it had then."""

    kind: str
    kb_id: str | None
    kb_name: str | None
    document_id: str | None
    document_name: str | None
    detail: str | None


class ReconcileRun(_Answer):
    """A run of the reconciler: queued, running, done or failed; `counts` says how much of each kind it found."""

    run_id: str
    kb_id: str | None
    depth: str
    dry_run: bool
    state: str
    progress: JobProgress | None
    counts: dict[str, int]
    repairs: int
    is_cut: bool
    knowledge_bases: int
    checked: int
    error: Failure | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state in ("done", "failed")


class ReconcileReport(ReconcileRun):
    """A run, and what it found: some of each kind by name; `more` says how many of a kind are not named."""

    drift: list[FoundDrift]
    more: dict[str, int]


class DocumentStatus(_Answer):
    """A document's work in one word: PENDING, RUNNING, SUCCESS or FAILURE."""

    document_id: str
    status: str


class DocumentLog(_Answer):
    """A page of the attempts at a document's jobs, latest first, and its jobs that still wait or run."""

    document_id: str
    attempts: list[JobAttempt]
    total_count: int
    skip: int
    jobs: list[Job]


class UploadedDocument(_Answer):
    """What became of one file: `outcome` is created, returned (it was there), replaced, or failed."""

    file_name: str
    outcome: str
    document_id: str | None
    document: Document | None
    error: Failure | None


class UploadAnswer(_Answer):
    """What became of each file, in the order sent."""

    documents: list[UploadedDocument]
    created: int
    returned: int
    replaced: int
    failed: int


class TextPage(_Answer):
    """A page's text: `text[start:end]` of the whole document."""

    page_number: int
    start: int
    end: int
    source: str
    text: str


class DocumentText(_Answer):
    """Extracted text by page."""

    document_id: str
    document_name: str
    page_count: int
    pages: list[TextPage]


class PageBox(_Answer):
    """A rectangle in fractions (0 to 1) of the page as it is shown."""

    left: float
    top: float
    width: float
    height: float


class PlacedPage(_Answer):
    """One of a passage's pages; `reason` says why it has no boxes."""

    page_number: int
    boxes: list[PageBox]
    reason: str | None


class PassagePlace(_Answer):
    """Where a passage stands, by page."""

    document_id: str
    start: int
    end: int
    pages: list[PlacedPage]


class KnowledgeBase(_Answer):
    """A knowledge base with its configuration and counts."""

    kb_id: str
    name: str
    description: str
    tag_ids: list[str]
    chunker_type: str
    chunk_size: int
    chunk_overlap: int
    embedding_model: str
    embedding_dimensions: int
    coalesce_neighbors: int
    status: str
    document_count: int
    chunk_count: int


class IndexedChunk(_Answer):
    """A chunk that is indexed now: `text` is characters [start, end) of the document's text; pages count from 1."""

    chunk_id: str
    document_id: str
    document_name: str
    chunk_index: int
    first_page: int
    last_page: int
    token_count: int
    start: int
    end: int
    text: str


class Scores(_Answer):
    """How a passage came to its place; None for a leg or step that it did not go through."""

    vector: float | None
    vector_rank: int | None
    lexical: float | None
    lexical_rank: int | None
    fused: float | None
    rerank: float | None


class Passage(_Answer):
    """A passage of a document, on pages `first_page` to `last_page`; `highlights` are [start, end) in `content`."""

    content: str
    source: str
    document_id: str
    relevance: float
    chunk_index: int
    is_matched: bool
    first_page: int
    last_page: int
    start: int
    end: int
    kb_id: str = ""
    scores: Scores | None = None
    matched_terms: list[str] = []
    highlights: list[tuple[int, int]] = []
    excerpt: str | None = None


class Degradation(_Answer):
    """A step that could not be made; the answer is what comes of the others."""

    step: str
    code: str
    detail: str


class LegWeights(_Answer):
    """How much each leg of a hybrid search counted, and why."""

    vector: float
    lexical: float
    reason: str


class SearchAnswer(_Answer):
    """Passages, best first, neighbours beside their match in the order of the document."""

    results: list[Passage]
    query: str
    total_count: int
    mode: str = "vector"
    degraded: list[Degradation] = []
    timings_ms: dict[str, float] = {}
    weights: LegWeights | None = None


class Judgement(_Answer):
    """Whether a document passed a stage of a search, in words."""

    stage: str
    is_passed: bool
    detail: str


class Explanation(_Answer):
    """The stages up to the first that a document does not pass; `place` is its best chunk's among all, from 1."""

    document_id: str
    document_name: str
    is_found: bool
    place: int | None
    stages: list[Judgement]
    passages: list[Passage]
    degraded: list[Degradation]
    weights: LegWeights | None = None


MetadataFilter = dict[str, Any]
"""As the API takes it: field → value, or an operator such as {"$gte": 2024}."""
