"""A tenant with a folder source: what its people and the folder do, in a word each."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analytiq.ingestion.sources.configuration.service import SourceDraft
from analytiq.models.document import Document
from analytiq.models.source import ItemOutcome, Source, SourceRun, SourceRunEntry
from analytiq.settings import SourceSettings
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.telemetry import checkpoints
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant

LONG_AGO = 1_700_000_000
"""Seconds since 1970: files this old are told apart by size and times."""


@dataclass(slots=True)
class Sourcing:
    """An organization with a source that reads a folder."""

    tenant: Tenant
    folder: Path

    @property
    def id(self) -> str:
        return self.tenant.id

    def write(self, name: str, content: str, *, at: int = LONG_AGO) -> None:
        """Write a file of a given age."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (at, at))

    async def source(self, **fields: Any) -> Source:
        """Create a source of the folder, with the tenant's tag."""
        wanted: dict[str, Any] = {"name": "Papers", "kind": "folder", "tag_ids": (self.tenant.tag.id,), **fields}
        wanted.setdefault("settings", {"path": str(self.folder)})
        return await self.tenant.services.ingestion.sources.create(self.id, SourceDraft(**wanted))

    async def run(self, source: Source, **options: Any) -> SourceRun:
        """Run a source to its end, with all jobs that follow."""
        run = await self.tenant.services.ingestion.source_runs.start(self.id, source.id, **options)
        await self.tenant.drain()
        return await self.again(run)

    async def again(self, run: SourceRun) -> SourceRun:
        return await self.tenant.services.ingestion.source_runs.get(self.id, run.source_id, run.id)

    async def entries(self, run: SourceRun, *outcomes: ItemOutcome) -> list[SourceRunEntry]:
        runs = self.tenant.services.ingestion.source_runs
        found, total = await runs.entries(self.id, run, outcomes, skip=0, limit=1000)
        assert total == len(found)
        return found

    async def documents(self) -> dict[str, Document]:
        """All documents by name."""
        query = DocumentQuery(sort_field="document_name", descending=False)
        found, _ = await self.tenant.services.ingestion.documents.page(self.id, query, skip=0, limit=1000)
        return {document.document_name: document for document in found}


@pytest.fixture(autouse=True)
def no_hook() -> Iterator[None]:
    """Whatever a test installs is taken away."""
    yield
    checkpoints.install(None)


@pytest.fixture(autouse=True)
def settled_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the times of files at once: a file's change time is the test's own present."""
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.SETTLED_SECONDS", -1e9)


@pytest.fixture
async def sourcing(compose_services: Compose, tmp_path: Path) -> Sourcing:
    """An organization, and an empty folder that the operator allows."""
    folder = tmp_path / "allowed" / "papers"
    folder.mkdir(parents=True)
    services = await compose_services(sources=SourceSettings(folders=(tmp_path / "allowed",)))
    return Sourcing(await new_tenant(services), folder)
