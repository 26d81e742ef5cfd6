"""Judge of a model's final answer: acceptable, or the reason why not."""

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue

from analytiq.assistants.prompts.answer_schemas import problems_of
from analytiq.inference.llm.base import FinishReason

_FENCE = re.compile(r"```[a-zA-Z]*+[^\S\n]*+\n(.*)```", re.DOTALL)
"""A code fence around JSON, which models add out of habit; its content counts."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted answer: canonical JSON if there is a schema, else text. `warning` is for its reader."""

    answer: str
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejected answer: a stable code, and sentences that the model can act upon."""

    code: str
    reason: str


def judge(
    text: str, finish_reason: str | None, schema: str | None, *, has_called_tools: bool = False
) -> Accepted | Rejected:
    """Judge the model's final answer.

    Args:
        text: the answer.
        finish_reason: the provider's reason for the end.
        schema: the JSON schema's text; None accepts any text that is not empty.
        has_called_tools: whether the model called tools although none was offered.
    """
    if finish_reason == FinishReason.CONTENT_FILTER:
        return Rejected("content_filtered", "The provider's filter withheld the answer.")
    is_cut = finish_reason == FinishReason.LENGTH
    if not text.strip():
        if is_cut:
            return Rejected("empty_answer", "The model's tokens were used up before it answered. Raise `max_tokens`.")
        called = (
            "No further tool call is allowed, and the answer is empty." if has_called_tools else "The answer is empty."
        )
        return Rejected("empty_answer", called)
    if schema is None:
        return Accepted(text.strip(), "The answer was cut because the model's tokens were used up." if is_cut else None)
    try:
        value = _json_of(text)
    except (ValueError, RecursionError):
        cut = " It was cut because the tokens were used up: be shorter." if is_cut else ""
        return Rejected("answer_not_json", f"The answer is not JSON.{cut}")
    problems = problems_of(value, schema)
    if problems:
        return Rejected("answer_not_by_schema", f"The answer does not follow the schema: {'; '.join(problems)}.")
    return Accepted(json.dumps(value, ensure_ascii=False))


def _json_of(text: str) -> JsonValue:
    fenced = _FENCE.fullmatch(text.strip())
    return json.loads(fenced.group(1) if fenced else text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
