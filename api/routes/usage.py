"""`/usage` and `/quota`: what the organization was charged, and what it may still be."""

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
    by_day: Annotated[Flag, Query(description="Tell the days (UTC) apart")] = False,
) -> UsageAnswer:
    """SPUs charged within [since, until), by knowledge base, operation and model, and what the cache saved.

    Savings are counted by whole days (UTC): each that has a part in the period counts.
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
    group_by: Annotated[UsageGrouping, Query(description="What to tell apart")] = UsageGrouping.KNOWLEDGE_BASE,
    top: Annotated[int, Query(ge=1, le=100, description="Groups at most; the rest is summed")] = 4,
) -> DailyUsageAnswer:
    """SPUs charged within [since, until) by day (UTC) and by the largest groups, however many groups there are."""
    usage = await services.tenancy.metering.daily(organization.id, group_by, since=since, until=until, most=top)
    is_by_kb = group_by is UsageGrouping.KNOWLEDGE_BASE
    kb_ids = {group.id for group in usage.groups if group.id} if is_by_kb else ()
    return DailyUsageAnswer.from_usage(usage, await services.ingestion.knowledge_bases.names(organization.id, kb_ids))


@router.get("/quota", operation_id="get_quota")
async def get_quota(services: ServicesOf, organization: CurrentOrganization) -> QuotaAnswer:
    """How many SPUs the organization may use in all, and how many of them it has used. An operator sets the quota."""
    return QuotaAnswer.from_model(await services.tenancy.metering.account(organization.id))


@router.get("/llm-usage", operation_id="get_llm_usage")
async def get_llm_usage(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    since: Annotated[Time | None, Query()] = None,
    until: Annotated[Time | None, Query()] = None,
) -> LlmUsageAnswer:
    """Calls to chat and reranking models within [since, until): tokens and US dollars, by day, model and purpose."""
    totals = await services.repositories.llm_usage.totals(organization.id, since=since, until=until)
    names = await services.ingestion.knowledge_bases.names(
        organization.id, {item.kb_id for item in totals if item.kb_id}
    )
    return LlmUsageAnswer.from_totals(totals, names)
