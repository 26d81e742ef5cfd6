"""A Slack workspace as a source: threads and days follow edits, deletions and replies."""

from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import NotFoundError, PermanentError, RateLimitedError
from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.slack.wire import day_of
from tests.fakes.slack_server import TOKEN, SlackServer
from tests.fakes.source_runs import SourceRuns

DAY = 86_400
NOW = int(clock.now().timestamp()) // DAY * DAY
"""The beginning of today."""


def at(days: int, seconds: int = 0) -> str:
    """Return the timestamp some days ago."""
    return f"{NOW - days * DAY + seconds}.000100"


def date_of(days: int) -> str:
    """Return the day some days ago."""
    return str(day_of(at(days)))


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        server.page_size = 3
        for user_id, name in (("U0ADA", "Ada Lovelace"), ("U0BOB", "Bob")):
            server.add_user(user_id, name)
        general = server.add_channel("C0GENERAL", "general")
        server.post(general.id, at(100, 10), "Old *plain* message", user="U0BOB")
        server.post(general.id, at(99), "How do I reset <@U0BOB>'s password?\nIt is <https://example.com|urgent>")
        for number in range(5):
            server.post(general.id, at(99, 60 + number), f"Answer {number}", thread_ts=at(99), user="U0BOB")
        server.post(general.id, at(3, 10), "Recent one")
        server.post(general.id, at(3, 20), "Recent two")
        server.post(general.id, at(3, 30), "joined", subtype="channel_join")
        server.post(general.id, at(1), "Young thread")
        server.post(general.id, at(1, 50), "Young reply", thread_ts=at(1))
        yield server


def source_of(server: SlackServer, **settings: JsonValue) -> SourceRuns:
    addresses: dict[str, JsonValue] = {"api_url": f"{server.url}/api", "files_url": f"{server.url}/files"}
    return SourceRuns("slack", {**addresses, **settings}, {"token": TOKEN})


OLD_THREAD = f"C0GENERAL:{at(99)}"
YOUNG_THREAD = f"C0GENERAL:{at(1)}"


async def test_threads_and_days_are_documents(slack: SlackServer) -> None:
    ran = await source_of(slack).run()
    days = {f"C0GENERAL:{date_of(100)}", f"C0GENERAL:{date_of(3)}"}
    assert ran.fetched.keys() == {OLD_THREAD, YOUNG_THREAD, *days}
    assert ran.fetched[OLD_THREAD].startswith(
        f"# How do I reset @Bob's password? It is urgent\n\n**Ada Lovelace** ({date_of(99)} 00:00 UTC):\n\n"
        "How do I reset @Bob's password?\\\nIt is [urgent](<https://example.com>)\n\n"
        f"**Bob** ({date_of(99)} 00:01 UTC):\n\nAnswer 0\n"
    )
    recent = ran.fetched[f"C0GENERAL:{date_of(3)}"]
    assert recent.startswith(f"# #general, {date_of(3)}\n")
    assert recent.index("Recent one") < recent.index("Recent two")
    assert "joined" not in recent
    item = ran.items[OLD_THREAD]
    assert item.name == f"general/{date_of(99)} How do I reset @…'s password? It is urgent.md"
    assert item.source_url == f"https://example.slack.com/archives/C0GENERAL/p{at(99).replace('.', '')}"
    assert item.access == ItemAccess(is_public=True)


async def test_second_run_reads_no_thread_that_is_as_it_was(slack: SlackServer) -> None:
    source = source_of(slack)
    await source.run()
    source.since = None
    slack.calls.clear()
    ran = await source.run()
    assert not ran.fetched
    assert len(ran.items) == 4
    # The look-back of a whole listing reads the young thread again; names are needed by nothing.
    assert slack.calls.count("conversations.replies") == 1
    assert "users.list" not in slack.calls


async def test_changes_follow_edits_deletions_and_replies(slack: SlackServer) -> None:
    source = source_of(slack)
    await source.run()
    slack.edit("C0GENERAL", at(3, 10), "Recent, edited")
    slack.edit("C0GENERAL", at(1, 50), "Young reply, edited", thread_ts=at(1))
    slack.post("C0GENERAL", at(0), "Told to all", thread_ts=at(99), subtype="thread_broadcast", user="U0BOB")
    slack.calls.clear()
    ran = await source.run()
    assert ran.is_delta
    assert ran.fetched.keys() == {f"C0GENERAL:{date_of(3)}", YOUNG_THREAD, OLD_THREAD}
    assert "Recent, edited" in ran.fetched[f"C0GENERAL:{date_of(3)}"]
    assert f"**Ada Lovelace** ({date_of(1)} 00:00 UTC, edited):" in ran.fetched[YOUNG_THREAD]
    assert "Told to all" in ran.fetched[OLD_THREAD]
    assert not ran.removed

    slack.delete("C0GENERAL", at(3, 10))
    slack.delete("C0GENERAL", at(3, 20))
    slack.delete("C0GENERAL", at(1, 50), thread_ts=at(1))
    ran = await source.run()
    assert ran.removed == {f"C0GENERAL:{date_of(3)}", YOUNG_THREAD}
    assert "Young thread" in ran.fetched[f"C0GENERAL:{date_of(1)}"]


async def test_whole_listing_finds_new_replies_in_old_threads_and_deleted_ones(slack: SlackServer) -> None:
    source = source_of(slack)
    await source.run()
    slack.post("C0GENERAL", at(0), "A late answer", thread_ts=at(99))
    slack.delete("C0GENERAL", at(100, 10))
    source.since = None
    ran = await source.run()
    assert "A late answer" in ran.fetched[OLD_THREAD]
    assert ran.removed == {f"C0GENERAL:{date_of(100)}"}
    slack.delete("C0GENERAL", at(99))
    source.since = None
    assert "(This message was deleted.)" in (await source.run()).fetched[OLD_THREAD]


async def test_new_channel_is_listed_whole_and_a_left_one_ends_the_changes(slack: SlackServer) -> None:
    source = source_of(slack)
    await source.run()
    slack.add_channel("C0NEW", "new")
    slack.post("C0NEW", at(400), "Ancient")
    ran = await source.run()
    assert ran.is_delta
    assert ran.fetched.keys() == {f"C0NEW:{date_of(400)}"}
    slack.channels["C0GENERAL"].is_member = False
    ran = await source.run()
    assert not ran.is_delta
    assert ran.removed == {OLD_THREAD, YOUNG_THREAD, f"C0GENERAL:{date_of(100)}", f"C0GENERAL:{date_of(3)}"}


async def test_channels_are_chosen_by_name_id_and_pattern(slack: SlackServer) -> None:
    for number, name in enumerate(("team-a", "team-b", "random", "left", "old")):
        slack.add_channel(f"C0{number}", name, is_member=name != "left", is_archived=name == "old")
        slack.post(f"C0{number}", at(5), "Hello")
    ran = await source_of(slack, channels=["#team-*", "C02", "left", "old"]).run()
    assert {item.name for item in ran.items.values()} == {
        f"{name}/{date_of(5)}.md" for name in ("team-a", "team-b", "random")
    }
    assert len(ran.problems) == 2
    assert ran.problems[0].startswith("#left: no such channel, or it is archived, or the app is no member.")
    connector = source_of(slack, channels=["left"]).connect()
    with pytest.raises(NotFoundError, match="Invite the app"):
        await connector.check()
    await connector.close()
    archived = source_of(slack, channels=["old"], archived_channels=True)
    assert len((await archived.run()).items) == 1


async def test_members_of_a_private_channel_may_read_it(slack: SlackServer) -> None:
    slack.add_channel("G0SECRET", "secret", is_private=True, members=["U0BOB", "U0NEW", "U0ADA"])
    slack.post("G0SECRET", at(5), "Hush")
    ran = await source_of(slack, channels=["secret"]).run()
    (item,) = ran.items.values()
    people = ("u0ada@example.com", "u0bob@example.com", "U0NEW")
    assert item.access == ItemAccess(people=people, groups=("G0SECRET",))
    slack.scopes -= {"groups:read"}
    refused = await source_of(slack, channels=["secret"]).run()
    assert isinstance(refused.error, CredentialsRefusedError)
    assert '"groups:read"' in refused.error.detail
    assert len((await source_of(slack, private_channels=False).run()).items) == 4


async def test_private_channel_that_is_deleted_meanwhile_is_a_problem_of_its_own(slack: SlackServer) -> None:
    slack.add_channel("B0SECRET", "secret", is_private=True, members=["U0BOB"])
    slack.change = lambda method, _: slack.channels.pop("B0SECRET", None) if method == "conversations.members" else None
    ran = await source_of(slack).run()
    assert ran.error is None
    assert ran.problems == ["#secret: The channel does not exist, or the app may not see it."]
    assert len(ran.items) == 4


@pytest.mark.parametrize(
    ("refusal", "error", "words"),
    [
        ("token_revoked", CredentialsRefusedError, "The token was revoked. Install the app again"),
        ("invalid_auth", CredentialsRefusedError, "does not know the token"),
        ("ratelimited", RateLimitedError, "asks to wait"),
        ("brand_new_error\n", Exception, 'refuses conversations.list: "brand_new_error\\n"'),
    ],
)
async def test_refusals_are_told_in_words(slack: SlackServer, refusal: str, error: type[Exception], words: str) -> None:
    slack.refused = refusal
    ran = await source_of(slack).run()
    assert isinstance(ran.error, error)
    assert words in ran.error.detail
    assert TOKEN not in ran.error.detail


async def test_what_was_read_before_a_rate_limit_is_taken_in(slack: SlackServer) -> None:
    source = source_of(slack)
    slack.page_size = 100
    slack.change = lambda method, _: (
        slack.limited.update({method: [60]})
        if method == "conversations.replies" and slack.calls.count(method) % 2 == 0
        else None
    )
    first = await source.run()
    assert isinstance(first.error, RateLimitedError)
    assert first.error.retry_after == 60
    assert first.items.keys() == {YOUNG_THREAD, f"C0GENERAL:{date_of(3)}"}
    rest = await source.run()
    assert rest.error is None
    assert rest.items.keys() == {OLD_THREAD, f"C0GENERAL:{date_of(100)}"}


async def test_files_come_from_slack_only_and_the_token_goes_nowhere_else(slack: SlackServer) -> None:
    files = [
        slack.add_file("F0NOTES", "notes.txt", b"Some notes"),
        slack.add_file("F0EVIL", "evil.txt", b"x", url_private_download=f"{slack.url}/elsewhere/evil.txt"),
        slack.add_file("F0DRIVE", "drive.txt", b"x", is_external=True, mode="external"),
    ]
    slack.post("C0GENERAL", at(99, 70), "See these", thread_ts=at(99), files=files)
    slack.add_channel("C0OTHER", "other")
    slack.post("C0OTHER", at(2), "", files=[slack.add_file("F0OTHER", "other.txt", b"Of others")])
    source = source_of(slack, channels=["general"], files=True)
    ran = await source.run()
    notes = "C0GENERAL:file:F0NOTES"
    assert ran.fetched[notes] == "Some notes"
    assert ran.items[notes].name == "general/files/2023-11-14 notes.txt"
    assert "File: [notes.txt](<https://example.slack.com/files/F0NOTES>)" in ran.fetched[OLD_THREAD]
    assert ran.failed.keys() == {"C0GENERAL:file:F0EVIL", "C0GENERAL:file:F0DRIVE"}
    assert slack.tokens == [("/files/notes.txt", f"Bearer {TOKEN}")]
    source.since = None
    again = await source.run()
    assert again.items[notes] == ran.items[notes]
    assert not again.fetched
    connector = source.connect()
    assert await connector.find("C0GENERAL:file:F0OTHER") is None
    assert await connector.find(notes) == ran.items[notes]
    await connector.close()


async def test_login_page_instead_of_a_file_is_told(slack: SlackServer) -> None:
    slack.post("C0GENERAL", at(2), "", files=[slack.add_file("F0NOTES", "notes.txt", b"Some notes")])
    original = slack.scopes.copy()
    source = source_of(slack, files=True)
    slack.change = lambda method, _: slack.scopes.update(original) if method == "files.info" else None
    connector = source.connect()
    found = await connector.find("C0GENERAL:file:F0NOTES")
    assert found is not None
    content = (await connector.fetch(found)).content
    slack.scopes.discard("files:read")
    with pytest.raises(CredentialsRefusedError, match="files:read"):
        async for _ in content:
            pass
    await connector.close()


async def test_pages_without_end_and_unreadable_messages_end(slack: SlackServer) -> None:
    slack.channels["C0GENERAL"].messages["x"] = {"ts": at(2), "text": 5}
    assert len((await source_of(slack).run()).items) == 4
    slack.channels["C0GENERAL"].messages.pop("x")

    slack.endless = "conversations.history"
    ran = await source_of(slack).run()
    assert ran.error is None
    assert ran.problems == ["#general: Slack lists messages that do not lead back in time. Run again later."]
    slack.endless = "conversations.list"
    slack.channels.clear()
    assert isinstance((await source_of(slack).run()).error, PermanentError)
