"""A Zendesk as a source: articles in each language, and tickets with their public comments."""

from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, RateLimitedError
from analytiq.ingestion.sources.base import ItemAccess, ItemGoneError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from tests.fakes.source_runs import SourceRuns
from tests.fakes.zendesk_server import ACCESS_TOKEN, EMAIL, TOKEN, ZendeskServer


@pytest.fixture
def zendesk() -> Iterator[ZendeskServer]:
    with ZendeskServer() as server:
        server.page_size = 2
        server.locales = ["en-us", "de"]
        server.categories[1] = {"id": 1, "name": "Billing"}
        server.sections[2] = {"id": 2, "name": "Invoices", "category_id": 1, "parent_section_id": None}
        server.sections[3] = {"id": 3, "name": "Old / new", "category_id": 1, "parent_section_id": 2}
        server.segments[8] = {"id": 8, "name": "Agents", "user_type": "staff"}
        server.segments[9] = {"id": 9, "name": "Signed in", "user_type": "signed_in_users", "group_ids": []}
        server.add_article(11, "Pay <now>", "<p>How to pay.</p>", section_id=3)
        server.add_article(11, "Zahlen", "<p>So geht es.</p>", locale="de", section_id=3)
        server.add_article(12, "For agents", "<p>Secret.</p>", user_segment_id=8, section_id=2)
        server.add_article(13, "For all signed in", "<p>Hi.</p>", user_segment_id=9)
        server.add_article(14, "Draft", "<p>Soon.</p>", draft=True)
        server.users = {1: {"id": 1, "name": "Ada", "email": "ada@example.com"}, 2: {"id": 2, "name": "Bob"}}
        server.add_ticket(21, "It <fails>")
        server.add_comment(21, "<p>It broke.</p>")
        server.add_comment(21, "<p>They forgot to pay.</p>", public=False, author_id=2)
        server.add_comment(21, "<p>Fixed.</p>", author_id=2)
        server.add_ticket(22, "Only notes", is_public=False)
        server.add_comment(22, "<p>Note.</p>", public=False)
        yield server


def source_of(server: ZendeskServer, **settings: JsonValue) -> SourceRuns:
    return SourceRuns("zendesk", {"url": server.url, **settings}, {"email": EMAIL, "api_token": TOKEN})


async def test_articles_of_each_language_are_documents(zendesk: ZendeskServer) -> None:
    ran = await source_of(zendesk).run()
    assert {item.external_id: item.name for item in ran.items.values()} == {
        "article:11:en-us": "articles/en-us/Billing/Invoices/Old new/Pay <now>.html",
        "article:11:de": "articles/de/Billing/Invoices/Old new/Zahlen.html",
        "article:12:en-us": "articles/en-us/Billing/Invoices/For agents.html",
        "article:13:en-us": "articles/en-us/For all signed in.html",
    }
    assert "<h1>Pay &lt;now&gt;</h1>\n<p>How to pay.</p>" in ran.fetched["article:11:en-us"]
    access = {external_id: item.access for external_id, item in ran.items.items()}
    assert access["article:11:en-us"] == ItemAccess(is_public=True)
    assert access["article:12:en-us"] == ItemAccess(groups=("user_segment:8", "Agents"))
    assert access["article:13:en-us"] == ItemAccess(is_public=True)
    german = await source_of(zendesk, locales=["DE", "fr"]).run()
    assert [item.name for item in german.items.values()] == ["articles/Billing/Invoices/Old new/Zahlen.html"]
    assert "article:14:en-us" in (await source_of(zendesk, drafts=True).run()).items


async def test_unknown_segments_name_their_id(zendesk: ZendeskServer) -> None:
    zendesk.may_see_segments = False
    ran = await source_of(zendesk).run()
    assert ran.items["article:13:en-us"].access == ItemAccess(groups=("user_segment:9",))
    public = SourceRuns("zendesk", {"url": zendesk.url}, {})
    assert len((await public.run()).items) == 4


async def test_private_comments_are_left_out_unless_asked_for(zendesk: ZendeskServer) -> None:
    ran = await source_of(zendesk, articles=False, tickets=True).run()
    page = ran.fetched["ticket:21"]
    assert "<h1>It &lt;fails&gt;</h1>" in page
    assert "<h2>Bob, 2023-11-14 22:13</h2>\n<div><p>Fixed.</p></div>" in page
    assert "forgot" not in page
    assert ran.failed == {"ticket:22": "Its comments are private."}
    assert "Only notes" not in str(ran.items["ticket:22"])
    assert ran.items["ticket:21"].access == ItemAccess(people=("ada@example.com", "2"), groups=("group:5",))
    notes = await source_of(zendesk, articles=False, tickets=True, private_comments=True).run()
    assert "<h2>Bob, 2023-11-14 22:13 (internal note)</h2>" in notes.fetched["ticket:21"]
    assert "ticket:22" in notes.fetched


async def test_changed_and_deleted_tickets_are_listed_alone(zendesk: ZendeskServer) -> None:
    for number in range(30, 35):
        zendesk.add_ticket(number, f"Ticket {number}")
        zendesk.add_comment(number, "<p>Hello</p>")
    source = source_of(zendesk, tickets=True)
    await source.run()
    nothing = await source.run()
    assert nothing.is_delta
    assert not nothing.fetched
    assert not [external_id for external_id in nothing.items if external_id.startswith("ticket")]
    zendesk.add_comment(30, "<p>More</p>")
    zendesk.touch(31, status="deleted")
    zendesk.add_article(11, "Pay", "<p>Another way.</p>", section_id=3)
    ran = await source.run()
    assert ran.fetched.keys() == {"ticket:30", "article:11:en-us"}
    assert ran.removed == {"ticket:31"}


@pytest.mark.parametrize("status", [400, 410, 422])
async def test_expired_position_lists_everything(status: int, zendesk: ZendeskServer) -> None:
    source = source_of(zendesk, tickets=True)
    await source.run()
    del zendesk.tickets[21]
    zendesk.expired_status = status
    zendesk.expired = {f"at-{zendesk.time}"}
    ran = await source.run()
    assert ran.error is None
    assert not ran.is_delta
    assert ran.removed == {"ticket:21"}


async def test_expired_cursor_within_a_run_begins_the_language_again(zendesk: ZendeskServer) -> None:
    source = source_of(zendesk, locales=["en-us"])
    first = await source.run(batches=1)
    zendesk.expired = {"2"}
    zendesk.change = lambda call: zendesk.expired.clear() if zendesk.calls.count("articles") > 2 else None
    rest = await source.run()
    assert rest.error is None
    assert first.items.keys() | rest.items.keys() == {f"article:{each}:en-us" for each in (11, 12, 13)}


async def test_deleted_items_are_gone(zendesk: ZendeskServer) -> None:
    source = source_of(zendesk, tickets=True)
    ran = await source.run()
    zendesk.touch(21, status="deleted")
    zendesk.articles[(11, "de")]["draft"] = True
    connector = source.connect()
    for external_id in ("ticket:21", "ticket:99", "article:11:de", "article:11:fr", "article:99:de", "article:1:../x"):
        assert await connector.find(external_id) is None
    for external_id in ("ticket:21", "article:11:de"):
        with pytest.raises(ItemGoneError):
            await connector.fetch(ran.items[external_id])
    await connector.close()


async def test_refusals_are_told_in_words(zendesk: ZendeskServer) -> None:
    wrong = SourceRuns("zendesk", {"url": zendesk.url}, {"email": EMAIL, "api_token": "wrong"})
    ran = await wrong.run()
    assert isinstance(ran.error, CredentialsRefusedError)
    bearer = SourceRuns("zendesk", {"url": zendesk.url, "tickets": True}, {"access_token": ACCESS_TOKEN})
    assert len((await bearer.run()).items) == 6
    zendesk.refusals = [(429, {"Retry-After": "60"})]
    limited = await source_of(zendesk).run()
    assert isinstance(limited.error, RateLimitedError)
    assert limited.error.retry_after == 60


@pytest.mark.parametrize(
    "credentials", [{"email": EMAIL}, {"api_token": "x"}, {"email": EMAIL, "api_token": "x", "access_token": "y"}]
)
def test_credentials_are_whole(credentials: dict[str, JsonValue]) -> None:
    source = SourceRuns("zendesk", {"url": "https://example.zendesk.com"}, credentials)
    with pytest.raises(InvalidInputError):
        source.connect()
