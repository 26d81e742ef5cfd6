"""Slack's markup becomes Markdown that reads the same."""

import pytest

from analytiq.ingestion.sources.systems.slack.mrkdwn import Mrkdwn

NAMES = {"U1": "Ada Lovelace"}
MRKDWN = Mrkdwn(people=lambda user_id: NAMES.get(user_id, user_id), channels={"C1": "general"})


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("*bold* _italic_ ~gone~", "**bold** _italic_ ~~gone~~"),
        ("<@U1> and <@U2|grace>", "@Ada Lovelace and @grace"),
        ("see <#C1> and <#C9|old>", "see #general and #old"),
        ("<!here> <!subteam^S1|@ops> <!date^1392734382^{date}|Feb 18, 2014>", "@here @ops Feb 18, 2014"),
        ("<https://example.com/a?b=1&amp;c=2|the *page*>", "[the *page*](<https://example.com/a?b=1&c=2>)"),
        ("<https://example.com>", "<https://example.com>"),
        ("<javascript:alert(1)|click>", "click"),
        ("a `x &lt; *y*` b", "a `x < *y*` b"),
        ("Try:\n```if a &lt; b:\n    *c* = <@U1>```\nDone", "Try:\n\n```\nif a < b:\n    *c* = <@U1>\n```\n\nDone"),
        ("• one\n• two\n    ◦ three", "- one\n- two\n    - three"),
        ("&gt; a quote\nno quote", "> a quote\n\nno quote"),
        ("first\nsecond", "first\\\nsecond"),
        ("# no heading [x](y) snake_case_name 2 * 3 * 4", "\\# no heading \\[x\\](y) snake_case_name 2 * 3 * 4"),
        ("&lt;script&gt;alert(1)&lt;/script&gt; &amp;amp;", "&lt;script>alert(1)&lt;/script> &amp;amp;"),
        ("\ue0000\ue001 `code`", "0 `code`"),
    ],
)
def test_markup_becomes_markdown(text: str, markdown: str) -> None:
    assert MRKDWN.markdown(text) == markdown


@pytest.mark.parametrize("piece", ["*", "<", "`", "```", "&gt;", "~a", "*a ", "<@", "\n> ", "•"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    assert len(MRKDWN.markdown(piece * 50_000)) <= 1_500_000
