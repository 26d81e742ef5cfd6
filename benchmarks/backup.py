"""Backup and restore: MB/s, memory, and what a search notices of a backup beside it.

    python -m benchmarks.backup [--short] [--gigabytes 1.0]
"""

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from analytiq import clock
from analytiq.backup.files import restore_file, verify_file, write_file
from analytiq.backup.restoring import RestoreOptions
from analytiq.knowledge_bases.service import NewKnowledgeBase
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.upload import DuplicatePolicy
from analytiq.models.vector import VectorOwner, VectorRow
from analytiq.mongo.ids import new_id
from analytiq.mongo.repositories.documents import DocumentRepository
from analytiq.mongo.repositories.index_entries import GenerationRepository, IndexEntryRepository
from analytiq.mongo.repositories.vectors import VectorRepository
from analytiq.mongo.transactions import run_in_transaction
from benchmarks.platform_under_test import Platform, open_platform
from benchmarks.report import arguments, median, percentile, print_heading, print_table

DIMENSIONS = 384
CHUNKS_PER_DOCUMENT = 200
FILE_BYTES = 512 * 1024
MEBIBYTE = 1024 * 1024
