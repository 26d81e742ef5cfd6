"""Wire shapes: what they take, and how they write moments."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.types import Message

from api.schemas.knowledge_bases import KnowledgeBaseCreate, KnowledgeBaseUpdate
from api.schemas.search import SearchBody, Time
from api.schemas.tags import TagCreate, TagUpdate
from api.schemas.wire import Moment
from api.strict_json import StrictJsonRequest
from api.uploading import Form


def test_moment_is_written_in_utc_with_milliseconds() -> None:
    adapter = TypeAdapter(Moment)
    moment = datetime(2026, 1, 23, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    assert adapter.dump_python(moment, mode="json") == "2026-01-23T10:00:00.123Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-01-01T00:00:00Z", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01T00:00:00", datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01T02:00:00+02:00", datetime(2024, 1, 1, tzinfo=UTC)),
    ],
)
def test_time_without_an_offset_is_utc(text: str, moment: datetime) -> None:
    read = TypeAdapter(Time).validate_python(text)
    assert read == moment
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_time_that_utc_cannot_write_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="within the years"):
        TypeAdapter(Time).validate_python(text)


def test_defaults_of_a_knowledge_base() -> None:
    wanted = KnowledgeBaseCreate(name="x").wanted([])
    assert (wanted.chunker_type, wanted.chunk_size, wanted.chunk_overlap) == ("auto", 512, 128)
    assert (wanted.embedding_model, wanted.coalesce_neighbors, wanted.description) == (None, 0, "")


def test_overlap_that_is_left_out_fits_the_size() -> None:
    assert KnowledgeBaseCreate(name="x", chunk_size=64).wanted([]).chunk_overlap == 16
    assert KnowledgeBaseCreate(name="x", chunk_size=64, chunk_overlap=32).wanted([]).chunk_overlap == 32


@pytest.mark.parametrize(
    "field", ["chunker_type", "chunk_size", "chunk_overlap", "embedding_model", "embedding_dimensions"]
)
def test_setting_that_cannot_change_is_refused_whatever_its_value(field: str) -> None:
    for value in (None, "x", 512):
        with pytest.raises(ValidationError, match="Move the knowledge base to other settings"):
            KnowledgeBaseUpdate.model_validate({field: value})


def test_names_are_trimmed_and_hold_no_control_characters() -> None:
    assert TagCreate(name="  invoice \n").name == "invoice"
    for name in ("", "  ", "a\0b", "a\nb", "a\x1b[31m", "x" * 101):
        with pytest.raises(ValidationError):
            TagCreate(name=name)
        with pytest.raises(ValidationError):
            TagUpdate(name=name)
    assert TagCreate(name="x", description="two\nlines\tand a tab").description == "two\nlines\tand a tab"


def test_misspelt_field_of_a_search_is_refused() -> None:
    with pytest.raises(ValidationError, match="metadata_filters"):
        SearchBody.model_validate({"query": "x", "metadata_filters": {"year": 2024}})


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        (["a"], ["a"]),
        (["a,b"], ["a", "b"]),
        ([" a , b ,, "], ["a", "b"]),
        (["a", "b,c"], ["a", "b", "c"]),
        (['["a", "b"]'], ["a", "b"]),
        ([""], []),
        (["[]"], []),
    ],
)
def test_tags_of_a_form_come_in_any_of_the_usual_ways(values: list[str], ids: list[str]) -> None:
    form = Form()
    for value in values:
        form.take("tag_ids", value)
    assert form.tag_ids == ids


def test_form_without_tags_leaves_them_as_they_are() -> None:
    assert Form().tag_ids is None


def _request(content: bytes) -> StrictJsonRequest:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    return StrictJsonRequest({"type": "http", "method": "POST", "headers": []}, receive)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"NaN", b'{"a": Infinity}', b'{"a": "\xff"}', '{"a": 1}'.encode("utf-16"), rb'{"a": "\ud800"}',
        b"[" * 10_000 + b"]" * 10_000, b"9" * 5000, b"{} {}",
    ],
)  # fmt: skip
async def test_what_is_no_strict_json_is_refused(content: bytes) -> None:
    with pytest.raises(json.JSONDecodeError):
        await _request(content).json()


async def test_strict_json_is_read_once_and_keeps_its_types() -> None:
    request = _request('{"a": [1, 1.5, true, null, "ü🦭"], "b": 9007199254740993}'.encode())
    body = await request.json()
    assert body == {"a": [1, 1.5, True, None, "ü🦭"], "b": 9007199254740993}
    assert await request.json() is body
    assert isinstance(request, Request)
