"""Export of results as CSV and as a JSON list, streamed: there may be 100,000."""

import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from typing import cast

from pydantic import JsonValue

from analytiq.ingestion.documents.spreadsheet_cells import neutralised
from analytiq.models.prompt_run import PromptResult
from analytiq.storage.repositories.documents import DocumentRepository
from analytiq.storage.repositories.prompt_results import PromptResultRepository, ResultQuery

OWN_COLUMNS = ("document_id", "document_name", "version", "run_id", "is_verified", "is_edited", "updated_at")
ROWS_AT_ONCE = 200


class ResultExport:
    """Writes the results of a prompt that match a query."""

    def __init__(self, results: PromptResultRepository, documents: DocumentRepository) -> None:
        self._results = results
        self._documents = documents

    async def csv(self, organization_id: str, prompt_id: str, query: ResultQuery) -> AsyncIterator[str]:
        """Yield a line of headings, then one per result; each field of the answers has a column."""
        # Two passes: a late answer may have a field that no earlier one has.
        columns = await columns_of(self._results.all(organization_id, prompt_id, query))
        yield csv_line([*OWN_COLUMNS, *columns])
        async for result, name in self._named(organization_id, prompt_id, query):
            yield csv_line(csv_cells(result, name, columns))

    async def json(self, organization_id: str, prompt_id: str, query: ResultQuery) -> AsyncIterator[str]:
        """Yield a list of objects, with the stored answer under `answer`."""
        separator = "[\n"
        async for result, name in self._named(organization_id, prompt_id, query):
            yield separator + json_item(result, name)
            separator = ",\n"
        yield "[]\n" if separator == "[\n" else "\n]\n"

    async def _named(
        self, organization_id: str, prompt_id: str, query: ResultQuery
    ) -> AsyncIterator[tuple[PromptResult, str]]:
        """Yield results with their documents' names; a document deleted a moment ago has none."""
        batch: list[PromptResult] = []
        async for result in self._results.all(organization_id, prompt_id, query):
            batch.append(result)
            if len(batch) == ROWS_AT_ONCE:
                for named in await self._with_names(organization_id, batch):
                    yield named
                batch = []
        for named in await self._with_names(organization_id, batch):
            yield named

    async def _with_names(
        self, organization_id: str, results: Sequence[PromptResult]
    ) -> list[tuple[PromptResult, str]]:
        names = await self._documents.names(organization_id, [result.document_id for result in results])
        return [(result, names.get(result.document_id, "")) for result in results]


def answer_of(result: PromptResult) -> JsonValue:
    """Return the answer: an object, or a text."""
    return json.loads(result.answer) if result.is_structured else result.answer


async def columns_of(results: AsyncIterator[PromptResult]) -> list[str]:
    """Return the fields of all answers in the order of appearance, and `answer` if there are texts."""
    found: dict[str, None] = {}
    async for result in results:
        found.update(dict.fromkeys(_fields(result)))
    return list(found)


def csv_line(cells: Sequence[JsonValue]) -> str:
    """Return a CSV line, quoted if necessary, that no spreadsheet runs."""
    target = io.StringIO()
    csv.writer(target).writerow([_cell(cell) for cell in cells])
    return target.getvalue()


def csv_cells(result: PromptResult, document_name: str, columns: Sequence[str]) -> list[JsonValue]:
    """Return a result's cells: its own columns, then the answer's."""
    fields = _fields(result)
    return [*_own_cells(result, document_name), *(fields.get(column) for column in columns)]


def json_item(result: PromptResult, document_name: str) -> str:
    """Return a result as a JSON object."""
    own = dict(zip(OWN_COLUMNS, _own_cells(result, document_name), strict=True))
    return json.dumps({**own, "answer": answer_of(result)}, ensure_ascii=False)


def _own_cells(result: PromptResult, document_name: str) -> list[JsonValue]:
    return [
        result.document_id, document_name, result.version, result.run_id, result.is_verified, result.is_edited,
        result.updated_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
    ]  # fmt: skip


def _fields(result: PromptResult) -> dict[str, JsonValue]:
    answer = answer_of(result)
    return answer if isinstance(answer, dict) else {"answer": answer}


def _cell(value: JsonValue) -> object:
    """Return a cell: numbers unchanged, all else as text that is no formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return neutralised(value)
    return neutralised(json.dumps(cast("JsonValue", value), ensure_ascii=False))
