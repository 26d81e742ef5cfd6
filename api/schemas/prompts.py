"""Request and response bodies of prompts."""

import json
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from analytiq.assistants.prompts.answer_schemas import check_answer_schema
from analytiq.models.prompt import DEFAULT_ITERATIONS, Prompt, PromptConfiguration, PromptVersion
from analytiq.models.prompt_run import RunStatus
from analytiq.retrieval.filters.parser import parse_filter
from api.schemas.documents import FailureResponse
from api.schemas.llm_providers import ModelName
from api.schemas.wire import NO_CONTROLS, NO_NUL, Moment, RequestBody, ResponseBody

PromptName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NO_CONTROLS]
PromptText = Annotated[str, Field(min_length=1, max_length=100_000, description="The task"), NO_NUL]
ModelChoice = Annotated[ModelName | None, Field(description="A chat model; null: the organization's default")]
SchemaChoice = Annotated[
    dict[str, JsonValue] | None,
    Field(description="JSON schema of the answer, an object; null: the answer is a text"),
]
TagChoice = Annotated[
    list[str], Field(max_length=100, description="Run automatically on documents with one of these tags")
]
KbChoice = Annotated[str | None, Field(max_length=64, description="The knowledge base available to the model")]
FilterChoice = Annotated[
    dict[str, JsonValue] | None,
    Field(description="Filter of every search, as in `metadata_filter` of a search; the model can only narrow it"),
]
Temperature = Annotated[float | None, Field(ge=0, le=2)]
AnswerTokens = Annotated[int | None, Field(ge=1, le=1_000_000, description="Maximum tokens of one model response")]
Iterations = Annotated[int, Field(ge=1, le=20, description="Maximum rounds of the model; the last one must answer")]
TokenBudget = Annotated[
    int | None, Field(ge=100, le=100_000_000, description="Maximum input and output tokens of a run")
]
SpuBudget = Annotated[int | None, Field(ge=0, le=1_000_000, description="Maximum SPUs of a run's searches")]
RunsOnExisting = Annotated[bool, Field(description="Also run on existing documents with the tags, at their cost")]

_SCHEMA_EXAMPLE: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"due_date": {"type": "string"}, "total": {"type": "number"}},
    "required": ["due_date", "total"],
    "additionalProperties": False,
}
_STORED_AS_JSON = ("answer_schema", "metadata_filter")


class PromptCreate(RequestBody):
    """A prompt to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "Invoice terms",
                    "text": "When is the invoice due, and what does it come to? Terms are in the knowledge base.",
                    "answer_schema": _SCHEMA_EXAMPLE,
                    "tag_ids": ["507f1f77bcf86cd799439011"],
                    "kb_id": "507f191e810c19729de860ea",
                    "temperature": 0,
                    "max_iterations": 5,
                    "token_budget": 50_000,
                    "spu_budget": 10,
                }
            ]
        },
    )

    name: PromptName
    text: PromptText
    model: ModelChoice = None
    answer_schema: SchemaChoice = None
    tag_ids: TagChoice = Field(default_factory=list[str])
    kb_id: KbChoice = None
    metadata_filter: FilterChoice = None
    temperature: Temperature = None
    max_tokens: AnswerTokens = None
    max_iterations: Iterations = DEFAULT_ITERATIONS
    token_budget: TokenBudget = None
    spu_budget: SpuBudget = None
    runs_on_existing: RunsOnExisting = True

    def configuration(self, tag_ids: list[str]) -> PromptConfiguration:
        """Convert to the library's request.

        Args:
            tag_ids: ids of existing tags.

        Raises:
            InvalidInputError: the schema or the filter is wrong; names the place.
        """
        fields = self.model_dump(exclude={"name", "tag_ids", "runs_on_existing"})
        return PromptConfiguration(**_as_stored(fields), tag_ids=tuple(tag_ids))


class PromptUpdate(RequestBody):
    """Fields to change. Omitted fields stay, null removes. All changes but a rename create a new version."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "When is it due?", "answer_schema": None, "max_iterations": 3}]},
    )

    name: PromptName | None = None
    text: PromptText | None = None
    model: ModelChoice = None
    answer_schema: SchemaChoice = None
    tag_ids: TagChoice | None = None
    kb_id: KbChoice = None
    metadata_filter: FilterChoice = None
    temperature: Temperature = None
    max_tokens: AnswerTokens = None
    max_iterations: Iterations | None = None
    token_budget: TokenBudget = None
    spu_budget: SpuBudget = None
    runs_on_existing: RunsOnExisting = True

    def changes(self) -> dict[str, Any]:
        """Return the sent fields of the configuration as stored.

        Raises:
            InvalidInputError: the schema or the filter is wrong; names the place.
        """
        sent = self.model_dump(include=self.model_fields_set - {"name", "runs_on_existing"})
        # These fields do not accept null.
        always = ("text", "tag_ids", "max_iterations")
        return _as_stored({name: value for name, value in sent.items() if value is not None or name not in always})


def _as_stored(fields: dict[str, Any]) -> dict[str, Any]:
    stored = dict(fields)
    if stored.get("answer_schema") is not None:
        stored["answer_schema"] = check_answer_schema(stored["answer_schema"])
    if stored.get("metadata_filter") is not None:
        parse_filter(stored["metadata_filter"])
        stored["metadata_filter"] = json.dumps(stored["metadata_filter"], ensure_ascii=False)
    return stored


class PromptVersionResponse(ResponseBody):
    """An immutable version of a prompt."""

    prompt_id: str
    version: int
    text: str
    model: str | None
    answer_schema: dict[str, JsonValue] | None
    tag_ids: list[str]
    kb_id: str | None
    metadata_filter: dict[str, JsonValue] | None
    temperature: float | None
    max_tokens: int | None
    max_iterations: int
    token_budget: int | None
    spu_budget: int | None
    created_at: Moment

    @classmethod
    def from_version(cls, version: PromptVersion | Prompt, **values: object) -> Self:
        """Build the response; `values` are additional fields."""
        return cls.from_model(version, **_shown(version.configuration), **values)


class PromptResponse(PromptVersionResponse):
    """A prompt in its latest version."""

    name: str
    updated_at: Moment

    @classmethod
    def from_prompt(cls, prompt: Prompt, **values: object) -> Self:
        """Build the response; `values` are additional fields."""
        return cls.from_version(prompt, prompt_id=prompt.id, **values)


class LastRunResponse(ResponseBody):
    """A summary of a run."""

    run_id: str = Field(validation_alias="id")
    version: int
    status: RunStatus
    error: FailureResponse | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None


class ListedPromptResponse(PromptResponse):
    """A prompt of a list with the fields requested by `include`."""

    kb_name: str | None = Field(description="null: not requested, no knowledge base, or a deleted one")
    last_run: LastRunResponse | None = Field(description="null: not requested, or no run yet")


def _shown(configuration: PromptConfiguration) -> dict[str, Any]:
    fields = configuration.model_dump()
    return {
        name: json.loads(value) if name in _STORED_AS_JSON and value is not None else value
        for name, value in fields.items()
    }


class PromptList(ResponseBody):
    """A page of prompts."""

    prompts: list[ListedPromptResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int


class PromptVersionList(ResponseBody):
    """A page of a prompt's versions."""

    versions: list[PromptVersionResponse]
    total_count: int = Field(description="Number of versions on all pages")
    skip: int
