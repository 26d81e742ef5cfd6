"""Prompts: tasks for a chat model about documents, in immutable versions."""

from datetime import datetime

from analytiq.models.stored import Stored

DEFAULT_ITERATIONS = 5
"""Rounds of the model by default."""


class PromptConfiguration(Stored):
    """All settings that shape an answer.

    `answer_schema` and `metadata_filter` are JSON texts: as BSON, a schema's `$ref` would come back as a database
    pointer, and keys may be anything. `model` None: the organization's default at the time of the run. The budgets are
    per run: tokens of the chat model, in and out, and SPUs of its searches.
    """

    text: str
    model: str | None = None
    answer_schema: str | None = None
    tag_ids: tuple[str, ...] = ()
    kb_id: str | None = None
    metadata_filter: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    max_iterations: int = DEFAULT_ITERATIONS
    token_budget: int | None = None
    spu_budget: int | None = None

    def without_tag(self, tag_id: str) -> "PromptConfiguration":
        """Return the configuration without the tag, so that it no longer runs on the tag's documents."""
        return self.model_copy(update={"tag_ids": tuple(each for each in self.tag_ids if each != tag_id)})

    def without_knowledge_base(self) -> "PromptConfiguration":
        """Return the configuration without a knowledge base to search."""
        return self.model_copy(update={"kb_id": None, "metadata_filter": None})


class Prompt(Stored):
    """A row of `prompts`; `configuration` is that of the latest `version`."""

    id: str
    organization_id: str
    name: str
    version: int
    configuration: PromptConfiguration
    created_at: datetime
    updated_at: datetime


class PromptVersion(Stored):
    """A row of `prompt_versions`; written once."""

    id: str
    organization_id: str
    prompt_id: str
    version: int
    configuration: PromptConfiguration
    created_at: datetime
