"""Erasure of the organization, of documents or of cached embeddings, and retention of documents."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.errors import InvalidInputError
from analytiq.models.erasure import CacheFate, ErasureOptions, LedgerFate
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.erasure import (
    ErasureCreate,
    ErasureDetail,
    ErasureList,
    ErasureResponse,
    RetentionAnswer,
    RetentionSettings,
)

router = APIRouter(tags=["erasure"], route_class=ApiRoute)

BY_TOKEN = "an access token of the organization"  # noqa: S105  # who asked


@router.delete("", status_code=202, operation_id="delete_organization")
async def delete_organization(
    services: ServicesOf,
    organization: CurrentOrganization,
    confirm: Annotated[
        str, Query(max_length=255, description="The organization's name, to prevent a mistaken erasure")
    ],
    ledger: Annotated[LedgerFate, Query(description="Anonymize or delete charges")] = LedgerFate.ANONYMIZE,
    cache: Annotated[
        CacheFate,
        Query(description="Delete or keep cached embeddings that the organization paid for and shares"),
    ] = CacheFate.DELETE,
) -> ErasureResponse:
    """Erase the organization with all its data. All its access tokens stop working at once, including the caller's.

    Operators see the progress and the proof with `analytiq erase show`.
    """
    if confirm != organization.name:
        raise InvalidInputError.of_field(
            "confirm", "This is not the organization's name. Nothing was erased. Type the name exactly."
        )
    erasure = await services.operations.erasures.request_organization(
        organization.id, requested_by=BY_TOKEN, options=ErasureOptions(ledger=ledger, cache=cache)
    )
    return ErasureResponse.from_model(erasure)


@router.post("/erasures", status_code=202, operation_id="create_erasure")
async def create_erasure(
    services: ServicesOf, organization: CurrentOrganization, body: ErasureCreate
) -> ErasureResponse:
    """Erase documents with all derived data, or cached embeddings. Return the report with the progress so far."""
    selection = body.selection()
    if body.kind == "cache":
        erasure = await services.operations.erasures.request_cache(
            organization.id,
            requested_by=BY_TOKEN,
            includes_shared=body.includes_shared,
            is_dry_run=body.dry_run,
            reason=body.reason,
        )
    else:
        erasure = await services.operations.erasures.request_documents(
            organization.id, selection, requested_by=BY_TOKEN, is_dry_run=body.dry_run, reason=body.reason
        )
    return ErasureResponse.from_model(erasure)


@router.get("/erasures", operation_id="list_erasures")
async def list_erasures(
    services: ServicesOf, organization: CurrentOrganization, skip: Skip = 0, limit: Limit = 10
) -> ErasureList:
    """List erasures, latest first."""
    found, total = await services.operations.erasures.page(organization.id, skip=skip, limit=limit)
    return ErasureList(erasures=[ErasureResponse.from_model(item) for item in found], total_count=total, skip=skip)


@router.get("/erasures/{erasure_id}", operation_id="get_erasure")
async def get_erasure(services: ServicesOf, organization: CurrentOrganization, erasure_id: str) -> ErasureDetail:
    """Return an erasure's report: the erased documents, deleted rows and remaining rows."""
    return ErasureDetail.from_model(await services.operations.erasures.get(erasure_id, organization_id=organization.id))


@router.get("/retention", operation_id="get_retention")
async def get_retention(organization: CurrentOrganization) -> RetentionAnswer:
    """Return the retention period of documents."""
    return RetentionAnswer(document_days=organization.document_retention_days)


@router.put("/retention", operation_id="update_retention")
async def update_retention(
    services: ServicesOf, organization: CurrentOrganization, body: RetentionSettings
) -> RetentionAnswer:
    """Set the retention period of documents. The reconciler deletes older documents."""
    await services.operations.retention.set_days(organization.id, body.document_days)
    return RetentionAnswer(document_days=body.document_days)
