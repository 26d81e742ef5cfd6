"""The check of an installation reads a sample of every parser: it runs last, and would tell a missing one late."""

import runpy
from pathlib import Path

from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.registry import default_registry

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "tests" / "data" / "documents"


def test_installation_is_checked_with_a_sample_of_every_parser() -> None:
    samples: tuple[str, ...] = runpy.run_path(str(ROOT / ".ci" / "read_each_kind.py"))["SAMPLES"]
    registry = default_registry()
    read = {registry.entry_for(detect_content_type(DOCUMENTS / sample)).reference for sample in samples}
    assert set(registry.references) - read == set()
