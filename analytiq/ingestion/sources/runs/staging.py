"""Fetches items and stages their contents, some at a time; a source that wants a wait postpones the rest."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import structlog

from analytiq.errors import AnalytiqError, LimitExceededError, RateLimitedError, TransientError
from analytiq.ingestion.sources.base import Connector, FetchedItem, ListedItem, SourceSilentError
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.ingestion.sources.runs.outcomes import TakenBatch, WantedItem
from analytiq.ingestion.upload.request import StagedFile
from analytiq.ingestion.upload.store import Uploads

log = structlog.get_logger(__name__)

FETCHES_AT_ONCE = 5
PATIENT_WAITS = 3
"""Waits without an item between them, after which an item that wants another one fails; rate limits are waited for."""


@dataclass(frozen=True, slots=True)
class StagedItem:
    """The staged content of an item, with its version."""

    file: StagedFile
    version: str | None


class ItemStaging:
    """Stages the contents of items."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    async def stage_all(
        self, opened: OpenSource, wanted: Sequence[WantedItem], taken: TakenBatch
    ) -> list[StagedItem | AnalytiqError]:
        """Return the staged content of each item, or its error; postpone the batch if the source wants a wait."""
        slots = asyncio.Semaphore(FETCHES_AT_ONCE)
        silent = delivered = 0

        async def stage(each: WantedItem) -> StagedItem | AnalytiqError:
            nonlocal silent, delivered
            async with slots:
                if taken.postponed is not None:
                    return taken.postponed
                result = await self._stage(opened, each)
            silent += isinstance(result, SourceSilentError)
            delivered += isinstance(result, StagedItem)
            is_silent = isinstance(result, SourceSilentError) and silent >= FETCHES_AT_ONCE and not delivered
            if isinstance(result, TransientError) and (is_silent or _wants_wait(opened, result)):
                taken.postponed = result
            return result

        with opened.waiting():
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(stage(each)) for each in wanted]
        return [task.result() for task in tasks]

    async def _stage(self, opened: OpenSource, each: WantedItem) -> StagedItem | AnalytiqError:
        try:
            async with asyncio.timeout(opened.operator.call_seconds):
                fetched = await _fetched(opened.connector, each.item)
                file = await self._uploads.stage(
                    opened.source.organization_id,
                    document_name=each.item.name,
                    content_type=fetched.content_type,
                    source=_bounded(fetched.content, opened),
                    external_identity=opened.identity(each.item.external_id, None),
                )
                return StagedItem(file, each.item.version if fetched.version is None else fetched.version)
        except TimeoutError:
            seconds = opened.operator.call_seconds
            return SourceSilentError(f"The source did not deliver the item within {seconds:g} s.")
        except AnalytiqError as error:
            return error


def _wants_wait(opened: OpenSource, error: TransientError) -> bool:
    """Return True if the source wants a wait, and not for this item alone, as it seems."""
    if isinstance(error, RateLimitedError):
        return True
    return error.retry_after is not None and opened.run.waits < PATIENT_WAITS


async def _fetched(connector: Connector, item: ListedItem) -> FetchedItem:
    try:
        return await connector.fetch(item)
    except (AnalytiqError, asyncio.CancelledError):
        raise
    except Exception as error:
        # A connector of another package may raise anything; the other items do not wait for it.
        log.exception("sources.fetch_failed")
        raise TransientError(f"The connector failed with an unexpected {type(error).__name__}.") from error


async def _bounded(content: AsyncIterator[bytes], opened: OpenSource) -> AsyncIterator[bytes]:
    count, most = 0, opened.max_item_bytes
    async for block in content:
        opened.note_answer()
        count += len(block)
        if count > most:
            raise LimitExceededError(f"Larger than {most:,} bytes.")
        yield block
