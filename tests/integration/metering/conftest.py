"""A row for the cache."""

import numpy as np
import pytest

from analytiq.models.usage import Operation
from analytiq.storage.repositories.embedding_cache import CacheRow
from tests.integration.tenant import REMOTE_MODEL, Tenant


@pytest.fixture
def cache_row(tenant: Tenant) -> CacheRow:
    return CacheRow(
        key="k",
        chunk_hash="h",
        embedding_model=REMOTE_MODEL,
        embedding=np.ones(4, dtype=np.float32),
        scope="global",
        payer_organization_id=tenant.id,
        operation=Operation.INDEX,
    )
