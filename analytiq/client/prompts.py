"""Operations on prompts, their runs and results."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from analytiq.client.answers import Page
from analytiq.client.calls import all_items, call, delete, get, given, page, post, put
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.prompt_models import (
    ListedPrompt,
    Prompt,
    PromptResult,
    PromptRun,
    PromptRunDetail,
    PromptRunsStarted,
    PromptVersion,
)
from analytiq.client.steps import Flow, Items, Request
from analytiq.client.waiting import Waiting


class PromptCalls(Calls):
    """Prompts and their versions."""

    @listing
    def prompts(
        self,
        *,
        name_search: str | None = None,
        tag_id: str | None = None,
        kb_id: str | None = None,
        include: Sequence[str] = (),
    ) -> Items[ListedPrompt]:
        """Yield all matching prompts, by name, in their latest versions; `include` `last_run`: with that."""
        query = {"name_search": name_search, "tag_id": tag_id, "kb_id": kb_id, "include": list(include) or None}
        return all_items("/prompts", "prompts", ListedPrompt, query)

    @operation
    def prompt(self, prompt_id: str) -> Flow[Prompt]:
        """Return a prompt."""
        return get(_path(prompt_id), Prompt)

    @operation
    def create_prompt(
        self,
        name: str,
        text: str,
        *,
        answer_schema: Mapping[str, JsonValue] | None = None,
        tag_ids: Sequence[str] = (),
        kb_id: str | None = None,
        model: str | None = None,
        runs_on_existing: bool = True,
        settings: Mapping[str, JsonValue] | None = None,
    ) -> Flow[Prompt]:
        """Create a prompt.

        Args:
            name: unique in the organization.
            text: the task.
            answer_schema: a JSON schema of an object; None: answers are texts.
            tag_ids: the prompt runs automatically on documents with one of these.
            kb_id: the knowledge base that the model may search.
            model: None: the organization's default.
            runs_on_existing: also run on existing documents with its tags.
            settings: any of metadata_filter, temperature, max_tokens, max_iterations, token_budget, spu_budget.
        """
        body: dict[str, Any] = {
            **(settings or {}),
            "name": name,
            "text": text,
            "answer_schema": answer_schema,
            "tag_ids": list(tag_ids),
            "kb_id": kb_id,
            "model": model,
            "runs_on_existing": runs_on_existing,
        }
        return post("/prompts", Prompt, body)

    @operation
    def update_prompt(
        self, prompt_id: str, changes: Mapping[str, JsonValue], *, if_version: int | None = None
    ) -> Flow[Prompt]:
        """Change some of the fields of `create_prompt`; all but a name make a further version, None removes a value.

        With `if_version`, the change fails (412, `stale_version`) if that is no longer the latest version.
        """
        headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
        reply = yield from call(Request("PUT", _path(prompt_id), json=dict(changes), headers=headers))
        return Prompt.model_validate_json(reply.content)

    @operation
    def delete_prompt(self, prompt_id: str) -> Flow[None]:
        """Delete it with its versions, runs and results."""
        return delete(_path(prompt_id))

    @listing
    def prompt_versions(self, prompt_id: str) -> Items[PromptVersion]:
        """Yield all of its versions, latest first."""
        return all_items(f"{_path(prompt_id)}/versions", "versions", PromptVersion)


class PromptRunCalls(Calls):
    """Runs of prompts, and their results."""

    @operation
    def run_prompt(
        self,
        prompt_id: str,
        *,
        document_ids: Sequence[str] = (),
        text: str | None = None,
        version: int | None = None,
    ) -> Flow[list[PromptRun]]:
        """Request a run on each document, or on a text; `wait_for_runs` waits for their ends."""
        body = {"document_ids": list(document_ids), "text": text, "version": version}
        return (yield from post(f"{_path(prompt_id)}/runs", PromptRunsStarted, body)).runs

    @operation
    def prompt_runs(
        self,
        *,
        prompt_id: str | None = None,
        version: int | None = None,
        document_id: str | None = None,
        statuses: Sequence[str] = (),
        skip: int = 0,
        limit: int = 10,
    ) -> "Flow[Page[PromptRun]]":
        """Return a page of runs, latest first. Statuses: any of queued, running, succeeded, failed, cancelled."""
        query = {
            "prompt_id": prompt_id,
            "version": version,
            "document_id": document_id,
            "status": list(statuses) or None,
        }
        return page("/runs", "runs", PromptRun, query, skip=skip, limit=limit)

    @operation
    def prompt_run(self, run_id: str) -> Flow[PromptRunDetail]:
        """Return a run with its steps."""
        return get(f"/runs/{segment(run_id)}", PromptRunDetail)

    @operation
    def cancel_prompt_run(self, run_id: str) -> Flow[PromptRun]:
        """Cancel a run; 409 if it is over."""
        return post(f"/runs/{segment(run_id)}/cancel", PromptRun)

    @operation
    def wait_for_runs(self, run_ids: Sequence[str], *, timeout_seconds: float = 600.0) -> Flow[list[PromptRunDetail]]:
        """Wait until all runs have ended, and return them in this order.

        Raises:
            TransientError: some are unfinished in time; they continue.
        """
        waiting = Waiting(timeout_seconds)
        over: dict[str, PromptRunDetail] = {}
        while True:
            for run_id in run_ids:
                if run_id not in over and (run := (yield from self.prompt_run(run_id))).is_over:
                    over[run_id] = run
            left = len(set(run_ids)) - len(over)
            if not left:
                return [over[run_id] for run_id in run_ids]
            yield waiting.pause(
                f"{left} runs have not ended after {timeout_seconds:g} s. They continue. Read their state with"
                " `prompt_run`."
            )

    @listing
    def prompt_results(
        self,
        prompt_id: str,
        *,
        version: int | None = None,
        document_id: str | None = None,
        is_verified: bool | None = None,
    ) -> Items[PromptResult]:
        """Yield all matching results of a prompt, oldest first."""
        query = {"version": version, "document_id": document_id, "is_verified": is_verified}
        return all_items(f"{_path(prompt_id)}/results", "results", PromptResult, query)

    @operation
    def prompt_result(self, prompt_id: str, document_id: str, *, version: int | None = None) -> Flow[PromptResult]:
        """Return the result of a version (None: the latest) for a document."""
        return get(_result_path(prompt_id, document_id), PromptResult, {"version": version})

    @operation
    def update_prompt_result(
        self,
        prompt_id: str,
        document_id: str,
        *,
        answer: JsonValue = None,
        is_verified: bool | None = None,
        version: int | None = None,
        run_id: str | None = None,
    ) -> Flow[PromptResult]:
        """Edit an answer or verify it; `run_id`: of the result shown; 409 if another run has replaced it."""
        body = given(answer=answer, is_verified=is_verified, run_id=run_id)
        return put(_result_path(prompt_id, document_id), PromptResult, body, query={"version": version})

    @operation
    def export_prompt_results(
        self, prompt_id: str, *, is_csv: bool = True, version: int | None = None, is_verified: bool | None = None
    ) -> Flow[bytes]:
        """Return all results of a version (None: the latest) as CSV, or as a JSON list."""
        query = {"format": "csv" if is_csv else "json", "version": version, "is_verified": is_verified}
        reply = yield from call(Request("GET", f"{_path(prompt_id)}/results/export", query=query))
        return reply.content


def _path(prompt_id: str) -> str:
    return f"/prompts/{segment(prompt_id)}"


def _result_path(prompt_id: str, document_id: str) -> str:
    return f"{_path(prompt_id)}/results/{segment(document_id)}"
