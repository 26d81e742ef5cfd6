"""A tenant that has prompts: what its people do with them, in a word each."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from pydantic import JsonValue

from analytiq.assistants.prompts.answer_schemas import check_answer_schema
from analytiq.assistants.prompts.runs import RunSubject
from analytiq.models.document import Document
from analytiq.models.prompt import Prompt, PromptConfiguration
from analytiq.models.prompt_run import PromptRun, RunStep, StepKind
from analytiq.storage.repositories.prompt_runs import RunQuery
from tests.fakes.chat_server import Call, Say
from tests.integration.tenant import Tenant

MODEL = "hosted_vllm/fake-chat"
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"year": {"type": "integer"}, "animal": {"type": "string"}},
    "required": ["year", "animal"],
    "additionalProperties": False,
}
_NUMBERS = count(1)
ANSWER = {"year": 1007, "animal": "birds"}


def search_for(query: str, **arguments: object) -> Call:
    return Call("search_knowledge_base", {"query": query, **arguments})


def says(answer: object) -> Say:
    return Say(json.dumps(answer))


def tools_of(run: PromptRun) -> list[RunStep]:
    return [step for step in run.steps if step.kind is StepKind.TOOL]


def results_shown(request: Mapping[str, Any]) -> list[Any]:
    """Return the tools' messages of a request to the chat server."""
    return [json.loads(message["content"]) for message in request["messages"] if message["role"] == "tool"]


class Prompting(Tenant):
    """The tenant."""

    async def prompt(
        self, *, name: str | None = None, schema: Mapping[str, JsonValue] | None = None, **fields: Any
    ) -> Prompt:
        """A prompt; it does not run by itself on what is there already."""
        if schema is not None:
            fields["answer_schema"] = check_answer_schema(schema)
        fields.setdefault("text", "Which animal, and in which year?")
        configuration = PromptConfiguration(**fields)
        return await self.services.assistants.prompts.create(
            self.organization, name or f"Prompt {next(_NUMBERS)}", configuration, runs_on_existing=False
        )

    async def ask_for_run(self, prompt: Prompt, subject: Document | str) -> PromptRun:
        """Ask for a run of the latest version; nothing is run yet."""
        version = await self.services.assistants.prompts.version(self.id, prompt.id, None)
        wanted = RunSubject(text=subject) if isinstance(subject, str) else RunSubject(document_ids=(subject.id,))
        (run,) = await self.services.assistants.runs.request(self.organization, version, wanted)
        return run

    async def run(self, prompt: Prompt, subject: Document | str) -> PromptRun:
        """Run the latest version to its end."""
        run = await self.ask_for_run(prompt, subject)
        await self.drain()
        return await self.again(run)

    async def again(self, run: PromptRun) -> PromptRun:
        return await self.services.assistants.runs.get(self.id, run.id)

    async def runs(self) -> list[PromptRun]:
        """All runs, with their steps, oldest first."""
        found, _ = await self.services.assistants.runs.page(self.id, RunQuery(), skip=0, limit=100)
        return [await self.again(run) for run in reversed(found)]
