"""Fixtures of the queue's tests."""

import pytest

from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.jobs import JobRepository


@pytest.fixture
def jobs(migrated: MongoConnection) -> JobRepository:
    return JobRepository(migrated)
