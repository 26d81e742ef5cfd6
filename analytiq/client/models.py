"""Answers about tags, documents and knowledge bases."""

from datetime import datetime

from pydantic import Field, JsonValue

from analytiq.client.answers import Answer, Failure, JobProgress
from analytiq.client.values import ExternalIdentity


class Tag(Answer):
    """A tag."""

    tag_id: str
    name: str
    color: str
    description: str
    created_at: datetime | None = None
    updated_at: datetime | None = None


class IndexingState(Answer):
    """The state of a document in one knowledge base.

    `state` is indexed, waiting, waiting_for_quota, waiting_for_provider, indexing, failed, or empty.
    """

    kb_id: str
    name: str
    state: str
    is_searchable: bool
    reason: str | None
    chunk_count: int
    skipped_flaws: list[str] = Field(default_factory=list)
    """Kinds of flawed text that its chunks leave out."""
    skipped_word_count: int = 0
    error: Failure | None = None
    progress: JobProgress | None = None
    waiting_since: datetime | None = None
    indexed_at: datetime | None = None

    @property
    def is_final(self) -> bool:
        """Return whether the state is final."""
        return self.state in ("indexed", "failed", "empty")


class FlawCount(Answer):
    """The extent of one kind of flaw in a document's text."""

    kind: str
    word_count: int
    page_count: int


class Document(Answer):
    """A document; its state is uploaded, extracting, extracted or failed."""

    document_id: str
    document_name: str
    """Name with its folders: `contracts/2024/acme.pdf`."""
    origin: str | None = None
    external_identity: ExternalIdentity | None = None
    parent_id: str | None = None
    """The document in which this one was found: an archive, mailbox or e-mail."""
    path: str | None = None
    """The path in the parent document."""
    part_count: int | None = None
    """Number of documents found in this one; None where it is not counted."""
    source_url: str | None = None
    """Web address of the original."""
    state: str
    tag_ids: list[str]
    metadata: dict[str, JsonValue]
    error: Failure | None
    warnings: list[str]
    read_pages: str = "auto"
    flaws: list[FlawCount] = Field(default_factory=list)
    byte_size: int
    page_count: int | None
    created_at: datetime
    updated_at: datetime
    content_type: str = ""
    sha256: str = ""
    character_count: int | None = None


class DocumentDetail(Document):
    """A document with its state in each of its knowledge bases."""

    knowledge_bases: list[IndexingState]

    @property
    def is_settled(self) -> bool:
        """Return whether extraction and indexing have ended, with or without success."""
        if self.state == "failed":
            return True
        return self.state == "extracted" and all(state.is_final for state in self.knowledge_bases)

    @property
    def failures(self) -> list[str]:
        """Return the reasons why searches cannot find it, a sentence each."""
        if self.state == "failed":
            return [self.error.detail if self.error else "its text could not be extracted"]
        failed = [state for state in self.knowledge_bases if state.state == "failed"]
        return [f"in {state.name!r} {state.reason or 'it could not be indexed'}" for state in failed]


class DocumentAtPath(Answer):
    """A document for the comparison with a folder; `document_name` is its path."""

    document_id: str
    document_name: str
    origin: str | None
    external_identity: ExternalIdentity | None = None
    sha256: str
    byte_size: int
    state: str
    tag_ids: list[str]


class DocumentRefusal(Answer):
    """A document that stayed unchanged, with the reason."""

    document_id: str
    document_name: str
    detail: str


class DocumentsChanged(Answer):
    """The outcome of a change of many documents."""

    changed_ids: list[str]
    unchanged_count: int
    refused: list[DocumentRefusal]
    next: str | None = None


class UploadedDocument(Answer):
    """The outcome of one file: created, returned (already stored), replaced, or failed."""

    file_name: str
    outcome: str
    document_id: str | None
    document: Document | None
    error: Failure | None


class UploadAnswer(Answer):
    """The outcome of each file, in the order sent."""

    documents: list[UploadedDocument]
    created: int
    returned: int
    replaced: int
    failed: int


class TextPage(Answer):
    """A page's text: `text[start:end]` of the whole document."""

    page_number: int
    start: int
    end: int
    source: str
    text: str


class DocumentText(Answer):
    """Extracted text by page."""

    document_id: str
    document_name: str
    page_count: int
    pages: list[TextPage]
    text_hash: str | None = None


class PageBox(Answer):
    """A rectangle in fractions (0 to 1) of the page as it is shown."""

    left: float
    top: float
    width: float
    height: float


class TextRange(Answer):
    """The characters [start, end) of a document's whole text."""

    start: int
    end: int


class TableShape(Answer):
    """The columns of a table (none without a header), and the range of each row below the header."""

    header: list[str]
    rows: list[TextRange]


class TextBlock(Answer):
    """A block of a text: `text[start:end]` of the whole document.

    `kind` is heading, paragraph, list_item, table, code, quote, caption, footnote, furniture or image.
    """

    kind: str
    start: int
    end: int
    level: int
    page_number: int
    page_name: str
    language: str
    table: TableShape | None
    box: PageBox | None


class DocumentBlocks(Answer):
    """The blocks of a range of pages; a text extracted by an earlier release has none."""

    document_id: str
    document_name: str
    title: str
    page_count: int
    text_hash: str | None = None
    blocks: list[TextBlock]


class PlacedPage(Answer):
    """One of a passage's pages; `reason` explains missing boxes."""

    page_number: int
    boxes: list[PageBox]
    reason: str | None


class PassagePlace(Answer):
    """The place of a passage on a page."""

    document_id: str
    start: int
    end: int
    pages: list[PlacedPage]


class DefaultModels(Answer):
    """The default models and the destination of their texts."""

    embedding: "Destination"
    chat: "Destination | None"


class Destination(Answer):
    """The destination of a model's texts; `address` is None for the local model or if unknown."""

    model: str
    litellm_provider: str
    leaves_machine: bool
    address: str | None
    is_operators_server: bool = False

    @property
    def sentence(self) -> str:
        """Describe the destination in a sentence."""
        if self.litellm_provider == "local":
            return f"{self.model}, in this installation: texts are sent nowhere."
        where = f"at {self.address}" if self.address else f"at the provider {self.litellm_provider}"
        if self.is_operators_server:
            where = "at a server that the operator has chosen"
        if self.leaves_machine:
            return f"{self.model} {where}: texts leave this machine."
        return f"{self.model} at a server on this machine: texts do not leave it."


class KnowledgeBase(Answer):
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
    context: bool = False
    """True: chunks are embedded and searched with their document's title and name, and their headings."""
    searched_metadata: list[str] = Field(default_factory=list)
    """Metadata keys whose values are searched with each chunk."""
    section_level: int = 0
    """Level of the headings that no chunk crosses; 0 for none."""
    index_types: list[str] = Field(default_factory=lambda: ["paragraph"])
    """Granularities that are indexed."""
    status: str
    health: str = ""
    """complete, indexing, incomplete or failed; empty from an API older than this client."""
    document_count: int
    failed_document_count: int = 0
    waiting_document_count: int = 0
    chunk_count: int
    texts_go_to: Destination | None = None
    """Set for a new knowledge base only."""
    vector_store: str = ""
    keyword_index: str | None = None
    empty_document_count: int = 0
    last_indexed_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class IndexedChunk(Answer):
    """An indexed chunk: `text` is characters [start, end) of the document's text; pages count from 1."""

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
    context: str = ""
    heading_path: list[str] = Field(default_factory=list)
    page_name: str = ""
    index_type: str = "paragraph"


class PreviewedChunk(Answer):
    """A chunk that settings would make: `text` is characters [start, end) of the document's text."""

    chunk_index: int
    text: str
    start: int
    end: int
    token_count: int
    first_page: int
    last_page: int
    heading_path: list[str]
    page_name: str
    context: str
    index_type: str = "paragraph"


class ChunkPreview(Answer):
    """The chunks of a text, or of its beginning unless `is_complete`."""

    document_id: str | None
    document_name: str | None
    text_hash: str | None
    chunks: list[PreviewedChunk]
    total_count: int
    skip: int
    character_count: int
    is_complete: bool
    skipped_character_count: int = 0


class FailureCount(Answer):
    """Failed documents with the same error, and the message of one of them."""

    error_code: str
    detail: str
    count: int


class DocumentCounts(Answer):
    """Numbers of documents by state, and of failed documents by error."""

    total: int
    uploaded: int
    extracting: int
    extracted: int
    failed: int
    empty: int
    failures: list[FailureCount]


class ListedDocument(Document):
    """A document of a list; its states in knowledge bases only if the call includes them."""

    knowledge_bases: list[IndexingState] | None


class ListedKnowledgeBase(KnowledgeBase):
    """A knowledge base of a list, with its unfinished work."""

    unfinished_jobs: int
    given_up_jobs: int
    given_up_reason: str | None
    jobs_waiting_for_provider: int
    provider_reason: str | None


class IndexedDocument(Answer):
    """A document in a knowledge base."""

    document_id: str
    document_name: str
    chunk_count: int
    indexed_at: datetime


class DocumentsRetried(Answer):
    """The number of documents that are extracted or indexed again."""

    retried: int


class DocumentsAtPaths(Answer):
    """A part of the documents of a lookup; `next` is None in the last."""

    documents: list[DocumentAtPath]
    next: str | None


class DocumentsProgress(Answer):
    """Documents with their progress."""

    documents: list[DocumentDetail]
