"""The contract of `analytiq.ingestion.sources.base.Connector`, over every built-in kind.

For a kind of another package: make a `Made` of it, and give it to the same tests.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.base import Connector, KnownItem, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.registry import BUILT_IN_KINDS, load_kind, validated
from analytiq.settings import SourceSettings

CONTENTS = {
    f"{folder}{number:03}.txt": f"{folder}{number}" for folder in ("", "a/", "a/b/", "z/") for number in range(60)
}


@dataclass(frozen=True, slots=True)
class Made:
    """A kind with a source that has these contents; `open` connects anew, `change` writes an item."""

    kind: str
    open: Callable[[], Connector]
    change: Callable[[str, str], None]


async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
    return {}


@pytest.fixture(params=["folder"])
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setattr("analytiq.ingestion.sources.kinds.folder.SETTLED_SECONDS", -1e9)
    kind = load_kind(request.param)

    def write(name: str, content: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    for name, content in CONTENTS.items():
        write(name, content)
    context = SourceContext(
        organization_id="f" * 24,
        operator=SourceSettings(folders=(tmp_path,)),
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=1000,
    )
    settings = validated(kind.settings_schema, {"path": str(tmp_path)}, field="settings")
    credentials = validated(kind.credentials_schema, {}, field="credentials")
    return Made(request.param, lambda: kind(settings=settings, credentials=credentials, context=context), write)


async def batches_of(connector: Connector, cursor: str | None = None) -> list[ListedBatch]:
    return [batch async for batch in connector.list_changes(cursor)]


async def items_of(connector: Connector, cursor: str | None = None) -> list[ListedItem]:
    return [item for batch in await batches_of(connector, cursor) for item in batch.items]


async def joined(content: AsyncIterator[bytes]) -> bytes:
    return b"".join([block async for block in content])


def test_every_built_in_kind_is_held_to_the_contract() -> None:
    assert {entry.name for entry in BUILT_IN_KINDS} == {"folder"}


async def test_each_item_is_listed_once_with_its_content(made: Made) -> None:
    connector = made.open()
    await connector.check()
    items = await items_of(connector)
    assert sorted(item.name for item in items) == sorted(CONTENTS)
    assert len({item.external_id for item in items}) == len(CONTENTS)
    for item in items[::40]:
        fetched = await connector.fetch(item)
        assert await joined(fetched.content) == CONTENTS[item.name].encode()
    await connector.close()


async def test_listing_goes_on_behind_every_cursor_in_another_connection(made: Made) -> None:
    batches = await batches_of(made.open())
    assert len(batches) > 1
    for index, batch in enumerate(batches):
        rest = [item for later in batches[index + 1 :] for item in later.items]
        assert await items_of(made.open(), batch.cursor) == rest


async def test_version_is_equal_for_equal_content_only(made: Made) -> None:
    before = {item.name: item.version for item in await items_of(made.open())}
    assert None not in before.values()
    assert {item.name: item.version for item in await items_of(made.open())} == before
    made.change("a/003.txt", "Another text.")
    after = {item.name: item.version for item in await items_of(made.open())}
    assert {name for name in before if before[name] != after[name]} == {"a/003.txt"}


async def test_single_item_is_found_as_it_is_listed(made: Made) -> None:
    connector = made.open()
    for item in (await items_of(connector))[::50]:
        assert await connector.find(item.external_id) == item
    for unknown in ("none.txt", "../none.txt", "/etc/passwd", "", ".", "a\0b", "a//003.txt"):
        assert await connector.find(unknown) is None


def test_settings_with_unknown_fields_are_refused_and_no_value_is_told(made: Made) -> None:
    kind = load_kind(made.kind)
    for schema, field in ((kind.settings_schema, "settings"), (kind.credentials_schema, "credentials")):
        with pytest.raises(InvalidInputError) as refused:
            validated(schema, {"no_such_field": "a secret of somebody"}, field=field)
        assert f"{field}.no_such_field" in {problem.field for problem in refused.value.errors}
        assert "a secret" not in refused.value.detail
