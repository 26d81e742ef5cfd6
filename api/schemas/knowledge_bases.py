"""Request and response bodies of knowledge bases."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, AliasPath, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic.json_schema import SkipJsonSchema

from analytiq.ingestion.knowledge_bases.service import IndexSettings, ListedChunk, NewKnowledgeBase
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseHealth, StandingKnowledgeBase
from analytiq.models.index_types import PARAGRAPHS, IndexType, index_type_at, number_of
from analytiq.models.knowledge_base import LONGEST_NAME
from api.schemas.chunking import IndexTypes, SectionLevel
from api.schemas.destinations import DestinationResponse
from api.schemas.wire import NO_CONTROLS, NO_NUL, Moment, RequestBody, ResponseBody

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME), NO_CONTROLS]
Description = Annotated[str, StringConstraints(max_length=5000), NO_NUL]
TagIds = Annotated[list[str], Field(max_length=100)]
Neighbors = Annotated[int, Field(ge=0, le=5)]
SearchedMetadata = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200), NO_CONTROLS], ...],
    Field(
        max_length=10,
        description="Metadata keys whose values are embedded and searched with each chunk, as a part of its context",
    ),
    AfterValidator(lambda keys: tuple(dict.fromkeys(keys))),
]


def _refuse_change(_: Any) -> None:
    raise ValueError(
        "Cannot be changed by an update. Move the knowledge base to other settings of its index"
        " (`POST /knowledge-bases/{kb_id}/move`), or create a new one for another embedding model."
    )


Immutable = Annotated[SkipJsonSchema[None], BeforeValidator(_refuse_change)]


class KnowledgeBaseCreate(RequestBody):
    """A knowledge base to create. The default of `embedding_model` is the organization's."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "Invoice KB",
                    "description": "Knowledge base for invoice processing",
                    "tag_ids": ["507f1f77bcf86cd799439011"],
                    "chunker_type": "recursive",
                    "chunk_size": 512,
                    "chunk_overlap": 128,
                    "embedding_model": "local/all-minilm-l6-v2",
                    "coalesce_neighbors": 2,
                    "context": True,
                }
            ]
        },
    )

    name: Name
    description: Description = ""
    tag_ids: TagIds = Field(default_factory=list)
    chunker_type: str = "auto"
    chunk_size: Annotated[int, Field(ge=1, le=8192, description="Tokens")] = 512
    chunk_overlap: Annotated[
        int, Field(ge=0, le=4096, description="Tokens; default: 128, at most a quarter of chunk_size")
    ] = 128
    embedding_model: Annotated[str, Field(min_length=1, max_length=200), NO_CONTROLS] | None = None
    coalesce_neighbors: Neighbors = 0
    context: Annotated[
        bool,
        Field(
            description="Embed and search each chunk with its context: the document's title and name, its headings, "
            "its sheet or slide. Offsets and stored text stay the chunk alone"
        ),
    ] = True
    searched_metadata: SearchedMetadata = Field(default_factory=tuple)
    section_level: SectionLevel = 0
    index_types: IndexTypes = PARAGRAPHS

    def wanted(self, tag_ids: list[str]) -> NewKnowledgeBase:
        """Convert to the library's request."""
        return NewKnowledgeBase(
            name=self.name,
            description=self.description,
            tag_ids=tuple(tag_ids),
            chunker_type=self.chunker_type,
            chunk_size=self.chunk_size,
            chunk_overlap=self._overlap(),
            embedding_model=self.embedding_model,
            coalesce_neighbors=self.coalesce_neighbors,
            context=self.context,
            searched_metadata=self.searched_metadata,
            section_level=self.section_level,
            index_types=self.index_types,
        )

    def _overlap(self) -> int:
        """Return the overlap; its default also fits small chunks, so an omitted field never causes an error."""
        if "chunk_overlap" in self.model_fields_set:
            return self.chunk_overlap
        return min(self.chunk_overlap, self.chunk_size // 4)


class KnowledgeBaseUpdate(RequestBody):
    """Fields to change; omitted fields stay. Chunking and embedding settings cannot be changed."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Updated KB Name", "coalesce_neighbors": 3}]},
    )

    name: Name | None = None
    description: Description | None = None
    tag_ids: TagIds | None = None
    coalesce_neighbors: Neighbors | None = None
    chunker_type: Immutable = None
    chunk_size: Immutable = None
    chunk_overlap: Immutable = None
    embedding_model: Immutable = None
    embedding_dimensions: Immutable = None
    context: Immutable = None
    searched_metadata: Immutable = None
    section_level: Immutable = None
    index_types: Immutable = None
    vector_store: Immutable = None


class KnowledgeBaseMove(RequestBody):
    """Settings of the index to move to; omitted ones stay, `context` is turned on."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{}, {"searched_metadata": ["customer", "contract_number"]}]}
    )

    context: bool = Field(
        default_factory=lambda: True, description="Embed and search each chunk with its context; default: true"
    )
    searched_metadata: SearchedMetadata | None = None
    chunker_type: str | None = None
    chunk_size: Annotated[int | None, Field(ge=1, le=8192, description="Tokens")] = None
    chunk_overlap: Annotated[int | None, Field(ge=0, le=4096, description="Tokens")] = None
    section_level: SectionLevel | None = None
    index_types: IndexTypes | None = None

    def wanted(self) -> IndexSettings:
        """Convert to the library's request."""
        return IndexSettings(**self.model_dump())


class KnowledgeBaseResponse(ResponseBody):
    """A knowledge base with its whole configuration."""

    kb_id: str = Field(validation_alias="id")
    name: str
    description: str
    tag_ids: list[str]
    chunker_type: str
    chunk_size: int
    chunk_overlap: int
    embedding_model: str
    embedding_dimensions: int
    coalesce_neighbors: int
    context: bool = Field(
        description="True if chunks are embedded and searched with their context. False for knowledge bases of an "
        "older release: `POST /knowledge-bases/{kb_id}/move` turns it on"
    )
    searched_metadata: list[str] = Field(description="Metadata keys whose values are searched with each chunk")
    section_level: int = Field(description="Heading level that no chunk crosses; 0 for none")
    index_types: list[IndexType] = Field(description="Granularities that are indexed")
    vector_store: str = Field(description="Retrieval backend: `local`, or MongoDB's search (`mongodb`)")
    status: str = Field(description="`indexing` until the first indexing is finished, then `active`; or `error`")
    health: KnowledgeBaseHealth = Field(
        description="`complete`: every document is searchable. `indexing`: some are in progress. `incomplete`: "
        "some failed. `failed`: all failed, or the knowledge base did"
    )
    keyword_index: Literal["ready", "building", "off"] | None = Field(
        description="State in the responding process. `building`: keyword search misses the latest documents, and "
        "`degraded` says so. Null in events",
    )
    document_count: int = Field(description="Searchable documents")
    failed_document_count: int = Field(
        validation_alias=AliasPath("members", "failed"),
        description="Documents with its tags whose extraction or indexing failed; list them by `state` and `kb_id`",
    )
    waiting_document_count: int = Field(
        description="Documents with its tags that wait for extraction or indexing; counted up to 10,000"
    )
    empty_document_count: int = Field(
        validation_alias=AliasPath("members", "empty"),
        description="Documents with its tags without any text",
    )
    chunk_count: int
    last_indexed_at: Moment | None
    created_at: Moment
    updated_at: Moment

    @classmethod
    def from_standing(cls, standing: StandingKnowledgeBase, **values: object) -> Self:
        """Build the response; `values` are additional fields."""
        return cls.from_model(standing.knowledge_base, standing, **{"keyword_index": None, **values})


class MadeKnowledgeBaseResponse(KnowledgeBaseResponse):
    """A new knowledge base with the recipient of its texts."""

    texts_go_to: DestinationResponse = Field(description="The recipient of the texts of its documents and questions")


class ListedKnowledgeBaseResponse(KnowledgeBaseResponse):
    """A knowledge base in a list with its job counts; at most 10,000 jobs a page are counted."""

    unfinished_jobs: int = Field(
        validation_alias=AliasPath("work", "unfinished"), description="Waiting and running jobs"
    )
    given_up_jobs: int = Field(
        validation_alias=AliasPath("work", "given_up"),
        description="Failed (dead) jobs: remove the cause, then replay them",
    )
    given_up_reason: str | None = Field(
        validation_alias=AliasPath("work", "reason"), description="The reason of one of the failed jobs"
    )
    jobs_waiting_for_provider: int = Field(
        validation_alias=AliasPath("work", "waiting_for_provider"),
        description="Unfinished jobs that wait for the model's provider and continue once it responds",
    )
    provider_reason: str | None = Field(
        validation_alias=AliasPath("work", "provider_reason"), description="The reason of one of the waiting jobs"
    )


class KnowledgeBaseList(ResponseBody):
    """A page of knowledge bases."""

    knowledge_bases: list[ListedKnowledgeBaseResponse]
    total_count: int
    skip: int


class KnowledgeBaseDeleted(ResponseBody):
    """The confirmation of a deleted knowledge base."""

    message: str = "Knowledge base deleted successfully"


class IndexedDocumentResponse(ResponseBody):
    """An indexed document of a knowledge base."""

    document_id: str
    document_name: str
    chunk_count: int
    indexed_at: Moment


class IndexedDocumentList(ResponseBody):
    """A page of a knowledge base's documents."""

    documents: list[IndexedDocumentResponse]
    total_count: int
    skip: int


class ChunkResponse(ResponseBody):
    """An indexed chunk."""

    chunk_id: str = Field(description="Valid until its document is indexed again")
    document_id: str
    document_name: str
    chunk_index: int = Field(description="Number among the document's chunks of the same index type, from 0")
    index_type: IndexType
    first_page: int
    last_page: int
    token_count: int
    start: int = Field(description="Offset in the document's text, in characters")
    end: int
    text: str = Field(validation_alias="chunk_text")
    context: str = Field(description="Embedded and searched with the text; empty for none")
    heading_path: list[str] = Field(description="The headings above the whole chunk, outermost first")
    page_name: str = Field(description="Name of its sheet, slide or chapter; empty for none")

    @classmethod
    def from_chunk(cls, item: ListedChunk) -> Self:
        """Build the response."""
        index = item.passage.chunk_index
        return cls.from_model(item.passage, item, chunk_index=number_of(index), index_type=index_type_at(index))


class ChunkList(ResponseBody):
    """A page of a knowledge base's chunks, by document, index type and number."""

    chunks: list[ChunkResponse]
    total_count: int
    skip: int
