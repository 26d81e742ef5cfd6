"""Chat models through the real LiteLLM against a scripted provider over real HTTP."""

import asyncio
import base64
import io
import json
from collections.abc import Iterator
from contextlib import aclosing

import pytest
from PIL import Image

from analytiq.errors import ProviderRefusedError, RateLimitedError, TransientError
from analytiq.inference.llm.base import (
    AnswerSchema,
    Completion,
    FinishReason,
    Message,
    Options,
    Role,
    TextDelta,
    Tool,
    ToolCall,
    ToolChoice,
)
from analytiq.inference.llm.bounding import LEAST_BOUND, LONGEST_ARGUMENTS, MOST_CALLS
from analytiq.inference.llm.litellm_chat import LiteLLMChat
from analytiq.models.pictures import Picture
from tests.fakes.chat_server import Call, ChatServer, Cut, Endless, Fail, Say, Slow, pictures_of
from tests.fakes.credentials import credential_of

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

SEARCH = Tool("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
ASKED = [Message(Role.USER, "How long is the notice period?")]
NOTHING = Options()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def model_of(server: ChatServer, *, timeout_seconds: float = 20.0) -> LiteLLMChat:
    return LiteLLMChat("openai/fake-chat", credential_of(server.api_key, server.url), timeout_seconds=timeout_seconds)


async def streamed(model: LiteLLMChat, options: Options = NOTHING) -> tuple[list[str], Completion]:
    texts: list[str] = []
    last: Completion | None = None
    async with aclosing(model.stream(ASKED, options)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                texts.append(event.text)
            elif isinstance(event, Completion):
                last = event
    assert last is not None
    return texts, last


async def test_pictures_are_sent_as_data_uris_behind_the_text(server: ChatServer) -> None:
    target = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(target, "PNG")
    picture = Picture("image/png", base64.b64encode(target.getvalue()).decode())
    server.script(Say("Red.", has_usage=False))
    completion = await model_of(server).complete([Message(Role.USER, "Which color?", pictures=(picture,))], NOTHING)
    assert completion.text == "Red."
    assert completion.usage.is_estimated
    assert completion.usage.prompt_tokens > 1000  # the picture counts
    (sent,) = pictures_of(server.requests[0])
    assert (sent.format, sent.size) == ("PNG", (40, 30))


async def test_answer_comes_with_its_usage(server: ChatServer) -> None:
    server.script(Say("Thirty days."))
    completion = await model_of(server).complete(ASKED, Options(temperature=0.0, max_tokens=50))
    assert completion.text == "Thirty days."
    assert completion.finish_reason is FinishReason.STOP
    assert completion.usage.prompt_tokens == 8
    assert completion.usage.completion_tokens == 4
    assert not completion.usage.is_estimated
    assert server.requests[0]["temperature"] == 0.0
    assert server.requests[0]["max_tokens"] == 50


async def test_price_is_that_of_the_table_and_unknown_models_have_none(server: ChatServer) -> None:
    known = LiteLLMChat("gpt-4o-mini", credential_of(server.api_key, server.url))
    priced = await known.complete(ASKED, NOTHING)
    assert priced.cost_usd is not None
    assert priced.cost_usd > 0
    assert (await model_of(server).complete(ASKED, NOTHING)).cost_usd is None


async def test_tokens_are_estimated_where_the_provider_does_not_count(server: ChatServer) -> None:
    server.script(*[Say("Thirty days.", has_usage=False)] * 2)
    model = model_of(server)
    for completion in ((await streamed(model))[1], await model.complete(ASKED, NOTHING)):
        assert completion.usage.prompt_tokens > 0
        assert completion.usage.completion_tokens > 0


async def test_conversation_with_tool_calls_is_one_that_the_provider_takes(server: ChatServer) -> None:
    server.script(Say(tool_calls=[Call("search", {"query": "notice"}), Call("search", "no json")]), Say("Thirty days."))
    model = model_of(server)
    options = Options(tools=[SEARCH])
    first = await model.complete(ASKED, options)
    assert first.finish_reason is FinishReason.TOOL_CALLS
    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        ("search", '{"query": "notice"}'),
        ("search", "no json"),
    ]
    answers = [Message(Role.TOOL, "found", tool_call_id=call.id) for call in first.tool_calls]
    said = Message(Role.ASSISTANT, first.text, tool_calls=first.tool_calls)
    second = await model.complete([*ASKED, said, *answers], Options(tools=[SEARCH], tool_choice=ToolChoice.NONE))
    assert second.text == "Thirty days."
    assert server.requests[1]["tool_choice"] == "none"
    assert server.refusals == []


async def test_stream_gives_pieces_as_they_come_and_the_whole_at_the_end(server: ChatServer) -> None:
    server.script(Say("Thirty days, in writing."))
    texts, completion = await streamed(model_of(server))
    assert len([text for text in texts if text]) == 4
    assert "".join(texts) == completion.text == "Thirty days, in writing."
    assert completion.usage.completion_tokens == 7


async def test_stream_puts_the_fragments_of_tool_calls_together(server: ChatServer) -> None:
    calls = [Call("search", {"query": "the period of notice"}), Call("search", {"query": "what else"})]
    server.script(Say("Let me look.", tool_calls=calls))
    _, completion = await streamed(model_of(server), Options(tools=[SEARCH]))
    assert completion.tool_calls == (
        ToolCall("call_0", "search", '{"query": "the period of notice"}'),
        ToolCall("call_1", "search", '{"query": "what else"}'),
    )
    assert completion.finish_reason is FinishReason.TOOL_CALLS


async def test_first_piece_is_there_before_the_last_is_sent(server: ChatServer) -> None:
    server.script(Slow(Say("one two three four"), pieces=3))
    async with aclosing(model_of(server).stream(ASKED, NOTHING)) as events:
        texts = ""
        async for event in events:
            if isinstance(event, TextDelta):
                texts += event.text
            if texts == "one two":
                break
        await asyncio.to_thread(server.wait_for_slow)
        server.release()
        assert "".join([event.text async for event in events if isinstance(event, TextDelta)]) == " three four"


async def test_closing_a_stream_ends_the_providers_work(server: ChatServer) -> None:
    server.script(Slow(pieces=3))
    async with aclosing(model_of(server).stream(ASKED, NOTHING)) as events:
        async for event in events:
            if isinstance(event, TextDelta) and event.text:
                break
        await asyncio.to_thread(server.wait_for_slow)
    await asyncio.to_thread(server.wait_for_cancellation)


async def test_answer_schema_is_asked_for_as_the_provider_wants_it(server: ChatServer) -> None:
    schema = AnswerSchema("total", {"type": "object", "properties": {"total": {"type": "number"}}})
    await model_of(server).complete(ASKED, Options(answer_schema=schema))
    asked = server.requests[0]["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["name"] == "total"
    assert asked["json_schema"]["schema"]["properties"] == {"total": {"type": "number"}}


@pytest.mark.parametrize("is_stream", [False, True])
async def test_errors_are_told_apart_by_class(server: ChatServer, *, is_stream: bool) -> None:
    model = model_of(server)

    async def ask() -> None:
        if is_stream:
            await streamed(model)
        else:
            await model.complete(ASKED, NOTHING)

    server.script(Fail(429, headers={"Retry-After": "7"}))
    with pytest.raises(RateLimitedError) as limited:
        await ask()
    assert limited.value.retry_after == 7
    server.script(Fail(500), Fail(503), Fail(401), Fail(400, "no such parameter"))
    for _ in range(2):
        with pytest.raises(TransientError):
            await ask()
    with pytest.raises(ProviderRefusedError, match="refuses the API key"):
        await ask()
    with pytest.raises(ProviderRefusedError, match="no such parameter"):
        await ask()
    assert server.calls == 5


@pytest.mark.parametrize("is_stream", [False, True])
async def test_cut_answer_is_no_answer(server: ChatServer, *, is_stream: bool) -> None:
    server.script(Cut())
    with pytest.raises(TransientError):
        await (streamed(model_of(server)) if is_stream else model_of(server).complete(ASKED, NOTHING))


async def test_answer_that_is_no_json_is_a_passing_failure(server: ChatServer) -> None:
    server.script(Fail(200, body="<html>maintenance</html>"))
    with pytest.raises(TransientError):
        await model_of(server).complete(ASKED, NOTHING)


async def test_stream_that_falls_silent_ends_with_an_error(server: ChatServer) -> None:
    server.script(Slow(pieces=2))
    with pytest.raises(TransientError):
        await streamed(model_of(server, timeout_seconds=0.3))
    server.release()


async def test_stream_that_never_ends_is_left_where_it_is_longer_than_was_asked_for(server: ChatServer) -> None:
    server.script(Endless())
    _, completion = await streamed(model_of(server), Options(max_tokens=10))
    assert (len(completion.text), completion.finish_reason) == (LEAST_BOUND, FinishReason.LENGTH)
    assert completion.usage.is_estimated
    assert completion.usage.completion_tokens >= LEAST_BOUND // 5, "what was read is counted"
    await asyncio.to_thread(server.wait_for_cancellation)


async def test_whole_answer_that_never_comes_though_bytes_do_ends_with_an_error(server: ChatServer) -> None:
    server.script(Endless())
    with pytest.raises(TransientError) as raised:
        await model_of(server, timeout_seconds=0.5).complete(ASKED, NOTHING)
    assert raised.value.code == "timeout"
    await asyncio.to_thread(server.wait_for_cancellation)


async def said(server: ChatServer, answer: Say, *, is_stream: bool) -> Completion:
    server.script(answer)
    model, options = model_of(server), Options(tools=[SEARCH])
    return (await streamed(model, options))[1] if is_stream else await model.complete(ASKED, options)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_arguments_and_calls_without_measure_are_bounded(server: ChatServer, *, is_stream: bool) -> None:
    # A stream is in pieces of a few characters: so that the fake has not to make a million of them.
    size = 100_000 if is_stream else 10_000_000
    completion = await said(server, Say(tool_calls=[Call("search", "x" * size)]), is_stream=is_stream)
    assert [len(call.arguments) for call in completion.tool_calls] == [LONGEST_ARGUMENTS + 1]
    completion = await said(server, Say(tool_calls=[Call("search", {})] * 1000), is_stream=is_stream)
    assert len(completion.tool_calls) == MOST_CALLS


@pytest.mark.parametrize("is_stream", [False, True])
async def test_calls_of_one_id_get_ids_of_their_own(server: ChatServer, *, is_stream: bool) -> None:
    calls = [Call("search", {}, id=id_) for id_ in ("a_2", "a", "a", "", "a")]
    completion = await said(server, Say(tool_calls=calls), is_stream=is_stream)
    ids = [call.id for call in completion.tool_calls]
    assert ids[:2] == ["a_2", "a"]
    assert len(set(ids)) == 5
    assert all(ids)


@pytest.mark.parametrize("is_stream", [False, True])
async def test_half_of_a_character_is_one_that_can_be_stored(server: ChatServer, *, is_stream: bool) -> None:
    answer = Say("so \ud800", tool_calls=[Call("search", '{"query": "\ud800"}')])
    completion = await said(server, answer, is_stream=is_stream)
    assert completion.text == "so \ufffd"
    assert completion.tool_calls[0].arguments.isprintable()


@pytest.mark.parametrize(
    "message",
    [
        None,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x", "type": "function"}]},
        {"role": "assistant", "content": None, "tool_calls": [None]},
        {"role": "assistant", "content": [{"type": "text", "text": "in parts"}]},
        {"role": "assistant", "content": 5},
    ],
)
async def test_answer_of_another_shape_is_a_passing_failure_or_read(server: ChatServer, message: object) -> None:
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "fake-chat", "usage": {"prompt_tokens": -7},
             "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    server.script(Fail(200, body=json.dumps(whole)))
    try:
        completion = await model_of(server).complete(ASKED, NOTHING)
    except TransientError:
        return
    assert isinstance(completion.text, str)
    assert completion.usage.prompt_tokens > 0


async def test_answer_of_nothing_is_empty(server: ChatServer) -> None:
    server.script(Say(""), Say(""))
    assert (await model_of(server).complete(ASKED, NOTHING)).text == ""
    assert (await streamed(model_of(server)))[1].text == ""


async def test_key_is_in_no_error(server: ChatServer) -> None:
    model = LiteLLMChat("openai/fake-chat", credential_of("wrong-key-of-a-tenant", server.url))
    with pytest.raises(ProviderRefusedError) as refused:
        await model.complete(ASKED, NOTHING)
    assert "wrong-key" not in refused.value.detail
    assert "wrong-key" not in repr(model)
