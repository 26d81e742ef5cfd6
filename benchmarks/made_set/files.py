"""The made set as files: `documents/`, and `questions.jsonl`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.made_set.documents import made_set
from benchmarks.made_set.model import MadeDocument, MadeQuestion

QUESTIONS = "questions.jsonl"


def write(directory: Path) -> None:
    """Write documents and questions, and remove documents of an earlier set."""
    documents, questions = made_set()
    folder = directory / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.iterdir()) - {folder / document.name for document in documents}:
        stale.unlink()
    for document in documents:
        (folder / document.name).write_text(document.content, encoding="utf-8")
    lines = [json.dumps(asdict(question), ensure_ascii=False) for question in questions]
    (directory / QUESTIONS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(directory: Path) -> tuple[list[MadeDocument], list[MadeQuestion]]:
    """Read a set in this layout.

    Raises:
        SystemExit: the directory has no such set.
    """
    path = directory / QUESTIONS
    if not path.is_file():
        raise SystemExit(f"{directory} has no {QUESTIONS}: write the set with `python -m benchmarks.made_set`.")
    files = sorted((directory / "documents").iterdir())
    documents = [MadeDocument(file.name, file.read_text(encoding="utf-8")) for file in files]
    return documents, [_question(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _question(row: dict[str, Any]) -> MadeQuestion:
    row["gold"] = tuple(row["gold"])
    return MadeQuestion(**row)
