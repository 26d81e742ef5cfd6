"""Request and response bodies of documents."""

import base64
import binascii
from typing import Annotated

from pydantic import AliasPath, ConfigDict, Field, JsonValue, SecretStr, TypeAdapter
from pydantic_core import from_json

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import LONGEST_EXTERNAL_ID, LONGEST_SOURCE, LONGEST_VERSION
from analytiq.ingestion.documents.passwords import LONGEST_PASSWORD
from analytiq.ingestion.documents.retrying import RetryQuery
from analytiq.models.document import DocumentState, ExternalIdentity
from analytiq.models.flaws import FlawKind
from analytiq.models.page_reading import PageReading
from analytiq.models.upload import BULK_FILES, DuplicatePolicy
from analytiq.storage.repositories.document_counts import DocumentCounts
from api.schemas.wire import NO_CONTROLS, NO_NUL, Moment, RequestBody, ResponseBody


class FailureResponse(ResponseBody):
    """The reason for a failure."""

    code: str
    detail: str
    at: Moment


STATES = (
    "indexed, waiting, indexing, failed, empty (no text), waiting_for_quota, or waiting_for_provider: the provider"
    " fails or asks to wait, and indexing continues once it responds"
)


class ProgressResponse(ResponseBody):
    """The progress of a running job."""

    done: int
    total: int
    unit: str


class KnowledgeBaseStateResponse(ResponseBody):
    """The document's indexing state in one of its knowledge bases."""

    kb_id: str
    name: str = Field(validation_alias="kb_name")
    state: str = Field(description=STATES)
    is_searchable: bool = Field(description="Also true while searches find the former text")
    reason: str | None
    error: FailureResponse | None
    progress: ProgressResponse | None
    waiting_since: Moment | None = Field(description="Start of the wait for a provider or a quota")
    chunk_count: int
    indexed_at: Moment | None
    skipped_flaws: list[FlawKind] = Field(description="Kinds of flawed text that its chunks leave out")
    skipped_word_count: int = Field(description="Words of flawed text that its chunks leave out")


SourceName = Annotated[str, Field(min_length=1, max_length=LONGEST_SOURCE), NO_CONTROLS]
ExternalId = Annotated[str, Field(min_length=1, max_length=LONGEST_EXTERNAL_ID), NO_CONTROLS]
SOURCE = "Name of the other system, or of a part of it: wiki"


class ExternalIdentityBody(RequestBody):
    """An item of another system. `source` and `external_id` name one document of the organization."""

    model_config = ConfigDict(title="ExternalIdentity", extra="forbid", frozen=True, from_attributes=True)

    source: SourceName = Field(description=SOURCE)
    external_id: ExternalId = Field(description="The item's id or address there")
    version: Annotated[str, Field(min_length=1, max_length=LONGEST_VERSION), NO_CONTROLS] | None = Field(
        None, description="The item's version there, such as an ETag; only equality counts"
    )

    def to_model(self) -> ExternalIdentity:
        """Return the stored shape."""
        return ExternalIdentity(source=self.source, external_id=self.external_id, version=self.version)


def require_source(source: str | None, external_ids: object, *, field: str) -> None:
    """Check that external ids are given with their source only.

    Raises:
        InvalidInputError: the source is missing.
    """
    if external_ids is not None and source is None:
        raise InvalidInputError.of_field(field, "Give `source` too. An id is unique within its source only.")


READ_PAGES = (
    "Text of a PDF's pages: `auto` takes the text in the file, and OCR for pages that are pictures; `ocr` reads every"
    " page by OCR; `ocr_flawed` also reads the pages by OCR whose text in the file is flawed or missing"
)


class DocumentExtraction(RequestBody):
    """Options of an extraction. An omitted one keeps the document's present choice."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"read_pages": "auto"}]})

    read_pages: PageReading | None = Field(default=None, description=f"{READ_PAGES}. Holds for later extractions too")


class FlawCountResponse(ResponseBody):
    """The extent of one kind of flaw in the extracted text."""

    kind: FlawKind
    word_count: int
    page_count: int = Field(description="Pages with such a flaw")


class DocumentResponse(ResponseBody):
    """A document."""

    document_id: str = Field(validation_alias="id")
    document_name: str = Field(description="The name with the folders of the upload: contracts/2024/acme.pdf")
    origin: str | None = Field(description="The directory of `analytiq ingest`")
    external_identity: ExternalIdentityBody | None = Field(description="The item of another system")
    parent_id: str | None = Field(description="The document in which this one was found: an archive, mailbox or e-mail")
    path: str | None = Field(validation_alias="path_in_parent", description="The path in the parent document")
    part_count: int | None = Field(
        None, description="Number of documents found in this one; null where it is not counted, as in events"
    )
    source_url: str | None = Field(description="Web address of the original, as its uploader gave it")
    state: str = Field(description="uploaded, extracting, extracted or failed")
    tag_ids: list[str]
    metadata: dict[str, JsonValue]
    error: FailureResponse | None
    warnings: list[str]
    read_pages: PageReading = Field(description=READ_PAGES)
    flaws: list[FlawCountResponse] = Field(description="Flaws of the extracted text, one item for each kind")
    content_type: str
    byte_size: int
    sha256: str
    page_count: int | None
    character_count: int | None
    created_at: Moment
    updated_at: Moment


class DocumentDetail(DocumentResponse):
    """A document with its state in each of its knowledge bases."""

    knowledge_bases: list[KnowledgeBaseStateResponse]


class ListedDocumentResponse(DocumentResponse):
    """A document of a list."""

    knowledge_bases: list[KnowledgeBaseStateResponse] | None = Field(
        description="The state in each of its knowledge bases; null unless requested by `include`"
    )


class DocumentList(ResponseBody):
    """A page of documents."""

    documents: list[ListedDocumentResponse]
    total_count: int
    skip: int


class FailureCountResponse(ResponseBody):
    """The number of failed documents with an error code."""

    error_code: str = Field(validation_alias="code")
    detail: str = Field(description="An example message")
    count: int


class DocumentCountsResponse(ResponseBody):
    """The organization's documents by state."""

    total: int
    uploaded: int = Field(description="Waiting for extraction")
    extracting: int
    extracted: int
    failed: int = Field(description="Extraction failed")
    empty: int = Field(description="Extracted, without any text")
    failures: list[FailureCountResponse] = Field(description="Failed documents by error code, most frequent first")

    @classmethod
    def from_counts(cls, counts: DocumentCounts) -> "DocumentCountsResponse":
        """Build the response with one field for each state, and the total."""
        states = {state.value: counts.states.get(state, 0) for state in DocumentState}
        return cls.from_model(counts, **states, total=sum(states.values()))


OPENS_FILE = "Opens an encrypted PDF or Office file. Stored encrypted, never returned, deleted with the document"


class DocumentPassword(RequestBody):
    """The password of a document's file."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"password": "an example"}]})

    password: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_PASSWORD, description=OPENS_FILE)]


class DocumentsRetry(RequestBody):
    """Failed documents to retry: those that match all given criteria, or `all` of the organization."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"error_code": "limit_exceeded"}]})

    error_code: Annotated[Annotated[str, NO_NUL] | None, Field(min_length=1, max_length=100)] = None
    kb_id: Annotated[Annotated[str, NO_NUL] | None, Field(min_length=1, max_length=64)] = None
    all: bool = False

    def query(self) -> RetryQuery:
        """Convert to the library's request.

        Raises:
            InvalidInputError: neither criteria nor `all` are given, or both.
        """
        is_narrowed = bool(self.error_code or self.kb_id)
        if is_narrowed == self.all:
            raise InvalidInputError.of_field(
                "all", 'Name an error code or a knowledge base, or send {"all": true} for every failed document.'
            )
        return RetryQuery(error_code=self.error_code, kb_id=self.kb_id)


class DocumentsRetried(ResponseBody):
    """The number of retried documents."""

    retried: int


SOURCE_URL = "Web address (http or https) of the original, shown with search results and citations"


class DocumentUpdate(RequestBody):
    """Fields to change; omitted fields stay. `metadata` is replaced as a whole; an empty `source_url` removes it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"document_name": "invoice.pdf", "metadata": {"year": 2024}}]},
    )

    document_name: str | None = None
    tag_ids: Annotated[list[str] | None, Field(max_length=100)] = None
    metadata: dict[str, JsonValue] | None = None
    source_url: str | None = Field(None, description=SOURCE_URL)


MERGE = "Add tags and metadata to those of an existing document, instead of keeping or replacing them"
EXTERNAL_IDENTITY = "The item of another system: the file becomes its document, or that document's next version"
BULK = f"These files are some of many: single uploads go before them. More than {BULK_FILES} files in a call always are"
ORIGIN = "The source directory of the files, with its machine: stored with documents without an origin"


class DocumentUpload(RequestBody):
    """A file of a JSON upload."""

    name: str | None = Field(None, description="Name without folders; not needed with `path`")
    path: str | None = Field(None, description="Relative path: contracts/2024/acme.pdf")
    content: str | None = Field(None, description="The file's bytes in base64")
    text: str | None = Field(None, description="The file's text, stored as UTF-8, instead of `content`")
    tag_ids: Annotated[list[str] | None, Field(max_length=100)] = None
    metadata: dict[str, JsonValue] | None = None
    content_type: Annotated[str | None, Field(max_length=200)] = None
    external_identity: ExternalIdentityBody | None = Field(None, description=EXTERNAL_IDENTITY)
    password: Annotated[SecretStr, Field(min_length=1, max_length=LONGEST_PASSWORD)] | None = Field(
        None, description=OPENS_FILE
    )
    source_url: str | None = Field(None, description=SOURCE_URL)

    def decoded(self, field: str) -> bytes:
        """Decode the file's bytes.

        Raises:
            InvalidInputError: `content` is not base64; or neither it nor `text` is given, or both.
        """
        if (self.content is None) == (self.text is None):
            raise InvalidInputError.of_field(field, "Give `content` in base64, or `text`.")
        if self.content is None:
            return (self.text or "").encode()
        try:
            return base64.b64decode(self.content, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidInputError.of_field(field, f"The content is not base64: {error}.") from error


class DocumentUploads(RequestBody):
    """A JSON upload."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "documents": [
                        {"name": "terms.txt", "content": "UGF5bWVudCBpcyBkdWUgd2l0aGluIDMwIGRheXMu", "tag_ids": []}
                    ]
                }
            ]
        },
    )

    documents: Annotated[list[DocumentUpload], Field(min_length=1, max_length=1000)]
    on_duplicate: DuplicatePolicy = DuplicatePolicy.RETURN
    merge: bool = Field(default=False, description=MERGE)
    bulk: bool = Field(default=False, description=BULK)
    origin: str | None = Field(None, description=ORIGIN)


class UploadError(ResponseBody):
    """The reason for a failed file."""

    code: str
    detail: str


class UploadedDocument(ResponseBody):
    """The result for a file: `outcome` is created, returned (existing document), replaced or failed."""

    file_name: str
    outcome: str
    document_id: str | None
    document: DocumentResponse | None
    error: UploadError | None


class UploadedLine(UploadedDocument):
    """The result for a line of an NDJSON upload."""

    line: int = Field(description="Number of the line, from 1")


class UploadAnswer(ResponseBody):
    """The results for all files, in the order sent."""

    documents: list[UploadedDocument]
    created: int
    returned: int
    replaced: int
    failed: int


class TextPageResponse(ResponseBody):
    """A page's text: `text[start:end]` of the whole; `source` is embedded, ocr or needs_ocr."""

    page_number: int = Field(validation_alias=AliasPath("span", "page_number"))
    start: int = Field(validation_alias=AliasPath("span", "start"))
    end: int = Field(validation_alias=AliasPath("span", "end"))
    source: str = Field(validation_alias=AliasPath("span", "source"))
    text: str


class DocumentTextResponse(ResponseBody):
    """The extracted text by page."""

    document_id: str
    document_name: str
    page_count: int
    text_hash: str | None = Field(description="Hash of the text's version; offsets are valid for the same hash only")
    pages: list[TextPageResponse]


_FILTER = TypeAdapter(dict[str, JsonValue])


def filter_in_query(text: str) -> dict[str, JsonValue]:
    """Parse a JSON filter in a query parameter.

    Raises:
        InvalidInputError: the value is not a JSON object.
    """
    try:
        return _FILTER.validate_python(from_json(text, allow_inf_nan=False))
    except ValueError as error:
        raise InvalidInputError.of_field(
            "metadata_filter", 'Must be a JSON object, such as {"customer": "Acme"}.'
        ) from error
