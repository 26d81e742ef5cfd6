"""Collections of documents and questions with relevance judgements, in BEIR's layout.

    {collection}/corpus.jsonl    {"_id": "…", "title": "…", "text": "…"} a line; `title` may be missing
    {collection}/queries.jsonl   {"_id": "…", "text": "…"} a line
    {collection}/qrels.tsv       a header, then question id, document id and grade, separated by tabs

A grade above 0 means that the document answers the question. Questions without one are left out, as is usual: no order
is better for them than another. BEIR's own archives have their judgements in `qrels/test.tsv`, which is read too.
"""

import csv
import json
import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SEED = 20_261_128
_JUDGEMENTS = ("qrels.tsv", "qrels/test.tsv")


@dataclass(frozen=True, slots=True)
class JudgedCollection:
    """`documents`: id → text, none empty. `questions`: id → text, each with a relevant document.

    `grades`: question id → document id → grade. `empty_count`: documents without text, which cannot be uploaded.
    """

    name: str
    documents: Mapping[str, str]
    questions: Mapping[str, str]
    grades: Mapping[str, Mapping[str, float]]
    empty_count: int = 0

    def with_questions(self, count: int) -> "JudgedCollection":
        """Return the same documents with some of the questions, the same at every run."""
        ids = sorted(self.questions)
        chosen = sorted(random.Random(SEED).sample(ids, min(count, len(ids))))
        return replace(self, questions={one: self.questions[one] for one in chosen})

    def half(self, number: int) -> "JudgedCollection":
        """Return one half of the questions, 0 or 1: parameters tuned on one half are reported on the other."""
        return replace(
            self,
            questions={one: text for one, text in self.questions.items() if zlib.crc32(one.encode()) & 1 == number},
        )

    def with_documents(self, count: int) -> "JudgedCollection":
        """Return the judged documents and others up to `count`: faster, and easier to search."""
        judged = {document for one in self.questions for document in self.grades[one]}
        others = sorted(set(self.documents) - judged)
        kept = judged | set(random.Random(SEED).sample(others, min(len(others), max(0, count - len(judged)))))
        return replace(self, documents={one: text for one, text in self.documents.items() if one in kept})


def collections_in(root: Path) -> list[Path]:
    """Return the directories with a collection: `root` itself, or those in it, by name.

    Raises:
        SystemExit: there are none; describes the layout.
    """
    candidates = [root, *sorted(path for path in root.iterdir() if path.is_dir())] if root.is_dir() else []
    found = [path for path in candidates if (path / "corpus.jsonl").is_file()]
    if not found:
        raise SystemExit(
            f"{root} has no collection: a directory with corpus.jsonl, queries.jsonl and qrels.tsv, or several of them"
        )
    return found


def read_collection(directory: Path) -> JudgedCollection:
    """Read a collection.

    Raises:
        SystemExit: a file is missing or malformed; names it, and the line.
    """
    texts = {one: _text_of(row) for one, row in _rows(directory / "corpus.jsonl")}
    grades = _grades(directory)
    asked = {one: str(row["text"]) for one, row in _rows(directory / "queries.jsonl")}
    questions = {
        one: text
        for one, text in asked.items()
        if text.strip() and any(grade > 0 for grade in grades.get(one, {}).values())
    }
    if not questions:
        raise SystemExit(f"{directory}: no question of queries.jsonl has a judgement above 0")
    documents = {one: text for one, text in texts.items() if text}
    return JudgedCollection(directory.name, documents, questions, grades, len(texts) - len(documents))


def _text_of(row: Mapping[str, Any]) -> str:
    return f"{row.get('title') or ''}\n\n{row['text']}".strip()


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    row: dict[str, Any] = json.loads(line)
                    yield str(row["_id"]), {"title": row.get("title"), "text": row["text"]}
                except (ValueError, KeyError, TypeError) as error:
                    raise SystemExit(f"{path}, line {number}: not an object with `_id` and `text` ({error})") from error
    except OSError as error:
        raise SystemExit(f"{path} cannot be read: {error.strerror}") from error


def _grades(directory: Path) -> dict[str, dict[str, float]]:
    path = next((directory / name for name in _JUDGEMENTS if (directory / name).is_file()), None)
    if path is None:
        raise SystemExit(f"{directory} has no qrels.tsv")
    grades: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, row in enumerate(rows, start=1):
            if number == 1 or not row:
                continue
            try:
                question, document, grade = row[0], row[1], float(row[2])
            except (IndexError, ValueError) as error:
                raise SystemExit(f"{path}, line {number}: not question, document and grade, parted by tabs") from error
            grades.setdefault(question, {})[document] = grade
    return grades
