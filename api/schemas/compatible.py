"""Request and response bodies of the compatible routes, and how their loaders become sources."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal, Self, cast

from fastapi import Query
from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from analytiq.errors import FieldError, InvalidInputError
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseHealth, StandingKnowledgeBase
from analytiq.ingestion.sources.base import KindSchema
from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.ingestion.sources.pushes.taking import PushedItem
from analytiq.ingestion.sources.registry import validated
from analytiq.models.source import ItemOutcome, RunState, SourceRun, SourceRunEntry
from analytiq.retrieval.pipeline.request import Mode, SearchRequest, SearchResult
from api.schemas.inbound import PushItem
from api.schemas.wire import NO_CONTROLS, RequestBody, ResponseBody

ID_KEY = "data_resource_id"
"""The metadata key of the documents of a data resource."""
LABEL_KEY = "label"
SHOWN_METADATA = (f"metadata.{ID_KEY}", f"metadata.{LABEL_KEY}")
LISTED_ITEMS = 1000
"""Most items of a page of a status, and most reasons of a page of the logs."""
ListedLimit = Annotated[int, Query(ge=1, le=LISTED_ITEMS, description="Maximum number of items in all lists")]
OPTIONS = "loader_options"
ADDRESSES = ("http://", "https://")

ResourceId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")]
AccountId = Annotated[
    str | None,
    Field(max_length=200, description="The organization's id, or null: the token decides. Another id answers 404"),
]
Options = Mapping[str, JsonValue]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=1024), NO_CONTROLS]
Address = Annotated[str, Field(max_length=2000, pattern=r"^https?://\S+$")]


class Loader(StrEnum):
    """The loaders, each with its kind of source."""

    WEB = "web_base_loader"
    PDF = "pdf_loader"
    TEXT = "text_loader"
    CSV_TO_SQL = "csv_to_sql_loader"
    QNA = "qna_tuple_loader"
    INTENT = "intent_loader"
    OPENAPI = "openapi_yaml_loader"
    NOTION = "notion_loader"
    CONFLUENCE = "confluence_loader"
    SLACK = "slack_loader"
    ZENDESK = "zendesk_loader"
    SHAREPOINT = "sharepoint_loader"


class LoadStatus(StrEnum):
    """The state of loading, or of making a data resource searchable."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"
    NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source in place of a loader: its kind and settings, and the items that the call itself brings."""

    kind: str
    settings: Options
    items: tuple[PushedItem, ...] = ()


class _Addresses(KindSchema):
    url: Address | None = None
    urls: list[Address] = Field(default_factory=list[str], max_length=51)

    @property
    def all(self) -> list[str]:
        return [*([self.url] if self.url else []), *self.urls]


class _TextOptions(_Addresses):
    text: str = ""
    name: FileName = "text.txt"

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if bool(self.text) == bool(self.all):
            raise ValueError("Give `text`, or addresses as `url` or `urls`")
        return self


class _File(KindSchema):
    name: FileName
    content: str


class _FileOptions(_Addresses):
    files: list[_File] = Field(default_factory=list[_File], max_length=100)

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if bool(self.files) == bool(self.all):
            raise ValueError("Give `files` with name and base64 content, or addresses as `url` or `urls`")
        return self


def _as(kind: str) -> Callable[[Options], Loaded]:
    """Pass the options on as the settings of a kind, which validates them."""
    return lambda options: Loaded(kind, options)


def _web(options: Options) -> Loaded:
    settings = dict(options)
    if "closespider_pagecount" in settings:
        settings["max_pages"] = settings.pop("closespider_pagecount")
    if "use_browser" in settings:
        wanted = settings.pop("use_browser")
        if not isinstance(wanted, bool):
            raise InvalidInputError.of_field(f"{OPTIONS}.use_browser", "Must be true or false.")
        settings["javascript"] = "always" if wanted else "never"
    return Loaded("web", settings)


def _text(options: Options) -> Loaded:
    given = cast("_TextOptions", validated(_TextOptions, options, field=OPTIONS))
    if given.all:
        return _these_addresses(given.all)
    return Loaded("push", {}, (_pushed(OPTIONS, id=given.name, text=given.text),))


def _files(ending: str) -> Callable[[Options], Loaded]:
    def load(options: Options) -> Loaded:
        given = cast("_FileOptions", validated(_FileOptions, options, field=OPTIONS))
        if given.all:
            return _these_addresses(given.all)
        items: list[PushedItem] = []
        for index, file in enumerate(given.files):
            place = f"{OPTIONS}.files[{index}]"
            if not file.name.lower().endswith(ending):
                raise InvalidInputError.of_field(f"{place}.name", f"Must end with {ending}.")
            items.append(_pushed(place, id=file.name, content=file.content))
        if len({item.external_id for item in items}) < len(items):
            raise InvalidInputError.of_field(f"{OPTIONS}.files", "Two files have the same name.")
        return Loaded("push", {}, tuple(items))

    return load


def _pushed(place: str, **fields: str) -> PushedItem:
    return PushItem.model_validate(fields).to_pushed(place)


def _these_addresses(addresses: list[str]) -> Loaded:
    """Return a web source of these addresses alone."""
    more: list[JsonValue] = [*addresses[1:]]
    settings: Options = {
        "url": addresses[0],
        "more_urls": more,
        "max_pages": len(addresses),
        "max_depth": 0,
        "use_sitemaps": False,
    }
    return Loaded("web", settings)


def _records(kind: str, name: str) -> Callable[[Options], Loaded]:
    """Return a loader whose records are a list under `name`, a `text`, or the text at a `url`."""

    def load(options: Options) -> Loaded:
        settings = dict(options)
        if name in settings:
            records = settings.pop(name)
            if not isinstance(records, list) or settings.get("text"):
                raise InvalidInputError.of_field(f"{OPTIONS}.{name}", "Must be a list, without `text` or `url`.")
            settings["text"] = json.dumps([_pair(record) for record in records], ensure_ascii=False)
        return Loaded(kind, settings)

    return load


def _pair(record: JsonValue) -> JsonValue:
    """Return a record; a list of two is a question with its answer."""
    if isinstance(record, list) and len(record) == 2:
        return {"question": record[0], "answer": record[1]}
    return record


_LOADERS: Mapping[Loader, Callable[[Options], Loaded]] = {
    Loader.WEB: _web,
    Loader.PDF: _files(".pdf"),
    Loader.TEXT: _text,
    Loader.CSV_TO_SQL: _files(".csv"),
    Loader.QNA: _records("qna", "pairs"),
    Loader.INTENT: _records("intents", "intents"),
    Loader.OPENAPI: _as("openapi"),
    Loader.NOTION: _as("notion"),
    Loader.CONFLUENCE: _as("confluence"),
    Loader.SLACK: _as("slack"),
    Loader.ZENDESK: _as("zendesk"),
    Loader.SHAREPOINT: _as("sharepoint"),
}


class DataResourceCreate(RequestBody):
    """A data resource to load."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "loader": "web_base_loader",
                    "loader_options": {
                        "url": "https://example.com",
                        "closespider_pagecount": 100,
                        "use_browser": False,
                    },
                }
            ]
        },
    )

    data_resource_id: ResourceId | None = Field(default=None, description="null: a new one is made")
    account_id: AccountId = None
    loader: Loader
    loader_options: dict[str, JsonValue] = Field(
        default_factory=dict[str, JsonValue],
        repr=False,
        description="Settings of the loader, with secrets in `credentials`: docs/reference/compatible-routes.md",
    )

    def draft(self, resource_id: str) -> tuple[SourceDraft, tuple[PushedItem, ...]]:
        """Convert to a source, without its tag, and the items that the call itself brings.

        Raises:
            InvalidInputError: names the option that is wrong or has no counterpart.
        """
        options = dict(self.loader_options)
        credentials = options.pop("credentials", {})
        if not isinstance(credentials, dict):
            raise InvalidInputError.of_field(f"{OPTIONS}.credentials", "Must be an object.")
        loaded = _LOADERS[self.loader](options)
        draft = SourceDraft(
            name=resource_id,
            kind=loaded.kind,
            settings=loaded.settings,
            credentials=credentials,
            metadata={ID_KEY: resource_id},
        )
        return draft, loaded.items


def named_as_options(error: InvalidInputError) -> InvalidInputError:
    """Return the error of a kind with the names of the loader's options."""
    errors = [replace(each, field=_option(each)) for each in error.errors]
    if not errors:
        return error
    return InvalidInputError(" ".join(f"{each.field}: {each.reason}" for each in errors), errors=errors)


def _option(error: FieldError) -> str:
    name, _, rest = error.field.partition(".")
    places = {"settings": OPTIONS, "credentials": f"{OPTIONS}.credentials"}
    place = places.get(name, name)
    return f"{place}.{rest}" if rest else place


class DataResourceReference(RequestBody):
    """A data resource to delete."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"data_resource_id": "5f0c7a52"}]})

    data_resource_id: str = Field(max_length=200)
    account_id: AccountId = None


class DataResourceResponse(ResponseBody):
    """The id of a data resource."""

    data_resource_id: str


class DataResourceStatus(ResponseBody):
    """The state of the last load, with a page of its items in the lists."""

    data_resource_id: str
    status: LoadStatus = Field(description="NOT_FOUND: nothing was loaded in the last 30 days")
    visited: list[str] = Field(description="Addresses that were read")
    failed: list[str] = Field(description="Items that could not be read; the logs say why")
    files: list[str] = Field(description="Items without an address that were read, by id")
    error: str | None = Field(description="Failure of the load")
    total_count: int = Field(description="Number of all items of the lists")
    skip: int

    @classmethod
    def from_run(
        cls, resource_id: str, run: SourceRun | None, entries: list[SourceRunEntry], *, total_count: int, skip: int
    ) -> Self:
        """Build the response from the entries of all outcomes but removals."""
        failed = [entry.external_id for entry in entries if entry.outcome is ItemOutcome.FAILED]
        taken = [
            entry.external_id
            for entry in entries
            if entry.outcome in (ItemOutcome.ADDED, ItemOutcome.CHANGED, ItemOutcome.UNCHANGED)
        ]
        return cls(
            data_resource_id=resource_id,
            status=status_of_run(run),
            visited=[each for each in taken if each.startswith(ADDRESSES)],
            failed=failed,
            files=[each for each in taken if not each.startswith(ADDRESSES)],
            error=None if run is None or run.error is None else run.error.detail,
            total_count=total_count,
            skip=skip,
        )


def status_of_run(run: SourceRun | None) -> LoadStatus:
    """Return the state of a load; a run that took in nothing and failed with items is a failure."""
    if run is None:
        return LoadStatus.NOT_FOUND
    if run.state is RunState.QUEUED:
        return LoadStatus.PENDING
    if run.state is RunState.RUNNING:
        return LoadStatus.RUNNING
    counts = run.counts
    is_empty = counts.failed > 0 and counts.added + counts.changed + counts.unchanged == 0 and not run.is_delta
    return LoadStatus.SUCCESS if run.state is RunState.SUCCEEDED and not is_empty else LoadStatus.FAILURE


class DataResourceLogs(ResponseBody):
    """The log of the last load."""

    data_resource_id: str
    logs: list[str] = Field(
        description="Lines with their time on the first page, then a line for each skipped and failed item"
    )
    total_count: int = Field(description="Number of skipped and failed items")
    skip: int

    @classmethod
    def from_run(
        cls, resource_id: str, run: SourceRun | None, entries: list[SourceRunEntry], *, total_count: int, skip: int
    ) -> Self:
        """Build the response from the entries of skipped and failed items."""
        if run is None:
            return cls(data_resource_id=resource_id, logs=[], total_count=0, skip=skip)
        lines = [] if skip else [(note.at, note.text) for note in run.notes]
        lines += [(entry.at, f"{entry.outcome.value}: {entry.name}: {entry.reason or ''}") for entry in entries]
        if run.error is not None and run.ended_at is not None and not skip:
            lines.append((run.ended_at, f"{run.error.code}: {run.error.detail}"))
        logs = [f"{at.isoformat()} {text}" for at, text in lines]
        return cls(data_resource_id=resource_id, logs=logs, total_count=total_count, skip=skip)


class SelectedAddress(RequestBody):
    """An item to make searchable."""

    url: str = Field(min_length=1, max_length=2048, description="As in `visited` or `files` of the status")


class EmbeddingsCreate(RequestBody):
    """A data resource to make searchable."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"data_resource_id": "5f0c7a52"}]})

    data_resource_id: str = Field(max_length=200)
    account_id: AccountId = None
    selected_urls: list[SelectedAddress] = Field(
        default_factory=list[SelectedAddress], max_length=500, description="These items only; empty: all"
    )
    selected_file_urls: list[SelectedAddress] = Field(default_factory=list[SelectedAddress], max_length=500)
    vector_store: Literal["weaviate", "qdrant"] | None = Field(
        default=None, description="Without effect: the operator chooses the vector store"
    )

    @property
    def selected(self) -> dict[str, str]:
        """The selected items by external id, with the place of each in the body."""
        chosen = {"selected_urls": self.selected_urls, "selected_file_urls": self.selected_file_urls}
        return {item.url: f"{name}[{index}].url" for name, items in chosen.items() for index, item in enumerate(items)}


class EmbeddingsStatus(ResponseBody):
    """The state of making a data resource searchable."""

    data_resource_id: str
    status: LoadStatus = Field(description="SUCCESS: searchable; NOT_FOUND: `POST /api/embeddings` was not called")
    kb_id: str | None = Field(description="The knowledge base that is searched")
    documents: int = Field(description="Searchable documents")
    waiting_documents: int
    failed_documents: int

    @classmethod
    def from_standing(cls, resource_id: str, standing: StandingKnowledgeBase | None) -> Self:
        """Build the response."""
        if standing is None:
            return cls(
                data_resource_id=resource_id,
                status=LoadStatus.NOT_FOUND,
                kb_id=None,
                documents=0,
                waiting_documents=0,
                failed_documents=0,
            )
        return cls(
            data_resource_id=resource_id,
            status=_status_of(standing),
            kb_id=standing.knowledge_base.id,
            documents=standing.knowledge_base.document_count,
            waiting_documents=standing.waiting_document_count,
            failed_documents=standing.members.failed,
        )


def _status_of(standing: StandingKnowledgeBase) -> LoadStatus:
    if standing.health is KnowledgeBaseHealth.FAILED:
        return LoadStatus.FAILURE
    if standing.health is KnowledgeBaseHealth.INDEXING or standing.waiting_document_count:
        return LoadStatus.RUNNING
    return LoadStatus.SUCCESS


class RetrieveBody(RequestBody):
    """A question to knowledge bases."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"kbids": ["507f1f77bcf86cd799439011"], "query": "How do I sign in?"}]},
    )

    kbids: list[Annotated[str, Field(max_length=200)]] = Field(
        min_length=1, max_length=20, description="Ids of knowledge bases or of data resources"
    )
    account_id: AccountId = None
    query: Annotated[str, Field(min_length=1, max_length=20_000)]
    top_k: Annotated[int, Field(ge=1, le=100, description="Passages in the answer")] = 4
    top_n: Annotated[int, Field(ge=1, le=1000, description="Without effect: candidates are chosen adaptively")] = 15
    alpha: Annotated[float, Field(ge=0, le=1, description="Weight of vector search in a hybrid search")] = 0.75
    hybrid_search: bool = Field(default=True, description="false: vector search alone")

    def request(self) -> SearchRequest:
        """Convert to the library's request."""
        return SearchRequest(
            query=self.query,
            top_k=self.top_k,
            mode=Mode.HYBRID if self.hybrid_search else Mode.VECTOR,
            alpha=self.alpha if self.hybrid_search else None,
            coalesce_neighbors=0,
            include=SHOWN_METADATA,
        )


class RetrievedPassage(ResponseBody):
    """A passage. `metadata` has its source, document, place and score."""

    id: str
    page_content: str
    metadata: dict[str, JsonValue]

    @classmethod
    def from_result(cls, result: SearchResult) -> Self:
        """Build the response."""
        metadata: dict[str, JsonValue] = {
            ID_KEY: None,
            **result.metadata,
            "source": result.source_url or result.source,
            "document_id": result.document_id,
            "kb_id": result.kb_id,
            "page": result.first_page,
            "relevance": round(result.relevance, 6),
        }
        return cls(id=result.chunk_id, page_content=result.content, metadata=metadata)
