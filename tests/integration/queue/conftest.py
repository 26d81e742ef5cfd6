"""Fixtures of the queue's tests."""

import pytest

from analytiq.mongo.client import MongoConnection
from analytiq.mongo.repositories.jobs import JobRepository


@pytest.fixture
def jobs(migrated: MongoConnection) -> JobRepository:
    return JobRepository(migrated)
