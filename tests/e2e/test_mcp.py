"""The Model Context Protocol, by the SDK's own client: over standard input and output, and over HTTP."""

import base64
import json
import re
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.e2e.driving import (
    DATA,
    accepted,
    make_knowledge_base,
    make_tag,
    problem_of,
    unique,
    upload,
    wait_until_indexed,
    wait_until_read,
)
from tests.e2e.running_platform import Running, client_of, make_organization

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "how-to" / "connect-mcp-clients.md"
TOOLS = {
    "search", "list_knowledge_bases", "list_documents", "read_document", "upload_document",
    "list_sources", "run_source", "read_source_run",
    "list_tables", "query_table",
}  # fmt: skip
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Library:
    """An organization with a knowledge base of one document."""

    url: str
    organization_id: str
    token: str
    kb_id: str
    kb_name: str
    tag_name: str
    document_id: str


@pytest.fixture(scope="module")
def library(running: Running) -> Library:
    """The organization of this module's tests."""
    organization_id, token = make_organization(running, "With an assistant")
    with client_of(running.url, organization_id, token) as client:
        tag = make_tag(client)
        kb = make_knowledge_base(client, [tag])
        text = b"The toll for the bridge is four crowns for a cart. The ferry leaves at six in the morning."
        document = upload(client, "ferry.txt", text, tag_ids=[tag])["document_id"]
        wait_until_indexed(client, document)
        kb_name = accepted(client.get(f"/knowledge-bases/{kb}"))["name"]
        tag_name = accepted(client.get(f"/tags/{tag}"))["name"]
    return Library(running.url, organization_id, token, kb, kb_name, tag_name, document)


def stdio(environment: dict[str, str], *arguments: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "analytiq.cli", *arguments], env={"PYTHONPATH": str(ROOT), **environment}
    )


@asynccontextmanager
async def over_http(url: str, token: str, mode: str = "auto") -> AsyncGenerator[Client]:
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        # The SDK's annotation names httpx2, with the same interface.
        Client(streamable_http_client(f"{url}/mcp", http_client=cast("Any", http)), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(library: Library, mode: str = "auto") -> AsyncGenerator[Client]:
    environment = {
        "ANALYTIQ_URL": library.url,
        "ANALYTIQ_ORGANIZATION_ID": library.organization_id,
        "ANALYTIQ_TOKEN": library.token,
    }
    async with Client(stdio(environment, "mcp"), mode=mode) as client:
        yield client


async def answer_of(client: Client, tool: str, **arguments: Any) -> Answer:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    return str(getattr(result.content[0], "text", ""))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_passage_is_found_with_its_citation_and_its_document_is_read(
    library: Library, transport: str, mode: str
) -> None:
    opened = over_stdio(library, mode) if transport == "stdio" else over_http(library.url, library.token, mode)
    async with opened as client:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        assert all(tool.description and tool.output_schema for tool in tools)

        listed = await answer_of(client, "list_knowledge_bases")
        assert library.kb_id in [item["kb_id"] for item in listed["knowledge_bases"]]

        found = await answer_of(client, "search", query="When does the ferry leave?", knowledge_base=library.kb_name)
        best = found["passages"][0]
        assert (best["source"], best["first_page"], best["last_page"]) == ("ferry.txt", 1, 1)
        assert (best["rank"], best["tags"], best["metadata"]) == (1, [library.tag_name], {})
        text = await answer_of(client, "read_document", document_id=best["document_id"])
        assert text["pages"][0]["text"][best["start"] : best["end"]] == best["content"]
        assert text["next_page"] is None


async def test_uploaded_document_is_found_by_the_next_questions(library: Library) -> None:
    async with over_http(library.url, library.token) as client:
        name, tag = unique("notes.md"), unique("made by an assistant")
        uploaded = await answer_of(
            client,
            "upload_document",
            name=name,
            text="# Owls\n\nThe owlery opens at dusk.",
            tags=[library.tag_name, tag],
        )
        assert uploaded["outcome"] == "created"
        with client_of(library.url, library.organization_id, library.token) as rest:
            wait_until_indexed(rest, uploaded["document_id"])
        found = await answer_of(client, "search", query="When does the owlery open?", top_k=1, include_section=True)
        assert found["passages"][0]["source"] == name
        assert "opens at dusk" in found["passages"][0]["section"]["content"]
        listed = await answer_of(client, "list_documents", tags=[library.tag_name, tag])
        assert [item["document_name"] for item in listed["documents"]] == [name]
        assert set(listed["documents"][0]["tags"]) == {library.tag_name, tag}
        again = await answer_of(client, "upload_document", name=name, text="# Owls\n\nThe owlery opens at dusk.")
        assert (again["outcome"], again["document_id"]) == ("returned", uploaded["document_id"])
        item = {"source": "wiki", "external_id": name}
        first = await answer_of(client, "upload_document", name=name, text="Owls.", external_identity=item)
        renamed = await answer_of(client, "upload_document", name="owls.txt", text="Owls?", external_identity=item)
        assert (first["outcome"], renamed["outcome"]) == ("created", "replaced")
        assert first["document_id"] == renamed["document_id"] != uploaded["document_id"]


async def test_binary_file_is_uploaded_and_read_page_by_page(library: Library) -> None:
    content = (DATA / "pdf" / "multi-column-2p.pdf").read_bytes()
    async with over_http(library.url, library.token) as client:
        uploaded = await answer_of(
            client, "upload_document", name=unique("columns.pdf"), content_base64=base64.b64encode(content).decode(),
            tags=[library.tag_name],
        )  # fmt: skip
        document_id = uploaded["document_id"]
        with client_of(library.url, library.organization_id, library.token) as rest:
            wait_until_indexed(rest, document_id)
        first = await answer_of(client, "read_document", document_id=document_id, page_count=1)
        assert (first["page_count"], first["next_page"], first["next_offset"]) == (2, 2, 0)
        second = await answer_of(client, "read_document", document_id=document_id, first_page=2)
        assert [page["page_number"] for page in second["pages"]] == [2]
        assert "2 pages" in await refusal_of(client, "read_document", document_id=document_id, first_page=3)


async def test_long_page_is_read_in_parts_that_make_the_whole(library: Library) -> None:
    text = " ".join(f"word{number}" for number in range(12_000))
    async with over_http(library.url, library.token) as client:
        uploaded = await answer_of(client, "upload_document", name=unique("long.txt"), text=text)
        with client_of(library.url, library.organization_id, library.token) as rest:
            wait_until_read(rest, uploaded["document_id"])
        parts, page, offset = [], 1, 0
        while page is not None:
            answer = await answer_of(
                client, "read_document", document_id=uploaded["document_id"], first_page=page, offset=offset
            )
            assert sum(len(item["text"]) for item in answer["pages"]) <= 40_000
            parts += [item["text"] for item in answer["pages"]]
            page, offset = answer["next_page"], answer["next_offset"]
    assert len(parts) > 1
    assert "".join(parts) == text


async def test_tables_are_listed_and_asked(library: Library) -> None:
    name = unique("prices.csv")
    with client_of(library.url, library.organization_id, library.token) as rest:
        document_id = upload(rest, name, b"item,price\ntea,1.50\nink,2.25\n")["document_id"]
        wait_until_read(rest, document_id)
    async with over_http(library.url, library.token) as client:
        listed = await answer_of(client, "list_tables", name=name)
        (table,) = listed["documents"][0]["tables"]
        assert [(column["name"], column["type"]) for column in table["columns"]] == [
            ("item", "text"), ("price", "decimal"),
        ]  # fmt: skip
        answer = await answer_of(client, "query_table", table_id=table["table_id"], sql="SELECT sum(price) FROM rows")
        assert (answer["rows"], [row["number"] for row in answer["source_rows"]]) == ([[3.75]], [1, 2])
        wrong = await refusal_of(client, "query_table", table_id=table["table_id"], sql="SELECT cost FROM rows")
        assert 'Columns of rows: "item" (text), "price" (decimal).' in wrong
        assert await refusal_of(client, "query_table", table_id="../tags", sql="SELECT 1")


async def test_source_is_listed_and_run_and_its_run_is_read(running: Running, library: Library) -> None:
    name = unique("papers")
    folder = running.shared_folder / name
    folder.mkdir(parents=True)
    (folder / "heron.txt").write_text("The heron waits in the reeds.")
    (folder / "heron.bin").write_bytes(b"\0" * 2048)
    with client_of(library.url, library.organization_id, library.token) as rest:
        tag = make_tag(rest)
        tag_name = accepted(rest.get(f"/tags/{tag}"))["name"]
        body: Answer = {
            "name": name, "kind": "folder", "settings": {"path": str(folder)}, "tag_ids": [tag],
            "filters": {"max_item_bytes": 1024},
        }  # fmt: skip
        source_id = accepted(rest.post("/sources", json=body), 201)["source_id"]
    async with over_http(library.url, library.token) as client:
        listed = await answer_of(client, "list_sources", name=name)
        assert [(item["source_id"], item["tags"]) for item in listed["sources"]] == [(source_id, [tag_name])]
        assert listed["sources"][0]["last_run"] is None
        assert "has not run yet" in await refusal_of(client, "read_source_run", source=name)

        started = await answer_of(client, "run_source", source=name)
        assert (started["source_id"], started["run"]["ended_at"]) == (source_id, None)
        report = await answer_of(client, "read_source_run", source=source_id, wait_seconds=20)
        assert report["run"]["source_run_id"] == started["run"]["source_run_id"]
        assert (report["run"]["state"], report["run"]["counts"]["added"]) == ("succeeded", 1)
        assert [(item["name"], item["outcome"]) for item in report["problems"]] == [("heron.bin", "skipped")]
        assert report["problems"][0]["reason"]
        documents = await answer_of(client, "list_documents", tags=[tag_name])
        assert [item["document_name"] for item in documents["documents"]] == ["heron.txt"]

        one = await answer_of(client, "run_source", source=name, dry_run=True, external_ids=["heron.txt"])
        waited = await answer_of(
            client, "read_source_run", source=name, source_run_id=one["run"]["source_run_id"], wait_seconds=20
        )
        assert (waited["run"]["is_dry_run"], waited["run"]["state"]) == (True, "succeeded")
        for wrong in ("f" * 24, "../../tags"):
            assert await refusal_of(client, "read_source_run", source=name, source_run_id=wrong)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("search", {"query": "x", "knowledge_base": "no such one"}, "No knowledge base has the name or id"),
        ("search", {"query": "x", "top_k": 1000}, "less than or equal to 50"),
        ("search", {"query": ""}, "at least 1 character"),
        ("search", {"query": "x", "metadata_filter": {"$where": "1"}}, "$where"),
        ("search", {"query": "x", "metadata_fliter": {"customer": "Acme"}}, "no argument 'metadata_fliter'"),
        ("read_document", {"document_id": "f" * 24}, "No document has the id"),
        ("read_document", {"document_id": "../../tags"}, "Ids have 24 hex digits"),
        ("list_documents", {"tags": ["no such tag"]}, "No tag has the name"),
        ("run_source", {"source": "no such one"}, "No source has the name or id"),
        ("read_source_run", {"source": "no such one"}, "No source has the name or id"),
        ("read_source_run", {"source": "x", "wait_seconds": 999}, "less than or equal to 20"),
        ("upload_document", {"name": "x.txt"}, "Give either text, or content_base64"),
        ("upload_document", {"name": "x.txt", "content_base64": "?"}, "not base64"),
    ],
)
async def test_wrong_call_is_answered_with_what_is_wrong(
    library: Library, tool: str, arguments: Answer, why: str
) -> None:
    async with over_http(library.url, library.token) as client:
        assert why.lower() in (await refusal_of(client, tool, **arguments)).lower()


def test_without_a_valid_token_nothing_is_answered(running: Running) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for headers in ({}, {"Authorization": "Bearer aq_guessed"}, {"Authorization": "Basic eDp5"}):
        for method in ("POST", "GET", "DELETE"):
            response = httpx.request(method, f"{running.url}/mcp", json=call, headers=headers)
            problem_of(response, 401, code="unauthenticated")
            assert response.headers["www-authenticate"] == "Bearer"


async def test_token_of_another_organization_reaches_nothing_of_the_first(running: Running, library: Library) -> None:
    _, token = make_organization(running, "Burglar with an assistant")
    async with over_http(running.url, token) as client:
        assert (await answer_of(client, "list_knowledge_bases"))["total_count"] == 0
        assert (await answer_of(client, "list_documents"))["total_count"] == 0
        assert "No document" in await refusal_of(client, "read_document", document_id=library.document_id)
        for name in (library.kb_id, library.kb_name):
            refused = await refusal_of(client, "search", query="ferry", knowledge_base=name)
            assert "No knowledge base has the name or id" in refused
        assert "No tag" in await refusal_of(client, "list_documents", tags=[library.tag_name])
        assert (await answer_of(client, "list_sources"))["total_count"] == 0


async def test_token_that_may_only_read_searches_and_uploads_nothing(library: Library) -> None:
    with client_of(library.url, library.organization_id, library.token) as rest:
        made = accepted(rest.post("/access-tokens", json={"name": unique("reader"), "scope": "read"}), 201)
    async with over_http(library.url, made["token"]) as client:
        assert (await answer_of(client, "search", query="When does the ferry leave?"))["passages"]
        name = unique("refused.txt")
        refused = await refusal_of(client, "upload_document", name=name, text="x")
        assert "may" in refused or "permission" in refused
        assert (await answer_of(client, "list_documents", name=name))["total_count"] == 0


async def test_revoked_token_is_refused_in_the_middle(library: Library) -> None:
    with client_of(library.url, library.organization_id, library.token) as rest:
        made = accepted(rest.post("/access-tokens", json={"name": unique("short")}), 201)
        async with over_http(library.url, made["token"]) as client:
            await answer_of(client, "list_documents")
            assert rest.delete(f"/access-tokens/{made['token_id']}").status_code == 204
            with pytest.raises(MCPError):
                await client.call_tool("list_documents", {})


async def test_file_of_an_opened_folder_is_uploaded_and_no_other(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "opened"
    folder.mkdir()
    (folder / "sub").mkdir()
    name = unique("memo.txt")
    (folder / "sub" / name).write_text("The memo is about lighthouses.")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    environment = {
        "ANALYTIQ_URL": library.url,
        "ANALYTIQ_ORGANIZATION_ID": library.organization_id,
        "ANALYTIQ_TOKEN": library.token,
    }
    async with Client(stdio(environment, "mcp", "--files", str(folder))) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {*TOOLS, "upload_file"}
        uploaded = await answer_of(client, "upload_file", path=f"sub/{name}", tags=[library.tag_name])
        assert (uploaded["document_name"], uploaded["outcome"]) == (name, "created")
        again = await answer_of(client, "upload_file", path=str(folder / "sub" / name))
        assert again["outcome"] == "returned"
        for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "sub", "none.txt", "/etc/passwd", "\0"):
            assert "not a file in the open folders" in await refusal_of(client, "upload_file", path=path)


async def test_tools_say_when_the_platform_does_not_run(library: Library, unused_port: int) -> None:
    environment = {
        "ANALYTIQ_URL": f"http://127.0.0.1:{unused_port}",
        "ANALYTIQ_ORGANIZATION_ID": library.organization_id,
        "ANALYTIQ_TOKEN": library.token,
    }
    async with Client(stdio(environment, "mcp")) as client:
        assert "No API answers" in await refusal_of(client, "list_documents")


@pytest.fixture
def unused_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def configurations() -> list[Answer]:
    """Every configuration in the guide."""
    blocks = re.findall(r"```json\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [json.loads(block)["mcpServers"]["analytiq"] for block in blocks]


@pytest.mark.parametrize("number", range(3))
async def test_configurations_of_the_guide_open_the_tools(running: Running, library: Library, number: int) -> None:
    found = configurations()
    assert len(found) == 3
    configuration = found[number]
    if "url" in configuration:
        assert configuration["url"] == "http://127.0.0.1:8000/mcp"
        assert configuration["headers"] == {"Authorization": "Bearer aq_your-token"}
        opened = over_http(library.url, library.token)
    else:
        assert Path(configuration["command"]).name == "analytiq"
        real = {
            "ANALYTIQ_URL": library.url,
            "ANALYTIQ_ORGANIZATION_ID": library.organization_id,
            "ANALYTIQ_TOKEN": library.token,
        }
        # Without an address it is the platform of the default directory, which a test does not touch.
        environment = {name: real[name] for name in configuration.get("env", {})}
        environment |= {} if environment else {"ANALYTIQ_DATA_DIR": str(running.data_dir)}
        opened = Client(stdio(environment, *configuration["args"]))
    async with opened as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert "documents" in await answer_of(client, "list_documents")
