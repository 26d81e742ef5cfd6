"""People who go on working while the database is broken under them: they repeat what was not acknowledged."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from analytiq.errors import NotFoundError
from analytiq.models.document import Document
from analytiq.models.upload import DuplicatePolicy
from tests.fault import invariants
from tests.fault.reader import Reader
from tests.fault.site import LOOK_SECONDS, Site, is_passing
from tests.integration.tenant import prose

T = TypeVar("T")
REPLACED_EVERY, DELETED_EVERY, UNTAGGED_EVERY = 3, 4, 7


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call until it is acknowledged or refused."""
    while True:
        try:
            return await call()
        except Exception as error:
            if not is_passing(error):
                raise
            await asyncio.sleep(LOOK_SECONDS)


@dataclass(slots=True)
class Crowd:
    """Uploads documents; replaces every third, deletes every fourth, and takes the tag from every seventh."""

    site: Site
    kb_id: str
    reader: Reader
    documents: int
    texts: dict[str, str] = field(default_factory=dict)
    """Return the expected end state."""
    deleted: list[str] = field(default_factory=list)

    async def work(self) -> None:
        for number in range(1, self.documents + 1):
            name = f"subject{number}"
            document = await self._upload(f"{name}.txt", prose(name, 2), DuplicatePolicy.RETURN)
            self.texts[document.id] = prose(name, 2)
            self.reader.joining(document.id, prose(name, 2), prose(f"{name}again", 2))
            if number % REPLACED_EVERY == 0:
                await self._upload(f"{name}.txt", prose(f"{name}again", 2), DuplicatePolicy.REPLACE)
                self.texts[document.id] = prose(f"{name}again", 2)
            if number % DELETED_EVERY == 0:
                await self._delete(document)
            elif number % UNTAGGED_EVERY == 0:
                await self._untag(document)

    async def _upload(self, name: str, text: str, policy: DuplicatePolicy) -> Document:
        tenant = self.site.tenant
        staged = await tenant.stage(name, text)
        result = await patiently(
            lambda: self.site.services.ingestion.uploads.commit(
                staged, tag_ids=[tenant.tag.id], metadata=None, policy=policy
            )
        )
        return result.document

    async def _delete(self, document: Document) -> None:
        async with self.reader.leaving(document.id):
            with contextlib.suppress(NotFoundError):  # an attempt that was not acknowledged had succeeded
                await patiently(lambda: self.site.services.ingestion.documents.delete(self.site.tenant.id, document.id))
        del self.texts[document.id]
        self.deleted.append(document.id)

    async def _untag(self, document: Document) -> None:
        async with self.reader.leaving(document.id):
            await patiently(lambda: self.site.tenant.set_tags(document, []))
        del self.texts[document.id]

    async def has_indexed(self, count: int) -> bool:
        return len(await invariants.rows(self.site, "document_index")) >= count

    async def everything_is_right(self) -> None:
        """Work all off, then look at everything.

        An attempt whose lease ran out while the database was away may still be under way, and ask for a sweep of what
        it has staged after the queue was seen empty; once its process has ended it has.
        """
        await self.site.until_idle()
        await self.site.processes.stop_all()
        self.site.processes.worker()
        await patiently(self.site.mend)
        await invariants.hold(self.site, {self.kb_id: self.texts})
        for document_id in self.deleted:
            await invariants.nothing_names(self.site, document_id)
