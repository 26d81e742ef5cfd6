"""The used part of Chonkie, imported without OpenAI's client, which Chonkie would import if it is installed.

The client is for chunkers that ask a chat model. It takes 20 of the 22 MB and most of the 0.9 s of the import.
"""

import importlib.machinery
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import ModuleType


class _Absence:
    """A finder that denies a module to the thread that made it; other threads may be importing LiteLLM."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = threading.get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Refuse the module; leave any other to the next finder."""
        if fullname == self._name and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


@contextmanager
def _without(name: str) -> Generator[None]:
    absence = _Absence(name)
    sys.meta_path.insert(0, absence)
    try:
        yield
    finally:
        sys.meta_path.remove(absence)


with _without("openai"):
    from chonkie import (
        BaseEmbeddings,
        Chunk,
        RecursiveChunker,
        RecursiveLevel,
        RecursiveRules,
        SemanticChunker,
        SentenceChunker,
        Tokenizer,
    )

__all__ = [
    "BaseEmbeddings",
    "Chunk",
    "RecursiveChunker",
    "RecursiveLevel",
    "RecursiveRules",
    "SemanticChunker",
    "SentenceChunker",
    "Tokenizer",
]
