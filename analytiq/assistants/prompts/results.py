"""Results: the current answers, made by runs and edited by people."""

import json
from typing import Any

from pydantic import JsonValue

from analytiq import clock
from analytiq.assistants.prompts.answer_schemas import problems_of
from analytiq.errors import ConflictError, FieldError, InvalidInputError, NotFoundError
from analytiq.models.prompt import PromptVersion
from analytiq.models.prompt_run import EarlierAnswer, PromptResult, PromptRun
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.prompt_results import PromptResultRepository, ResultQuery

KEPT_EARLIER = 20
"""Most answers by people that a result keeps after runs replace them; the oldest are dropped first."""


def replacing(before: PromptResult | None, run: PromptRun, *, answer: str, is_structured: bool) -> PromptResult:
    """Return the result of a succeeded run: its answer is current and unverified, and people's answers are kept."""
    if run.document_id is None:
        raise ValueError("A run on a text has no result of a document.")
    now = clock.now()
    return PromptResult(
        id=before.id if before else new_id(),
        organization_id=run.organization_id,
        prompt_id=run.prompt_id,
        version=run.version,
        document_id=run.document_id,
        run_id=run.id,
        text_hash=run.text_hash,
        answer=answer,
        is_structured=is_structured,
        earlier=_earlier(before),
        created_at=before.created_at if before else now,
        updated_at=now,
    )


def _earlier(before: PromptResult | None) -> tuple[EarlierAnswer, ...]:
    if before is None:
        return ()
    if not (before.is_edited or before.is_verified):
        return before.earlier
    kept = EarlierAnswer(
        answer=before.answer,
        is_structured=before.is_structured,
        run_id=before.run_id,
        is_edited=before.is_edited,
        is_verified=before.is_verified,
        replaced_at=clock.now(),
    )
    return (*before.earlier, kept)[-KEPT_EARLIER:]


class PromptResults:
    """Results of an organization's prompts."""

    def __init__(self, results: PromptResultRepository) -> None:
        self._results = results

    async def page(
        self, organization_id: str, prompt_id: str, query: ResultQuery, *, skip: int, limit: int
    ) -> tuple[list[PromptResult], int]:
        """Return a page of results, oldest first, and the count of matches."""
        return await self._results.page(organization_id, prompt_id, query, skip=skip, limit=limit)

    async def get(self, organization_id: str, prompt_id: str, version: int, document_id: str) -> PromptResult:
        """Return the result of a version for a document."""
        result = await self._results.get(organization_id, prompt_id, version, document_id)
        if result is None:
            raise NotFoundError(
                f"Version {version} of the prompt has no result for the document {document_id!r}. Run the"
                " prompt on it first."
            )
        return result

    async def change(
        self,
        organization_id: str,
        version: PromptVersion,
        document_id: str,
        *,
        answer: JsonValue | None = None,
        is_verified: bool | None = None,
        expected_run_id: str | None = None,
    ) -> PromptResult:
        """Edit the answer, verify it, or withdraw the verification. An edited answer is unverified by default.

        Args:
            organization_id: the organization of the prompt.
            version: the prompt's version; edited answers follow its schema.
            document_id: the document of the result.
            answer: an object if the version has a schema, else a text; None keeps the answer.
            is_verified: None keeps the verification, except of an edited answer.
            expected_run_id: the run whose result the person has seen; None accepts any.

        Raises:
            InvalidInputError: the answer does not follow the schema; names each place.
            ConflictError: another run has replaced the answer since.
        """
        result = await self.get(organization_id, version.prompt_id, version.version, document_id)
        if expected_run_id is not None and expected_run_id != result.run_id:
            raise _replaced(document_id)
        changes: dict[str, Any] = {}
        now = clock.now()
        if answer is not None:
            text = _answer_text(answer, version)
            is_verified = is_verified or False
            changes |= {"answer": text, "is_edited": True, "edited_at": now}
        if is_verified is not None:
            changes |= {"is_verified": is_verified, "verified_at": now if is_verified else None}
        if not changes:
            return result
        changed = await self._results.change(result, changes)
        if changed is None:
            raise _replaced(document_id)
        return changed


def _answer_text(answer: JsonValue, version: PromptVersion) -> str:
    schema = version.configuration.answer_schema
    if schema is None:
        if not isinstance(answer, str):
            raise InvalidInputError.of_field(
                "answer", "The prompt has no schema, so its answers are texts. Send a text."
            )
        return answer
    problems = problems_of(answer, schema)
    if problems:
        errors = [FieldError(f"answer{problem.partition(': ')[0].removeprefix('$')}", problem.partition(": ")[2])
                  for problem in problems]  # fmt: skip
        raise InvalidInputError(
            f"The answer does not follow the prompt's schema: {problems[0]}. Correct it there.",
            errors=errors,
            code="answer_not_by_schema",
        )
    return json.dumps(answer, ensure_ascii=False, allow_nan=False)


def _replaced(document_id: str) -> ConflictError:
    return ConflictError(
        f"Another run has replaced the answer for the document {document_id!r}. Read the new answer,"
        " then decide again.",
        code="result_replaced",
    )
