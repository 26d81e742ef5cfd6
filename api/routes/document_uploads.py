"""`POST /documents`: uploads of files in any of their forms."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import (
    LONGEST_ORIGIN,
)
from analytiq.models.upload import DuplicatePolicy
from api.api_route import ApiRoute
from api.context import CurrentOrganization, RequestId, ServicesOf
from api.multipart import MultipartLimits, read_parts
from api.schemas.documents import (
    BULK,
    EXTERNAL_IDENTITY,
    MERGE,
    OPENS_FILE,
    ORIGIN,
    UploadAnswer,
)
from api.schemas.wire import NO_NUL
from api.upload_archive import receive_zip
from api.upload_form import StreamQuery
from api.upload_lines import NDJSON, receive_lines
from api.uploading import UploadSession

router = APIRouter(prefix="/documents", tags=["documents"], route_class=ApiRoute)

_MULTIPART_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "tag_ids": {"type": "array", "items": {"type": "string"}, "description": "Tags of all files of the call"},
        "metadata": {"type": "string", "description": "A JSON object, the metadata of all files of the call"},
        "on_duplicate": {"type": "string", "enum": ["return", "create", "replace"], "default": "return"},
        "paths": {
            "type": "array",
            "items": {"type": "string"},
            "description": (
                "A relative path for each file, in their order, such as contracts/2024/acme.pdf; empty"
                " for a file without folders. Send paths before the files"
            ),
        },
        "merge": {"type": "boolean", "default": False, "description": MERGE},
        "bulk": {"type": "boolean", "default": False, "description": BULK},
        "origin": {"type": "string", "description": ORIGIN},
        "password": {
            "type": "string",
            "format": "password",
            "writeOnly": True,
            "description": f"For the encrypted files of the call. {OPENS_FILE}",
        },
        "external_identities": {
            "type": "array",
            "items": {"type": "string"},
            "description": (
                f"{EXTERNAL_IDENTITY}. A JSON object for each file, in their order; empty for a file without. Send"
                " them before the files"
            ),
        },
    },
}
_UPLOAD_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": _MULTIPART_SCHEMA},
            "application/json": {"schema": {"$ref": "#/components/schemas/DocumentUploads"}},
            "application/x-ndjson": {
                "schema": {"type": "string", "format": "binary", "description": "Lines, each a DocumentUpload"},
                "example": '{"name": "terms.txt", "text": "Payment is due within 30 days."}\n',
            },
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}

LONGEST_METADATA = 16_000
"""Longest metadata in a query."""
FOR_STREAMS = "For NDJSON and ZIP, which have no fields"


@router.post(
    "",
    status_code=201,
    operation_id="upload_documents",
    response_model=UploadAnswer,
    responses={
        200: {
            "model": UploadAnswer,
            "description": "All files existed already; for NDJSON, a line for each line sent",
            "content": {
                NDJSON: {
                    "schema": {
                        "type": "string",
                        "description": "Lines, each an UploadedDocument with its `line`, from 1",
                    }
                }
            },
        },
        207: {"model": UploadAnswer, "description": "Some files failed; each has an error"},
    },
    openapi_extra=_UPLOAD_BODY,
)
async def upload_documents(
    request: Request,
    services: ServicesOf,
    organization: CurrentOrganization,
    request_id: RequestId,
    on_duplicate: Annotated[DuplicatePolicy | None, Query(description=FOR_STREAMS)] = None,
    merge: Annotated[bool | None, Query(description=f"{FOR_STREAMS}. {MERGE}")] = None,
    bulk: Annotated[bool | None, Query(description=f"{FOR_STREAMS}. {BULK}")] = None,
    origin: Annotated[
        Annotated[str, NO_NUL] | None, Query(description=f"{FOR_STREAMS}. {ORIGIN}", max_length=LONGEST_ORIGIN)
    ] = None,
    tag_ids: Annotated[
        str | None, Query(description=f"{FOR_STREAMS}. Comma-separated ids, for lines without tags and for all files")
    ] = None,
    metadata: Annotated[
        str | None, Query(description="For ZIP. A JSON object, the metadata of all files", max_length=LONGEST_METADATA)
    ] = None,
) -> Response:
    """Upload files: multipart/form-data (streamed), JSON with base64, NDJSON or a ZIP.

    `on_duplicate` decides about a file with the same name and bytes: `return` (the default) returns the existing
    document; `create` creates another. `replace` makes the file the next version of the document with that name and
    keeps its id. Folders are part of the name: `paths`, or `path` in JSON. A file with an external identity becomes the
    document of that item, or the document's next version, whatever its name; `on_duplicate` does not apply.

    NDJSON (application/x-ndjson) has a document a line, with `content` in base64 or `text`; each line is answered by a
    line, while others are still being sent. A ZIP (application/zip) makes each of its files a document, named by its
    path; to keep the ZIP as a document, upload it as multipart. A file that is refused harms no other.
    """
    query = StreamQuery(on_duplicate, merge, bulk, origin, tag_ids, metadata)
    session = UploadSession(services, organization, request_id)
    content_type = request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    limits = services.settings.api
    if kind == "multipart/form-data":
        query.require_none()
        parts = read_parts(
            request.stream(),
            content_type=content_type,
            limits=MultipartLimits(max_parts=2 * limits.max_files_per_upload + 100),
        )
        answer = await session.receive_multipart(parts)
    elif kind == "application/json":
        query.require_none()
        answer = await session.receive_json(await request.body())
    elif kind == NDJSON:
        return await receive_lines(request, session, query)
    elif kind == "application/zip":
        answer = await receive_zip(
            session, request.stream(), query.manner(), tag_ids=query.parsed_tag_ids(), metadata=query.parsed_metadata()
        )
    else:
        raise InvalidInputError.of_field(
            "Content-Type",
            f"Must be multipart/form-data, application/json, {NDJSON} or application/zip, not {kind or 'nothing'!r}.",
        )
    status = 207 if answer.failed else 201 if answer.created or answer.replaced else 200
    return JSONResponse(answer.model_dump(mode="json"), status)
