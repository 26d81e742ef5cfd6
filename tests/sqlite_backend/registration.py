"""The registration of the backend: an installed package with an entry point."""

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from analytiq.retrieval.backends import registry


@contextmanager
def registered(directory: Path) -> Generator[None]:
    """Install a package's metadata for the duration of the block."""
    metadata = directory / "analytiq_sqlite-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: analytiq-sqlite\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[{registry.ENTRY_POINT_GROUP}]\nsqlite = tests.sqlite_backend.backend:BACKEND_TYPE\n"
    )
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    registry._plugins.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        importlib.invalidate_caches()
        registry._plugins.cache_clear()
