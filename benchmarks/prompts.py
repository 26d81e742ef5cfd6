"""The overhead of a prompt's run over its model calls: two searches and an answer, and the plain calls.

    python -m benchmarks.prompts [--short]

The model is a fake on this machine that answers at once (tests/fakes/chat_server.py), so that all of the time is the
platform's: `run` is from a worker's beginning to the commit of the result; `calls` is three calls of the same messages
through the same service, `searches` two searches of the same questions, both without a run around them.
"""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from pydantic import SecretStr

from analytiq.assistants.prompts.conversation import messages_of, opening
from analytiq.assistants.prompts.runs import RunSubject
from analytiq.inference.llm.base import Options
from analytiq.inference.llm.service import Purpose
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import PromptRun, RunStatus
from analytiq.retrieval.pipeline.request import SearchRequest
from benchmarks import report
from benchmarks.platform_under_test import Platform, platform, running_server
from tests.fakes.chat_server import Call, ChatServer, Say

MODEL = "gpt-4o-mini"
"""A model name allowed with the platform's key; the fake answers."""
QUESTIONS = ("When is payment due?", "What is the late fee?")
TEXT = "Invoice 7: 120 EUR for services in May. " * 50


async def make_runs(running: Platform, chat: ChatServer, count: int) -> list[PromptRun]:
    """Run prompts one after another, each by the runner of this process."""
    services, organization = running.services, running.organization
    kb = await running.create_knowledge_base(model="local/all-minilm-l6-v2")
    await services.jobs.new_runner().run_until_idle()
    configuration = PromptConfiguration(text="When is it due?", model=MODEL, kb_id=kb.id)
    prompt = await services.assistants.prompts.create(organization, "Benchmark", configuration)
    version = await services.assistants.prompts.version(organization.id, prompt.id, None)
    runs: list[PromptRun] = []
    for _ in range(count):
        chat.script(
            *(Say(tool_calls=[Call("search_knowledge_base", {"query": question})]) for question in QUESTIONS),
            Say("Within thirty days."),
        )
        (asked,) = await services.assistants.runs.request(organization, version, RunSubject(text=TEXT))
        await services.jobs.new_runner().run_until_idle()
        runs.append(await services.assistants.runs.get(organization.id, asked.id))
    return runs


async def make_calls(running: Platform, run: PromptRun, count: int) -> list[float]:
    """Measure the seconds of a run's three calls, made directly."""
    first = opening(PromptConfiguration(text="When is it due?"), TEXT, name=None, cut_after=None, boundary=run.id)
    conversations = [messages_of(first, run.steps[:end]) for end in (0, 2, 4)]
    purpose = Purpose(LlmOperation.PROMPT)
    seconds: list[float] = []
    for _ in range(count):
        began = perf_counter()
        for messages in conversations:
            await running.services.inference.chat_models.complete(
                running.organization, messages, Options(), purpose, model=MODEL
            )
        seconds.append(perf_counter() - began)
    return seconds


async def make_searches(running: Platform, run: PromptRun, count: int) -> list[float]:
    """Measure the seconds of a run's two searches, made directly."""
    prompt = await running.services.assistants.prompts.get(running.organization.id, run.prompt_id)
    seconds: list[float] = []
    for _ in range(count):
        began = perf_counter()
        for question in QUESTIONS:
            await running.services.retrieval.search.search(
                running.organization, prompt.configuration.kb_id or "", SearchRequest(question)
            )
        seconds.append(perf_counter() - began)
    return seconds


async def measure(running: Platform, chat: ChatServer, *, count: int) -> list[str]:
    """Measure the only row."""
    key = SecretStr(chat.api_key)
    await running.services.inference.credentials.store_platform_defaults({"openai": (key, chat.url)})
    runs = await make_runs(running, chat, count)
    assert all(run.status is RunStatus.SUCCEEDED for run in runs), runs[0].error
    spent = [(run.ended_at - run.started_at).total_seconds() for run in runs if run.ended_at and run.started_at]
    calls, searches = await make_calls(running, runs[-1], count), await make_searches(running, runs[-1], count)
    rest = report.median(spent) - report.median(calls) - report.median(searches)
    medians = [f"{report.median(values) * 1000:.0f}" for values in (spent, calls, searches)]
    return [str(count), *medians, f"{rest / report.median(spent):.0%}"]


async def run(*, short: bool) -> None:
    """Measure and print."""
    report.print_heading("Runs of prompts")
    with ChatServer() as chat:
        async with running_server() as server, platform(server, "prompts") as running:
            row = await measure(running, chat, count=10 if short else 100)
    report.print_table(["runs", "run p50 ms", "calls p50 ms", "searches p50 ms", "share of the rest"], [row])


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = report.arguments(__doc__ or "", repeats=1)
    asyncio.run(run(short=parser.parse_args(argv).short))


if __name__ == "__main__":
    main()
