"""Response bodies of usage and quotas."""

from collections.abc import Mapping

from pydantic import Field

from analytiq.models.llm_usage import LlmUsageTotal
from analytiq.models.usage import DailyUsage, UsageTotal
from api.schemas.wire import ResponseBody


class UsageItem(ResponseBody):
    """SPUs of a knowledge base, operation and model, and of a day if grouped by day."""

    day: str | None = Field(description="Date in UTC, such as 2026-01-31; null unless `by_day`")
    kb_id: str | None
    operation: str
    embedding_model: str
    spus: int = Field(description="Charged: embeddings stored for the first time")
    saved_spus: int = Field(description="Not charged: cached embeddings")
    unconfirmed_spus: int = Field(
        description="Not charged: embeddings of calls of a crashed process; the provider may have charged for them"
    )


class UsageAnswer(ResponseBody):
    """The organization's charged and saved SPUs."""

    total_spus: int
    total_saved_spus: int
    total_unconfirmed_spus: int
    by_operation: dict[str, int]
    items: list[UsageItem]

    @classmethod
    def from_totals(cls, totals: list[UsageTotal]) -> "UsageAnswer":
        """Build the response with the totals over all items."""
        by_operation: dict[str, int] = {}
        for total in totals:
            name = total.operation.value
            by_operation[name] = by_operation.get(name, 0) + total.spus
        return cls.from_model(
            total_spus=sum(by_operation.values()),
            total_saved_spus=sum(total.saved_spus for total in totals),
            total_unconfirmed_spus=sum(total.unconfirmed_spus for total in totals),
            by_operation=by_operation,
            items=totals,
        )


class UsageGroupResponse(ResponseBody):
    """SPUs of a knowledge base, model or operation."""

    id: str | None = Field(description="null: no knowledge base")
    name: str | None = Field(description="Name of an existing knowledge base; else null")
    spus: int


class UsageDayResponse(ResponseBody):
    """SPUs of one day."""

    day: str = Field(description="Date in UTC, such as 2026-01-31")
    spus: list[int] = Field(description="SPUs of each of the `groups`, in their order")
    other_spus: int = Field(description="SPUs of all other groups")


class DailyUsageAnswer(ResponseBody):
    """SPUs by day and group. Days without a charge are omitted."""

    total_spus: int = Field(validation_alias="spus")
    total_saved_spus: int = Field(validation_alias="saved_spus")
    total_unconfirmed_spus: int = Field(validation_alias="unconfirmed_spus")
    groups: list[UsageGroupResponse] = Field(description="The groups with most SPUs, largest first")
    days: list[UsageDayResponse]

    @classmethod
    def from_usage(cls, usage: DailyUsage, names: Mapping[str, str]) -> "DailyUsageAnswer":
        """Build the response; `names` are the names of knowledge bases."""
        groups = [UsageGroupResponse.from_model(group, name=names.get(group.id or "")) for group in usage.groups]
        return cls.from_model(usage, groups=groups)


class QuotaAnswer(ResponseBody):
    """The organization's SPU quota."""

    quota: int | None = Field(description="Total, including used SPUs; null: unlimited")
    used_spus: int = Field(validation_alias="used")
    reserved_spus: int = Field(validation_alias="reserved", description="Reserved for running calls")
    left_spus: int | None = Field(validation_alias="left", description="Available SPUs; null: unlimited")


class LlmUsageItem(ResponseBody):
    """Calls to chat and reranking models by day, operation, model and knowledge base."""

    day: str = Field(description="Date in UTC, such as 2026-01-31")
    operation: str = Field(description="search, rerank, prompt or chat")
    model: str
    kb_id: str | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float = Field(description="By LiteLLM's prices")
    unpriced_calls: int = Field(description="Calls of models without a known price, excluded from `cost_usd`")


class LlmUsageAnswer(ResponseBody):
    """Usage of chat and reranking models, with its cost."""

    total_calls: int
    total_cost_usd: float
    cost_usd_by_kb: dict[str, float]
    kb_names: dict[str, str] = Field(description="Names of the existing knowledge bases in `items`, by id")
    items: list[LlmUsageItem]

    @classmethod
    def from_totals(cls, totals: list[LlmUsageTotal], names: Mapping[str, str]) -> "LlmUsageAnswer":
        """Build the response with the totals over all items; `names` are the names of knowledge bases."""
        by_kb: dict[str, float] = {}
        for total in totals:
            if total.kb_id is not None:
                by_kb[total.kb_id] = by_kb.get(total.kb_id, 0.0) + total.cost_usd
        return cls.from_model(
            total_calls=sum(total.calls for total in totals),
            total_cost_usd=sum(total.cost_usd for total in totals),
            cost_usd_by_kb=by_kb,
            kb_names=names,
            items=totals,
        )
