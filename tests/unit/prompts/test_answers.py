"""What an answer of the model comes to."""

import pytest

from analytiq.assistants.prompts.answers import Rejected, judge

SCHEMA = '{"type": "object", "properties": {"year": {"type": "integer"}}}'


@pytest.mark.parametrize(
    ("text", "finish_reason"),
    [("", "stop"), ("It was 1007.", "stop"), ('{"year": 10', "length"), ('{"year": "1007"}', "stop")],
)
def test_reason_of_a_rejection_is_part_of_a_sentence_that_goes_on(text: str, finish_reason: str) -> None:
    verdict = judge(text, finish_reason, SCHEMA, has_called_tools=False)

    assert isinstance(verdict, Rejected)
    assert not verdict.reason.endswith(".")
