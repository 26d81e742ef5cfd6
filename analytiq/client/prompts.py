"""Client calls for prompts, runs, results and models."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from analytiq.client.answers import Page
from analytiq.client.connection import Connection, Query
from analytiq.client.models import DefaultModels
from analytiq.client.paths import segment
from analytiq.client.prompt_models import (
    LlmUsage,
    Model,
    Prompt,
    PromptResult,
    PromptRun,
    PromptRunDetail,
    PromptRunsStarted,
    PromptVersion,
)
from analytiq.errors import TransientError

FIRST_POLL_SECONDS = 0.1
LONGEST_POLL_SECONDS = 2.0


class PromptCalls(Connection):
    """Calls for prompts, runs and results."""

    def models(self, *, kind: str | None = None, name_search: str | None = None) -> Iterator[Model]:
        """Return the available models, by name. `kind`: chat, embedding or rerank."""
        return self._all("/models", "models", Model, {"kind": kind, "name_search": name_search})

    def default_models(self) -> DefaultModels:
        """Return the default models and the destination of their texts."""
        return DefaultModels.model_validate_json(self._transport.call("GET", "/models/defaults"))

    def llm_usage(self, *, since: datetime | None = None, until: datetime | None = None) -> LlmUsage:
        """Sum the calls to chat and reranking models within [since, until): tokens and US dollars."""
        query: Query = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        return LlmUsage.model_validate_json(self._transport.call("GET", "/llm-usage", query=query))

    def prompts(
        self, *, name_search: str | None = None, tag_id: str | None = None, kb_id: str | None = None
    ) -> Iterator[Prompt]:
        """Yield all matching prompts, by name, in their latest versions."""
        return self._all("/prompts", "prompts", Prompt, {"name_search": name_search, "tag_id": tag_id, "kb_id": kb_id})

    def prompt(self, prompt_id: str) -> Prompt:
        """Return a prompt."""
        return Prompt.model_validate_json(self._transport.call("GET", f"/prompts/{segment(prompt_id)}"))

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
    ) -> Prompt:
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
        return Prompt.model_validate_json(self._transport.call("POST", "/prompts", json=body))

    def update_prompt(self, prompt_id: str, changes: Mapping[str, JsonValue]) -> Prompt:
        """Change some of the fields of `create_prompt`; all but a name make a further version, None removes a value."""
        answer = self._transport.call("PUT", f"/prompts/{segment(prompt_id)}", json=dict(changes))
        return Prompt.model_validate_json(answer)

    def delete_prompt(self, prompt_id: str) -> None:
        """Delete it with its versions, runs and results."""
        self._transport.call("DELETE", f"/prompts/{segment(prompt_id)}")

    def prompt_versions(self, prompt_id: str) -> Iterator[PromptVersion]:
        """Yield all of its versions, latest first."""
        return self._all(f"/prompts/{segment(prompt_id)}/versions", "versions", PromptVersion)

    def run_prompt(
        self,
        prompt_id: str,
        *,
        document_ids: Sequence[str] = (),
        text: str | None = None,
        version: int | None = None,
    ) -> list[PromptRun]:
        """Request a run on each document, or on a text; `wait_for_runs` waits for their ends."""
        body = {"document_ids": list(document_ids), "text": text, "version": version}
        answer = self._transport.call("POST", f"/prompts/{segment(prompt_id)}/runs", json=body)
        return PromptRunsStarted.model_validate_json(answer).runs

    def prompt_runs(
        self,
        *,
        prompt_id: str | None = None,
        document_id: str | None = None,
        statuses: Sequence[str] = (),
        skip: int = 0,
        limit: int = 10,
    ) -> Page[PromptRun]:
        """Return a page of runs, latest first. Statuses: any of queued, running, succeeded, failed, cancelled."""
        query: Query = {"prompt_id": prompt_id, "document_id": document_id, "status": list(statuses) or None}
        return self._page("/runs", "runs", PromptRun, query, skip=skip, limit=limit)

    def prompt_run(self, run_id: str) -> PromptRunDetail:
        """Return a run with its steps."""
        return PromptRunDetail.model_validate_json(self._transport.call("GET", f"/runs/{segment(run_id)}"))

    def cancel_prompt_run(self, run_id: str) -> PromptRun:
        """Cancel a run; 409 if it is over."""
        return PromptRun.model_validate_json(self._transport.call("POST", f"/runs/{segment(run_id)}/cancel"))

    def wait_for_runs(self, run_ids: Sequence[str], *, timeout_seconds: float = 600.0) -> list[PromptRunDetail]:
        """Wait until all runs have ended, and return them in this order.

        Raises:
            TransientError: some are unfinished in time; they continue.
        """
        deadline = time.monotonic() + timeout_seconds
        over: dict[str, PromptRunDetail] = {}
        pause = FIRST_POLL_SECONDS
        while True:
            for run_id in run_ids:
                if run_id not in over and (run := self.prompt_run(run_id)).is_over:
                    over[run_id] = run
            if len(over) == len(set(run_ids)):
                return [over[run_id] for run_id in run_ids]
            if time.monotonic() > deadline:
                raise TransientError(
                    f"{len(set(run_ids)) - len(over)} runs have not ended after {timeout_seconds:g} s. They"
                    " continue. Read their state with `prompt_run`."
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL_SECONDS)

    def prompt_results(
        self, prompt_id: str, *, version: int | None = None, is_verified: bool | None = None
    ) -> Iterator[PromptResult]:
        """Yield all matching results of a prompt, oldest first."""
        verified = None if is_verified is None else str(is_verified).lower()
        query: Query = {"version": version, "is_verified": verified}
        return self._all(f"/prompts/{segment(prompt_id)}/results", "results", PromptResult, query)

    def update_prompt_result(
        self,
        prompt_id: str,
        document_id: str,
        *,
        answer: JsonValue = None,
        is_verified: bool | None = None,
        version: int | None = None,
        run_id: str | None = None,
    ) -> PromptResult:
        """Edit an answer or verify it; `run_id`: of the result shown; 409 if another run has replaced it."""
        body = {"answer": answer, "is_verified": is_verified, "run_id": run_id}
        sent = {name: value for name, value in body.items() if value is not None}
        path = f"/prompts/{segment(prompt_id)}/results/{segment(document_id)}"
        return PromptResult.model_validate_json(
            self._transport.call("PUT", path, query={"version": version}, json=sent)
        )

    def export_prompt_results(self, prompt_id: str, *, is_csv: bool = True, version: int | None = None) -> bytes:
        """Return all results of a version (None: the latest) as CSV, or as a JSON list."""
        query: Query = {"format": "csv" if is_csv else "json", "version": version}
        return self._transport.call("GET", f"/prompts/{segment(prompt_id)}/results/export", query=query)
