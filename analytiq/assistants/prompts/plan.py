"""The next move of a run, decided from its recorded steps. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from analytiq.assistants.engine.budget import LEAST_ANSWER_TOKENS, TokenBudget
from analytiq.assistants.engine.loop import Ask, CallTools, Fail, Finish, Move, refuse_beyond
from analytiq.assistants.engine.search_tool import Refusal
from analytiq.assistants.prompts.answers import Rejected, judge
from analytiq.inference.llm.base import ToolCall
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import RunStep, StepKind

BUDGETED_ANSWER_TOKENS = 4096
"""Tokens of an answer under a budget if the prompt names no `max_tokens`. Providers refuse more than a model can give,
and a budget often leaves more."""
MAX_CALLS = 8
"""Calls of one round; further calls are refused."""
RESULT_TOKENS = 3000
"""Tokens of the passages of one search."""
ROUND_TOKENS = 8000
"""Tokens of all passages of one round."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of a run so far, over all of its attempts."""

    tokens: int = 0
    spus: int = 0


@dataclass(frozen=True, slots=True)
class Correct:
    """Send the model the fault of its answer."""

    text: str


def plan(
    configuration: PromptConfiguration, steps: Sequence[RunStep], spent: Spent, *, conversation_tokens: int
) -> Move | Correct:
    """Decide the next move.

    The model is asked at most `max_iterations` times, and once more to correct an answer. The last of these rounds and
    the correction offer no tool. Budgets are checked before each call, against its least cost.

    Args:
        configuration: the prompt version's configuration.
        steps: the steps so far.
        spent: the usage of these steps and of earlier attempts.
        conversation_tokens: the tokens of the next question, without its answer.
    """
    last = next((step for step in reversed(steps) if step.kind is StepKind.MODEL), None)
    after = steps[_place(steps, last) + 1 :] if last is not None else ()
    if last is None or any(step.kind is StepKind.CORRECTION for step in after):
        return _ask(configuration, steps, spent, conversation_tokens)
    if last.tool_calls and not last.is_forced:
        answered = {step.call_id for step in after}
        waiting = tuple(
            ToolCall(call.id, call.name, call.arguments) for call in last.tool_calls if call.id not in answered
        )
        if waiting:
            return _call(configuration, waiting, spent)
        return _ask(configuration, steps, spent, conversation_tokens)
    return _judge(configuration, steps, last)


def _ask(
    configuration: PromptConfiguration, steps: Sequence[RunStep], spent: Spent, conversation_tokens: int
) -> Ask | Fail:
    rounds = sum(step.kind is StepKind.MODEL for step in steps)
    is_corrected = any(step.kind is StepKind.CORRECTION for step in steps)
    may_search = configuration.kb_id is not None and not is_corrected and rounds + 1 < configuration.max_iterations
    budget = configuration.token_budget
    left = TokenBudget(budget, spent.tokens).left_after(conversation_tokens)
    if budget is None or left is None:
        return Ask(may_search, configuration.max_tokens)
    if left < LEAST_ANSWER_TOKENS:
        return Fail(
            "token_budget_exceeded",
            f"The run has used {spent.tokens:,} tokens, and the next call needs {conversation_tokens:,}"
            f" and an answer: more than its budget of {budget:,}. Raise `token_budget`, or shorten the"
            " prompt or its input.",
        )
    # A search is worth its price only if the model can read its passages and answer.
    is_affordable = left >= LEAST_ANSWER_TOKENS + conversation_tokens + RESULT_TOKENS + LEAST_ANSWER_TOKENS
    most = min(left, configuration.max_tokens or BUDGETED_ANSWER_TOKENS)
    return Ask(may_search and is_affordable, most)


def _call(configuration: PromptConfiguration, waiting: tuple[ToolCall, ...], spent: Spent) -> CallTools:
    refused = refuse_beyond(waiting, MAX_CALLS)
    if configuration.spu_budget is not None:
        # A repeated question is free, but only its search tells.
        left = max(0, configuration.spu_budget - spent.spus)
        unpaid = Refusal("spu_budget_exceeded", "No further search is paid for. Answer from what you have.")
        refused |= {call.id: unpaid for call in waiting[min(left, MAX_CALLS) : MAX_CALLS]}
    made = max(1, min(len(waiting), MAX_CALLS))
    return CallTools(waiting, refused, min(RESULT_TOKENS, ROUND_TOKENS // made))


def _judge(configuration: PromptConfiguration, steps: Sequence[RunStep], last: RunStep) -> Correct | Finish | Fail:
    verdict = judge(last.text, last.finish_reason, configuration.answer_schema, has_called_tools=bool(last.tool_calls))
    if not isinstance(verdict, Rejected):
        return Finish(verdict.answer, verdict.warning)
    is_corrected = any(step.kind is StepKind.CORRECTION for step in steps)
    if is_corrected or verdict.code == "content_filtered":
        again = " The model was told so once." if is_corrected else ""
        return Fail(verdict.code, f"{verdict.reason}{again}")
    return Correct(f"Your answer does not fulfil the task. {verdict.reason} Answer again, whole and with nothing else.")


def _place(steps: Sequence[RunStep], step: RunStep) -> int:
    return next(place for place in range(len(steps) - 1, -1, -1) if steps[place] is step)
