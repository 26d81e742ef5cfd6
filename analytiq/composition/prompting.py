"""Puts together prompts: their versions, what starts a run, the loop of a run, and the results."""

from dataclasses import dataclass

from analytiq.assistants.prompts.export import ResultExport
from analytiq.assistants.prompts.results import PromptResults
from analytiq.assistants.prompts.running import PromptRunning, RunRows
from analytiq.assistants.prompts.runs import PromptRuns
from analytiq.assistants.prompts.service import Prompts
from analytiq.assistants.prompts.triggers import PromptTriggers
from analytiq.inference.llm.service import ChatService
from analytiq.retrieval.search.service import Search
from analytiq.settings import PromptSettings
from analytiq.storage.all_repositories import Repositories


@dataclass(frozen=True, slots=True)
class Prompting:
    """Prompts, from being written to their results."""

    prompts: Prompts
    runs: PromptRuns
    triggers: PromptTriggers
    running: PromptRunning
    results: PromptResults
    export: ResultExport


def new_prompting(rows: Repositories, chat: ChatService, search: Search, settings: PromptSettings) -> Prompting:
    """Prompts and their runs, which search as people do."""
    run_rows = RunRows(
        rows.organizations,
        rows.prompts,
        rows.prompt_runs,
        rows.prompt_results,
        rows.documents,
        rows.texts,
        rows.llm_usage,
        rows.jobs,
    )
    return Prompting(
        prompts=Prompts(rows.connection, rows.prompts, rows.tags, rows.knowledge_bases, rows.jobs, chat),
        runs=PromptRuns(rows.connection, rows.prompt_runs, rows.documents, rows.jobs, chat),
        triggers=PromptTriggers(
            rows.connection,
            rows.prompts,
            rows.prompt_runs,
            rows.prompt_results,
            rows.documents,
            rows.jobs,
            rows.holds,
        ),
        running=PromptRunning(rows.connection, run_rows, chat, search, settings),
        results=PromptResults(rows.prompt_results),
        export=ResultExport(rows.prompt_results, rows.documents),
    )
