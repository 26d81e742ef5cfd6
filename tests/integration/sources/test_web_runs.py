"""Runs of web sources: documents follow the site, at the cost of one request for an unchanged page."""

import re
from collections.abc import Iterator

import pytest

from analytiq.models.source import RunCounts, RunState, Source
from analytiq.settings import SourceSettings
from tests.fakes.web_site import Served, WebSite, html
from tests.integration.conftest import Compose
from tests.integration.sources.conftest import Sourcing
from tests.integration.sources.test_killed_runs import die_at

WORDS = "Words that are on this page only, with the name "


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as made:
        yield made
        assert made.faults == []


@pytest.fixture
async def crawling(compose_services: Compose, sourcing: Sourcing) -> Sourcing:
    """The organization, where the operator allows the made site."""
    services = await compose_services(sources=SourceSettings(private_hosts=("127.0.0.1",)))
    return Sourcing(sourcing.tenant.seen_by(services), sourcing.folder)


async def source_of(crawling: Sourcing, site: WebSite, **settings: object) -> Source:
    return await crawling.source(
        name="Site",
        kind="web",
        settings={"url": f"{site.url}/", **settings},
        credentials={"headers": {"X-Key": "hush"}},
        metadata_mapping={"title": "title"},
    )


async def test_documents_follow_the_site(crawling: Sourcing, site: WebSite) -> None:
    for name in ("a", "b", "c", "d"):
        site.page(f"/{name}", WORDS + name, ["/"], title=f"Page {name}")
    site.page("/", WORDS + "start", ["/a", "/b", "/c", "/d", "/notes.txt"])
    site.files["/notes.txt"] = Served(b"Plain notes of the site.", "text/plain")
    source = await source_of(crawling, site)
    run = await crawling.run(source)
    assert (run.state, run.counts) == (RunState.SUCCEEDED, RunCounts(added=6))
    host = f"127.0.0.1:{site.port}"
    before = await crawling.documents()
    assert before[f"{host}/a.html"].metadata == {"title": "Page a"}
    assert before[f"{host}/a.html"].source_url == f"{site.url}/a"
    assert all(document.text_id is not None for document in before.values())
    site.asked.clear()
    assert (await crawling.run(source)).counts == RunCounts(unchanged=6)
    assert {each.path: each.status for each in site.asked if each.status == 304}.keys() == {
        "/", "/a", "/b", "/c", "/d", "/notes.txt",
    }  # fmt: skip
    site.page("/a", "Other words of this page", ["/"], title="Page a")
    site.page("/", WORDS + "start", ["/a", "/c", "/d", "/notes.txt"])
    site.files["/d"] = Served(status=403)
    del site.files["/b"]
    run = await crawling.run(source)
    assert run.counts == RunCounts(changed=2, unchanged=2, failed=1, removed=1)
    after = await crawling.documents()
    assert before.keys() - after.keys() == {f"{host}/b.html"}
    assert all(after[name].id == before[name].id for name in after)
    assert "hush" not in run.model_dump_json()
    assert all(each.headers["x-key"] == "hush" for each in site.asked)


async def test_run_whose_worker_dies_goes_on_behind_its_cursor(
    crawling: Sourcing, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.web.crawl.BATCH", 4)
    site.rules.append(
        lambda path: (
            Served(html(WORDS + path, [f"{path}1/", f"{path}2/"]).encode())
            if re.fullmatch(r"/([12]/){0,4}", path)
            else None
        )
    )
    source = await source_of(crawling, site, max_pages=20)
    run = await crawling.tenant.services.ingestion.source_runs.start(crawling.id, source.id)
    for name, time in (("sources.batch_staged", 1), ("sources.batch_uploaded", 2), ("sources.batch_committed", 2)):
        assert await die_at(crawling, name, time=time)
    await crawling.tenant.drain()
    ended = await crawling.again(run)
    assert (ended.state, ended.counts) == (RunState.SUCCEEDED, RunCounts(added=20))
    assert any("max_pages" in note.text for note in ended.notes)
    assert len(await crawling.documents()) == 20
    assert (await crawling.run(source)).counts == RunCounts(unchanged=20)


async def test_run_whose_start_is_gone_or_private_fails_and_keeps_the_documents(
    compose_services: Compose, crawling: Sourcing, site: WebSite
) -> None:
    site.page("/", WORDS)
    source = await source_of(crawling, site)
    await crawling.run(source)
    site.files.clear()
    run = await crawling.run(source)
    assert (run.state, run.error and run.error.code) == (RunState.FAILED, "not_found")
    strict = Sourcing(crawling.tenant.seen_by(await compose_services()), crawling.folder)
    run = await strict.run(source)
    assert (run.state, run.error and run.error.code) == (RunState.FAILED, "address_forbidden")
    checked = await strict.tenant.services.ingestion.sources.check(strict.id, source.id)
    assert checked.code == "address_forbidden"
    assert len(await crawling.documents()) == 1
