"""JSON bodies that no honest client sends: each is refused by name, and none ends in a 5xx."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    MALFORMED_IDS,
    UNKNOWN_ID,
    Body,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
)
from tests.e2e.running_platform import Running, client_of, make_organization

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def places(client: httpx.Client) -> dict[str, tuple[str, str]]:
    """Method and path of every operation with a JSON body, of things that exist."""
    tag = make_tag(client)
    kb = make_knowledge_base(client, [tag])
    document = upload(client, unique("hostile.txt"), b"x")["document_id"]
    return {
        "create_access_token": ("POST", "/access-tokens"),
        "create_tag": ("POST", "/tags"),
        "update_tag": ("PUT", f"/tags/{tag}"),
        "upload_documents": ("POST", "/documents"),
        "update_document": ("PUT", f"/documents/{document}"),
        "create_knowledge_base": ("POST", "/knowledge-bases"),
        "update_knowledge_base": ("PUT", f"/knowledge-bases/{kb}"),
        "search_knowledge_base": ("POST", f"/knowledge-bases/{kb}/search"),
    }


OPERATIONS = (
    "create_access_token", "create_tag", "update_tag", "upload_documents", "update_document",
    "create_knowledge_base", "update_knowledge_base", "search_knowledge_base",
)  # fmt: skip

NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "cut off": b'{"name": "x"',
    "no json": b"name=x",
    "two values": b"{} {}",
    "invalid UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "NUL bytes": b"\0\0\0\0",
    "a bare NaN": b"NaN",
    "50,000 levels": b"[" * 50_000 + b"]" * 50_000,
    "50,000 levels under a name": b'{"name":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001,
    "a list": b"[]",
    "a string": b'"name"',
    "null": b"null",
    "a number of 5,000 digits": b'{"name": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", NOT_JSON)
def test_body_that_is_no_json_object_is_refused(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str, kind: str
) -> None:
    method, path = places[operation]
    problem = problem_of(client.request(method, path, content=NOT_JSON[kind], headers=JSON), 400)
    assert problem["code"] == "invalid_input"
    assert problem["errors"]


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "upload_documents"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x", None])
def test_json_under_another_content_type_is_refused(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str, content_type: str | None
) -> None:
    method, path = places[operation]
    headers = {"Content-Type": content_type} if content_type else {}
    problem_of(client.request(method, path, content=b'{"name": "x"}', headers=headers), 400)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_unknown_field_is_named(client: httpx.Client, places: dict[str, tuple[str, str]], operation: str) -> None:
    method, path = places[operation]
    for field in ("namee", "organization_id", "$where", "__proto__"):
        problem = problem_of(client.request(method, path, json={field: "x"}), 400, field=field)
        reasons = {error["field"]: error["reason"] for error in problem["errors"]}
        assert reasons[field] == "Unknown field."


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "upload_documents"])
def test_body_larger_than_two_megabytes_is_refused(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str
) -> None:
    method, path = places[operation]
    huge = b'{"name": "' + b"x" * (2 * 1024 * 1024) + b'"}'
    problem_of(client.request(method, path, content=huge, headers=JSON), 413)


WRONG: list[tuple[str, Body, str]] = [
    ("create_access_token", {}, "name"),
    ("create_access_token", {"name": " "}, "name"),
    ("create_access_token", {"name": "x" * 101}, "name"),
    ("create_access_token", {"name": 7}, "name"),
    ("create_access_token", {"name": "n\0ul"}, "name"),
    ("create_access_token", {"name": "x", "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
    ("create_access_token", {"name": "x", "expires_at": "tomorrow"}, "expires_at"),
    ("create_access_token", {"name": "x", "expires_at": 1e300}, "expires_at"),
    ("create_access_token", {"name": "x", "expires_at": "9999-12-31T23:59:59-23:59"}, "expires_at"),
    ("create_tag", {}, "name"),
    ("create_tag", {"name": ""}, "name"),
    ("create_tag", {"name": "\t\n "}, "name"),
    ("create_tag", {"name": "x" * 101}, "name"),
    ("create_tag", {"name": ["x"]}, "name"),
    ("create_tag", {"name": {"$ne": None}}, "name"),
    ("create_tag", {"name": "n\0ul"}, "name"),
    ("create_tag", {"name": "x", "color": "red"}, "color"),
    ("create_tag", {"name": "x", "color": "#12345"}, "color"),
    ("create_tag", {"name": "x", "color": "#123456\n"}, "color"),
    ("create_tag", {"name": "x", "description": "x" * 2001}, "description"),
    ("create_tag", {"name": "x", "description": "n\0ul"}, "description"),
    ("update_tag", {"name": ""}, "name"),
    ("update_tag", {"color": {"$set": 1}}, "color"),
    ("update_document", {"document_name": ""}, "document_name"),
    ("update_document", {"document_name": "x" * 256}, "document_name"),
    ("update_document", {"document_name": "n\0ul"}, "document_name"),
    ("update_document", {"document_name": 1}, "document_name"),
    ("update_document", {"tag_ids": "x"}, "tag_ids"),
    ("update_document", {"tag_ids": ["x"]}, "tag_ids[0]"),
    ("update_document", {"tag_ids": [UNKNOWN_ID]}, "tag_ids[0]"),
    ("update_document", {"tag_ids": ["x"] * 101}, "tag_ids"),
    ("update_document", {"tag_ids": ["n\0ul"]}, "tag_ids[0]"),
    ("update_document", {"metadata": []}, "metadata"),
    ("update_document", {"metadata": {"$set": {"state": "extracted"}}}, "metadata"),
    ("update_document", {"metadata": {"a.b": 1}}, "metadata"),
    ("update_document", {"metadata": {"a": {"n\0ul": 1}}}, "metadata.a"),
    ("update_document", {"metadata": {"a": 2**64}}, "metadata.a"),
    ("update_document", {"metadata": {"a": [[[[[[[[[1]]]]]]]]]}}, "metadata.a[0][0][0][0][0][0][0][0]"),
    ("create_knowledge_base", {}, "name"),
    ("create_knowledge_base", {"name": " "}, "name"),
    ("create_knowledge_base", {"name": "x" * 201}, "name"),
    ("create_knowledge_base", {"name": "n\0ul"}, "name"),
    ("create_knowledge_base", {"name": "x", "description": "x" * 5001}, "description"),
    ("create_knowledge_base", {"name": "x", "tag_ids": ["x"]}, "tag_ids[0]"),
    ("create_knowledge_base", {"name": "x", "tag_ids": [UNKNOWN_ID]}, "tag_ids[0]"),
    ("create_knowledge_base", {"name": "x", "tag_ids": {"$gt": ""}}, "tag_ids"),
    ("create_knowledge_base", {"name": "x", "chunker_type": "no such chunker"}, "chunker_type"),
    ("create_knowledge_base", {"name": "x", "chunk_size": 0}, "chunk_size"),
    ("create_knowledge_base", {"name": "x", "chunk_size": 10**9}, "chunk_size"),
    ("create_knowledge_base", {"name": "x", "chunk_size": "many"}, "chunk_size"),
    ("create_knowledge_base", {"name": "x", "chunk_size": 1.5}, "chunk_size"),
    ("create_knowledge_base", {"name": "x", "chunk_size": 100, "chunk_overlap": 100}, "chunk_overlap"),
    ("create_knowledge_base", {"name": "x", "chunk_overlap": -1}, "chunk_overlap"),
    ("create_knowledge_base", {"name": "x", "coalesce_neighbors": 6}, "coalesce_neighbors"),
    ("create_knowledge_base", {"name": "x", "coalesce_neighbors": -1}, "coalesce_neighbors"),
    ("create_knowledge_base", {"name": "x", "embedding_model": "no-such-model"}, "embedding_model"),
    ("create_knowledge_base", {"name": "x", "embedding_model": "text-embedding-3-small"}, "embedding_model"),
    ("create_knowledge_base", {"name": "x", "embedding_model": ""}, "embedding_model"),
    ("create_knowledge_base", {"name": "x", "embedding_model": "x" * 201}, "embedding_model"),
    ("create_knowledge_base", {"name": "x", "embedding_model": "n\0ul"}, "embedding_model"),
    ("create_knowledge_base", {"name": "x", "embedding_dimensions": 7}, "embedding_dimensions"),
    ("create_knowledge_base", {"name": "x", "status": "active"}, "status"),
    ("update_knowledge_base", {"chunker_type": "token"}, "chunker_type"),
    ("update_knowledge_base", {"chunk_size": 512}, "chunk_size"),
    ("update_knowledge_base", {"chunk_overlap": 128}, "chunk_overlap"),
    ("update_knowledge_base", {"embedding_model": "local/all-minilm-l6-v2"}, "embedding_model"),
    ("update_knowledge_base", {"embedding_dimensions": 384}, "embedding_dimensions"),
    ("update_knowledge_base", {"name": "x", "chunk_size": None}, "chunk_size"),
    ("update_knowledge_base", {"status": "active"}, "status"),
    ("update_knowledge_base", {"document_count": 7}, "document_count"),
    ("update_knowledge_base", {"name": ""}, "name"),
    ("update_knowledge_base", {"tag_ids": [UNKNOWN_ID]}, "tag_ids[0]"),
    ("update_knowledge_base", {"coalesce_neighbors": 6}, "coalesce_neighbors"),
]


@pytest.mark.parametrize(("operation", "body", "field"), WRONG)
def test_wrong_field_is_named(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str, body: Body, field: str
) -> None:
    method, path = places[operation]
    problem_of(client.request(method, path, json=body), 400, field=field)


def test_immutable_field_is_refused_with_the_way_out(client: httpx.Client, places: dict[str, tuple[str, str]]) -> None:
    method, path = places["update_knowledge_base"]
    before = accepted(client.get(path))
    problem = problem_of(client.request(method, path, json={"name": "new", "chunk_size": 64}), 400, field="chunk_size")
    assert "Move the knowledge base to other settings" in problem["detail"]
    assert accepted(client.get(path)) == before


HALF_A_PAIR: list[tuple[str, str]] = [
    ("create_access_token", r'{"name": "half \ud800"}'),
    ("create_tag", r'{"name": "half \udfff"}'),
    ("create_tag", r'{"name": "whole", "description": "half \ud800"}'),
    ("create_tag", r'{"half \ud800": 1}'),
    ("update_tag", r'{"name": "half \ud800"}'),
    ("update_document", r'{"document_name": "half \ud800"}'),
    ("update_document", r'{"tag_ids": ["half \ud800"]}'),
    ("update_document", r'{"metadata": {"key": "half \ud800"}}'),
    ("update_document", r'{"metadata": {"half \ud800": 1}}'),
    ("upload_documents", r'{"documents": [{"name": "a.txt", "content": "eA==", "metadata": {"k": "\ud800"}}]}'),
    ("create_knowledge_base", r'{"name": "half \ud800"}'),
    ("create_knowledge_base", r'{"name": "whole", "description": "half \ud800"}'),
    ("create_knowledge_base", r'{"name": "whole", "chunker_type": "half \ud800"}'),
    ("create_knowledge_base", r'{"name": "whole", "embedding_model": "half \ud800"}'),
    ("create_knowledge_base", r'{"name": "whole", "tag_ids": ["half \ud800"]}'),
    ("update_knowledge_base", r'{"name": "half \ud800"}'),
    ("search_knowledge_base", r'{"query": "half \ud800"}'),
    ("search_knowledge_base", r'{"query": "whole", "document_ids": ["half \ud800"]}'),
    ("search_knowledge_base", r'{"query": "whole", "metadata_filter": {"customer": "half \ud800"}}'),
    ("search_knowledge_base", r'{"query": "whole", "metadata_filter": {"half \ud800": 1}}'),
]


@pytest.mark.parametrize(("operation", "text"), HALF_A_PAIR)
def test_half_of_a_surrogate_pair_is_refused(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str, text: str
) -> None:
    method, path = places[operation]
    problem = problem_of(client.request(method, path, content=text.encode(), headers=JSON), 400)
    assert problem["errors"]


@pytest.mark.parametrize(
    ("operation", "text", "field"),
    [
        ("update_document", '{"metadata": {"a": NaN}}', "metadata.a"),
        ("update_document", '{"metadata": {"a": [Infinity]}}', "metadata.a[0]"),
        ("update_document", '{"metadata": {"a": 1e999}}', "metadata.a"),
        ("create_knowledge_base", '{"name": "x", "chunk_size": NaN}', "chunk_size"),
        ("search_knowledge_base", '{"query": "x", "top_k": Infinity}', "top_k"),
        ("search_knowledge_base", '{"query": "x", "metadata_filter": {"a": NaN}}', "metadata_filter.a"),
        ("search_knowledge_base", '{"query": "x", "metadata_filter": {"a": {"$gt": -1e999}}}', "metadata_filter.a.$gt"),
    ],
)
def test_number_that_is_none_is_refused_by_field(
    client: httpx.Client, places: dict[str, tuple[str, str]], operation: str, text: str, field: str
) -> None:
    method, path = places[operation]
    problem = problem_of(client.request(method, path, content=text.encode(), headers=JSON), 400)
    assert {error["field"] for error in problem["errors"]} & {field, "body"}


@pytest.mark.parametrize("malformed", [*MALFORMED_IDS, UNKNOWN_ID])
def test_malformed_id_is_not_found_like_an_unknown_one(client: httpx.Client, malformed: str) -> None:
    bodies: dict[str, Any] = {"PUT": {"name": "x"}, "POST": {"query": "x"}}
    for method, path in [
        ("GET", "/tags/{}"), ("PUT", "/tags/{}"), ("DELETE", "/tags/{}"),
        ("GET", "/documents/{}"), ("DELETE", "/documents/{}"),
        ("GET", "/documents/{}/original"), ("GET", "/documents/{}/text"), ("GET", "/documents/{}/blocks"),
        ("GET", "/knowledge-bases/{}"), ("PUT", "/knowledge-bases/{}"), ("DELETE", "/knowledge-bases/{}"),
        ("GET", "/knowledge-bases/{}/documents"), ("POST", "/knowledge-bases/{}/search"),
        ("DELETE", "/access-tokens/{}"),
    ]:  # fmt: skip
        problem_of(client.request(method, path.format(malformed), json=bodies.get(method)), 404, code="not_found")
    problem_of(client.put(f"/documents/{malformed}", json={"document_name": "x"}), 404)
    problem_of(client.post(f"/documents/{malformed}/extract"), 404, code="not_found")


@pytest.mark.parametrize("path", ["/tags", "/documents", "/knowledge-bases", "/access-tokens"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("skip", "-1"), ("skip", "x"), ("skip", "1e3"), ("skip", "1.5"), ("skip", str(2**63)), ("skip", "9" * 400),
        ("skip", ""), ("limit", "0"), ("limit", "-1"), ("limit", "101"), ("limit", "ten"), ("limit", str(2**64)),
    ],
)  # fmt: skip
def test_place_in_a_list_that_is_none_is_refused(client: httpx.Client, path: str, field: str, value: str) -> None:
    problem_of(client.get(path, params={field: value}), 400, field=field)


@pytest.mark.parametrize("path", ["/tags", "/documents", "/knowledge-bases", "/access-tokens"])
def test_list_beyond_its_end_is_empty_and_says_how_many_there_are(client: httpx.Client, path: str) -> None:
    make_tag(client)
    for skip in (100_000, 1_000_000):
        body = accepted(client.get(path, params={"skip": skip}))
        total = body.pop("total_count")
        assert body.pop("skip") == skip
        assert list(body.values()) == [[]]
        assert total == accepted(client.get(path, params={"limit": 1}))["total_count"]


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("/documents", {"sort": "password"}, "sort"),
        ("/documents", {"sort": "$natural"}, "sort"),
        ("/documents", {"state": "lost"}, "state[0]"),
        ("/documents", {"name_search": "x" * 256}, "name_search"),
        ("/documents", {"name_search": "n\0ul"}, "name_search"),
        ("/knowledge-bases", {"name_search": "\0"}, "name_search"),
        ("/tags", {"name_search": "\0"}, "name_search"),
        ("/tags", {"sort": "color"}, "sort"),
        ("/tags", {"name_search": "x" * 256}, "name_search"),
        ("/usage", {"since": "yesterday"}, "since"),
        ("/usage", {"until": "1e400"}, "until"),
    ],
)
def test_wrong_parameter_of_a_list_is_named(
    client: httpx.Client, path: str, params: dict[str, str], field: str
) -> None:
    problem_of(client.get(path, params=params), 400, field=field)


@pytest.fixture(scope="module")
def plain_names(running: Running) -> Iterator[httpx.Client]:
    """A client of an organization whose one tag, document and knowledge base have plain names."""
    with client_of(running.url, *make_organization(running, "Plain names")) as opened:
        make_tag(opened)
        make_knowledge_base(opened, [])
        upload(opened, unique("plain.txt"), b"x")
        yield opened


@pytest.mark.parametrize("path", ["/tags", "/documents", "/knowledge-bases"])
@pytest.mark.parametrize(
    "text", [".*", "^", "$", "(", "[a", "\\", "a{1,99999}", "(a+)+$", "\\Q", "\\w", "%", "_", "🦭", "a\u0301", "\ufffe"]
)
def test_search_by_name_takes_any_text_literally(plain_names: httpx.Client, path: str, text: str) -> None:
    assert accepted(plain_names.get(path))["total_count"] == 1
    assert accepted(plain_names.get(path, params={"name_search": text}))["total_count"] == 0


def test_method_that_is_none_and_path_that_is_none_answer_problems(client: httpx.Client) -> None:
    problem_of(client.patch("/tags"), 405, code="method_not_allowed")
    problem_of(client.get("/no-such-thing"), 404, code="not_found")
    problem_of(client.get("/tags/"), 404, code="not_found")
