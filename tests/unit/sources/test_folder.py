"""Folder sources on hostile directories: nothing outside of what the operator allows is ever read."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.ingestion.sources.base import ItemGoneError, ItemRefusedError, KnownItem, ListedItem, SourceContext
from analytiq.ingestion.sources.kinds.folder import FolderConnector, FolderSettings
from analytiq.ingestion.sources.patterns import accepting, require_patterns
from analytiq.models.source import ItemFilters
from analytiq.settings import SourceSettings

OWN, OTHER = "a" * 24, "b" * 24


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    folder.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("the secret")
    return folder


async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
    return {}


def connector_of(path: Path | str, *allowed: Path | str) -> FolderConnector:
    context = SourceContext(
        organization_id=OWN,
        operator=SourceSettings(folders=tuple(Path(each) for each in allowed)),
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=1000,
    )
    settings = FolderSettings(path=str(path))
    return FolderConnector(settings=settings, credentials=settings, context=context)


async def listed(connector: FolderConnector) -> dict[str, ListedItem]:
    return {item.name: item async for batch in connector.list_changes(None) for item in batch.items}


async def read(connector: FolderConnector, item: ListedItem) -> bytes:
    return b"".join([block async for block in (await connector.fetch(item)).content])


@pytest.mark.parametrize("path", ["{tmp}/secret", "{tmp}", "/", "{tmp}/allowed-not", "{tmp}/allowed/link"])
async def test_directory_outside_of_the_allowed_ones_is_refused(allowed: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "allowed-not").mkdir()
    (allowed / "link").symlink_to(tmp_path / "secret")
    connector = connector_of(path.format(tmp=tmp_path), allowed)
    with pytest.raises(AnalytiqError):
        await connector.check()
    with pytest.raises(AnalytiqError):
        await listed(connector)


async def test_without_the_operators_setting_nothing_is_read(allowed: Path) -> None:
    with pytest.raises(AnalytiqError, match="ANALYTIQ_SOURCES__FOLDERS"):
        await connector_of(allowed).check()


async def test_placeholder_opens_the_directory_of_the_own_organization_only(allowed: Path) -> None:
    for name in (OWN, OTHER):
        (allowed / name).mkdir()
    setting = allowed / "{organization_id}"
    await connector_of(allowed / OWN, setting).check()
    with pytest.raises(AnalytiqError):
        await connector_of(allowed / OTHER, setting).check()


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/a\0b", ""])
def test_path_that_is_not_plain_and_absolute_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        FolderSettings(path=path)


async def test_links_and_devices_are_named_and_never_followed(allowed: Path, tmp_path: Path) -> None:
    (allowed / "file").symlink_to(tmp_path / "secret" / "key.txt")
    (allowed / "folder").symlink_to(tmp_path / "secret")
    (allowed / "loop").symlink_to(allowed)
    os.mkfifo(allowed / "pipe")
    (allowed / "real.txt").write_text("fine")
    items = await listed(connector_of(allowed, allowed))
    assert sorted(items) == ["file", "folder", "loop", "pipe", "real.txt"]
    assert [name for name, item in items.items() if item.skip_reason is None] == ["real.txt"]
    connector = connector_of(allowed, allowed)
    assert await connector.find("folder/key.txt") is None
    for name in ("file", "pipe"):
        with pytest.raises(ItemRefusedError):
            await read(connector, ListedItem(external_id=name, name=name))


async def test_file_and_folder_that_become_links_after_the_listing_are_not_followed(
    allowed: Path, tmp_path: Path
) -> None:
    (allowed / "inner").mkdir()
    for name in ("key.txt", "inner/key.txt"):
        (allowed / name).write_text("mine")
    connector = connector_of(allowed, allowed)
    items = await listed(connector)
    (allowed / "key.txt").unlink()
    (allowed / "key.txt").symlink_to(tmp_path / "secret" / "key.txt")
    (allowed / "inner" / "key.txt").unlink()
    (allowed / "inner").rmdir()
    (allowed / "inner").symlink_to(tmp_path / "secret")
    for name, item in items.items():
        with pytest.raises((ItemRefusedError, ItemGoneError)):
            await read(connector, item)
        assert (await connector.find(name)) is None or name == "key.txt"


async def test_names_that_are_no_names_are_skipped_with_the_reason(allowed: Path) -> None:
    (allowed / "line\nbreak.txt").write_text("x")
    (allowed / "good.txt").write_text("x")
    with open(os.path.join(os.fsencode(allowed), b"bad\xff.txt"), "wb") as file:  # noqa: PTH118, PTH123
        file.write(b"x")
    items = await listed(connector_of(allowed, allowed))
    reasons = {name: item.skip_reason for name, item in items.items() if item.skip_reason}
    assert len(items) == 3
    assert len(reasons) == 2
    assert all("\n" not in name for name in items)


async def test_file_that_changes_while_it_is_read_is_refused_this_time(allowed: Path) -> None:
    path = allowed / "log.txt"
    path.write_text("x" * 300_000)
    connector = connector_of(allowed, allowed)
    fetched = await connector.fetch(ListedItem(external_id="log.txt", name="log.txt"))
    await anext(fetched.content)
    with path.open("a") as file:
        file.write("more")
    with pytest.raises(AnalytiqError, match="changed while it was read"):
        async for _ in fetched.content:
            pass


async def test_fresh_file_has_no_version_that_the_next_change_might_share(allowed: Path) -> None:
    (allowed / "a.txt").write_text("x")
    assert (await listed(connector_of(allowed, allowed)))["a.txt"].version is None


def test_patterns_choose_by_the_whole_path() -> None:
    accepts = accepting(ItemFilters(include=("*.txt", "docs/*"), exclude=("*/drafts/*", "x?.txt")))
    assert [
        name for name in ("a.txt", "docs/b.pdf", "c.pdf", "docs/drafts/d.txt", "x1.txt", "x12.txt") if accepts(name)
    ] == [
        "a.txt",
        "docs/b.pdf",
        "x12.txt",
    ]


@pytest.mark.parametrize("pattern", ["", "x" * 501, "*a" * 11])
def test_costly_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        require_patterns(ItemFilters(exclude=("fine", pattern)))
    assert refused.value.errors[0].field == "filters.exclude[1]"
