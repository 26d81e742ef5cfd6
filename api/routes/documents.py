"""`/documents`."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import (
    LONGEST_EXTERNAL_ID,
    LONGEST_PATH,
    LONGEST_SOURCE,
    file_name_of,
    validated_folder,
)
from analytiq.models.document import Document, DocumentState
from analytiq.models.file_type import FileType
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.tree import EVERYTHING
from analytiq.storage.repositories.documents import DocumentQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, RequestId, ServicesOf, Skip
from api.schemas.document_changes import ANY_FILE_TYPE
from api.schemas.documents import (
    SOURCE,
    DocumentCountsResponse,
    DocumentDetail,
    DocumentExtraction,
    DocumentList,
    DocumentPassword,
    DocumentResponse,
    DocumentsRetried,
    DocumentsRetry,
    DocumentTextResponse,
    DocumentUpdate,
    ListedDocumentResponse,
    TextPageResponse,
    filter_in_query,
    require_source,
)
from api.schemas.jobs import DocumentLogResponse, DocumentStatus, ErrorCode, SubjectId
from api.schemas.wire import NO_NUL

router = APIRouter(prefix="/documents", tags=["documents"], route_class=ApiRoute)

Sort = Literal[
    "created_at", "-created_at", "updated_at", "-updated_at", "document_name", "-document_name",
    "byte_size", "-byte_size", "state", "-state",
]  # fmt: skip

PLAIN_TEXT = "text/plain; charset=utf-8"
LONGEST_FILTER = 16_000
"""Longest filter in a query; a search's body accepts longer ones."""

AS_BEFORE = DocumentExtraction()


@router.get("", operation_id="list_documents")
async def list_documents(
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    folder: Annotated[
        str | None,
        Query(
            description="Documents in this folder and its subfolders, such as contracts/2024", max_length=LONGEST_PATH
        ),
    ] = None,
    source: Annotated[
        Annotated[str, NO_NUL] | None,
        Query(description=f"Documents of this source. {SOURCE}", max_length=LONGEST_SOURCE),
    ] = None,
    external_id: Annotated[
        Annotated[str, NO_NUL] | None,
        Query(description="The document of this item of `source`", max_length=LONGEST_EXTERNAL_ID),
    ] = None,
    parent_id: Annotated[
        SubjectId | None, Query(description="Documents found in this one, without those found in them in turn")
    ] = None,
    tag_ids: Annotated[
        str | None, Query(description="Comma-separated ids. Documents must have all of these tags")
    ] = None,
    kb_id: Annotated[SubjectId | None, Query(description="Documents with a tag of this knowledge base")] = None,
    state: Annotated[list[DocumentState] | None, Query(description="Any of these states")] = None,
    error_code: Annotated[
        list[ErrorCode] | None, Query(description="Any of these codes of a failed extraction")
    ] = None,
    file_type: Annotated[list[FileType] | None, Query(description=ANY_FILE_TYPE)] = None,
    metadata_filter: Annotated[
        str | None,
        Query(description="A filter as in a search, written as JSON, without `page`", max_length=LONGEST_FILTER),
    ] = None,
    sort: Annotated[Sort, Query(description="A minus sorts in descending order")] = "-created_at",
    include: Annotated[
        list[Literal["knowledge_bases"]] | None,
        Query(description="`knowledge_bases`: the indexing state in each knowledge base, as in `get_document`"),
    ] = None,
) -> DocumentList:
    """List documents."""
    wanted = EVERYTHING
    if metadata_filter is not None:
        wanted = await services.retrieval.search.resolve_filter(organization, filter_in_query(metadata_filter))
    require_source(source, external_id, field="external_id")
    members = None if kb_id is None else (await services.ingestion.knowledge_bases.get(organization.id, kb_id)).tag_ids
    query = DocumentQuery(
        any_tag_ids=members,
        error_codes=tuple(error_code or ()),
        name_search=name_search,
        folder=None if folder is None else validated_folder(folder),
        source=source,
        external_id=external_id,
        parent_id=parent_id,
        tag_ids=tuple(part.strip() for part in (tag_ids or "").split(",") if part.strip()),
        states=tuple(state or ()),
        file_types=tuple(file_type or ()),
        sort_field=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        filter=compile_filter(wanted),
    )
    found, total = await services.ingestion.documents.page(organization.id, query, skip=skip, limit=limit)
    counts = await services.ingestion.documents.part_counts(organization.id, [item.id for item in found])
    if include:
        standing = await services.ingestion.indexing_states.of_documents(organization.id, found)
        documents = [
            ListedDocumentResponse.from_model(item.document, item, part_count=counts.get(item.document.id, 0))
            for item in standing
        ]
    else:
        documents = [
            ListedDocumentResponse.from_model(item, knowledge_bases=None, part_count=counts.get(item.id, 0))
            for item in found
        ]
    return DocumentList(documents=documents, total_count=total, skip=skip)


@router.get("/counts", operation_id="get_document_counts")
async def get_document_counts(services: ServicesOf, organization: CurrentOrganization) -> DocumentCountsResponse:
    """Return the number of documents by state, and of failed documents by error code."""
    return DocumentCountsResponse.from_counts(
        await services.repositories.announced.document_counts.of_organization(organization.id)
    )


@router.post("/retry", status_code=202, operation_id="retry_documents")
async def retry_documents(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, body: DocumentsRetry
) -> DocumentsRetried:
    """Retry failed documents: extract again, and replay their failed jobs.

    Select all documents of the organization, or those with an error code or in a knowledge base.
    """
    retried = await services.ingestion.retrying.retry(organization.id, body.query(), request_id=request_id)
    return DocumentsRetried(retried=retried)


async def _detail(services: ServicesOf, document: Document) -> DocumentDetail:
    states = await services.ingestion.indexing_states.of_document(document)
    counts = await services.ingestion.documents.part_counts(document.organization_id, [document.id])
    return DocumentDetail.from_model(document, knowledge_bases=states, part_count=counts.get(document.id, 0))


@router.get("/{document_id}", operation_id="get_document")
async def get_document(services: ServicesOf, organization: CurrentOrganization, document_id: str) -> DocumentDetail:
    """Return a document with its indexing state in each of its knowledge bases."""
    document = await services.ingestion.documents.get(organization.id, document_id)
    return await _detail(services, document)


@router.put("/{document_id}", operation_id="update_document")
async def update_document(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    document_id: str,
    body: DocumentUpdate,
) -> DocumentDetail:
    """Change a document's name, tags or metadata.

    Knowledge bases without a shared tag stop finding the document at once.
    """
    tag_ids = body.tag_ids
    if tag_ids is not None:
        tag_ids = await services.ingestion.tags.require(organization.id, tag_ids)
    document = await services.ingestion.documents.change(
        organization.id,
        document_id,
        document_name=body.document_name,
        tag_ids=tag_ids,
        metadata=body.metadata,
        source_url=body.source_url,
        request_id=request_id,
    )
    return await _detail(services, document)


@router.delete("/{document_id}", status_code=204, operation_id="delete_document")
async def delete_document(
    services: ServicesOf, organization: CurrentOrganization, request_id: RequestId, document_id: str
) -> Response:
    """Delete a document. Searches stop finding it at once.

    Its file, text and vectors, and the documents found in it (`parent_id`), are deleted within seconds.
    """
    await services.ingestion.documents.delete(organization.id, document_id, request_id=request_id)
    return Response(status_code=204)


@router.post("/{document_id}/extract", status_code=202, operation_id="extract_document")
async def extract_document(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    document_id: str,
    body: DocumentExtraction = AS_BEFORE,
) -> DocumentResponse:
    """Extract the document's text again. Searches find the present text until the new text is indexed.

    A PDF whose text is unreadable although its pages look fine can be read by OCR (`read_pages`).
    """
    document = await services.ingestion.documents.extract_again(
        organization.id, document_id, read_pages=body.read_pages, request_id=request_id
    )
    return DocumentResponse.from_model(document)


@router.post("/{document_id}/password", status_code=202, operation_id="update_document_password")
async def update_document_password(
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    document_id: str,
    body: DocumentPassword,
) -> DocumentResponse:
    """Give the password of an encrypted file, and extract its text again.

    A wrong password fails the extraction with the code `wrong_password`; a password that opened the file before is
    kept, and so is the present text.
    """
    document = await services.ingestion.passwords.give(
        organization.id, document_id, body.password, request_id=request_id
    )
    return DocumentResponse.from_model(document)


@router.get("/{document_id}/status", operation_id="get_document_status")
async def get_document_status(
    services: ServicesOf, organization: CurrentOrganization, document_id: str
) -> DocumentStatus:
    """Return the document's progress as one task state; SUCCESS once all its knowledge bases find it."""
    # Read the jobs first: the effect of jobs finished meanwhile shows in the rows read after them.
    jobs = await services.jobs.operations.of_document(organization.id, document_id)
    document = await services.ingestion.documents.get(organization.id, document_id)
    return DocumentStatus.of(document, jobs, await services.ingestion.indexing_states.of_document(document))


@router.get("/{document_id}/log", operation_id="get_document_log")
async def get_document_log(
    services: ServicesOf,
    organization: CurrentOrganization,
    document_id: str,
    skip: Skip = 0,
    limit: Limit = 10,
) -> DocumentLogResponse:
    """List the document's job attempts of the last 30 days, latest first, and its unfinished jobs."""
    document = await services.ingestion.documents.get(organization.id, document_id)
    found = await services.jobs.operations.log_of_document(organization.id, document.id, skip=skip, limit=limit)
    max_attempts = services.settings.queue.max_attempts
    return DocumentLogResponse.from_log(document.id, found, skip=skip, max_attempts=max_attempts)


@router.get(
    "/{document_id}/original",
    operation_id="download_document",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def download_document(
    services: ServicesOf, organization: CurrentOrganization, document_id: str
) -> StreamingResponse:
    """Download the original file, as an attachment so that no browser opens it as a page of this site."""
    document, content = await services.ingestion.documents.original(organization.id, document_id)
    file_name = quote(file_name_of(document.document_name), safe="")
    return StreamingResponse(
        content,
        media_type="application/octet-stream",
        headers={
            "Content-Disposition": f"attachment; filename*=UTF-8''{file_name}",
            "Content-Length": str(document.byte_size),
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "ETag": f'"{document.sha256}"',
        },
    )


@router.get(
    "/{document_id}/text",
    operation_id="get_document_text",
    response_model=DocumentTextResponse,
    responses={200: {"content": {"text/plain": {}}}},
)
async def get_document_text(
    services: ServicesOf,
    organization: CurrentOrganization,
    document_id: str,
    page: Annotated[int | None, Query(ge=1, le=1_000_000, description="A single page")] = None,
    skip: Annotated[int, Query(ge=0, le=1_000_000, description="Pages to skip")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of pages")] = 100,
    output: Annotated[
        Literal["json", "plain"], Query(alias="format", description="`plain` downloads the whole text")
    ] = "json",
) -> Response | DocumentTextResponse:
    """Return the extracted text by page with each page's offsets, or the whole text as plain text.

    Offsets of chunks, results and citations count characters of the whole plain text, with an empty line between
    pages: `content` is `text[start:end]`. `text_hash`, also the `ETag` of the plain text, identifies the text's
    version.
    """
    if output == "plain" and page is None:
        document, pieces = await services.ingestion.documents.whole_text(organization.id, document_id)
        return StreamingResponse(pieces, media_type=PLAIN_TEXT, headers={"ETag": f'"{document.text_hash}"'})
    first, count = (page, 1) if page is not None else (skip + 1, limit)
    document, pages, total = await services.ingestion.documents.text_pages(
        organization.id, document_id, first_page=first, page_count=count
    )
    if page is not None and not pages:
        raise InvalidInputError.of_field("page", f"Page not found. The document has {total} pages.")
    if output == "plain":
        return Response("".join(item.text for item in pages), media_type=PLAIN_TEXT)
    return DocumentTextResponse(
        document_id=document.id,
        document_name=document.document_name,
        page_count=total,
        text_hash=document.text_hash,
        pages=[TextPageResponse.from_model(item) for item in pages],
    )
