"""Query parameters that a call does not take are refused by name: a misspelt filter must not answer everything."""

import httpx
import pytest

from tests.e2e.driving import make_tag, problem_of, unique, upload
from tests.e2e.running_platform import Running


@pytest.mark.parametrize("path", ["/documents", "/tags", "/knowledge-bases", "/jobs", "/usage", "/prompts"])
def test_misspelt_filter_is_refused_and_told_what_there_is(client: httpx.Client, path: str) -> None:
    problem = problem_of(client.get(path, params={"tagid": "x", "lim": 1}), 400)
    assert problem["code"] == "unknown_parameter"
    assert [error["field"] for error in problem["errors"]] == ["lim", "tagid"]
    assert problem["errors"][0]["reason"].startswith("Unknown query parameter. Allowed: ")


def test_call_that_takes_no_query_says_so_and_does_nothing(client: httpx.Client) -> None:
    name = unique("unqueried")
    problem = problem_of(client.post("/tags", params={"dry_run": "true"}, json={"name": name}), 400)
    assert problem["detail"] == "Unknown query parameter 'dry_run'. This operation takes none."
    assert client.get("/tags", params={"name_search": name}).json()["total_count"] == 0


def test_parameters_that_there_are_are_taken_repeated_ones_too(client: httpx.Client) -> None:
    tag = make_tag(client)
    document = upload(client, unique("queried.txt"), b"x", tag_ids=[tag])["document_id"]
    query = {"tag_ids": [tag, tag], "limit": 5, "include": "knowledge_bases"}
    found = client.get("/documents", params=query).json()["documents"]
    assert [item["document_id"] for item in found] == [document]


def test_many_long_names_make_a_short_error(client: httpx.Client) -> None:
    problem = problem_of(client.get("/tags", params={f"{number:03}" + "n" * 500: 1 for number in range(50)}), 400)
    assert len(problem["errors"]) == 5
    assert max(len(error["field"]) for error in problem["errors"]) == 100


def test_who_may_not_call_is_not_told_what_the_call_takes(running: Running) -> None:
    url = f"{running.url}/v0/orgs/{running.organization_id}/documents"
    problem_of(httpx.get(url, params={"lim": 1}), 401, code="unauthenticated")
    authorization = {"Authorization": f"Bearer {running.token}"}
    problem_of(httpx.get(url.replace(running.organization_id, "f" * 24), params={"lim": 1}, headers=authorization), 404)
