"""`/v0/inbound/{address}`: pushes of services, and of anybody's own programs, to sources."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import ValidationError

from analytiq import clock
from analytiq.errors import InvalidInputError, LimitExceededError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.naming import validated_source_url
from analytiq.ingestion.sources.pushes.taking import PushedItem
from analytiq.models.source import ItemOutcome
from api.context import RequestId, ServicesOf
from api.multipart import FieldPart, MultipartLimits, read_parts
from api.schemas.inbound import INBOUND_PATH, MOST_ITEMS, PushBatch, PushFile, PushItemResponse, PushResponse
from api.upload_form import invalid_json

router = APIRouter(prefix=INBOUND_PATH, tags=["inbound"])

_BODY: dict[str, Any] = {
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": description,
        }
        for name, description in (
            ("webhook-id", "The message's own id; the same when it is sent again"),
            ("webhook-timestamp", "Seconds since 1970, at most 300 s from the server's time"),
            ("webhook-signature", "v1, and base64 of HMAC-SHA256 over ID.TIMESTAMP.BODY"),
        )
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/PushBatch"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["items", "files"],
                    "properties": {
                        "items": {"type": "string", "description": "JSON like PushBatch, an item for each file"},
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    },
                }
            },
        },
    },
}


@router.post(
    "/{address}",
    operation_id="push_to_source",
    response_model=PushResponse,
    responses={207: {"model": PushResponse, "description": "Some items failed; sent again, the message is done again"}},
    openapi_extra=_BODY,
)
async def push_to_source(request: Request, services: ServicesOf, request_id: RequestId, address: str) -> Response:
    """Push items to the source of an inbound address, or deliver a webhook of its service.

    No access token: the request is signed by a secret of the address, by [Standard
    Webhooks](https://www.standardwebhooks.com) or as the service of the source's kind signs. An item's id names its
    document; the same message may be sent again, signed anew.
    """
    now = clock.now()
    ingestion = services.ingestion
    inbound = await ingestion.inbound_addresses.find(address)
    headers = {name.lower(): value for name, value in request.headers.items()}
    head = ingestion.inbound_addresses.check_head(inbound, headers, now)
    body = await _bounded_body(request, services.settings.sources.max_push_bytes)
    if head is None:
        answer = await ingestion.inbound_addresses.read(inbound, headers, body, now)
        services.tenancy.request_rates.take(inbound.source.organization_id)
        await ingestion.inbound_messages.follow(inbound, answer, request_id=request_id)
        return JSONResponse(dict(answer.reply or {}))
    ingestion.inbound_addresses.require_signed(inbound, head, body, now)
    services.tenancy.request_rates.take(inbound.source.organization_id)
    items = await _items_of(headers, body)
    outcome = await ingestion.inbound_messages.take(inbound, head, items, request_id=request_id)
    shown = [PushItemResponse.from_entry(entry) for entry in outcome.entries]
    status = 207 if any(item.outcome is ItemOutcome.FAILED for item in shown) else 200
    return JSONResponse(PushResponse(items=shown, repeated=outcome.is_repeated).model_dump(mode="json"), status)


async def _bounded_body(request: Request, most: int) -> bytes:
    """Read the body.

    Raises:
        LimitExceededError: it has more bytes.
    """
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told[:20]) > most:
        raise _too_large(most)
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


def _too_large(most: int) -> LimitExceededError:
    return LimitExceededError(f"A push has at most {most:,} bytes. Push the items in several requests.")


async def _items_of(headers: Mapping[str, str], body: bytes) -> list[PushedItem]:
    """Return the items of a verified body.

    Raises:
        InvalidInputError: names the wrong field.
        LimitExceededError: there are too many parts.
    """
    content_type = headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        batch, files = _batch(body), None
    elif kind == "multipart/form-data":
        batch, files = await _multipart(content_type, body)
    else:
        raise InvalidInputError.of_field(
            "Content-Type", f"Must be application/json or multipart/form-data, not {kind or 'nothing'!r}."
        )
    items: list[PushedItem] = []
    for index, item in enumerate(batch.items):
        place = f"items[{index}]"
        if item.url is not None:
            validated_source_url(item.url, field=f"{place}.url")
        if item.metadata:
            validated_metadata(item.metadata)
        items.append(item.to_pushed(place, files[index] if files is not None else None))
    return items


def _batch(body: bytes) -> PushBatch:
    try:
        return PushBatch.model_validate_json(body)
    except ValidationError as error:
        raise invalid_json(error) from error


async def _multipart(content_type: str, body: bytes) -> tuple[PushBatch, list[PushFile]]:
    batch: PushBatch | None = None
    files: list[PushFile] = []
    limits = MultipartLimits(max_parts=MOST_ITEMS + 1)
    async for part in read_parts(_once(body), content_type=content_type, limits=limits):
        if isinstance(part, FieldPart):
            if part.name != "items" or batch is not None:
                raise InvalidInputError.of_field(part.name[:100], "Send one field `items`, and files as `files`.")
            batch = _batch(part.value.encode())
        elif part.field == "files":
            content = b"".join([block async for block in part.stream])
            files.append(PushFile(file_name=part.filename, content_type=part.content_type, content=content))
        else:
            raise InvalidInputError.of_field(part.field[:100], "Unknown file field. Send files in the field `files`.")
    if batch is None:
        raise InvalidInputError.of_field("items", "Missing. Send a JSON object with an item for each file.")
    if len(batch.items) != len(files) or any(item.deleted or item.content or item.text for item in batch.items):
        raise InvalidInputError.of_field("items", "Send an item for each file, in their order, without content.")
    return batch, files


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
