"""Erasing the organization, its documents or cached embeddings; how long documents are kept."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.errors import InvalidInputError
from analytiq.models.erasure import CacheFate, ErasureOptions, LedgerFate
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, ServicesOf, Skip
from api.schemas.erasure import ErasureCreate, ErasureList, ErasureResponse, RetentionAnswer, RetentionSettings

router = APIRouter(tags=["erasure"], route_class=ApiRoute)

BY_TOKEN = "an access token of the organization"  # noqa: S105  # who asked


@router.delete("", status_code=202, operation_id="delete_organization")
async def delete_organization(
    services: ServicesOf,
    organization: CurrentOrganization,
    confirm: Annotated[str, Query(max_length=255, description="The organization's name, so that none goes by mistake")],
    ledger: Annotated[LedgerFate, Query(description="What becomes of its charges")] = LedgerFate.ANONYMIZE,
    cache: Annotated[
        CacheFate, Query(description="And of embeddings that others may use and it has paid for")
    ] = CacheFate.DELETE,
) -> ErasureResponse:
    """Erase the organization with everything it has. No token opens it from now on, this one included.

    Operators see how far it is, and the proof: `analytiq erase show`.
    """
    if confirm != organization.name:
        raise InvalidInputError.of_field("confirm", "is not the organization's name; nothing was erased")
    erasure = await services.operations.erasures.request_organization(
        organization.id, requested_by=BY_TOKEN, options=ErasureOptions(ledger=ledger, cache=cache)
    )
    return ErasureResponse.from_model(erasure)


@router.post("/erasures", status_code=202, operation_id="create_erasure")
async def create_erasure(
    services: ServicesOf, organization: CurrentOrganization, body: ErasureCreate
) -> ErasureResponse:
    """Erase documents with all that hangs on them, or cached embeddings; answers the report, as far as it is."""
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
    """A page of erasures, latest first."""
    found, total = await services.operations.erasures.page(organization.id, skip=skip, limit=limit)
    return ErasureList(erasures=[ErasureResponse.from_model(item) for item in found], total_count=total, skip=skip)


@router.get("/erasures/{erasure_id}", operation_id="get_erasure")
async def get_erasure(services: ServicesOf, organization: CurrentOrganization, erasure_id: str) -> ErasureResponse:
    """An erasure: what went, and whether anything is left."""
    return ErasureResponse.from_model(
        await services.operations.erasures.get(erasure_id, organization_id=organization.id)
    )


@router.get("/retention", operation_id="get_retention")
async def get_retention(organization: CurrentOrganization) -> RetentionAnswer:
    """How long documents are kept."""
    return RetentionAnswer(document_days=organization.document_retention_days)


@router.put("/retention", operation_id="update_retention")
async def update_retention(
    services: ServicesOf, organization: CurrentOrganization, body: RetentionSettings
) -> RetentionAnswer:
    """Say how long documents are kept; the reconciler deletes those that are older."""
    await services.operations.retention.set_days(organization.id, body.document_days)
    return RetentionAnswer(document_days=body.document_days)
