"""The next move is decided from what was recorded; pure, so that every state is tried without a model."""

import json

from hypothesis import given
from hypothesis import strategies as st

from analytiq import clock
from analytiq.assistants.engine.budget import LEAST_ANSWER_TOKENS
from analytiq.assistants.engine.loop import Ask, CallTools, Fail, Finish, Move
from analytiq.assistants.prompts.answer_schemas import check_answer_schema
from analytiq.assistants.prompts.plan import MAX_CALLS, RESULT_TOKENS, Correct, Spent, plan
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import RecordedCall, RunStep, StepKind

SCHEMA = check_answer_schema({"type": "object", "required": ["a"]})
SEARCHING = PromptConfiguration(text="?", kb_id="k")


def said(text: str = "", *calls: str, is_forced: bool = False) -> RunStep:
    recorded = tuple(RecordedCall(id=call, name="search_knowledge_base", arguments="{}") for call in calls)
    return RunStep(kind=StepKind.MODEL, text=text, at=clock.now(), tool_calls=recorded, is_forced=is_forced)


def found(call: str) -> RunStep:
    return RunStep(kind=StepKind.TOOL, at=clock.now(), call_id=call)


def next_move(
    configuration: PromptConfiguration, *steps: RunStep, spent: Spent | None = None, tokens: int = 10
) -> Move | Correct:
    return plan(configuration, steps, spent or Spent(), conversation_tokens=tokens)


def test_run_begins_by_asking() -> None:
    assert next_move(SEARCHING) == Ask(may_search=True, max_tokens=None)
    assert next_move(PromptConfiguration(text="?")) == Ask(may_search=False, max_tokens=None)


def test_calls_that_have_no_result_yet_are_made_also_after_a_crash_between_them() -> None:
    move = next_move(SEARCHING, said("", "a", "b"), found("a"))
    assert isinstance(move, CallTools)
    assert [call.id for call in move.calls] == ["b"]


def test_ids_that_come_again_in_a_later_round_are_other_calls() -> None:
    move = next_move(SEARCHING, said("", "call_0"), found("call_0"), said("", "call_0"))
    assert isinstance(move, CallTools)


def test_one_round_is_one_answer_without_searching() -> None:
    once = SEARCHING.model_copy(update={"max_iterations": 1})
    assert next_move(once) == Ask(may_search=False, max_tokens=None)


def test_calls_beyond_the_most_of_a_round_are_refused_and_still_answered() -> None:
    move = next_move(SEARCHING, said("", *(f"c{number}" for number in range(MAX_CALLS + 2))))
    assert isinstance(move, CallTools)
    assert len(move.calls) == MAX_CALLS + 2
    assert set(move.refused) == {f"c{MAX_CALLS}", f"c{MAX_CALLS + 1}"}


def test_answer_that_keeps_to_no_schema_is_corrected_once_and_then_fails() -> None:
    configuration = PromptConfiguration(text="?", answer_schema=SCHEMA)
    wrong = said("{}", is_forced=True)
    correction = next_move(configuration, wrong)
    assert isinstance(correction, Correct)
    told = RunStep(kind=StepKind.CORRECTION, text=correction.text, at=clock.now())
    assert next_move(configuration, wrong, told) == Ask(may_search=False, max_tokens=None)
    failure = next_move(configuration, wrong, told, wrong)
    assert isinstance(failure, Fail)
    assert failure.code == "answer_not_by_schema"
    assert next_move(configuration, wrong, told, said('{"a": 1}')) == Finish('{"a": 1}')


def test_budget_is_what_is_left_after_earlier_attempts() -> None:
    configuration = PromptConfiguration(text="?", token_budget=1000)
    assert next_move(configuration, spent=Spent(tokens=500), tokens=100) == Ask(may_search=False, max_tokens=400)
    refused = next_move(configuration, spent=Spent(tokens=900), tokens=100)
    assert isinstance(refused, Fail)
    assert refused.code == "token_budget_exceeded"


def test_answer_under_a_budget_is_no_longer_than_models_can_give_unless_the_prompt_says_so() -> None:
    budgeted = PromptConfiguration(text="?", token_budget=1_000_000)
    assert next_move(budgeted) == Ask(may_search=False, max_tokens=4096)
    longer = budgeted.model_copy(update={"max_tokens": 20_000})
    assert next_move(longer) == Ask(may_search=False, max_tokens=20_000)


def test_no_search_is_offered_whose_passages_could_not_be_read_any_more() -> None:
    configuration = SEARCHING.model_copy(update={"token_budget": 5000})
    assert next_move(configuration, tokens=100) == Ask(may_search=True, max_tokens=4096)
    assert next_move(configuration, spent=Spent(tokens=3000), tokens=100) == Ask(may_search=False, max_tokens=1900)


def test_search_is_offered_as_long_as_its_passages_and_two_more_answers_fit_into_the_budget() -> None:
    # Used, the conversation twice (now and with the passages), one search's passages, two answers.
    least = 1000 + 2 * 700 + RESULT_TOKENS + 2 * LEAST_ANSWER_TOKENS
    enough = SEARCHING.model_copy(update={"token_budget": least})
    scarce = SEARCHING.model_copy(update={"token_budget": least - 1})
    assert next_move(enough, spent=Spent(tokens=1000), tokens=700) == Ask(may_search=True, max_tokens=3828)
    assert next_move(scarce, spent=Spent(tokens=1000), tokens=700) == Ask(may_search=False, max_tokens=3827)


@given(
    behaviour=st.lists(st.sampled_from(["call", "calls", "wrong", "right", "silent"]), min_size=40, max_size=40),
    iterations=st.integers(1, 8),
    has_tool=st.booleans(),
)
def test_every_run_ends_within_its_rounds_whatever_the_model_does(
    behaviour: list[str], iterations: int, has_tool: bool
) -> None:
    configuration = PromptConfiguration(
        text="?", kb_id="k" if has_tool else None, answer_schema=SCHEMA, max_iterations=iterations
    )
    steps: list[RunStep] = []
    asked = 0
    while True:
        move = plan(configuration, steps, Spent(), conversation_tokens=1)
        match move:
            case Ask(may_search):
                assert not may_search or (has_tool and asked + 1 < iterations)
                steps.append(_spoken(behaviour[asked], is_forced=not may_search))
                asked += 1
            case CallTools(calls):
                assert calls
                steps += [found(call.id) for call in calls]
            case Correct(text):
                steps.append(RunStep(kind=StepKind.CORRECTION, text=text, at=clock.now()))
            case Finish(answer):
                assert "a" in json.loads(answer)
                break
            case Fail(code):
                assert code in ("answer_not_by_schema", "empty_answer")
                break
    assert asked <= iterations + 1


def _spoken(behaviour: str, *, is_forced: bool) -> RunStep:
    match behaviour:
        case "call":
            return said("", "c", is_forced=is_forced)
        case "calls":
            return said("thinking", "c", "d", is_forced=is_forced) if not is_forced else said("{}", "c", is_forced=True)
        case "wrong":
            return said("{}", is_forced=is_forced)
        case "right":
            return said('{"a": 1}', is_forced=is_forced)
        case _:
            return said("", is_forced=is_forced)
