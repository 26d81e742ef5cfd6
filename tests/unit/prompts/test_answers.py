"""Results of the model's answers."""

import pytest

from analytiq.assistants.prompts.answers import Rejected, judge

SCHEMA = '{"type": "object", "properties": {"year": {"type": "integer"}}}'


@pytest.mark.parametrize(
    ("text", "finish_reason"),
    [("", "stop"), ("It was 1007.", "stop"), ('{"year": 10', "length"), ('{"year": "1007"}', "stop")],
)
def test_reason_of_a_rejection_is_a_sentence(text: str, finish_reason: str) -> None:
    verdict = judge(text, finish_reason, SCHEMA, has_called_tools=False)

    assert isinstance(verdict, Rejected)
    assert verdict.reason[0].isupper()
    assert verdict.reason.endswith(".")
