"""Collection `llm_usage`."""

from datetime import datetime

from pymongo import IndexModel

from analytiq.models.llm_usage import LlmUsage, LlmUsageTotal
from analytiq.models.prompt_run import RunUsage
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.rows import Row, encode

INDEXES = {
    "llm_usage": [
        IndexModel([("organization_id", 1), ("used_at", -1)]),
        IndexModel([("organization_id", 1), ("run_id", 1)]),
    ],
}

_UNPRICED: Row = {"$cond": [{"$eq": [{"$ifNull": ["$cost_usd", None]}, None]}, 1, 0]}


class LlmUsageRepository:
    """Calls to chat models; rows are added, never changed."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["llm_usage"]

    async def add(self, usage: LlmUsage) -> None:
        """Record a call."""
        await self._collection.insert_one(encode(usage))

    async def of_run(self, organization_id: str, run_id: str) -> RunUsage:
        """Return the chat model usage of a prompt's run, over all attempts."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id, "run_id": run_id}},
                {
                    "$group": {
                        "_id": None,
                        "model_calls": {"$sum": 1},
                        "prompt_tokens": {"$sum": "$prompt_tokens"},
                        "completion_tokens": {"$sum": "$completion_tokens"},
                        "cost_usd": {"$sum": "$cost_usd"},
                        "unpriced_calls": {"$sum": _UNPRICED},
                    }
                },
            ]
        )
        async for row in cursor:
            return RunUsage.model_validate(row)
        return RunUsage()

    async def totals(
        self, organization_id: str, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[LlmUsageTotal]:
        """Return totals by day (UTC), operation, model and knowledge base, within [since, until); latest day first."""
        match: Row = {"organization_id": organization_id}
        period = {name: moment for name, moment in (("$gte", since), ("$lt", until)) if moment is not None}
        if period:
            match["used_at"] = period
        key: Row = {
            "day": {"$dateToString": {"date": "$used_at", "format": "%Y-%m-%d"}},
            "operation": "$operation",
            "model": "$model",
            "kb_id": "$kb_id",
        }
        summed: Row = {
            "calls": {"$sum": 1},
            "prompt_tokens": {"$sum": "$prompt_tokens"},
            "completion_tokens": {"$sum": "$completion_tokens"},
            "cost_usd": {"$sum": "$cost_usd"},
            "unpriced_calls": {"$sum": _UNPRICED},
        }
        cursor = await self._collection.aggregate(
            [
                {"$match": match},
                {"$group": {"_id": key, **summed}},
                {"$sort": {"_id.day": -1, "_id.model": 1, "_id": 1}},
            ]
        )
        return [
            LlmUsageTotal.model_validate({**row["_id"], **{name: row[name] for name in summed}}) async for row in cursor
        ]

    async def cost_usd(self, organization_id: str, *, since: datetime) -> float:
        """Return the cost of the organization's calls since the moment, as far as prices are known."""
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id, "used_at": {"$gte": since}}},
                {"$group": {"_id": None, "cost_usd": {"$sum": "$cost_usd"}}},
            ]
        )
        rows: list[Row] = [row async for row in cursor]
        return float(rows[0]["cost_usd"]) if rows else 0.0
