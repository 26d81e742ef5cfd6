"""The management UI as the API process serves it, from an export of a few files."""

import gzip
import os
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from api.static_ui import StaticUi, policy_of

INLINE = "self.__next_f.push([1,\"a < b && 'c'\"])"
PAGE = f'<html><head><script src="/theme.js"></script></head><body>&amp;<script>{INLINE}</script></body></html>'


@pytest.fixture
def export(tmp_path: Path) -> Path:
    files = {
        "index.html": PAGE,
        "404.html": "<html>There is no such page</html>",
        "documents/index.html": PAGE,
        "documents/view/index.html": PAGE,
        "documents/index.txt": "payload",
        "theme.js": "theme()",
        "_next/static/chunks/0a1b.js": "chunk()",
    }
    root = tmp_path / "ui"
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / "_next/static/chunks/0a1b.js.gz").write_bytes(gzip.compress(b"chunk()"))
    (tmp_path / "secret.txt").write_text("outside")
    return root


def client_of(export: Path) -> httpx.AsyncClient:
    app = FastAPI(redirect_slashes=False, openapi_url=None)

    @app.post("/v0/orgs/a/jobs")
    async def replay() -> dict[str, str]:
        return {"answered": "by the API"}

    app.add_middleware(StaticUi, export=export)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://somewhere")


async def test_a_deep_link_serves_its_page_and_asks_the_browser_to_check_it(export: Path) -> None:
    async with client_of(export) as client:
        answer = await client.get("/documents/view/?id=1&page=37")
    assert answer.text == PAGE
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_hashed_file_is_kept_for_ever_and_sent_compressed(export: Path) -> None:
    async with client_of(export) as client:
        answer = await client.get("/_next/static/chunks/0a1b.js", headers={"Accept-Encoding": "gzip"})
        plain = await client.get("/_next/static/chunks/0a1b.js", headers={"Accept-Encoding": "identity"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.text == plain.text == "chunk()"
    assert "content-encoding" not in plain.headers


async def test_a_page_without_its_slash_redirects_on_the_same_host_with_its_query(export: Path) -> None:
    async with client_of(export) as client:
        answer = await client.get("/documents?q=a%2Fb", headers={"Host": "evil.example"})
        home = await client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (308, "/documents/?q=a%2Fb")
    assert (home.status_code, home.headers["location"]) == (307, "/documents/")


async def test_an_unchanged_page_is_not_sent_again(export: Path) -> None:
    async with client_of(export) as client:
        first = await client.get("/documents/")
        second = await client.get("/documents/", headers={"If-None-Match": first.headers["etag"]})
    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["content-security-policy"] == first.headers["content-security-policy"]


async def test_an_unknown_page_says_so_to_a_browser_and_to_nobody_else(export: Path) -> None:
    async with client_of(export) as client:
        page = await client.get("/nowhere/", headers={"Accept": "text/html,*/*"})
        other = await client.get("/nowhere/", headers={"Accept": "application/json"})
    assert (page.status_code, page.text) == (404, "<html>There is no such page</html>")
    assert (other.status_code, other.json()) == (404, {"detail": "Not Found"})


@pytest.mark.parametrize("path", ["/../secret.txt", "/documents/../../secret.txt", "/%2e%2e/secret.txt"])
async def test_no_path_leads_out_of_the_export(export: Path, path: str) -> None:
    async with client_of(export) as client:
        answer = await client.get(path)
    assert answer.status_code == 404
    assert "outside" not in answer.text


async def test_the_api_answers_its_own_paths_to_browsers_too(export: Path) -> None:
    async with client_of(export) as client:
        wrong_method = await client.get("/v0/orgs/a/jobs", headers={"Accept": "text/html"})
        unknown = await client.get("/v0/nothing", headers={"Accept": "text/html"})
        right = await client.post("/v0/orgs/a/jobs")
    assert (wrong_method.status_code, unknown.status_code) == (405, 404)
    assert unknown.json() == {"detail": "Not Found"}
    assert right.json() == {"answered": "by the API"}


async def test_a_rebuilt_export_is_served_with_the_policy_of_its_own_pages(export: Path) -> None:
    async with client_of(export) as client:
        before = await client.get("/documents/")
        rebuilt = PAGE.replace("a < b", "a > b")
        (export / "documents/index.html").write_text(rebuilt)
        later = (export / "index.html").stat().st_mtime_ns + 1_000_000_000
        os.utime(export / "index.html", ns=(later, later))
        after = await client.get("/documents/", headers={"If-None-Match": before.headers["etag"]})
    assert (after.status_code, after.text) == (200, rebuilt)
    assert after.headers["content-security-policy"] == policy_of(rebuilt)


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/invite/", "/reset/"])
async def test_without_an_export_the_entrances_say_how_to_get_it(tmp_path: Path, path: str) -> None:
    async with client_of(tmp_path / "nothing") as client:
        answer = await client.get(path)
        api = await client.post("/v0/orgs/a/jobs")
    assert answer.status_code == 404
    assert "make ui" in answer.text
    assert api.status_code == 200


def test_the_policy_allows_a_page_its_own_inline_scripts_and_no_others() -> None:
    with_one, with_none = policy_of(PAGE), policy_of('<script src="/theme.js"></script>')
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/]{43}='", with_one)) == 1
    assert "sha256" not in with_none
    assert policy_of(PAGE.replace("a < b", "a > b")) != with_one
    for policy in (with_one, with_none):
        scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
        assert "unsafe" not in scripts
