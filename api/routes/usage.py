"""`/usage` and `/quota`: charges and quotas of the organization."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.models.usage import UsageGrouping
from api.api_route import ApiRoute
from api.context import CurrentOrganization, ServicesOf
from api.schemas.search import Time
from api.schemas.usage import DailyUsageAnswer, LlmUsageAnswer, QuotaAnswer, UsageAnswer
from api.schemas.wire import Flag

router = APIRouter(tags=["organization"], route_class=ApiRoute)


@router.get("/usage", operation_id="get_usage")
async def get_usage(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    since: Annotated[Time | None, Query()] = None,
    until: Annotated[Time | None, Query()] = None,
    by_day: Annotated[Flag, Query(description="Group by day (UTC)")] = False,
) -> UsageAnswer:
    """Return charged SPUs and the cache's savings within [since, until), by knowledge base, operation and model.

    Savings are counted by whole days (UTC), including days partly within the period.
    """
    totals = await services.tenancy.metering.totals(organization.id, since=since, until=until, by_day=by_day)
    return UsageAnswer.from_totals(totals)


@router.get("/usage/days", operation_id="get_daily_usage")
async def get_daily_usage(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    since: Annotated[Time, Query()],
    until: Annotated[Time | None, Query()] = None,
    group_by: Annotated[UsageGrouping, Query(description="The grouping")] = UsageGrouping.KNOWLEDGE_BASE,
    top: Annotated[int, Query(ge=1, le=100, description="Maximum number of groups; the others are summed")] = 4,
) -> DailyUsageAnswer:
    """Return charged SPUs within [since, until) by day (UTC), for the largest groups."""
    usage = await services.tenancy.metering.daily(organization.id, group_by, since=since, until=until, most=top)
    is_by_kb = group_by is UsageGrouping.KNOWLEDGE_BASE
    kb_ids = {group.id for group in usage.groups if group.id} if is_by_kb else ()
    return DailyUsageAnswer.from_usage(usage, await services.ingestion.knowledge_bases.names(organization.id, kb_ids))


@router.get("/quota", operation_id="get_quota")
async def get_quota(services: ServicesOf, organization: CurrentOrganization) -> QuotaAnswer:
    """Return the SPU quota and its use. Operators set the quota with `analytiq quota set`."""
    return QuotaAnswer.from_model(await services.tenancy.metering.account(organization.id))


@router.get("/llm-usage", operation_id="get_llm_usage")
async def get_llm_usage(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    since: Annotated[Time | None, Query()] = None,
    until: Annotated[Time | None, Query()] = None,
) -> LlmUsageAnswer:
    """Return calls to chat and reranking models within [since, until), by day, model and purpose.

    Each item has its tokens and its cost in US dollars.
    """
    totals = await services.repositories.llm_usage.totals(organization.id, since=since, until=until)
    names = await services.ingestion.knowledge_bases.names(
        organization.id, {item.kb_id for item in totals if item.kb_id}
    )
    return LlmUsageAnswer.from_totals(totals, names)
