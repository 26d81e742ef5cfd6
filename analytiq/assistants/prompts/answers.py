"""Whether what a model said is the answer that was asked for."""

import json
import re
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue

from analytiq.assistants.prompts.answer_schemas import problems_of
from analytiq.inference.llm.base import FinishReason

_FENCE = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*", re.DOTALL)
"""Around JSON, out of habit; what is inside is meant."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer; JSON in one form where there is a schema, else the text. `warning`: what a reader should know."""

    answer: str
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why it is none: a stable code, and sentences that the model can act upon."""

    code: str
    reason: str


def judge(
    text: str, finish_reason: str | None, schema: str | None, *, has_called_tools: bool = False
) -> Accepted | Rejected:
    """Judge what a model said last.

    Args:
        text: what it said.
        finish_reason: why it ended there, as the provider says.
        schema: the JSON schema's text; None: any text that is not empty.
        has_called_tools: though it was offered none.
    """
    if finish_reason == FinishReason.CONTENT_FILTER:
        return Rejected("content_filtered", "the provider's filter withheld the answer")
    is_cut = finish_reason == FinishReason.LENGTH
    if not text.strip():
        if is_cut:
            return Rejected("empty_answer", "the model's tokens were used up before it answered; raise `max_tokens`")
        called = "no tool can be called any more, and there is no answer" if has_called_tools else "the answer is empty"
        return Rejected("empty_answer", called)
    if schema is None:
        return Accepted(text.strip(), "the answer was cut: the model's tokens were used up" if is_cut else None)
    try:
        value = _json_of(text)
    except (ValueError, RecursionError):
        cut = ": it was cut because the tokens were used up; be shorter" if is_cut else ""
        return Rejected("answer_not_json", f"the answer is not JSON{cut}")
    problems = problems_of(value, schema)
    if problems:
        return Rejected("answer_not_by_schema", "the answer does not follow the schema: " + "; ".join(problems))
    return Accepted(json.dumps(value, ensure_ascii=False))


def _json_of(text: str) -> JsonValue:
    fenced = _FENCE.fullmatch(text)
    return json.loads(fenced.group(1) if fenced else text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
