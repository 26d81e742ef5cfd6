"""Collection `prompt_runs`: one row a run, with all of its steps."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass

from pymongo import IndexModel, ReturnDocument, UpdateOne

from analytiq import clock
from analytiq.models.document import Failure
from analytiq.models.prompt_run import UNFINISHED, PromptRun, RunStatus, RunStep, RunUsage, StepKind
from analytiq.models.webhook import WebhookEvent, WebhookEventType
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id, object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.repositories.webhook_outbox import WebhookOutbox
from analytiq.storage.session import Session

INDEXES = {
    "prompt_runs": [
        IndexModel([("organization_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("prompt_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("document_id", 1), ("created_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("steps.passages.document_id", 1)]),
        # A prompt runs automatically once for each version and text, however often it is requested.
        IndexModel(
            [("prompt_id", 1), ("version", 1), ("document_id", 1), ("text_hash", 1)],
            name="automatic_once",
            unique=True,
            partialFilterExpression={"is_automatic": True},
        ),
    ],
}
_UNFINISHED: Row = {"$in": [status.value for status in UNFINISHED]}
_WITHOUT_STEPS: Row = {"steps": 0}
_WITHOUT_TEXTS: Row = {"steps": 0, "answer": 0, "input_text": 0}


@dataclass(frozen=True, slots=True)
class RunQuery:
    """The filters of a list of runs; None or empty does not filter."""

    prompt_id: str | None = None
    version: int | None = None
    document_id: str | None = None
    statuses: tuple[RunStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run."""

    status: RunStatus
    answer: str | None = None
    is_structured: bool = False
    error: Failure | None = None
    warnings: tuple[str, ...] = ()


class PromptRunRepository:
    """Runs of an organization."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["prompt_runs"]
        self._outbox = WebhookOutbox(connection)

    async def insert(self, session: Session, runs: Sequence[PromptRun]) -> None:
        """Store new runs."""
        await self._collection.insert_many([encode(run) for run in runs], session=session)

    async def insert_automatic(
        self, session: Session, organization_id: str, prompt_id: str, version: int, documents: Sequence[tuple[str, str]]
    ) -> list[PromptRun]:
        """Create an automatic run for each (document id, text hash) without one; return the new ones."""
        now = clock.now()
        runs = [
            PromptRun(
                id=new_id(),
                organization_id=organization_id,
                prompt_id=prompt_id,
                version=version,
                document_id=document_id,
                text_hash=text_hash,
                is_automatic=True,
                created_at=now,
            )
            for document_id, text_hash in documents
        ]
        if not runs:
            return []
        # Looked up separately: a requested run of the same version and text counts too.
        known = await self._known(session, organization_id, prompt_id, version, dict(documents))
        fresh = [run for run in runs if run.document_id not in known]
        writes = [_automatic(run) for run in fresh]
        if not writes:
            return []
        result = await self._collection.bulk_write(writes, ordered=True, session=session)
        inserted = set(result.upserted_ids or {})
        return [run for place, run in enumerate(fresh) if place in inserted]

    async def _known(
        self, session: Session, organization_id: str, prompt_id: str, version: int, text_hash_of: dict[str, str]
    ) -> set[str]:
        """Return the documents whose present text already has a run, unfinished or done, with any outcome."""
        cursor = self._collection.find(
            {
                "organization_id": organization_id,
                "prompt_id": prompt_id,
                "version": version,
                "document_id": {"$in": list(text_hash_of)},
                "$or": [
                    {"is_automatic": True},
                    {"status": {"$nin": [RunStatus.CANCELLED.value, RunStatus.FAILED.value]}},
                ],
            },
            {"document_id": 1, "text_hash": 1},
            session=session,
        )
        return {
            str(row["document_id"])
            async for row in cursor
            if row.get("text_hash") == text_hash_of.get(str(row["document_id"]))
        }

    async def get(self, organization_id: str, run_id: str) -> PromptRun | None:
        """Return the organization's run with this id."""
        ids = object_ids([run_id])
        if not ids:
            return None
        row: Row | None = await self._collection.find_one({"_id": ids[0], "organization_id": organization_id})
        return decode(PromptRun, row) if row else None

    async def page(
        self, organization_id: str, query: RunQuery, *, skip: int, limit: int
    ) -> tuple[list[PromptRun], int]:
        """Return a page of runs without their steps, latest first, and the total count of matches."""
        wanted: Row = {"organization_id": organization_id}
        for name, value in (
            ("prompt_id", query.prompt_id), ("version", query.version), ("document_id", query.document_id),
        ):  # fmt: skip
            if value is not None:
                wanted[name] = value
        if query.statuses:
            wanted["status"] = {"$in": [status.value for status in query.statuses]}
        cursor = self._collection.find(wanted, _WITHOUT_STEPS).sort([("created_at", -1), ("_id", -1)])
        found = [decode(PromptRun, row) async for row in cursor.skip(skip).limit(limit)]
        return found, await self._collection.count_documents(wanted)

    async def latest_of(self, organization_id: str, prompt_ids: Collection[str]) -> dict[str, PromptRun]:
        """Return the latest run by prompt id, without steps and texts; prompts without runs are left out.

        Reads one index entry a prompt, regardless of its number of runs.
        """
        if not prompt_ids:
            return {}
        order = {"prompt_id": 1, "created_at": -1, "_id": -1}
        cursor = await self._collection.aggregate(
            [
                {"$match": {"organization_id": organization_id, "prompt_id": {"$in": list(prompt_ids)}}},
                {"$sort": order},
                {"$group": {"_id": "$prompt_id", "run_id": {"$first": "$_id"}}},
            ]
        )
        run_ids = [row["run_id"] async for row in cursor]
        query: Row = {"_id": {"$in": run_ids}, "organization_id": organization_id}
        runs = [decode(PromptRun, row) async for row in self._collection.find(query, _WITHOUT_TEXTS)]
        return {run.prompt_id: run for run in runs}

    async def unfinished(
        self, organization_id: str, prompt_id: str, *, batch_size: int
    ) -> AsyncGenerator[list[PromptRun]]:
        """Yield a prompt's waiting and running runs, without their steps, in batches."""
        query: Row = {"organization_id": organization_id, "prompt_id": prompt_id, "status": _UNFINISHED}
        batch: list[PromptRun] = []
        async for row in self._collection.find(query, _WITHOUT_STEPS, batch_size=batch_size):
            batch.append(decode(PromptRun, row))
            if len(batch) == batch_size:
                yield batch
                batch = []
        if batch:
            yield batch

    async def begin(self, run: PromptRun, *, model: str, text_hash: str | None, usage: RunUsage) -> PromptRun | None:
        """Mark the run as started or continued; return None if it was cancelled or is over.

        If the document has another text than the steps refer to, restart from the beginning.
        """
        changes: Row = {"status": RunStatus.RUNNING.value, "model": model, "usage": usage.model_dump()}
        if run.started_at is None:
            changes["started_at"] = clock.now()
        if run.text_hash != text_hash:
            changes |= {"text_hash": text_hash, "steps": []}
        row: Row | None = await self._collection.find_one_and_update(
            {"_id": object_id(run.id), "organization_id": run.organization_id, "status": _UNFINISHED},
            {"$set": changes},
            return_document=ReturnDocument.AFTER,
        )
        return decode(PromptRun, row) if row else None

    async def add_steps(self, run: PromptRun, steps: Sequence[RunStep]) -> PromptRun | None:
        """Append steps to those of `run`; return None if the run is over, cancelled, or continued by another worker."""
        row: Row | None = await self._collection.find_one_and_update(
            {
                "_id": object_id(run.id),
                "organization_id": run.organization_id,
                "status": RunStatus.RUNNING.value,
                "steps": {"$size": len(run.steps)},
            },
            {"$push": {"steps": {"$each": [step.model_dump() for step in steps]}}, "$inc": _used_in(steps)},
            return_document=ReturnDocument.AFTER,
        )
        return decode(PromptRun, row) if row else None

    async def finish(self, run: PromptRun, outcome: RunOutcome, *, session: Session | None = None) -> bool:
        """End an unfinished run; return False if it is over already, or gone."""
        query: Row = {"_id": object_id(run.id), "organization_id": run.organization_id, "status": _UNFINISHED}
        ended: Row = {
            "status": outcome.status.value,
            "answer": outcome.answer,
            "is_structured": outcome.is_structured,
            "error": outcome.error.model_dump() if outcome.error else None,
            "warnings": list(outcome.warnings),
            "ended_at": clock.now(),
        }

        async def write(own: Session | None) -> bool:
            return (await self._collection.update_one(query, {"$set": ended}, session=own)).matched_count == 1

        return await self._outbox.changing(session, run.organization_id, _finished_event(run, outcome), write)

    async def reopen(self, run: PromptRun) -> PromptRun | None:
        """Let a failed run continue from its steps; return None if it has not failed, or is gone."""
        row: Row | None = await self._collection.find_one_and_update(
            {
                "_id": object_id(run.id),
                "organization_id": run.organization_id,
                "status": RunStatus.FAILED.value,
            },
            {"$set": {"status": RunStatus.QUEUED.value, "error": None, "ended_at": None}},
            return_document=ReturnDocument.AFTER,
        )
        return decode(PromptRun, row) if row else None

    async def delete(self, organization_id: str, run_id: str) -> None:
        """Remove one run."""
        await self._collection.delete_one({"_id": object_id(run_id), "organization_id": organization_id})

    async def delete_of_document(self, organization_id: str, document_id: str) -> None:
        """Remove the runs about a deleted document, and its passages from the runs about others."""
        own: Row = {"organization_id": organization_id}
        await self._collection.delete_many({**own, "document_id": document_id})
        await self._collection.update_many(
            {**own, "steps.passages.document_id": document_id},
            {
                "$pull": {"steps.$[].passages": {"document_id": document_id}},
                "$set": {"has_erased_passages": True},
            },
        )

    async def delete_of_prompt(self, organization_id: str, prompt_id: str) -> None:
        """Remove the runs of a deleted prompt."""
        await self._collection.delete_many({"organization_id": organization_id, "prompt_id": prompt_id})


def _automatic(run: PromptRun) -> UpdateOne:
    row = encode(run)
    names = ("prompt_id", "version", "document_id", "text_hash", "is_automatic")
    key: Row = {name: row.pop(name) for name in names}
    return UpdateOne(key, {"$setOnInsert": row}, upsert=True)


def _used_in(steps: Sequence[RunStep]) -> Row:
    calls = [step for step in steps if step.kind is StepKind.MODEL]
    return {
        "usage.model_calls": len(calls),
        "usage.prompt_tokens": sum(step.prompt_tokens for step in steps),
        "usage.completion_tokens": sum(step.completion_tokens for step in steps),
        "usage.cost_usd": sum(step.cost_usd or 0.0 for step in steps),
        "usage.unpriced_calls": sum(step.cost_usd is None for step in calls),
        "usage.searches": sum(step.kind is StepKind.TOOL and step.error is None for step in steps),
        "usage.spus": sum(step.spus for step in steps),
    }


def _finished_event(run: PromptRun, outcome: RunOutcome) -> WebhookEvent:
    return WebhookEvent(
        WebhookEventType.PROMPT_RUN_FINISHED,
        f"prompt_run:{run.id}",
        {
            "run_id": run.id,
            "prompt_id": run.prompt_id,
            "document_id": run.document_id,
            "status": outcome.status.value,
            "code": outcome.error.code if outcome.error else None,
        },
    )
