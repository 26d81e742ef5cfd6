"""Settings of extraction, indexing and search."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from analytiq.settings.section import MEBIBYTE, Section


class ExtractionSettings(Section):
    """Limits of the child process that parses one document."""

    memory_bytes: int = 1536 * MEBIBYTE
    total_memory_bytes: int = Field(default=4096 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Memory of all documents that a process reads at once; others wait. A part is reserved for small files."""
    cpu_seconds: int = 600
    """Most CPU seconds of any file. A small file gets less: `cpu_seconds_least`, and more for each of its MiB."""
    cpu_seconds_least: int = Field(default=40, ge=1)
    cpu_seconds_per_mebibyte: int = Field(default=20, ge=0)
    cpu_seconds_per_mebibyte_of_pictures: int = Field(default=500, ge=0)
    """For PDFs and pictures, whose pages may need OCR: about 2 seconds for each page of 4 KiB."""
    wall_seconds: float = 900.0
    output_bytes: int = 256 * MEBIBYTE
    max_pages: int = 10_000
    ocr_languages: tuple[str, ...] = ("eng",)
    word_changes: Literal["accepted", "original", "all"] = "accepted"
    """Tracked changes of Word documents: insertions are read, or deletions, or both."""
    word_comments: bool = True
    isolation: Literal["required", "best_effort", "off"] = "best_effort"
    """On: workers refuse documents if the kernel cannot isolate parsers. Off: parsers keep all rights."""
    readable_paths: tuple[Path, ...] = ()
    """Paths that parsers may read besides their document, installed code, fonts and OCR data."""


class IndexingSettings(Section):
    """The replacement of a document's vectors."""

    sweep_delay_seconds: float = 60.0


class SearchSettings(Section):
    """Search, and the vectors in memory."""

    max_top_k: int = 100
    max_depth: int = 10_000
    local_store_bytes: int = 512 * MEBIBYTE
    mapped_from_bytes: int = Field(default=0, ge=0)
    """Bytes of a knowledge base's vectors in memory from which on they are mapped from disk; 0: `local_store_bytes`."""
    load_wait_seconds: float = 2.0
    vector_store: str = "auto"
    """Backend of new knowledge bases; `auto`: `mongodb` if the server lists search indexes, else `local`."""
    quantization: Literal["none", "scalar", "binary"] = "none"
    visibility_seconds: float = 120.0
    snapshot_bytes: int = Field(default=4096 * MEBIBYTE, ge=0)
    """Bytes of replicas of vectors on disk, in `data_dir/snapshots`, saved and mapped ones each; 0: none."""
    understanding_cache_seconds: float = Field(default=3600.0, ge=0.0)
    """Seconds to cache rewritten questions and hypothetical answers in a process; 0: no cache."""
    passage_cache_bytes: int = Field(default=64 * MEBIBYTE, ge=0)
    """Bytes of recently found passages in the memory of each process that searches; 0: none."""
    leg_timeout_seconds: float = 10.0
    step_timeout_seconds: float = 15.0


class LexicalSettings(Section):
    """The keyword indexes, in `data_dir/lexical`."""

    is_enabled: bool = True
    disk_bytes: int = 4096 * MEBIBYTE
    build_wait_seconds: float = 2.0
