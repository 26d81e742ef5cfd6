"""Conversations over REST, the client and the command line, against a scripted provider (a fake) over real HTTP."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from analytiq.client import ChatMessage, Client
from tests.e2e.driving import (
    UNKNOWN_ID,
    Body,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_indexed,
)
from tests.e2e.made_files import pdf_of
from tests.e2e.running_platform import (
    Running,
    client_of,
    make_organization,
    run_command,
    start_platform,
    stop_platform,
)
from tests.fakes.chat_server import ChatServer, Fail, Say, Slow

MODEL = "hosted_vllm/fake-chat"
PAGES = 40
QUESTION = "Which valve pressure is allowed for boiler 37?"
NAMES = ("reasoning", "token", "tool_call", "passages", "usage", "error", "done")


@dataclass(frozen=True, slots=True)
class Office:
    """An organization with a chat model and a knowledge base of one long manual."""

    url: str
    organization_id: str
    token: str
    kb_id: str
    kb_name: str
    document_id: str

    def client(self) -> httpx.Client:
        return client_of(self.url, self.organization_id, self.token)

    def environment(self) -> dict[str, str]:
        return {
            "ANALYTIQ_URL": self.url,
            "ANALYTIQ_ORGANIZATION_ID": self.organization_id,
            "ANALYTIQ_TOKEN": self.token,
        }


@pytest.fixture(scope="module")
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture(scope="module")
def office(running: Running, chat_server: ChatServer) -> Office:
    """The organization of this module's tests."""
    organization_id, token = make_organization(running, "With a chat model")
    with client_of(running.url, organization_id, token) as client:
        key = {"api_key": chat_server.api_key, "api_base": chat_server.url}
        accepted(client.put("/llm-providers/hosted_vllm", json=key))
        tag = make_tag(client)
        # Chunks that are longer than a page, so that a citation has to find the page within one.
        kb = make_knowledge_base(client, [tag], chunk_size=120, chunk_overlap=20)
        pages = [
            f"Chapter {number}: boiler {number}.\nThe valve of boiler {number} is checked twice a year.\n"
            f"The allowed valve pressure of boiler {number} is {number * 11} bar, and never more."
            for number in range(1, PAGES + 1)
        ]
        document = upload(client, "boilers.pdf", pdf_of(pages), tag_ids=[tag])["document_id"]
        wait_until_indexed(client, document)
        name = accepted(client.get(f"/knowledge-bases/{kb}"))["name"]
    return Office(running.url, organization_id, token, kb, name, document)


@pytest.fixture
def client(office: Office) -> Iterator[httpx.Client]:
    with office.client() as opened:
        yield opened


def begin(client: httpx.Client, office: Office, **settings: Any) -> str:
    body = {"kb_ids": [office.kb_id], "model": MODEL, **settings}
    return str(accepted(client.post("/chat/threads", json=body), 201)["thread_id"])


def ask(client: httpx.Client, thread_id: str, content: str = QUESTION) -> Body:
    return accepted(client.post(f"/chat/threads/{thread_id}/messages", json={"content": content}), 202)


@dataclass(frozen=True, slots=True)
class Told:
    """One event as it came over the wire."""

    id: str
    name: str
    data: Body


def events_of(client: httpx.Client, path: str, *, after: str | None = None, until: str = "done") -> list[Told]:
    """Read an answer's events until one of this name, or with this text; then drop the connection."""
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
    told: list[Told] = []
    url = str(client.base_url).split("/v0/")[0] + path
    with client.stream("GET", url, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
                continue
            if "data" in fields:
                told.append(Told(fields["id"], fields["event"], json.loads(fields["data"])))
                text = "".join(item.data["text"] for item in told if item.name == "token")
                if until in (told[-1].name, text):
                    return told
            fields = {}
    raise AssertionError(told)


def test_answer_on_page_37_is_cited_on_page_37_word_by_word(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    def cite(body: Body) -> str:
        shown = str(body["messages"][-1]["content"])
        before = shown[: shown.index("pressure of boiler 37 is 407 bar")]
        number = re.findall(r"^\[(\d+)\]", before, flags=re.MULTILINE)[-1]
        return f"The allowed pressure of boiler 37 is 407 bar [{number}]."

    chat_server.script(Say(cite))
    asked = ask(client, begin(client, office))
    told = events_of(client, asked["events_path"])
    assert {item.name for item in told} <= set(NAMES)
    assert len({item.id for item in told}) == len(told)
    answer = told[-1].data
    assert answer["state"] == "done"
    assert answer["is_grounded"] is True
    [citation] = answer["citations"]
    assert (citation["source"], citation["page"]) == ("boilers.pdf", 37)
    page = accepted(client.get(f"/documents/{office.document_id}/text", params={"page": 37}))["pages"][0]
    assert page["start"] <= citation["start"] < citation["end"] <= page["end"]
    quoted = page["text"][citation["start"] - page["start"] : citation["end"] - page["start"]]
    assert quoted == citation["quote"]
    assert "boiler 37 is 407 bar" in citation["quote"]
    passage = next(item for item in answer["passages"] if item["number"] == citation["number"])
    assert passage["first_page"] < passage["last_page"], "the page had to be found within the passage"


def test_citation_tells_its_documents_address_tags_and_chosen_metadata(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    tag = make_tag(client)
    address = "https://example.com/boilers.pdf"
    changes = {"source_url": address, "metadata": {"plant": "north", "secret": "x"}}
    before = accepted(client.get(f"/documents/{office.document_id}"))
    accepted(client.put(f"/documents/{office.document_id}", json={**changes, "tag_ids": [*before["tag_ids"], tag]}))
    chat_server.script(Say("It is checked twice a year [1]."))
    asked = ask(client, begin(client, office, include=["tags", "metadata.plant"]))
    answer = events_of(client, asked["events_path"])[-1].data
    [citation], passage = answer["citations"], answer["passages"][0]
    for shown in (citation, passage):
        assert (shown["source_url"], shown["metadata"]) == (address, {"plant": "north"})
        assert accepted(client.get(f"/tags/{tag}"))["name"] in shown["tags"]
        assert shown["chunk_id"].endswith(f"-{shown['chunk_index']}")
        assert (shown["rank"], shown["token_count"] > 0) == (1, True)
    chat_server.script(Say("It is checked twice a year [1]."))
    told = run_command("chat", QUESTION, "--kb", office.kb_name, "--model", MODEL, environment=office.environment())
    assert address in told.stdout


def test_tokens_come_while_the_model_is_still_speaking(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say("one two three four"), pieces=3))
    asked = ask(client, begin(client, office))
    before = events_of(client, asked["events_path"], until="one two")
    chat_server.release()
    after = events_of(client, asked["events_path"], after=before[-1].id)
    text = "".join(item.data["text"] for item in before + after if item.name == "token")
    assert text == "one two three four"
    assert [item.name for item in after if item.name != "token"] == ["usage", "done"]
    assert after[-2].data["calls"] == 1


def test_reader_that_knows_the_end_is_told_that_there_is_no_more(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    chat_server.script(Say("Short."))
    asked = ask(client, begin(client, office))
    last = events_of(client, asked["events_path"])[-1]
    url = office.url + asked["events_path"]
    assert client.get(url, headers={"Last-Event-ID": last.id}).status_code == 204
    # An id that is none is the beginning.
    assert len(events_of(client, asked["events_path"], after="nonsense")) == len(
        events_of(client, asked["events_path"])
    )


def test_repeated_question_with_the_same_key_is_asked_once(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    thread = begin(client, office)
    chat_server.script(Say("Once."))
    headers = {"Idempotency-Key": unique("ask")}
    url, body = f"/chat/threads/{thread}/messages", {"content": QUESTION}
    first = accepted(client.post(url, json=body, headers=headers), 202)
    again = accepted(client.post(url, json=body, headers=headers), 202)
    assert again["answer"]["message_id"] == first["answer"]["message_id"]
    events_of(client, first["events_path"])
    assert accepted(client.get(url))["total_count"] == 2


def test_stop_over_rest_keeps_what_was_said(client: httpx.Client, office: Office, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say("one two three four"), pieces=3))
    thread = begin(client, office)
    asked = ask(client, thread)
    events_of(client, asked["events_path"], until="one two")
    path = f"/chat/threads/{thread}/messages/{asked['answer']['message_id']}"
    problem_of(client.post(f"/chat/threads/{thread}/messages", json={"content": "?"}), 409, code="answer_running")
    stopped = accepted(client.post(f"{path}/stop"))
    assert (stopped["state"], stopped["content"]) == ("stopped", "one two")
    chat_server.wait_for_cancellation()
    assert accepted(client.get(path))["state"] == "stopped"
    assert accepted(client.get(f"/chat/threads/{thread}"))["usage"]["prompt_tokens"] > 0


def test_closed_connection_stops_the_model_after_the_grace_time(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say("one two three four"), pieces=3))
    thread = begin(client, office)
    asked = ask(client, thread)
    events_of(client, asked["events_path"], until="one two")
    chat_server.wait_for_cancellation()
    last = events_of(client, asked["events_path"])[-1]
    assert (last.data["state"], last.data["content"]) == ("stopped", "one two")
    assert last.data["usage"]["prompt_tokens"] > 0


def test_platform_that_is_stopped_ends_its_answers_and_tells_their_readers(tmp_path: Path) -> None:
    platform = start_platform(tmp_path / "data")
    told: list[Told] = []
    try:
        with platform.client() as client, ChatServer() as chat_server:
            key = {"api_key": chat_server.api_key, "api_base": chat_server.url}
            accepted(client.put("/llm-providers/hosted_vllm", json=key))
            kb = make_knowledge_base(client, [make_tag(client)])
            thread = accepted(client.post("/chat/threads", json={"kb_ids": [kb], "model": MODEL}), 201)["thread_id"]
            chat_server.script(Slow(Say("one two three four"), pieces=3))
            asked = ask(client, thread)
            reading = threading.Thread(target=lambda: told.extend(events_of(client, asked["events_path"])))
            reading.start()
            events_of(client, asked["events_path"], until="one two")
            assert stop_platform(platform) == 0
            reading.join(timeout=30)
    finally:
        stop_platform(platform)
    assert [item.name for item in told[-3:]] == ["usage", "error", "done"]
    assert told[-2].data["code"] == "interrupted"
    assert told[-1].data["content"] == "one two"


def test_threads_are_listed_changed_and_deleted(client: httpx.Client, office: Office, chat_server: ChatServer) -> None:
    thread = begin(client, office, title="Boilers")
    assert accepted(client.put(f"/chat/threads/{thread}", json={"title": "Old boilers"}))["title"] == "Old boilers"
    listed = accepted(client.get("/chat/threads", params={"kb_id": office.kb_id, "limit": 100}))
    assert thread in [item["thread_id"] for item in listed["threads"]]
    assert accepted(client.get("/chat/threads", params={"kb_id": UNKNOWN_ID}))["total_count"] == 0
    accepted(client.delete(f"/chat/threads/{thread}"))
    problem_of(client.get(f"/chat/threads/{thread}"), 404, code="not_found")
    problem_of(client.get(f"/chat/threads/{thread}/messages"), 404, code="not_found")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kb_ids"),
        ({"kb_ids": []}, "kb_ids"),
        ({"kb_ids": [UNKNOWN_ID]}, "kb_ids[0]"),
        ({"kb_ids": ["x"]}, "kb_ids[0]"),
        ({"kb_ids": [UNKNOWN_ID], "score_threshold": 2}, "score_threshold"),
        ({"kb_ids": [UNKNOWN_ID], "threshold": 1}, "threshold"),
    ],
)
def test_wrong_thread_is_refused_by_its_field(client: httpx.Client, body: Body, field: str) -> None:
    problem_of(client.post("/chat/threads", json=body), 400, field=field)


def test_model_without_a_key_is_refused_before_anything_is_stored(client: httpx.Client, office: Office) -> None:
    body = {"kb_ids": [office.kb_id], "model": "mistral/mistral-small-latest"}
    problem_of(client.post("/chat/threads", json=body), 400, field="model", code="provider_key_missing")
    thread = accepted(client.post("/chat/threads", json={"kb_ids": [office.kb_id]}), 201)["thread_id"]
    asked = client.post(f"/chat/threads/{thread}/messages", json={"content": QUESTION})
    problem_of(asked, 400, field="model", code="no_chat_model")
    assert accepted(client.get(f"/chat/threads/{thread}/messages"))["total_count"] == 0


@pytest.mark.parametrize("content", ["", "  \n ", "x" * 20_001, "nul \0"])
def test_question_that_is_none_is_refused(client: httpx.Client, office: Office, content: str) -> None:
    thread = begin(client, office)
    problem_of(client.post(f"/chat/threads/{thread}/messages", json={"content": content}), 400, field="content")


def test_client_streams_and_goes_on_after_its_connection_broke(office: Office, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say("one two three four five"), pieces=3))
    with Client(office.url, office.organization_id, office.token) as client:
        thread = client.create_thread([office.kb_id], model=MODEL)
        answer = client.begin_answer(thread.thread_id, QUESTION)
        first = client.follow_answer(thread.thread_id, answer.message_id)
        last_id, text = "", ""
        for event in first:
            last_id, text = event.id, text + event.text
            if text == "one two":
                break
        first.close()
        releasing = threading.Timer(0.0, chat_server.release)
        releasing.start()
        ended: ChatMessage | None = None
        for event in client.follow_answer(thread.thread_id, answer.message_id, after=last_id):
            last_id, text = event.id, text + event.text
            ended = event.message or ended
        releasing.join()
        assert text == "one two three four five"
        assert ended is not None
        assert ended.content == text
        assert list(client.follow_answer(thread.thread_id, answer.message_id, after=last_id)) == []
        assert [item.role for item in client.chat_messages(thread.thread_id)] == ["user", "assistant"]
        assert thread.thread_id in [item.thread_id for item in client.threads()]
        client.delete_thread(thread.thread_id)


def test_command_prints_the_answer_with_its_sources(office: Office, chat_server: ChatServer) -> None:
    chat_server.script(Say("The valve is checked twice a year [1]."))
    command = ("chat", QUESTION, "--kb", office.kb_name, "--model", MODEL)
    finished = run_command(*command, environment=office.environment())
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("The valve is checked twice a year [1].")
    assert "[1] boilers.pdf, page " in finished.stdout


def test_command_fails_with_what_the_provider_said(office: Office, chat_server: ChatServer) -> None:
    chat_server.script(Fail(400, "the model is on holiday"))
    command = ("chat", QUESTION, "--kb", office.kb_name, "--model", MODEL)
    finished = run_command(*command, environment=office.environment())
    assert finished.returncode == 1
    assert "Error:" in finished.stderr


def test_thread_is_its_owners_alone_and_unknown_to_administrators_too(client: httpx.Client, office: Office) -> None:
    thread_id = begin(client, office)
    made = accepted(client.post("/access-tokens", json={"name": unique("admin"), "scope": "admin"}), 201)
    with client_of(office.url, office.organization_id, made["token"]) as administrator:
        assert accepted(administrator.get("/chat/threads"))["threads"] == []
        path = f"/chat/threads/{thread_id}"
        problem_of(administrator.get(path), 404, code="not_found")
        problem_of(administrator.put(path, json={"title": "Mine"}), 404, code="not_found")
        problem_of(administrator.delete(path), 404, code="not_found")
        problem_of(administrator.get(f"{path}/messages"), 404, code="not_found")
        problem_of(administrator.post(f"{path}/messages", json={"content": "?"}), 404, code="not_found")
        for rest in ("", "/events"):
            problem_of(administrator.get(f"{path}/messages/{UNKNOWN_ID}{rest}"), 404, code="not_found")
        problem_of(administrator.post(f"{path}/messages/{UNKNOWN_ID}/stop"), 404, code="not_found")
    assert thread_id in [item["thread_id"] for item in accepted(client.get("/chat/threads"))["threads"]]


def test_citation_of_a_version_that_was_replaced_says_so_and_keeps_its_words(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    tag, name = make_tag(client), unique("price.txt")
    kb = make_knowledge_base(client, [tag])
    document_id = upload(client, name, b"The price of a turbine is 100 euros.", tag_ids=[tag])["document_id"]
    wait_until_indexed(client, document_id)
    chat_server.script(Say("It is 100 euros [1]."))
    body = {"kb_ids": [kb], "model": MODEL, "score_threshold": 0}
    thread_id = accepted(client.post("/chat/threads", json=body), 201)["thread_id"]
    asked = ask(client, thread_id, "What is the price of a turbine?")
    told = events_of(client, asked["events_path"])
    answer = told[-1].data
    assert [item["is_current"] for item in answer["citations"] + answer["passages"]] == [True, True]
    assert all(item["is_current"] for event in told if event.name == "passages" for item in event.data["passages"])

    upload(client, name, b"A turbine is now 250 euros.", tag_ids=[tag], on_duplicate="replace")
    wait_until_indexed(client, document_id)
    [_, message] = accepted(client.get(f"/chat/threads/{thread_id}/messages"))["messages"]
    [citation] = message["citations"]
    assert citation["is_current"] is False
    assert citation["quote"] == "The price of a turbine is 100 euros."
    assert citation["text_hash"] != accepted(client.get(f"/documents/{document_id}/text"))["text_hash"]
    assert message["passages"][0]["is_current"] is False
    with Client(office.url, office.organization_id, office.token) as library:
        [_, same] = library.chat_messages(thread_id)
    assert [item.is_current for item in same.citations] == [False]


def test_answer_that_was_cut_is_marked_and_continued(
    client: httpx.Client, office: Office, chat_server: ChatServer
) -> None:
    chat_server.script(
        Say("<think>Which boiler?</think>The pressure of boiler 37", finish_reason="length"),
        Say(" is 407 bar [1]."),
    )
    thread_id = begin(client, office)
    asked = ask(client, thread_id)
    told = events_of(client, asked["events_path"])
    assert "".join(item.data["text"] for item in told if item.name == "reasoning") == "Which boiler?"
    cut = told[-1].data
    assert (cut["state"], cut["ended_by"], cut["can_continue"]) == ("done", "length", True)
    assert (cut["content"], cut["reasoning"]) == ("The pressure of boiler 37", "Which boiler?")

    path = f"/chat/threads/{thread_id}/messages/{cut['message_id']}"
    begun = accepted(client.post(f"{path}/continue"), 202)
    assert begun["answer"]["message_id"] == cut["message_id"]
    told = events_of(client, begun["events_path"], after=begun["last_event_id"])
    assert "".join(item.data["text"] for item in told if item.name == "token") == " is 407 bar [1]."
    whole = told[-1].data
    assert whole["content"] == "The pressure of boiler 37 is 407 bar [1]."
    assert (whole["ended_by"], whole["can_continue"], len(whole["citations"])) == ("complete", False, 1)
    problem_of(client.post(f"{path}/continue"), 409, code="cannot_continue")
    problem_of(client.post(f"/chat/threads/{thread_id}/messages/{UNKNOWN_ID}/continue"), 404)


def test_client_continues_an_answer(office: Office, chat_server: ChatServer) -> None:
    chat_server.script(Say("one two", finish_reason="length"), Say(" three."))
    with Client(office.url, office.organization_id, office.token) as library:
        thread = library.create_thread([office.kb_id], model=MODEL)
        *_, last = library.ask(thread.thread_id, QUESTION)
        assert last.message is not None
        assert last.message.can_continue
        events = list(library.continue_answer(thread.thread_id, last.message.message_id))
    assert "".join(event.text for event in events) == " three."
    assert events[-1].message is not None
    assert (events[-1].message.content, events[-1].message.ended_by) == ("one two three.", "complete")
